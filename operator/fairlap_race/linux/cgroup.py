"""CPU, memory and disk of this container from its control group, versions 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlap_race.linux.kernel_files import read_number, read_pairs, read_text, whole_number

ROOT = Path("/sys/fs/cgroup")
MANY_BYTES = 1 << 60
"""Version 1 writes 'no limit' as a number about as large as this."""


@dataclass(frozen=True)
class CgroupUsage:
    """Counters at one moment; None where the kernel does not say."""

    at: float = 0.0
    """seconds on the clock of the reader"""
    cpu_seconds: float | None = None
    throttled_periods: float | None = None
    throttled_seconds: float | None = None
    oom_kills: int | None = None


@dataclass(frozen=True)
class Limits:
    """What the container may use; None means no limit."""

    cpus: float | None = None
    memory_bytes: int | None = None


def is_version_2(root: Path = ROOT) -> bool:
    """Tell whether the control group at `root` is one of version 2."""
    return (root / "cgroup.controllers").exists()


def read_usage(now: float, root: Path = ROOT) -> CgroupUsage:
    """Return the counters of the control group at `root`, stamped with `now`."""
    cpu = _read_cpu(root)
    events = read_pairs(root / ("memory.events" if is_version_2(root) else "memory/memory.oom_control"))
    return CgroupUsage(
        at=now,
        cpu_seconds=cpu["cpu_seconds"],
        throttled_periods=cpu["throttled_periods"],
        throttled_seconds=cpu["throttled_seconds"],
        oom_kills=events.get("oom_kill"),
    )


def read_limits(root: Path = ROOT) -> Limits:
    """Return the limits of the control group at `root`."""
    if is_version_2(root):
        quota, _, period = map(whole_number, read_text(root / "cpu.max").partition(" "))
        cpus = quota / period if quota and period else None
        return Limits(cpus, known_limit(read_number(root / "memory.max")))
    quota_us, period_us = read_number(root / "cpu/cpu.cfs_quota_us"), read_number(root / "cpu/cpu.cfs_period_us")
    cpus = quota_us / period_us if quota_us and period_us and quota_us > 0 else None
    return Limits(cpus, known_limit(read_number(root / "memory/memory.limit_in_bytes")))


def known_limit(limit: int | None) -> int | None:
    """Return a memory limit in bytes, or None when the number stands for none."""
    return None if limit is None or limit >= MANY_BYTES else limit


def read_signals(root: Path = ROOT) -> dict[str, float | None]:
    """Return signal -> value (see `contract.watched_machines.series`) of the control group at `root`."""
    return _read_cpu(root) | (_read_version_2(root) if is_version_2(root) else _read_version_1(root))


def _read_cpu(root: Path) -> dict[str, float | None]:
    if is_version_2(root):
        cpu = read_pairs(root / "cpu.stat")
        used, throttled = _times(cpu.get("usage_usec"), 1e-6), _times(cpu.get("throttled_usec"), 1e-6)
    else:
        cpu = read_pairs(root / "cpu/cpu.stat")
        used = _times(read_number(root / "cpuacct/cpuacct.usage"), 1e-9)
        throttled = _times(cpu.get("throttled_time"), 1e-9)
    return {"cpu_seconds": used, "throttled_periods": cpu.get("nr_throttled"), "throttled_seconds": throttled}


def _read_version_2(root: Path) -> dict[str, float | None]:
    memory, now = read_pairs(root / "memory.stat"), read_number(root / "memory.current")
    return {
        "faults": memory.get("pgfault"),
        "major_faults": memory.get("pgmajfault"),
        "memory_bytes": now,
        "working_set_bytes": _less(now, memory.get("inactive_file")),
        "page_cache_bytes": memory.get("file"),
        **_io_stat(root / "io.stat"),
    }


def _read_version_1(root: Path) -> dict[str, float | None]:
    memory, now = read_pairs(root / "memory/memory.stat"), read_number(root / "memory/memory.usage_in_bytes")
    operations, moved = (_blkio(root / f"blkio/blkio.throttle.{name}") for name in ("io_serviced", "io_service_bytes"))
    return {
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
    for line in read_text(path).splitlines():
        for word in line.split()[1:]:
            key, _, value = word.partition("=")
            if key in keys and (number := whole_number(value)) is not None:
                sums[keys[key]] = (sums[keys[key]] or 0.0) + number
    return sums


def _blkio(path: Path) -> dict[str, float]:
    """Return direction -> sum over the devices; nothing without a device, since many kernels never count here."""
    lines = (line.split() for line in read_text(path).splitlines())
    found = [(words[1], n) for words in lines if len(words) == 3 and (n := whole_number(words[2])) is not None]
    return {way: float(sum(n for name, n in found if name == way)) for way in ("Read", "Write")} if found else {}


def _times(value: int | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _less(value: int | None, part: int | None) -> float | None:
    return None if value is None or part is None else max(0.0, value - part)
