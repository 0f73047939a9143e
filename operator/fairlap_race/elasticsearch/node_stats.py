"""What Elasticsearch's node stats and a control group say at one moment, as numbers by signal (see `series`).

Reading node stats is pure. Every version from 6.0 on answers `STATS_PATH`; what a version, a file system or a control
group lacks is simply absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlap_race.contract.resources import Volume
from fairlap_race.elasticsearch.evidence import dig
from fairlap_race.linux.cgroup import MANY_BYTES, ROOT

_WANTED = (
    *("name", "jvm.mem.heap_used_in_bytes", "jvm.gc.collectors.*.collection_*", "process.cpu.total_in_millis"),
    *("os.cgroup.cpuacct.usage_nanos", "os.cgroup.cpu.cfs_*", "os.cgroup.cpu.stat", "os.cgroup.memory"),
    "fs.io_stats.total",
)
STATS_PATH = "/_nodes/stats/jvm,os,process,fs?filter_path=" + ",".join(f"nodes.*.{name}" for name in _WANTED)
FS_PATH = "/_nodes/stats/fs?filter_path=nodes.*.name,nodes.*.fs.data"
DISK_NOTE = "disk: what the whole device that holds the data did, not Elasticsearch alone"
PRESSURE_NOTE = "pressure: of the whole machine; the control group has none of its own"
PROCESS_NOTE = "cpu: of Elasticsearch's process; its control group could not be read by Elasticsearch"
_GROWING = (
    ("throttled_periods", 1.0, ("os", "cgroup", "cpu", "stat", "number_of_times_throttled")),
    ("throttled_seconds", 1e-9, ("os", "cgroup", "cpu", "stat", "time_throttled_nanos")),
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
)


@dataclass(frozen=True)
class Sample:
    """One look at one machine."""

    values: Mapping[str, float] = field(default_factory=dict)
    cpu_limit: float | None = None
    memory_limit_bytes: float | None = None
    notes: tuple[str, ...] = ()


def node_samples(stats: Any) -> dict[str, Sample]:
    """Return node name -> sample from an answer to `STATS_PATH`."""
    return {str(dig(node, "name") or key): _node(node) for key, node in (dig(stats, "nodes") or {}).items()}


def _node(node: Any) -> Sample:
    values, notes = {}, []
    for signal, factor, path in _GROWING:
        number = _number(dig(node, *path))
        if number is not None:
            values[signal] = number * factor
    nanos, millis = (
        _number(dig(node, "os", "cgroup", "cpuacct", "usage_nanos")),
        _number(dig(node, "process", "cpu", "total_in_millis")),
    )
    if nanos is not None:
        values["cpu_seconds"] = nanos * 1e-9
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


def own_sample(root: Path = ROOT, proc: Path = Path("/proc")) -> Sample:
    """Return what this container's control group and network say now; works for both versions of control groups."""
    values = _version_2(root) if (root / "cgroup.controllers").exists() else _version_1(root)
    values |= _network(proc / "net/dev")
    known = {name: value for name, value in values.items() if value is not None}
    if "cpu_waiting" in known:
        return Sample(known)
    machine = {name: value for name, value in _pressures(proc / "pressure", "").items() if value is not None}
    return Sample({**known, **machine}, notes=(PRESSURE_NOTE,) if machine else ())


def _version_2(root: Path) -> dict[str, float | None]:
    cpu, memory, disk = _pairs(root / "cpu.stat"), _pairs(root / "memory.stat"), _io_stat(root / "io.stat")
    now = _whole(root / "memory.current")
    values = {
        "cpu_seconds": _times(cpu.get("usage_usec"), 1e-6),
        "throttled_periods": cpu.get("nr_throttled"),
        "throttled_seconds": _times(cpu.get("throttled_usec"), 1e-6),
        "faults": memory.get("pgfault"),
        "major_faults": memory.get("pgmajfault"),
        "memory_bytes": now,
        "working_set_bytes": _less(now, memory.get("inactive_file")),
        "page_cache_bytes": memory.get("file"),
        **disk,
    }
    return values | _pressures(root, ".pressure")


def _pressures(folder: Path, suffix: str) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for resource in ("cpu", "memory", "io"):
        some, full = _pressure(folder / f"{resource}{suffix}")
        values[f"{resource}_waiting"] = some
        if resource != "cpu":
            values[f"{resource}_stalled"] = full
    return values


def _version_1(root: Path) -> dict[str, float | None]:
    cpu, memory = _pairs(root / "cpu/cpu.stat"), _pairs(root / "memory/memory.stat")
    now = _whole(root / "memory/memory.usage_in_bytes")
    operations, moved = (_blkio(root / f"blkio/blkio.throttle.{name}") for name in ("io_serviced", "io_service_bytes"))
    return {
        "cpu_seconds": _times(_whole(root / "cpuacct/cpuacct.usage"), 1e-9),
        "throttled_periods": cpu.get("nr_throttled"),
        "throttled_seconds": _times(cpu.get("throttled_time"), 1e-9),
        "faults": memory.get("total_pgfault"),
        "major_faults": memory.get("total_pgmajfault"),
        "memory_bytes": now,
        "working_set_bytes": _less(now, memory.get("total_inactive_file")),
        "page_cache_bytes": memory.get("total_cache"),
        "disk_reads": operations.get("Read"),
        "disk_read_bytes": moved.get("Read"),
        "disk_writes": operations.get("Write"),
        "disk_write_bytes": moved.get("Write"),
    }


def _io_stat(path: Path) -> dict[str, float | None]:
    keys = {"rbytes": "disk_read_bytes", "wbytes": "disk_write_bytes", "rios": "disk_reads", "wios": "disk_writes"}
    if not path.exists():
        return {}
    sums: dict[str, float | None] = dict.fromkeys(keys.values(), 0.0)
    for line in _text(path).splitlines():
        for word in line.split()[1:]:
            key, _, value = word.partition("=")
            if key in keys and value.isdecimal():
                sums[keys[key]] = (sums[keys[key]] or 0.0) + int(value)
    return sums


def _blkio(path: Path) -> dict[str, float]:
    """Return direction -> sum over the devices; nothing without a device, since many kernels never count here."""
    found = [words for line in _text(path).splitlines() if len(words := line.split()) == 3 and words[2].isdecimal()]
    return {way: float(sum(int(w[2]) for w in found if w[1] == way)) for way in ("Read", "Write")} if found else {}


def _pressure(path: Path) -> tuple[float | None, float | None]:
    """Return the seconds in which some and in which all tasks waited, from a PSI file."""
    found = {}
    for line in _text(path).splitlines():
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if total.isdecimal():
            found[kind] = int(total) * 1e-6
    return found.get("some"), found.get("full")


def _network(path: Path) -> dict[str, float | None]:
    received = sent = 0.0
    lines = [line for line in _text(path).splitlines() if ":" in line]
    for line in lines:
        name, _, rest = line.partition(":")
        numbers = rest.split()
        if name.strip() != "lo" and len(numbers) >= 9:
            received += int(numbers[0])
            sent += int(numbers[8])
    return {"network_received_bytes": received, "network_sent_bytes": sent} if lines else {}


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _less(value: float | None, part: float | None) -> float | None:
    return None if value is None or part is None else max(0.0, value - part)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _whole(path: Path) -> float | None:
    text = _text(path)
    return float(text) if text.isdecimal() else None


def _pairs(path: Path) -> dict[str, float]:
    return {
        name: float(value)
        for name, _, value in (line.partition(" ") for line in _text(path).splitlines())
        if value.isdecimal()
    }
