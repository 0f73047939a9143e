"""Elasticsearch's own counters of searches and of rejected requests, and how they grew between two looks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from fairlap_race.contract.recorded.cluster_course import TaskCaches
from fairlap_race.elasticsearch.answers import dig, whole_number
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.course import CACHES_PATH, read_caches

_INDICES = (
    "/_stats/search,segments?ignore_unavailable=true&filter_path=indices.*.total.search.query_total,"
    "indices.*.total.search.suggest_total,indices.*.total.segments.index_writer_memory_in_bytes"
)
_POOLS = "nodes.*.thread_pool.write.rejected,nodes.*.thread_pool.search.rejected"
_PRESSURE = ("coordinating", "primary", "replica")
_NODES = (
    f"/_nodes/stats/thread_pool,indexing_pressure?filter_path={_POOLS},"
    + ",".join(f"nodes.*.indexing_pressure.memory.total.{it}_rejections" for it in _PRESSURE),
    f"/_nodes/stats/thread_pool?filter_path={_POOLS}",
)
"""The second one before 7.9."""
_OF_A_SEARCH = ("routing", "preference", "ignore_unavailable", "allow_no_indices", "expand_wildcards")
TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True)
class RequestCounters:
    """What Elasticsearch had done at one moment."""

    queries: Mapping[str, int] = field(default_factory=dict)
    """index -> searches of its shards"""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """index -> bytes of documents that a search does not find yet"""
    rejected: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """node -> writes and searches that it rejected"""
    caches: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """node -> counter of `TaskCaches` -> value"""


def ask_counters(client: ElasticsearchClient) -> RequestCounters:
    """Return the counters as they are. Raises ElasticsearchError."""
    stats, nodes = _first(client, f"{_INDICES}&expand_wildcards=all", _INDICES), _first(client, *_NODES)
    return replace(read_counters(stats, nodes), caches=read_caches(client.get(CACHES_PATH, TIMEOUT_SECONDS)))


def _first(client: ElasticsearchClient, *paths: str) -> Any:
    """GET the first path, or the next where this version does not know what the one before asks for."""
    for path in paths[:-1]:
        try:
            return client.get(path, TIMEOUT_SECONDS)
        except ElasticsearchError as error:
            if error.status != 400:
                raise
    return client.get(paths[-1], TIMEOUT_SECONDS)


def read_counters(stats: Any, nodes: Any) -> RequestCounters:
    """Return the counters in answers to `_stats/search,segments` and `_nodes/stats`. Pure; never raises."""
    indices = dig(stats, "indices") or {}
    rejected = {}
    for key, node in (dig(nodes, "nodes") or {}).items():
        writes = whole_number(dig(node, "thread_pool", "write", "rejected"))
        searches = whole_number(dig(node, "thread_pool", "search", "rejected"))
        if writes is None or searches is None:
            continue
        pressure = dig(node, "indexing_pressure", "memory", "total")
        more = sum(whole_number(dig(pressure, f"{it}_rejections")) or 0 for it in _PRESSURE)
        rejected[str(key)] = writes + more, searches
    # A search for suggestions alone is no query to Elasticsearch, and has a counter of its own.
    queries, suggesting = (_numbers(indices, "search", f"{kind}_total") for kind in ("query", "suggest"))
    return RequestCounters(
        queries={name: count + suggesting.get(name, 0) for name, count in queries.items()},
        waiting=_numbers(indices, "segments", "index_writer_memory_in_bytes"),
        rejected=rejected,
    )


def _numbers(indices: Any, *path: str) -> dict[str, int]:
    found = {str(name): whole_number(dig(index, "total", *path)) for name, index in indices.items()}
    return {name: value for name, value in found.items() if value is not None}


def queries_between(start: RequestCounters, end: RequestCounters, indices: Collection[str]) -> int | None:
    """Return how many searches of shards there were in `indices` between two looks; None when that cannot be told.

    An index that was deleted or closed meanwhile has taken its count with it, and one that the user may search but not
    monitor shows none; one that was made again, or a copy of a shard that moved to another node, counts from zero.
    """
    if set(indices) - set(end.queries):
        return None
    grown = [end.queries.get(name, 0) - start.queries.get(name, 0) for name in indices]
    return None if any(it < 0 for it in grown) else sum(grown)


def rejected_between(start: RequestCounters, end: RequestCounters) -> tuple[int | None, int | None]:
    """Return the writes and the searches that were rejected between two looks; None when a node came or went."""
    if set(start.rejected) != set(end.rejected) or not end.rejected:
        return None, None
    found = []
    for kind in (0, 1):
        grown = [end.rejected[node][kind] - start.rejected[node][kind] for node in end.rejected]
        found.append(None if any(it < 0 for it in grown) else sum(grown))
    return found[0], found[1]


def caches_between(start: RequestCounters, end: RequestCounters, task: str) -> TaskCaches | None:
    """Return what the caches did between two looks, in which `task` ran alone.

    None when a node came, went or began anew; what a version does not count stays unknown.
    """
    if set(start.caches) != set(end.caches) or not end.caches:
        return None
    sums: dict[str, Any] = {}
    for node, after in end.caches.items():
        before = start.caches[node]
        for name in set(before) & set(after):
            if (grown := after[name] - before[name]) < 0:
                return None
            sums[name] = sums.get(name, 0) + round(grown)
    return TaskCaches(task, whole=True, **sums)


def ask_shards(client: ElasticsearchClient, index: str, path: str) -> dict[str, int]:
    """Return to how many shards of which indices a search of `index` goes, whose request has the path `path`.

    Raises ElasticsearchError, as where a part of `index` is on another cluster.
    """
    query = [(name, value) for name, value in parse_qsl(urlsplit(path).query) if name in _OF_A_SEARCH]
    asked = urlencode([*query, ("filter_path", "shards.index")])
    groups = dig(client.get(f"/{index}/_search_shards?{asked}", TIMEOUT_SECONDS), "shards")
    found: dict[str, int] = {}
    for group in groups if isinstance(groups, list) else ():
        name = next((str(it["index"]) for it in group if isinstance(it, Mapping) and "index" in it), None)
        if name is not None:
            found[name] = found.get(name, 0) + 1
    return found
