"""Processes known by id and start time, so that a reused id is never taken for ours."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """One process: its id, and the moment it started (clock ticks since boot)."""

    pid: int
    start: int

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return start_of(self.pid) == self.start

    def kill(self) -> None:
        """End it at once; no error when it has gone already."""
        if self.alive():
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return


def start_of(pid: int) -> int | None:
    """When a process started; None when there is none or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def pid_namespace(pid: int) -> str | None:
    """The name of a process's PID namespace; None when it has gone."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return None


@contextmanager
def held_pid_namespace(pid: int) -> Iterator[str | None]:
    """Yield the name of a process's PID namespace, which no other gets meanwhile; None when the process has gone.

    The kernel gives the number of a namespace that is gone to the next one, which may be that of somebody's container.
    """
    try:
        held = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield str(Path(f"/proc/self/fd/{held}").readlink())
    finally:
        os.close(held)


def members(namespace: str) -> list[int]:
    """The ids of all processes of a PID namespace (not of namespaces nested in it)."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if pid_namespace(pid) == namespace]


def wait_until(true: Callable[[], bool], seconds: float) -> bool:
    """Wait until `true()`; False when the time is over."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
