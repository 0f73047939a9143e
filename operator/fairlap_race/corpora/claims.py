"""Claims on names in a directory that processes on several machines share; file operations only, no lock server.

A claim is a file NAME~OWNER that only its owner writes, and whose time it renews while it lives. A claim that was not
renewed for `stale_seconds` belongs to a process that is gone, and anybody removes it. Ages are measured with the file
system's own clock, so that the clocks of the machines need not agree. To be alone on a name one claims it first and
looks afterwards: of two that claim at the same moment at least one sees the other, and steps back.

Claims coordinate, no more: whoever uses them must stay correct when a process stands still for longer than
`stale_seconds` and comes back.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairlap_race.errors import StoppedError

STALE_SECONDS = 120.0
_SEPARATOR = "~"


class Claims:
    """The claims that one process holds in one directory. Not for use from several threads."""

    def __init__(
        self, directory: Path, owner: str, stop: threading.Event, stale_seconds: float = STALE_SECONDS
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._owner = owner
        self._stop = stop
        self._stale = stale_seconds
        self._held: dict[str, str] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._renew, name="claims", daemon=True).start()

    def hold(self, name: str, note: str = "") -> None:
        """Claim `name`, or change the note of the claim on it, a text that others can read."""
        with self._lock:
            self._held[name] = note
            self._write(name, note)

    def drop(self, name: str) -> None:
        """Give the claim on `name` up, if there is one."""
        with self._lock:
            self._held.pop(name, None)
            self._path(name).unlink(missing_ok=True)

    def others(self, name: str) -> dict[str, str]:
        """Return owner and note of each living claim of others on `name`; removes those of the dead."""
        return {owner: note for owner, note in self.living(name).items() if owner != self._owner}

    def living(self, name: str) -> dict[str, str]:
        """Return owner and note of each living claim on `name`, one's own too; removes those of the dead."""
        found, now = {}, self.now()
        for path in self._directory.glob(f"{name}{_SEPARATOR}*"):
            try:
                if now - path.stat().st_mtime > self._stale:
                    path.unlink(missing_ok=True)
                else:
                    found[path.name.rpartition(_SEPARATOR)[2]] = path.read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
        return found

    def alone(self, name: str, note: str = "") -> bool:
        """Claim `name` unless somebody else has it; tell whether it was claimed."""
        if self.others(name):
            return False
        self.hold(name, note)
        if self.others(name):
            self.drop(name)
            return False
        return True

    @contextmanager
    def alone_with(self, name: str) -> Iterator[None]:
        """Wait until nobody else has `name`, and hold it. Raises StoppedError."""
        pause = 0.01
        while not self.alone(name):
            # The dice part those who step back at the same moment.
            if self._stop.wait(pause * random.uniform(0.5, 1.5)):  # noqa: S311 - not a secret
                raise StoppedError
            pause = min(pause * 2, 1.0)
        try:
            yield
        finally:
            self.drop(name)

    def now(self) -> float:
        """Return the file system's time in seconds since the epoch."""
        clock = self._directory / f"clock{_SEPARATOR}{self._owner}"
        clock.touch()
        os.utime(clock)
        return clock.stat().st_mtime

    def close(self) -> None:
        """Give every claim up."""
        self._closed.set()
        for name in list(self._held):
            self.drop(name)
        self._path("clock").unlink(missing_ok=True)

    @property
    def stale_seconds(self) -> float:
        """For how long a claim lives without being renewed."""
        return self._stale

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}{_SEPARATOR}{self._owner}"

    def _write(self, name: str, note: str) -> None:
        self._path(name).write_text(note, encoding="utf-8")

    def _renew(self) -> None:
        while not self._closed.wait(self._stale / 12):
            with self._lock:
                for name, note in self._held.items():
                    with suppress(OSError):
                        self._renew_one(name, note)

    def _renew_one(self, name: str, note: str) -> None:
        try:
            os.utime(self._path(name))
        except FileNotFoundError:
            # Taken for dead, after a stand-still; it is alive, and says so again.
            self._write(name, note)
