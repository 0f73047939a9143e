"""What the operator's parts share: the connection, who must be woken, and what the queue cannot see in an index."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fairlap.api.base import Json
from fairlap.kube.cluster import Cluster
from fairlap.kube.events import Events
from fairlap.machines.prometheus import Prometheus
from fairlap.queue.vanished import Vanished
from fairlap.runtime.chores import Chores, Tell
from fairlap.runtime.look import Index
from fairlap.settings import Settings


@dataclass
class Operator:
    """What the handlers share: the settings, the connection, and who must be woken."""

    settings: Settings
    cluster: Cluster | None = None
    prometheus: Prometheus | None = None
    wakers: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    reserved: set[str] = field(default_factory=set)
    """uids whose admission is being written: the index does not show it yet"""
    holding: set[str] = field(default_factory=set)
    """uids that the last event showed with a place"""
    benchmarks: Index | None = None
    elasticsearches: Index | None = None
    sweep: asyncio.Task[None] | None = None
    """removes what clusters leave behind"""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """ends kopf; set by the lease's loss and, since kopf waits for those who wait for it, at every end"""

    def __post_init__(self) -> None:
        """Set up what is done beside races."""
        self.events = Events(self.connection)
        self.tell: Tell = self.events.tell
        self.vanished = Vanished(
            lambda: self.benchmarks or (),
            lambda: self.connection().benchmark_uids(self.settings.namespaces),
            self.wake_everyone,
        )
        self.chores = Chores(self.tell, self.connection, self._clusters_of, self._names_in)

    def connection(self) -> Cluster:
        """Return the connection to the API server."""
        assert self.cluster is not None  # noqa: S101 - kopf runs handlers after startup
        return self.cluster

    def _clusters_of(self, uid: str) -> list[Json]:
        return list(self.elasticsearches.get(uid, ())) if self.elasticsearches is not None else []

    def _names_in(self, namespace: str) -> set[str]:
        names = (summary.name for summaries in (self.benchmarks or {}).values() for summary in summaries)
        return {name.removeprefix(f"{namespace}/") for name in names if name.startswith(f"{namespace}/")}

    def wake_everyone(self) -> None:
        """Let every active Benchmark look again: a place in the queue may be free."""
        for waker in self.wakers.values():
            waker.set()

    def phases(self) -> Iterator[str]:
        """Yield the phase of each known Benchmark."""
        for uid, summaries in (self.benchmarks or {}).items():
            if uid not in self.vanished:
                yield from (summary.phase for summary in summaries)
