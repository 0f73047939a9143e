"""What Elasticsearch's node stats say now, as numbers by signal (see `contract.watched_machines.series`). Pure.

Every version from 6.0 on answers `STATS_PATH`; what a version, a file system or a control
group lacks is simply absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlap_race.contract.watched_machines.resources import Volume, note
from fairlap_race.contract.watched_machines.series import Sample
from fairlap_race.elasticsearch.answers import dig
from fairlap_race.linux.cgroup import MANY_BYTES

_WANTED = (
    *("name", "jvm.mem.heap_used_in_bytes", "jvm.gc.collectors.*.collection_*", "process.cpu.total_in_millis"),
    *("os.cgroup.cpuacct.usage_nanos", "os.cgroup.cpu.cfs_*", "os.cgroup.cpu.stat", "os.cgroup.memory"),
    *("fs.io_stats.total", "indices.merges.current", "indices.merges.total"),
)
STATS_PATH = "/_nodes/stats/jvm,os,process,fs,indices/merge?filter_path=" + ",".join(
    f"nodes.*.{name}" for name in _WANTED
)
FS_PATH = "/_nodes/stats/fs?filter_path=nodes.*.name,nodes.*.fs.data"
DISK_NOTE = note("disk", "what the whole device that holds the data did, not Elasticsearch alone")
PROCESS_NOTE = note("cpu", "of Elasticsearch's process; its control group could not be read by Elasticsearch")
MERGES_RUNNING, MERGES_ENDED = "merges_running", "merges_ended"
_GROWING = (
    ("throttled_periods", 1.0, ("os", "cgroup", "cpu", "stat", "number_of_times_throttled")),
    ("disk_reads", 1.0, ("fs", "io_stats", "total", "read_operations")),
    ("disk_read_bytes", 1024.0, ("fs", "io_stats", "total", "read_kilobytes")),
    ("disk_writes", 1.0, ("fs", "io_stats", "total", "write_operations")),
    ("disk_write_bytes", 1024.0, ("fs", "io_stats", "total", "write_kilobytes")),
    ("young_gc_count", 1.0, ("jvm", "gc", "collectors", "young", "collection_count")),
    ("young_gc_millis", 1.0, ("jvm", "gc", "collectors", "young", "collection_time_in_millis")),
    ("old_gc_count", 1.0, ("jvm", "gc", "collectors", "old", "collection_count")),
    ("old_gc_millis", 1.0, ("jvm", "gc", "collectors", "old", "collection_time_in_millis")),
    ("heap_bytes", 1.0, ("jvm", "mem", "heap_used_in_bytes")),
    ("memory_bytes", 1.0, ("os", "cgroup", "memory", "usage_in_bytes")),
    (MERGES_RUNNING, 1.0, ("indices", "merges", "current")),
    (MERGES_ENDED, 1.0, ("indices", "merges", "total")),
)


class CollectionTime(NamedTuple):
    """What one node has spent so far, in seconds."""

    seconds: float
    """on garbage collections, by the clock"""
    cpu_seconds: float | None = None
    """its processors' time, on whatever"""
    cpu_limit: float | None = None
    """how many processors it may use at once; None without a limit"""


def node_samples(stats: Any) -> dict[str, Sample]:
    """Return node name -> sample from an answer to `STATS_PATH`."""
    return {str(dig(node, "name") or key): _node(node) for key, node in (dig(stats, "nodes") or {}).items()}


def collected(samples: Mapping[str, Sample]) -> dict[str, CollectionTime]:
    """Return for each node that tells it the time of its garbage collections, its CPU time, and its CPU limit."""
    found = {}
    for node, sample in samples.items():
        told = [sample.values[name] for name in ("young_gc_millis", "old_gc_millis") if name in sample.values]
        if told:
            found[node] = CollectionTime(sum(told) / 1000, sample.values.get("cpu_seconds"), sample.cpu_limit)
    return found


def _node(node: Any) -> Sample:
    values, notes = {}, []
    for signal, factor, path in _GROWING:
        number = _number(dig(node, *path))
        if number is not None:
            values[signal] = number * factor
    used = _number(dig(node, "os", "cgroup", "cpuacct", "usage_nanos"))
    throttled = _number(dig(node, "os", "cgroup", "cpu", "stat", "time_throttled_nanos"))
    millis = _number(dig(node, "process", "cpu", "total_in_millis"))
    unit = _cgroup_unit(used, millis)
    if throttled is not None:
        values["throttled_seconds"] = throttled * unit
    if used is not None:
        values["cpu_seconds"] = used * unit
    elif millis is not None:
        values["cpu_seconds"] = millis * 1e-3
        notes.append(PROCESS_NOTE)
    if "disk_reads" in values:
        notes.append(DISK_NOTE)
    quota = _number(dig(node, "os", "cgroup", "cpu", "cfs_quota_micros"))
    period = _number(dig(node, "os", "cgroup", "cpu", "cfs_period_micros"))
    limit = _number(dig(node, "os", "cgroup", "memory", "limit_in_bytes"))
    return Sample(
        values=values,
        cpu_limit=quota / period if quota and period and quota > 0 else None,
        memory_limit_bytes=None if limit is None or limit >= MANY_BYTES else limit,
        notes=tuple(notes),
    )


def _cgroup_unit(used: float | None, process_millis: float | None) -> float:
    """Return what the control group's nanoseconds are, in seconds.

    Before 8.9 Elasticsearch hands on the microseconds of control groups v2 under that name
    (elastic/elasticsearch#96089): then a control group has used less than a hundredth of what its process has.
    """
    if used is None or process_millis is None:
        return 1e-9
    return 1e-9 if used * 1e-6 >= process_millis / 100 else 1e-6


def _number(value: Any) -> float | None:
    """Return a number of node stats; those of control groups are texts, and -1 stands for unknown."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return float(value) if value.isdecimal() else None
    return float(value) if isinstance(value, int | float) and value >= 0 else None


def volumes(stats: Any) -> tuple[Volume, ...]:
    """Return where each node keeps its data, from an answer to `FS_PATH`."""
    found = [
        Volume(
            node=str(dig(node, "name") or key),
            path=dig(data, "path"),
            mount=dig(data, "mount"),
            type=dig(data, "type"),
            total_bytes=dig(data, "total_in_bytes"),
            available_bytes=dig(data, "available_in_bytes"),
        )
        for key, node in (dig(stats, "nodes") or {}).items()
        for data in dig(node, "fs", "data") or ()
    ]
    return tuple(sorted(found, key=lambda it: (it.node, it.path or "")))
