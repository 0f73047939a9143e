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
OTHERS_SECONDS, OTHERS_SHARE = 5.0, 0.06
"""CPU seconds of others in one race, and of its length where that is more: an idle machine uses about 1 in a minute."""
TELL_SECONDS, PATIENCE_SECONDS = 30.0, 900.0
"""After which it is said that the machine is busy, and after which it is given up."""
MOST_DISTURBED = 3
"""Pairs in a row: what disturbs all of them will not go away."""


def is_disturbed(others: float, seconds: float) -> bool:
    """Tell whether others used too much CPU time in a race of so many seconds."""
    return others > max(OTHERS_SECONDS, OTHERS_SHARE * seconds)


def once_more(in_a_row: int) -> None:
    """Say that a pair is raced again; raises SystemExit where that many `in_a_row` were disturbed."""
    if in_a_row >= MOST_DISTURBED:
        raise SystemExit(
            f"{in_a_row} pairs in a row were disturbed: end what else runs here (an idle localkube is too much), see "
            "that --server-pid is Elasticsearch's own process and not its launcher's, or give --disturbed"
        )
    print("disturbed by others: once more", flush=True)


class Load:
    """How much of this machine's CPU time is used by others than the race and the Elasticsearch under test."""

    def __init__(self, server: int) -> None:
        self._server = server

    def _cpu_seconds_of_race(self) -> float:
        own = os.times()
        ended = own.user + own.system + own.children_user + own.children_system
        return ended + sum(map(_with_ended_children, [self._server, *process.descendants()]))

    def wait_for_quiet(self) -> None:
        """Return once the machine was idle for a few seconds; raises SystemExit where it never is."""
        since, told = time.monotonic(), False
        while True:
            before = busy_seconds(), time.monotonic()
            time.sleep(QUIET_SECONDS)
            now = time.monotonic()
            cores = (busy_seconds() - before[0]) / (now - before[1])
            if cores < QUIET_SHARE * CPUS:
                return
            words = f"{cores:.2f} of {CPUS} processors are busy, and less than {QUIET_SHARE * CPUS:.2f} is waited for"
            if now - since > PATIENCE_SECONDS:
                raise SystemExit(f"{words}: end what else runs here, or give --disturbed")
            if now - since > TELL_SECONDS and not told:
                print(words, flush=True)
                told = True

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
