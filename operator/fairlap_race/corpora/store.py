"""A bounded store of corpora on a volume that races share, on one machine or on several.

An entry is a directory that appears by one rename when it is whole, so a reader never sees a part of it, whatever dies
when. `claims` see to it that an entry is made once, that the bound holds, and that none is evicted while a living race
uses it. Should a claim fail (a process that stood still for minutes), an entry is made twice and one of the two is
thrown away; its content is right all the same.

    entries/KEY/          files, entry.json (names, bytes, SHA-256, times), used (its time: when it was used last)
    partial/KEY~OWNER/    an entry in the making
    trash/                what is being deleted
    claims/               gate~…, build-KEY~…, use-KEY~…
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlap_race.corpora.claims import STALE_SECONDS, Claims
from fairlap_race.errors import StoppedError

STEP_BYTES = 256 << 20
"""Room is taken in steps of this size when it is not known how much an entry needs."""
REHASH_SECONDS = 7 * 24 * 3600.0
"""Age of the last reading against the checksum at which an entry is read again; before, size and time must do."""
_ENTRY = "entry.json"
_USED = "used"
_HASHED = "hashed"
_CHUNK = 8 << 20


class StoreFullError(Exception):
    """There is no room, even without everything that is not in use; the message says how much there is."""


@dataclass(frozen=True)
class StoredFile:
    """One file of an entry."""

    name: str
    bytes: int
    sha256: str
    mtime_ns: int


@dataclass(frozen=True)
class Entry:
    """A whole entry, in use by this process until the store is closed."""

    path: Path
    files: tuple[StoredFile, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    """what its maker noted"""
    made_here: bool = False
    """made by this process, not found"""

    def file(self, name: str) -> StoredFile:
        """Return the file of that name. Raises KeyError."""
        return {file.name: file for file in self.files}[name]


class Partial:
    """An entry in the making: a directory to write into, within the store's bound."""

    def __init__(self, store: Store, key: str, path: Path) -> None:
        self.path = path
        self.facts: dict[str, Any] = {}
        self.checksums: dict[str, str] = {}
        """SHA-256 of files that were read while they were written, by name; the others are read again"""
        self._store = store
        self._key = key
        self._reserved = 0
        self._followed = 0

    def need(self, total: int) -> None:
        """Have room for `total` bytes in all. Raises StoreFullError."""
        self._reserve(total)

    def grow(self, total: int) -> None:
        """Have room for at least `total` bytes, when nobody knows how many it will be. Raises StoreFullError."""
        if total > self._reserved:
            self._reserve(-(-total // STEP_BYTES) * STEP_BYTES if self._store.roomy(STEP_BYTES) else total)

    def follow(self) -> None:
        """Have room for what is written here by a program that asks nobody, and where there can be, for a step more.

        Others go for as much at most as it writes until the look after next. Raises StoreFullError.
        """
        total = self.written()
        pace, self._followed = total - self._followed, total
        if total + STEP_BYTES // 2 > self._reserved:
            ahead = total + STEP_BYTES
            roomy = self._store.roomy(ahead - self._reserved, ahead - max(self._reserved, total))
            self._reserve(ahead if roomy else min(ahead, total + 2 * pace), total)

    def _reserve(self, *totals: int) -> None:
        """Have room for the first of `totals` that there can be room for, the largest one first."""
        if totals[0] > self._reserved:
            self._reserved = self._store.make_room(self._key, totals, self._reserved, self.written())

    def written(self) -> int:
        """Return how many bytes were written so far."""
        return _bytes(self.path)


class Store:
    """One process's hold on the store in the directory `root`; `max_bytes` None: bounded by the volume alone."""

    def __init__(
        self,
        root: Path,
        max_bytes: int | None,
        stop: threading.Event,
        owner: str = "",
        stale_seconds: float = STALE_SECONDS,
        show_progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._root = root
        self._max = max_bytes
        self._stop = stop
        self._show_progress = show_progress
        self._owner = f"{owner.replace('~', '-') or 'race'}-{uuid.uuid4().hex[:12]}"
        for name in ("entries", "partial", "trash"):
            (root / name).mkdir(parents=True, exist_ok=True)
        self._claims = Claims(root / "claims", self._owner, stop, stale_seconds)

    def use(self, key: str, make: Callable[[Partial], None], name: str = "") -> Entry:
        """Return the entry `key`, made by `make` when there is none; it stays until `close`.

        `name`: what is in it, for messages. Raises StoreFullError, StoppedError, OSError, and whatever `make` raises.
        """
        while True:
            entry = self._take(key, name or key)
            if entry is not None:
                return entry
            if self._claims.alone(f"build-{key}", "0"):
                try:
                    # Somebody may have finished it between the two looks.
                    return self._take(key, name or key) or self._make(key, make)
                finally:
                    self._claims.drop(f"build-{key}")
            self._show_progress(f"waiting for another race that fetches {name or key}")
            if self._stop.wait(min(1.0, self._claims.stale_seconds / 10)):
                raise StoppedError

    def close(self) -> None:
        """Let go of every entry."""
        self._claims.close()

    def roomy(self, more: int, unwritten: int | None = None) -> bool:
        """Tell whether `more` bytes, of which `unwritten` are not on the volume yet, fit without eviction."""
        return self._fits(more, more if unwritten is None else unwritten)

    def make_room(self, key: str, totals: Sequence[int], reserved: int, written: int) -> int:
        """Reserve the first of `totals` that fits for the entry `key` in the making, evicting what must go; return it.

        `reserved` and `written`: how much it has already. Waits for as long as claims of the dead may stand in the way.
        Raises StoreFullError and StoppedError.
        """
        limit = time.monotonic() + 1.5 * self._claims.stale_seconds
        more, unwritten = totals[-1] - reserved, totals[-1] - max(reserved, written)
        while True:
            with self._gate():
                for total in (max(each, reserved) for each in totals):
                    if total == reserved or self._evict(total - reserved, total - max(reserved, written)):
                        self._claims.hold(f"build-{key}", str(total))
                        return total
                words = self._room_sentence(unwritten if self._max is None else more)
            if time.monotonic() > limit or totals[-1] > largest(self._root, self._max):
                raise StoreFullError(words)
            self._show_progress(f"waiting for room: {words}")
            if self._stop.wait(min(1.0, self._claims.stale_seconds / 10)):
                raise StoppedError

    def _evict(self, more: int, unwritten: int) -> bool:
        """Make room for `more` bytes, of which `unwritten` will be written; tell whether there is. Within the gate."""
        self._sweep()
        if self._fits(more, unwritten):
            return True
        unused = sorted(self._unused(), key=_last_used)
        # Else others would fetch it anew, and nobody would have the room.
        freed = sum(_bytes(path) for path in unused)
        if self._fits(more - freed, unwritten - freed):
            for oldest in unused:
                self._discard(oldest)
                if self._fits(more, unwritten):
                    return True
        return False

    def _gate(self) -> AbstractContextManager[None]:
        return self._claims.alone_with("gate")

    def _take(self, key: str, name: str) -> Entry | None:
        path = self._root / "entries" / key
        with self._gate():
            if not path.is_dir():
                return None
            self._claims.hold(f"use-{key}")
            entry = _read(path)
            if entry is None:
                self._discard(path)
                self._claims.drop(f"use-{key}")
                return None
            (path / _USED).touch()
        if self._claims.now() - _time_of(path / _HASHED) > REHASH_SECONDS:
            return self._rehash(entry, name)
        return entry

    def _rehash(self, entry: Entry, name: str) -> Entry | None:
        self._show_progress(f"reading {name} against its checksum")
        if all(hash_file(entry.path / f.name, self._stop) == f.sha256 for f in entry.files):
            (entry.path / _HASHED).touch()
            return entry
        with self._gate():
            self._discard(entry.path)
            self._claims.drop(f"use-{entry.path.name}")
        return None

    def _make(self, key: str, make: Callable[[Partial], None]) -> Entry:
        path = self._root / "partial" / f"{key}~{self._owner}"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        try:
            partial = Partial(self, key, path)
            make(partial)
            self._finish(partial)
            with self._gate():
                self._claims.hold(f"use-{key}")
                target = self._root / "entries" / key
                if _read(target) is None:
                    self._discard(target)
                    path.rename(target)
                self._claims.hold(f"build-{key}", "0")
            entry = _read(target)
            if entry is None:
                raise OSError(errno.EIO, f"{target} is not what was written")
            return Entry(entry.path, entry.files, entry.facts, made_here=True)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFullError(f"{error.strerror}; {self._room_sentence(0)}") from error
            raise
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def _finish(self, partial: Partial) -> None:
        files = []
        for path in sorted(p for p in partial.path.rglob("*") if p.is_file()):
            name = path.relative_to(partial.path).as_posix()
            sha256 = partial.checksums.get(name) or hash_file(path, self._stop)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            status = path.stat()
            files.append({"name": name, "bytes": status.st_size, "sha256": sha256, "mtimeNs": status.st_mtime_ns})
        for name in (_USED, _HASHED):
            (partial.path / name).touch()
        entry = {"format": 1, "files": files, "facts": partial.facts}
        with (partial.path / _ENTRY).open("w", encoding="utf-8") as out:
            json.dump(entry, out)
            out.flush()
            os.fsync(out.fileno())

    def _fits(self, more: int, unwritten: int) -> bool:
        usage = os.statvfs(self._root)
        if unwritten > usage.f_bavail * usage.f_frsize:
            return False
        return self._max is None or self._taken() + more <= self._max

    def _taken(self) -> int:
        entries = sum(_bytes(path) for path in (self._root / "entries").iterdir())
        building = self._claims.living("build-*")
        return entries + sum(int(note or 0) for note in building.values())

    def _unused(self) -> list[Path]:
        everything = (self._root / "entries").iterdir()
        return [path for path in everything if not self._claims.living(f"use-{path.name}")]

    def _sweep(self) -> None:
        """Remove what dead processes left; within the gate."""
        self._claims.living("clock")
        for path in (self._root / "partial").iterdir():
            key, _, owner = path.name.rpartition("~")
            if owner not in self._claims.living(f"build-{key}"):
                self._discard(path)
        for path in (self._root / "trash").iterdir():
            shutil.rmtree(path, ignore_errors=True)

    def _discard(self, path: Path) -> None:
        if path.exists():
            gone = self._root / "trash" / uuid.uuid4().hex
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def _room_sentence(self, more: int) -> str:
        usage = os.statvfs(self._root)
        bound = "no bound is set" if self._max is None else f"the bound is {self._max}"
        need = f"{more} bytes more are needed, " if more else ""
        return (
            f"{need}{self._taken()} are taken by what is in use or in the making, {bound}, "
            f"{usage.f_bavail * usage.f_frsize} are free on the volume"
        )


def largest(root: Path, max_bytes: int | None) -> int:
    """Return how many bytes the store in the directory `root` can hold at most. Raises OSError."""
    usage = os.statvfs(root)
    whole = usage.f_blocks * usage.f_frsize
    return whole if max_bytes is None else min(max_bytes, whole)


def stored_bytes(root: Path, key: str) -> int | None:
    """Return the size of the entry `key` of the store in `root`, None when there is none; it may go the next moment."""
    entry = _read(root / "entries" / key)
    return sum(file.bytes for file in entry.files) if entry else None


def hash_file(path: Path, stop: threading.Event) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raises StoppedError."""
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            whole.update(chunk)
            if stop.is_set():
                raise StoppedError
    return whole.hexdigest()


def _read(path: Path) -> Entry | None:
    """Return the entry in a directory, None when a file is not as it was written."""
    try:
        data = json.loads((path / _ENTRY).read_text(encoding="utf-8"))
        files = tuple(StoredFile(f["name"], f["bytes"], f["sha256"], f["mtimeNs"]) for f in data["files"])
        for file in files:
            status = (path / file.name).stat()
            if (status.st_size, status.st_mtime_ns) != (file.bytes, file.mtime_ns):
                return None
        return Entry(path, files, data["facts"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _bytes(path: Path) -> int:
    entry = _read(path)
    if entry is not None:
        return sum(file.bytes for file in entry.files)
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _last_used(path: Path) -> float:
    return _time_of(path / _USED)


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
