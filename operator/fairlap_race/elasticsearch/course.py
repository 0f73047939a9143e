"""What Elasticsearch says of its course: missing copies of shards, recoveries, nodes that came back, caches, merges.

The functions that read are pure, and read what every version from 6.0 on answers; what a version lacks stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.recorded.cluster_course import NodeRequests, Recovery
from fairlap_race.contract.recorded.record import timestamp
from fairlap_race.elasticsearch.answers import dig, whole_number

HEALTH_PATH = (
    "/_cluster/health?filter_path=number_of_nodes,active_shards,relocating_shards,initializing_shards,unassigned_shards"
)
SHARDS_PATH = "/_cat/shards?format=json&h=index,prirep,state,unassigned.reason"
CACHES_PATH = (
    "/_nodes/stats/indices/query_cache,request_cache?filter_path=nodes.*.name,nodes.*.indices.query_cache,"
    "nodes.*.indices.request_cache"
)
_OF_NODES = (
    *("name", "timestamp", "http.total_opened", "http.clients.agent", "http.clients.request_count"),
    "discovery.published_cluster_states",
)
NODES_PATH = "/_nodes/stats/http,discovery?filter_path=" + ",".join(f"nodes.*.{name}" for name in _OF_NODES)
COORDINATION_PATH = "/_cluster/state/metadata,master_node?filter_path=master_node,metadata.cluster_coordination.term"
_OF_RECOVERIES = ("id", "type", "primary", "start_time_in_millis", "stop_time_in_millis", "source.name", "target.name")
RECOVERY_PATH = "/_recovery?filter_path=" + ",".join(f"*.shards.{name}" for name in _OF_RECOVERIES)
ADDRESSES_PATH = "/_nodes/http?filter_path=nodes.*.name,nodes.*.http.publish_address"
MERGES_PATH = "/_stats/merge?ignore_unavailable=true&filter_path=indices.*.total.merges.current"
_CLIENTS = "elasticsearch-py"
"""The agent of Rally's requests begins so, in all its releases; the runner's own are of another library."""
_COPIED = ("PEER", "EXISTING_STORE")
"""Kinds of recovery that a new index has none of, except its replicas."""
CACHE_COUNTERS: Mapping[str, tuple[str, str]] = {
    "request_hits": ("request_cache", "hit_count"),
    "request_misses": ("request_cache", "miss_count"),
    "request_evictions": ("request_cache", "evictions"),
    "query_hits": ("query_cache", "hit_count"),
    "query_misses": ("query_cache", "miss_count"),
    "query_evictions": ("query_cache", "evictions"),
}


@dataclass(frozen=True)
class NodeMark:
    """What one node has counted since its start."""

    requests: int | None = None
    """of Rally's clients, as far as it remembers them"""
    opened: int | None = None
    """connections"""
    joins: int | None = None
    """whole cluster states that it was sent: one for each time that it joined"""
    ahead_seconds: float = 0.0
    """of its clock, against the one here"""


@dataclass(frozen=True)
class Mark:
    """What the cluster had counted at one moment."""

    nodes: Mapping[str, NodeMark] = field(default_factory=dict)
    term: int | None = None
    """number of the master's election"""
    master: str | None = None
    """id of the node that is master"""
    ids: Mapping[str, str] = field(default_factory=dict)
    """node name -> id"""


def read_mark(nodes: Any, coordination: Any, at: float) -> Mark:
    """Return the mark in answers to `NODES_PATH` and `COORDINATION_PATH`; asked at `at`, seconds since the epoch."""
    listed = dig(nodes, "nodes") or {}
    return Mark(
        nodes={str(dig(node, "name") or key): _node_mark(node, at) for key, node in listed.items()},
        term=whole_number(dig(coordination, "metadata", "cluster_coordination", "term")),
        master=dig(coordination, "master_node"),
        ids={str(dig(node, "name") or key): str(key) for key, node in listed.items()},
    )


def _node_mark(node: Any, at: float) -> NodeMark:
    clients, states = dig(node, "http", "clients"), dig(node, "discovery", "published_cluster_states")
    rallys = [
        whole_number(dig(each, "request_count")) or 0
        for each in (clients if isinstance(clients, list) else ())
        if str(dig(each, "agent") or "").startswith(_CLIENTS)
    ]
    full, unfit = whole_number(dig(states, "full_states")), whole_number(dig(states, "incompatible_diffs"))
    told = whole_number(dig(node, "timestamp"))
    return NodeMark(
        requests=sum(rallys) if isinstance(clients, list) else None,
        opened=whole_number(dig(node, "http", "total_opened")),
        # A node that cannot apply a difference is sent the whole state, too.
        joins=None if full is None else full - (unfit or 0),
        ahead_seconds=0.0 if told is None else told / 1000 - at,
    )


