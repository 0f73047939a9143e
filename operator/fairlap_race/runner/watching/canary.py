"""A little fixed work before and after a race: another time for it means another machine.

Nothing is measured meanwhile. The work is done in C (the interpreter's lock is free in it), of fixed sizes, pinned to
nothing, and repeated for a fixed time; the lower quartile is steady where single pauses fall into the repetitions.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from fairlap_race.contract.recorded.record import timestamp
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.linux import cgroup

LOG = logging.getLogger(__name__)
PIECES = 6
"""Three of work, before and after a race."""
MOST_TIMES = 100
HASHED_BYTES, READ_BYTES, WRITTEN_BYTES = 16 << 20, 96 << 20, 1 << 20
MOST_THREADS = 16


def do_fixed_work(
    folder: Path, processors: float, stop: threading.Event, seconds_each: float, root: Path = cgroup.ROOT
) -> Canary | None:
    """Do the work and return how long it took; None when told to stop, or to do none.

    `processors`: how many may be used, with less than one of which only the disk is written to; `seconds_each`: how
    long each piece is repeated; `root`: the control group whose memory is the limit.
    """
    if stop.is_set() or not seconds_each:
        return None
    began, at = time.monotonic(), timestamp(time.time())
    # A quota below one lets each piece wait for the rest of its period: the time would tell of the quota alone.
    threads = min(MOST_THREADS, int(processors))
    cpu = _timed("hashing", partial(_hash, threads), seconds_each) if threads else None
    memory = _timed("reading", _read, seconds_each) if threads and has_room(root) else None
    disk = _timed("writing", partial(_write, folder), seconds_each)
    return Canary(at, cpu, memory, disk, round(time.monotonic() - began, 3))


def has_room(root: Path) -> bool:
    """Tell whether the memory that is read fits twice into what the control group leaves: a small one would be ended.

    What the page cache holds is given up first, and does not count.
    """
    limit, used = cgroup.read_limits(root).memory_bytes, cgroup.read_signals(root).get("working_set_bytes")
    return limit is None or limit - (used or 0.0) >= 2 * READ_BYTES


def lower_quartile(values: list[float]) -> float | None:
    """Return the value that a quarter of the others is not above; None for none."""
    return sorted(values)[(len(values) - 1) // 4] if values else None


def _timed(what: str, work: Callable[[Callable[[], bool]], list[float]], seconds: float) -> float | None:
    """Return the lower quartile of the seconds that one piece of work took; None where it cannot be done."""
    end = time.monotonic() + seconds
    try:
        found = lower_quartile(work(lambda: time.monotonic() < end))
    except (OSError, MemoryError, RuntimeError) as error:  # the last one for a thread that cannot start
        LOG.warning("%s of the canary failed: %s", what, error)
        return None
    return None if found is None else float(f"{found:.5g}")


def _repeated(piece: Callable[[], object], goes_on: Callable[[], bool]) -> list[float]:
    found = list[float]()
    while not found or (goes_on() and len(found) < MOST_TIMES):
        began = time.perf_counter()
        piece()
        found.append(time.perf_counter() - began)
    return found


def _hash(threads: int, goes_on: Callable[[], bool]) -> list[float]:
    content = bytes(HASHED_BYTES)
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(_repeated, lambda: hashlib.sha256(content).digest(), goes_on) for _ in range(threads)]
        return [seconds for it in running for seconds in it.result()]


def _read(goes_on: Callable[[], bool]) -> list[float]:
    # Pages that are there, and nothing is stored: new ones cost more than the reading, and copies vary more.
    with mmap.mmap(-1, READ_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as content:
        with suppress(OSError):  # a kernel without them
            # How 24,576 small pages lie in memory after a race, and not the machine, made half of the time.
            content.madvise(mmap.MADV_HUGEPAGE)
        for _ in range(READ_BYTES // WRITTEN_BYTES):
            content.write(b"\x01" * WRITTEN_BYTES)
        return _repeated(lambda: content.find(b"\x00", 0), goes_on)


def _write(folder: Path, goes_on: Callable[[], bool]) -> list[float]:
    content = os.urandom(WRITTEN_BYTES)
    with tempfile.TemporaryFile(dir=folder) as out:

        def piece() -> None:
            out.seek(0)
            out.write(content)
            out.flush()
            os.fsync(out.fileno())

        piece()
        return _repeated(piece, goes_on)
