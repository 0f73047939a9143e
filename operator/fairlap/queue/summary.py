"""What the queue and the metrics keep of a Benchmark, so that thousands fit into memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from fairlap.api.condition_types import ConditionType
from fairlap.api.status import TERMINAL, BenchmarkStatus
from fairlap.queue.turn import addresses

CHECK: Final = "check"
"""the step that a place among the track checks is for"""
Place = Literal["race", "check"]
"""what a Benchmark may hold: a place for its clusters and races until it has ended, or one for its track check"""


@dataclass(frozen=True)
class Summary:
    """A Benchmark as the queue and the metrics see it."""

    uid: str
    name: str
    """namespace/name"""
    since: str
    """when it lined up, ISO-8601 in UTC: its creationTimestamp, or later when it has given its place up"""
    phase: str
    admitted: bool
    """its status says that it holds a place for races"""
    lines_up: bool
    """is or will at once be waiting for a place: not in its track check or before it, not suspended, not over"""
    hosts: frozenset[str] = frozenset()
    """existing hosts that it races against"""
    checks: bool = False
    """its status says that it is in its track check and holds a place for that"""
    awaits_check: bool = False
    """is waiting for a place for its track check"""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.phase in TERMINAL

    def says_it_holds(self, place: Place) -> bool:
        """Return whether its status says that it holds such a place."""
        return self.admitted if place == "race" else self.checks

    def waits_for(self, place: Place) -> bool:
        """Return whether it is in line for such a place."""
        return self.lines_up if place == "race" else self.awaits_check


def held_place(status: BenchmarkStatus) -> Place | None:
    """Return the place that a status says is held; on an existing cluster the check is made in the place for races."""
    if status.admitted_time:
        return "race"
    return CHECK if status.step and status.step.name == CHECK else None


def summarize(body: Mapping[str, Any]) -> Summary:
    """Return the summary of a Benchmark, whatever its spec and status hold: whoever calls has others to look after."""
    meta, status, spec = body["metadata"], _mapping(body.get("status")), _mapping(body.get("spec"))
    phase, admitted = str(status.get("phase") or "Pending"), bool(status.get("admittedTime"))
    hosts = _mapping(spec.get("target")).get("hosts")
    waits = phase not in TERMINAL and not admitted and not spec.get("suspend") and not status.get("step")
    unchecked = _is_unchecked(spec, status)
    return Summary(
        uid=str(meta["uid"]),
        name=f"{meta['namespace']}/{meta['name']}",
        since=str(status.get("queuedTime") or meta["creationTimestamp"]),
        phase=phase,
        admitted=admitted,
        lines_up=waits and not unchecked,
        hosts=addresses(map(str, hosts), str(meta["namespace"])) if isinstance(hosts, list) else frozenset(),
        checks=not admitted and _mapping(status.get("step")).get("name") == CHECK,
        awaits_check=waits and unchecked,
    )


def _mapping(part: Any) -> Mapping[str, Any]:
    return part if isinstance(part, Mapping) else {}


def _is_unchecked(spec: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Return whether the first step will be a track check with a place of its own.

    The first status that is written says of a track that needs no check that it is accepted; before that status
    nothing is known.
    """
    listed = status.get("conditions")
    conditions = [_mapping(each) for each in listed] if isinstance(listed, list) else []
    accepted = any(c.get("type") == ConditionType.ACCEPTED and c.get("status") == "True" for c in conditions)
    return bool(status.get("phase")) and not (spec.get("target") or status.get("finishedStep") or accepted)
