"""Whether the load generator itself was the bottleneck of a race, from its own CPU. Pure."""

from __future__ import annotations

from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.recorded.record import LoadGenerator
from fairlap_race.linux.cgroup import CgroupUsage

CPU_SHARE, PROCESS_SHARE, THROTTLED_SHARE = 0.8, 0.9, 0.01
"""Of the CPU that it may use, of one core for one process, and of the time: more of one of these saturates it."""


def judge_load_generator(
    before: CgroupUsage, after: CgroupUsage, may_use: float, busiest: float | None
) -> LoadGenerator:
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
    if share is not None and share > CPU_SHARE:
        why.append(f"used {as_percent(share, CPU_SHARE)} of its {may_use:g} CPUs")
    if throttled is not None and wall > 0 and throttled > THROTTLED_SHARE * wall:
        why.append(f"was throttled for {throttled:.1f} s in {int(periods or 0)} periods")
    if busiest is not None and busiest > PROCESS_SHARE:
        why.append(f"its busiest process used {as_percent(busiest, PROCESS_SHARE)} of one core")
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
