"""The load generator's processes: start, look at and end them, so that none goes on loading the cluster (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fairlap_race.linux.kernel_files import read_text, whole_number

PR_SET_CHILD_SUBREAPER = 36
KILLED_PATIENCE = 60.0
"""Seconds for the kernel to end a process that was killed: a stalled machine takes its time."""
TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _USER_TICKS, _SYSTEM_TICKS = _NUMBERS = 1, 11, 12
"""Places in /proc/PID/stat behind the process's name."""


def become_subreaper() -> None:
    """Make processes whose parent died our children, so that they can be found and ended.

    Raises OSError when the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def start(argv: Sequence[str], env: Mapping[str, str], cwd: Path, output: Path) -> subprocess.Popen[bytes]:
    """Start `argv` as the leader of a session of its own; its standard output and error go to `output`."""
    with output.open("ab") as out:
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on, or None when there is no such process."""
    return stat_fields(read_text(Path(f"/proc/{pid}/stat")))


def stat_fields(text: str) -> list[str] | None:
    """Return the fields of a text of /proc/PID/stat from the state on (proc_pid_stat(5)); None for another text."""
    # The name in parentheses may hold spaces and parentheses itself, and bytes that are no text.
    fields = text.rpartition(")")[2].split()
    numbers = [whole_number(fields[place]) for place in _NUMBERS if place < len(fields)]
    return fields if len(numbers) == len(_NUMBERS) and None not in numbers else None


def alive(pid: int) -> bool:
    """Tell whether the process exists and is not a zombie."""
    fields = _stat(pid)
    return fields is not None and fields[0] not in "ZX"


def cpu_seconds(pid: int) -> float | None:
    """Return the CPU time that the process has used, or None when it is gone."""
    fields = _stat(pid)
    return None if fields is None else (int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])) / TICKS


def descendants(root: int | None = None) -> list[int]:
    """Return the process ids of all living descendants of `root` (default: this process)."""
    root = os.getpid() if root is None else root
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            fields = _stat(int(entry.name))
            if fields is not None and fields[0] not in "ZX":
                children.setdefault(int(fields[_PARENT]), []).append(int(entry.name))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def reap(keep: int) -> None:
    """Collect ended orphans that became our children, all but `keep`, whose exit code its owner collects."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != keep:
            fields = _stat(int(entry.name))
            if fields is not None and fields[0] == "Z" and int(fields[_PARENT]) == os.getpid():
                with suppress(ChildProcessError):
                    os.waitpid(int(entry.name), os.WNOHANG)


def end(
    process: subprocess.Popen[bytes],
    patience: float,
    sleep: Callable[[float], None] = time.sleep,
    interrupt: bool = True,
) -> int | None:
    """End the load generator: SIGINT to its main process, which ends the others; after `patience` s SIGKILL to all.

    Returns its exit code when it ended by itself, None when it was killed. Afterwards no descendant of this process
    is alive. With `interrupt` false the main process gets no SIGINT, only its regular end is awaited.
    """
    if interrupt and process.poll() is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)
    limit = time.monotonic() + patience
    while process.poll() is None and time.monotonic() < limit:
        sleep(0.1)
    code = process.poll()
    kill_all(process.pid, sleep)
    if code is None:
        process.wait(KILLED_PATIENCE)
    return code


def kill_all(group: int, sleep: Callable[[float], None] = time.sleep) -> None:
    """SIGKILL the process group `group` and every descendant of this process, until none is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for _ in range(100):
        left = descendants()
        if not left:
            break
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        reap(keep=group)
        sleep(0.05)
    reap(keep=group)
