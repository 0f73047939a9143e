"""Whether Elasticsearch works, and why it may not go on: what is asked while a race runs and seems to stand still.

The functions that read are pure; the others ask.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fairlap_race.elasticsearch.answers import dig, in_list, in_mapping, whole_number
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError

_OF_DISKS = "disk_threshold"
"""Elasticsearch's decider of where a shard may be that looks at how full the disks are."""
_LONG_TASKS = re.compile(
    r"^indices:(admin/forcemerge|admin/shrink|admin/resize|data/write/(reindex|update/byquery|delete/byquery)|data/read/)"
    r"|^cluster:admin/(snapshot|repository)"
)


class Standstill(NamedTuple):
    """Why a cluster may not go on."""

    sentence: str
    full_disks: bool = False
    """whether full disks keep the unassigned shard from a node"""


def get_work(client: ElasticsearchClient) -> tuple[tuple[int, ...], int]:
    """Return counters that grow as Elasticsearch works, and the number of long tasks that it runs.

    Refreshes and flushes are not among them, since Elasticsearch does them on its own. Raises ElasticsearchError.
    """
    counters = "/_stats/indexing,search,merge,get,store?ignore_unavailable=true&filter_path=_all.total"
    stats = client.get(counters, timeout=5)
    recovery = client.get("/_recovery?active_only=true&filter_path=*.shards.index.size.recovered_in_bytes", timeout=5)
    tasks = client.get("/_tasks?filter_path=nodes.*.tasks.*.action", timeout=5)
    return read_work(stats, recovery, tasks)


def read_work(stats: Any, recovery: Any, tasks: Any) -> tuple[tuple[int, ...], int]:
    """Return `get_work` from the three answers."""
    paths = (
        ("indexing", "index_total"),
        ("indexing", "delete_total"),
        ("search", "query_total"),
        ("search", "scroll_total"),
        ("get", "total"),
        ("merges", "total"),
        ("merges", "total_docs"),
        ("merges", "current"),
    )
    counters = [whole_number(dig(stats, "_all", "total", *path)) or 0 for path in paths]
    copied = 0
    for index in in_mapping(recovery):
        for shard in in_list(dig(index, "shards")):
            copied += whole_number(dig(shard, "index", "size", "recovered_in_bytes")) or 0
    names = [
        str(dig(task, "action") or "")
        for node in in_mapping(dig(tasks, "nodes"))
        for task in in_mapping(dig(node, "tasks"))
    ]
    merging = counters[-1]
    return (*counters, copied), merging + sum(1 for name in names if _LONG_TASKS.match(name))


def explain_standstill(client: ElasticsearchClient) -> Standstill:
    """Return why the cluster may not go on: its health, and why a shard is unassigned."""
    try:
        health = client.get("/_cluster/health", timeout=5)
    except ElasticsearchError as error:
        return Standstill(str(error))
    return read_standstill(health, _unassigned(client) if dig(health, "unassigned_shards") else None)


def read_standstill(health: Any, why: Any) -> Standstill:
    """Return `explain_standstill` from the answers of the health and the allocation explain API; None for no answer."""
    text = f"cluster health is {dig(health, 'status')}, {dig(health, 'unassigned_shards')} shards unassigned"
    index = f" (index {dig(why, 'index')})" if dig(why, "index") else ""
    deciders = [decider for node in _refusals(why) for decider in node]
    if not deciders:
        return Standstill(text)
    told = dict.fromkeys(str(dig(decider, "explanation")) for decider in deciders)
    full = any(dig(decider, "decider") == _OF_DISKS for decider in deciders)
    return Standstill(f"{text}{index}: {'; '.join(told)}"[:1500], full)


def find_full_disks(client: ElasticsearchClient) -> str:
    """Return Elasticsearch's words when full disks, and nothing else, keep a primary shard from every node; else ""."""
    return read_full_disks(_unassigned(client))


def read_full_disks(why: Any) -> str:
    """Return `find_full_disks` from the answer of the allocation explain API."""
    nodes = _refusals(why)
    disks_alone = all({str(dig(decider, "decider")) for decider in node} == {_OF_DISKS} for node in nodes)
    if not (nodes and disks_alone and dig(why, "primary") and dig(why, "can_allocate") == "no"):
        return ""
    found = dict.fromkeys(str(dig(decider, "explanation")) for node in nodes for decider in node)
    return f"index {dig(why, 'index')}: {'; '.join(found)}"[:1500]


def _unassigned(client: ElasticsearchClient) -> Any:
    try:
        return client.get("/_cluster/allocation/explain", timeout=5)
    except ElasticsearchError:  # which is also the answer when every shard has its place
        return None


def _refusals(why: Any) -> list[list[Any]]:
    """Return for each node those of its deciders that said no."""
    nodes = in_list(dig(why, "node_allocation_decisions"))
    return [[it for it in in_list(dig(node, "deciders")) if dig(it, "decision") == "NO"] for node in nodes]
