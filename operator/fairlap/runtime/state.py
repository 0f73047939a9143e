"""What the operator's parts share: the settings, the connections, the queue, and what is done beside races."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from fairlap.api.base import Json
from fairlap.kube.api_server import ApiServer
from fairlap.kube.events import Events
from fairlap.kube.index import UidIndex
from fairlap.machines.prometheus import Prometheus
from fairlap.queue.places import Places
from fairlap.queue.wakers import Wakers
from fairlap.runtime.chores import Chores, PostEvent
from fairlap.settings import Settings


@dataclass
class Operator:
    """One operator, from its start to its end."""

    settings: Settings
    api_server: ApiServer | None = None
    prometheus: Prometheus | None = None
    wakers: Wakers = field(default_factory=Wakers)
    elasticsearches: UidIndex | None = None
    background: list[asyncio.Task[None]] = field(default_factory=list)
    """what is repeated beside everything else"""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """ends kopf; set by the lease's loss and, since kopf waits for those who wait for it, at every end"""

    def __post_init__(self) -> None:
        """Set up the queue, and what is done beside races."""
        most, checks, share = self.settings.max_active, self.settings.max_checks, self.settings.max_active_per_namespace
        self.places = Places(most, self.wakers.wake, self.wakers.wake_everyone, checks, share)
        self.events = Events(self.connection)
        self.post_event: PostEvent = self.events.post
        self.chores = Chores(self.post_event, self.connection, self._clusters_of, self._names_in)

    def connection(self) -> ApiServer:
        """Return the connection to the API server."""
        assert self.api_server is not None  # noqa: S101 - kopf runs handlers after startup
        return self.api_server

    def kept(self, elasticsearches: UidIndex) -> dict[str, str]:
        """Return the names of the Benchmarks that are over and whose clusters are still there, by uid."""
        if not self.settings.avoid_kept_clusters:
            return {}
        return {uid: name for uid in elasticsearches if (name := self.places.over(uid))}

    def phases(self) -> Iterator[str]:
        """Yield the phase of each known Benchmark."""
        return (summary.phase for summary in self.places.benchmarks())

    def _clusters_of(self, uid: str) -> list[Json]:
        return list(self.elasticsearches.get(uid, ())) if self.elasticsearches is not None else []

    def _names_in(self, namespace: str) -> set[str]:
        prefix = f"{namespace}/"
        names = (summary.name for summary in self.places.benchmarks())
        return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
