"""Reads what k6 writes while it writes it: the script's lines and its log, each through a pipe with a name."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

LOG = logging.getLogger(__name__)
F_SETPIPE_SZ = 1031
"""Of Linux' fcntl.h; Python 3.10 names it, but only where it was built with it."""
PIPE_BYTES = 1 << 20
"""As much as an ordinary user may ask for: k6 waits when it is full, and that would be measured."""
CHUNK = 1 << 18
PAUSE_SECONDS = 0.05
"""Between two looks: even a pipe of 64 KiB, which is the least, holds more than k6 writes meanwhile."""
MOST_UNFINISHED = 1 << 16


class PipeReader:
    """A thread that hands each line of two pipes on until `finish`; the pipes are made here."""

    def __init__(self, handlers: dict[Path, Callable[[str], None]]) -> None:
        """Make each pipe and open it, so that k6 need not wait for a reader. Raises OSError."""
        self._handlers: dict[int, Callable[[str], None]] = {}
        self._rest: dict[int, bytes] = {}
        self._paths = tuple(handlers)
        for path, handler in handlers.items():
            path.unlink(missing_ok=True)
            os.mkfifo(path, 0o600)
            pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with contextlib.suppress(OSError):  # a smaller pipe does, too
                fcntl.fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES)
            self._handlers[pipe], self._rest[pipe] = handler, b""
        self.error: Exception | None = None
        """what a handler raised; nothing is handed on after it, but all is read, so that k6 does not hang"""
        self.cpu_seconds = 0.0
        """that the thread has used: lines that come faster than one core can read them hold k6 up"""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pipes", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Read what is left once k6 has ended, and close the pipes."""
        self._ended.set()
        self._thread.join()
        for pipe in self._handlers:
            os.close(pipe)
        for path in self._paths:
            path.unlink(missing_ok=True)

    def _run(self) -> None:
        ended = False
        while not ended:
            # Not line by line: waking up for each would take as much of the processor as k6 needs for the request.
            ended = self._ended.wait(PAUSE_SECONDS)
            while any(self._read(pipe) for pipe in self._handlers):
                pass

    def _read(self, pipe: int) -> bool:
        try:
            chunk = os.read(pipe, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            return False
        *lines, self._rest[pipe] = (self._rest[pipe] + chunk).split(b"\n")
        self._rest[pipe] = self._rest[pipe][-MOST_UNFINISHED:]
        if self.error is None:
            try:
                for line in lines:
                    self._handlers[pipe](line.decode("utf-8", "replace"))
            except Exception as error:  # it is raised where the race is
                LOG.warning("what k6 wrote cannot be read: %s", error)
                self.error = error
        self.cpu_seconds = time.thread_time()
        return True


class KeptLog:
    """The first lines of k6's log, without those that a failed request has."""

    MOST_LINES = 200
    _REQUEST_FAILED = "Request Failed"

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Take in a line."""
        if line and line != self._REQUEST_FAILED and len(self.lines) < self.MOST_LINES:
            self.lines.append(line[:1000])
