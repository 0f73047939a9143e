"""What the indexes keep of an object: only what decisions read, so that thousands fit into memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlap.api.base import Json
from fairlap.api.names import STEP_LABEL, UID_LABEL
from fairlap.api.status import TERMINAL, BenchmarkStatus
from fairlap.plan.steps import CHECK
from fairlap.queue.turn import Waiting, addresses
from fairlap_race.contract.record import KEY_PROGRESS

Body = Mapping[str, Any]
_META = (
    "name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp", "labels", "finalizers",
)  # fmt: skip


def owner_uid(body: Body) -> str | None:
    """Return the uid of the Benchmark that an object belongs to, by its label."""
    found = (body["metadata"].get("labels") or {}).get(UID_LABEL)
    return str(found) if found else None


def child(plural: str, body: Body) -> Json:
    """Return the parts of a child that decisions look at."""
    meta = body["metadata"]
    kept: Json = {"metadata": {key: meta[key] for key in _META if key in meta}}
    if plural == "configmaps":
        kept["progress"] = (body.get("data") or {}).get(KEY_PROGRESS)
    elif plural == "endpointslices":
        kept["ready"] = _ready(body)
        kept["service"] = (meta.get("labels") or {}).get("kubernetes.io/service-name")
    elif plural == "jobs":
        kept |= {"spec": {"suspend": body["spec"].get("suspend", False)}, "status": dict(body.get("status") or {})}
    elif plural == "pods":
        kept |= {"spec": {"nodeName": body["spec"].get("nodeName")}, "status": _pod_status(body.get("status") or {})}
    else:
        kept["status"] = dict(body.get("status") or {})
    return kept


def forget_record(benchmark: Any) -> None:
    """Drop the spec and the numbers of a Benchmark that is over, in place.

    kopf keeps the last object it saw of every Benchmark for as long as that exists; a record takes 0.1 MiB.
    """
    phase = (benchmark.get("status") or {}).get("phase")
    benchmark.pop("spec", None)
    benchmark["metadata"].pop("managedFields", None)
    benchmark["status"] = {"phase": phase}


def step_of(thing: Json) -> str:
    """Return the step that a child belongs to."""
    return str(thing["metadata"].get("labels", {}).get(STEP_LABEL, ""))


@dataclass(frozen=True)
class Summary:
    """A Benchmark as the queue and the metrics see it."""

    uid: str
    name: str
    created: str
    phase: str
    admitted: bool
    lines_up: bool
    """is or will at once be waiting for a place: not in its track check, not suspended, not over"""
    hosts: frozenset[str] = frozenset()
    """existing hosts that it races against"""

    def waiting(self, *, reserved: bool) -> Waiting:
        """Return its place in the queue; `reserved` says that its admission is being written."""
        holds = (self.admitted or reserved) and self.phase not in TERMINAL
        return Waiting(self.uid, self.name, self.created, admitted=holds, queued=self.lines_up, hosts=self.hosts)


def summary(body: Body) -> Summary:
    """Return the summary of a Benchmark."""
    meta, status = body["metadata"], body.get("status") or {}
    phase, admitted = str(status.get("phase") or "Pending"), bool(status.get("admittedTime"))
    spec = body.get("spec") or {}
    suspended = bool(spec.get("suspend"))
    return Summary(
        uid=str(meta["uid"]),
        name=f"{meta['namespace']}/{meta['name']}",
        created=str(meta["creationTimestamp"]),
        phase=phase,
        admitted=admitted,
        lines_up=phase not in TERMINAL and not admitted and not suspended and not status.get("step"),
        hosts=addresses((spec.get("target") or {}).get("hosts") or (), str(meta["namespace"])),
    )


def steps_so_far(status: BenchmarkStatus) -> tuple[str, ...]:
    """Return the steps whose records may be there: the current one, and the races before it."""
    current = status.step.name if status.step else CHECK
    return (*(race.name for race in status.races if race.valid and race.name != current), current)


def _ready(body: Body) -> int:
    return sum(
        len(endpoint.get("addresses") or ())
        for endpoint in body.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
    )


def _pod_status(status: Mapping[str, Any]) -> Json:
    kept = ("phase", "reason", "message", "conditions", "containerStatuses", "initContainerStatuses", "qosClass")
    return {key: status[key] for key in kept if key in status}
