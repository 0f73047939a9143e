"""CPU and memory of this container from its control group, versions 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlap_race.contract.record import LoadGenerator

ROOT = Path("/sys/fs/cgroup")
MANY_BYTES = 1 << 60
"""Version 1 writes 'no limit' as a number about as large as this."""


@dataclass(frozen=True)
class CgroupUsage:
    """Counters at one moment; None where the kernel does not say."""

    at: float = 0.0
    """seconds on the clock of the reader"""
    cpu_seconds: float | None = None
    throttled_periods: int | None = None
    throttled_seconds: float | None = None
    oom_kills: int | None = None


@dataclass(frozen=True)
class Limits:
    """What the container may use; None means no limit."""

    cpus: float | None = None
    memory_bytes: int | None = None


def read_usage(now: float, root: Path = ROOT) -> CgroupUsage:
    """Return the counters of the control group at `root`, stamped with `now`."""
    if (root / "cgroup.controllers").exists():
        cpu, memory = _pairs(root / "cpu.stat"), _pairs(root / "memory.events")
        return CgroupUsage(
            at=now,
            cpu_seconds=_scaled(cpu.get("usage_usec"), 1e-6),
            throttled_periods=cpu.get("nr_throttled"),
            throttled_seconds=_scaled(cpu.get("throttled_usec"), 1e-6),
            oom_kills=memory.get("oom_kill"),
        )
    cpu, memory = _pairs(root / "cpu/cpu.stat"), _pairs(root / "memory/memory.oom_control")
    return CgroupUsage(
        at=now,
        cpu_seconds=_scaled(_number(root / "cpuacct/cpuacct.usage"), 1e-9),
        throttled_periods=cpu.get("nr_throttled"),
        throttled_seconds=_scaled(cpu.get("throttled_time"), 1e-9),
        oom_kills=memory.get("oom_kill"),
    )


def read_limits(root: Path = ROOT) -> Limits:
    """Return the limits of the control group at `root`."""
    if (root / "cgroup.controllers").exists():
        quota, _, period = _text(root / "cpu.max").partition(" ")
        cpus = int(quota) / int(period) if quota.isdecimal() and period.isdecimal() else None
        return Limits(cpus, _limit(_number(root / "memory.max")))
    quota_us, period_us = _number(root / "cpu/cpu.cfs_quota_us"), _number(root / "cpu/cpu.cfs_period_us")
    cpus = quota_us / period_us if quota_us and period_us and quota_us > 0 else None
    return Limits(cpus, _limit(_number(root / "memory/memory.limit_in_bytes")))


def judge(before: CgroupUsage, after: CgroupUsage, may_use: float, busiest: float | None) -> LoadGenerator:
    """Return whether the load generator was itself the bottleneck between two readings.

    `may_use`: cores it may use; `busiest`: mean share of a core that its busiest process used, or None. It is
    saturated above 80 % of what it may use, when throttled for more than 1 % of the time, or when one process (a Rally
    worker runs on one core) used more than 90 % of a core.
    """
    wall = after.at - before.at
    cpu = _minus(after.cpu_seconds, before.cpu_seconds)
    periods = _minus(after.throttled_periods, before.throttled_periods)
    throttled = _minus(after.throttled_seconds, before.throttled_seconds)
    share = cpu / (wall * may_use) if cpu is not None and wall > 0 and may_use > 0 else None
    why = []
    if share is not None and share > 0.8:
        why.append(f"used {share:.0%} of its {may_use:g} CPUs")
    if throttled is not None and wall > 0 and throttled > 0.01 * wall:
        why.append(f"was throttled for {throttled:.1f} s in {int(periods or 0)} periods")
    if busiest is not None and busiest > 0.9:
        why.append(f"its busiest process used {busiest:.0%} of one core")
    return LoadGenerator(
        cpu_seconds=_rounded(cpu),
        wall_seconds=_rounded(wall),
        cpu_share=_rounded(share),
        throttled_periods=None if periods is None else int(periods),
        throttled_seconds=_rounded(throttled),
        saturated=bool(why),
        why="; ".join(why),
    )


def _minus(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _scaled(value: int | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _limit(value: int | None) -> int | None:
    return None if value is None or value >= MANY_BYTES else value


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.lstrip("-").isdecimal() else None


def _pairs(path: Path) -> dict[str, int]:
    found = {}
    for line in _text(path).splitlines():
        name, _, value = line.partition(" ")
        if value.isdecimal():
            found[name] = int(value)
    return found
