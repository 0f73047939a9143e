"""Whether others use the machine: their load would be in one race of a pair and not in the other."""

import os
import time
from pathlib import Path

from fairlap_race.linux import process

CPUS = os.cpu_count() or 1
QUIET_SECONDS = 3.0
QUIET_SHARE = 0.08
"""Of all CPUs: what may be used by others before a race begins."""
OTHERS_SECONDS = 18.0
"""CPU seconds of others in one race: about 8 are Rally's own processes that ended between two looks, in either arm."""


class Load:
    """How much of this machine's CPU time is used by others than the race and the Elasticsearch under test."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._used: dict[int, float] = {}

    def _cpu_seconds_of_race(self) -> float:
        for pid in [os.getpid(), self._server, *process.descendants()]:
            self._used[pid] = process.cpu_seconds(pid) or self._used.get(pid, 0.0)
        return sum(self._used.values())

    def wait_for_quiet(self) -> None:
        """Return once the machine was idle for a few seconds."""
        while True:
            before = busy_seconds(), time.monotonic()
            time.sleep(QUIET_SECONDS)
            if busy_seconds() - before[0] < QUIET_SHARE * CPUS * (time.monotonic() - before[1]):
                return

    def begin(self) -> None:
        """Start counting."""
        self._start = busy_seconds(), self._cpu_seconds_of_race()

    def look(self) -> None:
        """Take in the processes of the race before they are gone."""
        self._cpu_seconds_of_race()

    def others(self) -> float:
        """Return the CPU seconds that others used since `begin`."""
        busy, ours = self._start
        return max(0.0, busy_seconds() - busy - (self._cpu_seconds_of_race() - ours))


def busy_seconds() -> float:
    """Return the CPU time that all processes of this machine have used."""
    user, nice, system, _, _, irq, softirq, *_ = (
        int(value) for value in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / process.TICKS