def rejoined(start: Mark, end: Mark) -> tuple[str, ...] | None:
    """Return the nodes that joined anew between two marks; None when Elasticsearch does not tell.

    A master sends itself whole states at will, so that of one, its elections tell instead.
    """
    masters = {start.master, end.master} - {None}
    both = [
        (name, start.nodes[name].joins, mark.joins)
        for name, mark in end.nodes.items()
        if name in start.nodes and end.ids.get(name) not in masters and start.ids.get(name) not in masters
    ]
    if (
        not masters
        or not start.nodes
        or not end.nodes
        or any(earlier is None or later is None for _, earlier, later in both)
    ):
        return None
    return tuple(sorted(name for name, earlier, later in both if (later or 0) > (earlier or 0)))


def elections(start: Mark, end: Mark) -> int | None:
    """Return how often a master was elected between two marks; None when Elasticsearch does not tell."""
    return None if start.term is None or end.term is None else max(0, end.term - start.term)


def requests(start: Mark, end: Mark) -> tuple[NodeRequests, ...]:
    """Return what each node took over HTTP between two marks, by name."""
    return tuple(
        NodeRequests(name, _more(start.nodes.get(name, NodeMark(0, 0)).requests, mark.requests),
                     _more(start.nodes.get(name, NodeMark(0, 0)).opened, mark.opened))
        for name, mark in sorted(end.nodes.items())
    )  # fmt: skip


def _more(start: int | None, end: int | None) -> int | None:
    # A node that restarted counts from zero.
    return None if start is None or end is None else end - start if end >= start else end


def read_missing(shards: Any) -> dict[tuple[str, bool, str], int]:
    """Return (index, whether primary, why) -> copies that are not started, from an answer to `SHARDS_PATH`."""
    found: dict[tuple[str, bool, str], int] = {}
    for row in shards if isinstance(shards, list) else ():
        if dig(row, "state") in ("UNASSIGNED", "INITIALIZING"):
            key = (str(dig(row, "index")), dig(row, "prirep") == "p", str(dig(row, "unassigned.reason") or ""))
            found[key] = found.get(key, 0) + 1
    return found


def read_sizes(shards: Any) -> dict[str, tuple[int, int]]:
    """Return index -> its shards, and the replicas that each is to have, from an answer to `SHARDS_PATH`."""
    found: dict[str, list[int]] = {}
    for row in shards if isinstance(shards, list) else ():
        found.setdefault(str(dig(row, "index")), [0, 0])[dig(row, "prirep") != "p"] += 1
    return {index: (primaries, replicas // primaries) for index, (primaries, replicas) in found.items() if primaries}


def read_recoveries(answer: Any, since: float, mark: Mark) -> tuple[Recovery, ...]:
    """Return the recoveries that began after `since` (seconds since the epoch, here), by the times of this clock."""
    found = []
    for index, of_index in (answer if isinstance(answer, Mapping) else {}).items():
        for it in dig(of_index, "shards") or ():
            kind, target = str(dig(it, "type") or "").upper(), dig(it, "target", "name")
            began, ended = (whole_number(dig(it, f"{name}_time_in_millis")) for name in ("start", "stop"))
            ahead = mark.nodes.get(str(target), NodeMark()).ahead_seconds
            if kind in _COPIED and began and began / 1000 - ahead > since:
                found.append(
                    Recovery(
                        index=str(index), shard=whole_number(dig(it, "id")), primary=dig(it, "primary") is True,
                        kind=kind, source=dig(it, "source", "name"), target=target,
                        began_at=timestamp(began / 1000 - ahead),
                        ended_at=timestamp(ended / 1000 - ahead) if ended else None,
                    )
                )  # fmt: skip
    return tuple(sorted(found, key=lambda each: (each.began_at or "", each.index, each.shard or 0)))


def read_caches(stats: Any) -> dict[str, dict[str, float]]:
    """Return node name -> counter -> value from an answer to `CACHES_PATH`."""
    return {
        str(dig(node, "name") or key): {
            counter: float(value)
            for counter, path in CACHE_COUNTERS.items()
            if (value := whole_number(dig(node, "indices", *path))) is not None
        }
        for key, node in (dig(stats, "nodes") or {}).items()
    }


def read_merging(stats: Any, is_of_the_race: Any) -> int:
    """Return how many merges run in the race's own indices, from an answer to `MERGES_PATH`."""
    return sum(
        whole_number(dig(index, "total", "merges", "current")) or 0
        for name, index in (dig(stats, "indices") or {}).items()
        if is_of_the_race(name)
    )


def read_addresses(nodes: Any) -> tuple[str, ...]:
    """Return the addresses in an answer to `ADDRESSES_PATH`, without ports, in the order of the nodes' names.

    Elasticsearch writes NAME/ADDRESS:PORT or ADDRESS:PORT, with brackets about an address of IPv6.
    """
    found = {
        str(dig(node, "name") or ""): str(address).rpartition("/")[2].rpartition(":")[0].strip("[]")
        for node in (dig(nodes, "nodes") or {}).values()
        if (address := dig(node, "http", "publish_address"))
    }
    return tuple(found[name] for name in sorted(found, key=_with_numbers))


def _with_numbers(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]
