"""What happened to the cluster while a race ran, as it is kept in the race's record."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MissingCopies:
    """Copies of an index's shards that no look between two moments saw started."""

    index: str = ""
    primary: bool = False
    copies: int = 0
    """the most that were missing at one look"""
    why: str | None = None
    """Elasticsearch's word for why they are not there yet: INDEX_CREATED, REPLICA_ADDED, NODE_LEFT …"""
    since: str | None = None
    """when this was first seen"""
    until: str | None = None
    """when this was last seen"""
    shards: int | None = None
    """of the index, as they were listed then; None of an older runner"""
    replicas: int | None = None
    """of each of them, wherever they are"""


@dataclass(frozen=True)
class Recovery:
    """A copy of a shard that was made from another node's, or from the disk, during the race."""

    index: str = ""
    shard: int | None = None
    primary: bool = False
    kind: str = ""
    """PEER (from another node) or EXISTING_STORE (from its own disk)"""
    source: str | None = None
    target: str | None = None
    began_at: str | None = None
    """by the load generator's clock"""
    ended_at: str | None = None
    """None while it goes on"""


@dataclass(frozen=True)
class NodeRequests:
    """How much of the load one node took over HTTP."""

    node: str = ""
    requests: int | None = None
    """of Rally's clients; None where Elasticsearch does not count them"""
    connections: int | None = None
    """of everybody, opened during the race"""


@dataclass(frozen=True)
class TaskCaches:
    """What the caches of the cluster did while a task ran, its warm-up included."""

    task: str = ""
    whole: bool = False
    """read before its first request and after its last one; else computed from readings every few seconds"""
    request_hits: int | None = None
    request_misses: int | None = None
    request_evictions: int | None = None
    query_hits: int | None = None
    query_misses: int | None = None
    query_evictions: int | None = None


@dataclass(frozen=True)
class ClusterCourse:
    """What happened to the cluster while the race ran; None where it could not be found out."""

    looks: int | None = None
    """how often the shards were looked at"""
    unlisted: int = 0
    """looks at which copies were missing that could not be listed"""
    fewest_nodes: int | None = None
    """that any look saw"""
    most_relocating: int | None = None
    """shards that were on their way from node to node at one look"""
    missing: tuple[MissingCopies, ...] = ()
    recoveries: tuple[Recovery, ...] | None = None
    rejoined: tuple[str, ...] | None = None
    """nodes that left the cluster and joined it again without a restart"""
    elections: int | None = None
    """of a master, during the race"""
    requests: tuple[NodeRequests, ...] = ()
    caches: tuple[TaskCaches, ...] = ()
    merging: int | None = None
    """merges that still ran when the size of the data was read"""
