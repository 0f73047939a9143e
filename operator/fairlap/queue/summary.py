"""What the queue and the metrics keep of a Benchmark, so that thousands fit into memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlap.api.status import TERMINAL
from fairlap.queue.turn import addresses


@dataclass(frozen=True)
class Summary:
    """A Benchmark as the queue and the metrics see it."""

    uid: str
    name: str
    """namespace/name"""
    created: str
    """creationTimestamp, ISO-8601 in UTC"""
    phase: str
    admitted: bool
    """its status says that it holds a place"""
    lines_up: bool
    """is or will at once be waiting for a place: not in its track check, not suspended, not over"""
    hosts: frozenset[str] = frozenset()
    """existing hosts that it races against"""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.phase in TERMINAL


def summarize(body: Mapping[str, Any]) -> Summary:
    """Return the summary of a Benchmark, whatever its spec and status hold: whoever calls has others to look after."""
    meta, status, spec = body["metadata"], _mapping(body.get("status")), _mapping(body.get("spec"))
    phase, admitted = str(status.get("phase") or "Pending"), bool(status.get("admittedTime"))
    hosts = _mapping(spec.get("target")).get("hosts")
    suspended = bool(spec.get("suspend"))
    return Summary(
        uid=str(meta["uid"]),
        name=f"{meta['namespace']}/{meta['name']}",
        created=str(meta["creationTimestamp"]),
        phase=phase,
        admitted=admitted,
        lines_up=phase not in TERMINAL and not admitted and not suspended and not status.get("step"),
        hosts=addresses(map(str, hosts), str(meta["namespace"])) if isinstance(hosts, list) else frozenset(),
    )


def _mapping(part: Any) -> Mapping[str, Any]:
    return part if isinstance(part, Mapping) else {}
