"""What the load generator used while it sent requests, look by look."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from fairlap_race.contract.recorded.record import LoadGenerator
from fairlap_race.linux import cgroup, process
from fairlap_race.runner.watching.load_generator import judge_load_generator
from fairlap_race.runner.watching.load_series import LoadSeries
from fairlap_race.runner.watching.race_clock import RaceClock

LOOK_SECONDS = 1.0
"""Between two looks."""


@dataclass
class Cost:
    """CPU that the load generator used between the first and the last look at a running race."""

    start: cgroup.CgroupUsage | None = None
    end: cgroup.CgroupUsage | None = None
    processes: dict[int, tuple[float, float]] = field(default_factory=dict)
    """process id -> CPU seconds at the first and at the last look"""
    series: LoadSeries = field(default_factory=LoadSeries)
    by_process: bool = True
    """whether each process runs on one core at a time: Rally's do, k6 is a single process on all of them"""
    clock: RaceClock = field(default_factory=RaceClock)

    def look(self, threads: Iterable[tuple[int, float]] = ()) -> None:
        """Take a look; `threads`: CPU seconds of those that run on one core each, by a number that none else has."""
        at, seen = self.clock.now(), list(threads)
        self.end = cgroup.read_usage(time.monotonic())
        first = self.start is None
        self.start = self.start or self.end
        for pid in process.descendants() if self.by_process else ():
            used = process.cpu_seconds(pid)
            if used is not None:
                seen.append((pid, used))
            if used is not None and (first or pid in self.processes):
                self.processes[pid] = (self.processes[pid][0] if pid in self.processes else used, used)
        self.series.add(at, self.end, seen)

    def result(self, may_use: float) -> LoadGenerator:
        """Return whether it was itself the bottleneck; `may_use`: cores of the load generator."""
        if self.start is None or self.end is None or self.end.at - self.start.at < LOOK_SECONDS:
            return LoadGenerator(why="the race was too short to tell")
        wall = self.end.at - self.start.at
        busiest = max((last - first for first, last in self.processes.values()), default=0.0) / wall
        return judge_load_generator(self.start, self.end, may_use, busiest if self.by_process else None)
