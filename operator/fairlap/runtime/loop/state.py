"""What the operator's parts share: the settings, the connections, the queue, and what is done beside races."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from fairlap.api.base import Json
from fairlap.kube.api_server import ApiServer
from fairlap.kube.events import Events
from fairlap.kube.index import UidIndex
from fairlap.kube.shared_room import SharedRoom
from fairlap.machines.prometheus import Prometheus
from fairlap.queue.places import Places
from fairlap.queue.wakers import Wakers
from fairlap.runtime.beside.chores import Chores, PostEvent
from fairlap.runtime.beside.deleted_races import DeletedRaces
from fairlap.runtime.beside.generations import Generations
from fairlap.runtime.beside.races import Races
from fairlap.runtime.beside.slow_deletions import SlowDeletions
from fairlap.runtime.loop.last_writes import LastWrites
from fairlap.runtime.loop.object_tasks import ObjectTasks
from fairlap.runtime.objects.ownership import objects_of
from fairlap.runtime.watches.blind_watches import BlindWatches
from fairlap.runtime.watches.namespaces import Namespaces
from fairlap.settings import Settings

_LARGE_AT_ONCE: Final = 8, 4
"""altogether, and of one namespace, where requests may hang"""
_LATE_SECONDS: Final = 15
"""which no event takes on an API server that is only slow, however short the resync"""


@dataclass
class Operator:
    """One operator, from its start to its end."""

    settings: Settings
    api_server: ApiServer | None = None
    prometheus: Prometheus | None = None
    wakers: Wakers = field(default_factory=Wakers)
    elasticsearches: dict[str, UidIndex] = field(default_factory=dict)
    """the clusters, by the namespace that they were seen in; "" where all are watched together"""
    jobs: dict[str, UidIndex] = field(default_factory=dict)
    """likewise"""
    pods: dict[str, UidIndex] = field(default_factory=dict)
    """likewise"""
    gone_clusters: set[str] = field(default_factory=set)
    """the uids of clusters that no event has told the end of, and that are not there any more"""
    object_tasks: ObjectTasks = field(default_factory=ObjectTasks)
    races: Races = field(default_factory=Races)
    """the Benchmarks of Comparisons"""
    newer_defaults: dict[str, Json] = field(default_factory=dict)
    """by kind, defaults of fields of a spec that the cluster knows and this operator does not"""
    large_specs: SharedRoom = field(default_factory=lambda: SharedRoom(*_LARGE_AT_ONCE))
    """for looks that read a large spec anew, which not all that are woken at once may hold"""
    large_records: SharedRoom = field(default_factory=lambda: SharedRoom(1, 1))
    """for looks at records that take much memory, or time to be judged: one after the other"""
    last_writes: LastWrites = field(default_factory=LastWrites)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """ends the operator; set by a signal and by the lease's loss"""

    def __post_init__(self) -> None:
        """Set up the queue, and what is done beside races."""
        most, checks, share = self.settings.max_active, self.settings.max_checks, self.settings.max_active_per_namespace
        self.places = Places(most, self.wakers.wake, self.wakers.wake_everyone, checks, share)
        self.events = Events(self.connection)
        self.post_event: PostEvent = self.events.post
        watched, patience = self.settings.namespaces, self.settings.unreachable_seconds
        self.watches = BlindWatches(max(self.settings.resync_seconds, _LATE_SECONDS))
        self.namespaces = Namespaces(
            watched, patience, self.connection, self.object_tasks.allow, self.object_tasks.end_in, self._forget
        )
        self.chores = Chores(self.post_event, self.connection, self._clusters_of, self._names_in, self._left_of)
        self.generations = Generations(self.connection)
        cleanup = self.settings.cleanup_seconds
        self.deleted_races = DeletedRaces(cleanup, self._held_by, self.places.remove)
        self.slow_deletions = SlowDeletions(cleanup, self.places.set_aside, self.connection, self.post_event)

    def connection(self) -> ApiServer:
        """Return the connection to the API server."""
        assert self.api_server is not None  # noqa: S101 - made before anything asks for it
        return self.api_server

    def kept(self) -> dict[str, str]:
        """Return the names of the Benchmarks that are over and whose clusters are still there, by uid.

        Of all namespaces: a race shares its machines with none of them.
        """
        if not self.settings.avoid_kept_clusters:
            return {}
        uids = (uid for index in self.elasticsearches.values() for uid in index if self._is_there(index, uid))
        return {uid: name for uid in uids if (name := self.places.over(uid))}

    def is_in_block(self, uid: str) -> bool:
        """Return whether a Benchmark races in a Comparison's block, while others may race at the same time."""
        return self.settings.max_active > 1 and self.places.is_lent_one(uid)

    def phases(self) -> Iterator[str]:
        """Yield the phase of each known Benchmark."""
        return (summary.phase for summary in self.places.benchmarks())

    def comparison_phases(self) -> Iterator[str]:
        """Yield the phase of each known Comparison."""
        return (summary.phase for summary in self.places.comparisons())

    def end(self, uid: str) -> None:
        """End all that is done for a Benchmark or a Comparison, and forget it, but for its place in the queue."""
        self.object_tasks.end(uid)
        self.chores.forget(uid)
        self.generations.forget(uid)
        self.slow_deletions.forget(uid)
        self.wakers.drop(uid)
        self.races.remove(uid)

    def _is_there(self, index: UidIndex, uid: str) -> bool:
        return any(each["metadata"].get("uid") not in self.gone_clusters for each in index.get(uid, ()))

    def _clusters_of(self, namespace: str, uid: str) -> list[Json]:
        return _children_in(self.elasticsearches, namespace, uid)

    def _left_of(self, namespace: str, uid: str) -> list[Json]:
        """Return a Benchmark's clusters and Jobs that nobody has deleted, as last seen."""
        found = [*_children_in(self.elasticsearches, namespace, uid), *_children_in(self.jobs, namespace, uid)]
        return [each for each in found if not each["metadata"].get("deletionTimestamp")]

    def _held_by(self, namespace: str, uid: str) -> bool:
        """Return whether pods, or what has them made, of a Benchmark are still there, as last seen."""
        return any(_children_in(indexes, namespace, uid) for indexes in (self.pods, self.jobs, self.elasticsearches))

    def _forget(self, namespace: str) -> None:
        self.object_tasks.end_in(namespace)
        for indexes in (self.elasticsearches, self.jobs, self.pods):
            indexes.pop(namespace, None)
        for uid in self.places.uids_in(namespace):
            self.end(uid)
            self.watches.forget(uid)
        self.places.leave_out(namespace)

    def _names_in(self, namespace: str) -> set[str]:
        prefix = f"{namespace}/"
        names = (summary.name for summary in self.places.benchmarks())
        return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def _children_in(indexes: Mapping[str, UidIndex], namespace: str, uid: str) -> list[Json]:
    there = (indexes[seen_in] for seen_in in {namespace, ""} if seen_in in indexes)
    return [each for index in there for each in objects_of(index, namespace, uid)]
