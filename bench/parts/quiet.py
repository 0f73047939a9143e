"""Whether others use the machine: their load would be in one race of a pair and not in the other."""

import contextlib
import os
import time
from pathlib import Path

from fairlap_race.linux import process

CPUS = os.cpu_count() or 1
QUIET_SECONDS = 3.0
QUIET_SHARE = 0.08
"""Of all CPUs: what may be used by others before a race begins."""
OTHERS_SECONDS = 5.0
"""CPU seconds of others in one race: an idle machine uses about 1 in a minute."""


class Load:
    """How much of this machine's CPU time is used by others than the race and the Elasticsearch under test."""

    def __init__(self, server: int) -> None:
        self._server = server

    def _cpu_seconds_of_race(self) -> float:
        own = os.times()
        ended = own.user + own.system + own.children_user + own.children_system
        return ended + sum(map(_with_ended_children, [self._server, *process.descendants()]))

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

    def others(self) -> float:
        """Return the CPU seconds that others used since `begin`, when the race's own process was waited for."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # what it left to us counts as ours once it is waited for
                pass
        busy, ours = self._start
        return max(0.0, busy_seconds() - busy - (self._cpu_seconds_of_race() - ours))


def _with_ended_children(pid: int) -> float:
    """Return the CPU time of a process and of its children that ended and were waited for; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / process.TICKS  # proc(5): utime, stime, cutime, cstime


def busy_seconds() -> float:
    """Return the CPU time that all processes of this machine have used."""
    user, nice, system, _, _, irq, softirq, *_ = (
        int(value) for value in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / process.TICKS
