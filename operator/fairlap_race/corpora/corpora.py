"""Puts the corpora that a track uses where Rally looks for them: from the store, where they are fetched once.

Rally looks beside track.json first, and then in its data cache, a directory for each corpus. Files beside track.json
are left to Rally. All others become links in the data cache to entries of the store, with their tables of offsets, so
that Rally finds everything done and writes nothing there.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.track_record import TrackCorpus
from fairlap_race.contract.specification.race_spec import CorporaSpec
from fairlap_race.corpora.fetch import check_lines, fetch, reachable
from fairlap_race.corpora.need import CorpusFile, ShowProgress, beside, check_names, key_of
from fairlap_race.corpora.store import Entry, Partial, Store, StoreFullError, largest, stored_bytes
from fairlap_race.errors import StoppedError, TrackError


class CorporaSource:
    """The corpora of one race: where they come from, and which were used."""

    def __init__(
        self,
        spec: CorporaSpec | None,
        private: Path,
        offline: bool,
        stop: threading.Event,
        show_progress: ShowProgress,
        owner: str = "",
    ) -> None:
        self._spec = spec
        self._root = spec.path if spec else private
        self._offline = offline
        self._stop = stop
        self._show_progress = show_progress
        self._owner = owner
        self._store: Store | None = None
        self.used: list[TrackCorpus] = []
        """what was linked so far"""

    @property
    def shared(self) -> bool:
        """Whether other races may find what this one fetches."""
        return self._spec is not None

    def link_all(self, needs: Sequence[CorpusFile], track: Path, data_cache: Path, test_mode: bool) -> None:
        """Link what `needs` names, but for what is beside the track in the directory `track`, into `data_cache`.

        Raises TrackError and StoppedError.
        """
        for need in needs:
            check_names(need)
            if beside(track, need):
                continue
            entry = self._entry(need, test_mode)
            directory = data_cache / need.corpus
            for name in (need.document_file, f"{need.document_file}.offset"):
                _link(directory / name, entry.path / name)
            self._note(need.corpus, need.document_file, entry, "downloaded", need.shown_url)

    def generated(self, key: str, corpus: str, make: Any, target: Path) -> dict[str, str]:
        """Link into `target` the files that `make(directory, watch)` makes once for each `key`; returns checksums.

        `make` calls `watch` now and then, which sees to it that there is room, and lets pass what that raises. Raises
        TrackError, StoppedError and whatever `make` raises.
        """

        def build(partial: Partial) -> None:
            def watch() -> None:
                if self._stop.is_set():
                    raise StoppedError
                partial.follow()

            self._show_progress(f"generating {corpus}", None)
            make(partial.path, watch)
            partial.need(partial.written())

        entry = self._guarded(lambda store: store.use(f"generated-{key}", build, corpus), corpus)
        for file in entry.files:
            _link(target / file.name, entry.path / file.name)
            self._note(corpus, file.name, entry, "generated", "")
        return {file.name: file.sha256 for file in entry.files}

    def look(self, needs: Sequence[CorpusFile], track: Path) -> None:
        """Raise TrackError when it is clear without fetching it that one of `needs` cannot be had."""
        for need in needs:
            check_names(need)
        away = {key_of(need): need for need in needs if not beside(track, need)}
        stored = {key: stored_bytes(self._root, key) for key in away}
        # Of one race nothing is evicted before its end.
        held = sum(size or 0 for size in stored.values())
        for need in (need for key, need in away.items() if stored[key] is None):
            if self._offline or not need.base_url:
                raise TrackError(Reason.CORPUS_MISSING, self._absent(need))
            self._check_room(need, held)
            held += need.uncompressed_bytes or 0
            if words := reachable(need, self._stop):
                raise TrackError(Reason.CORPUS_MISSING, f"corpus {need.corpus}: {words}")

    def close(self) -> None:
        """Let go of the store's entries: other races may evict them."""
        if self._store is not None:
            self._store.close()

    def _check_room(self, need: CorpusFile, held: int) -> None:
        if self._spec is None:
            return
        bound, whole = self._spec.max_bytes, None
        # Whoever writes there says what is wrong with the volume.
        with suppress(OSError):
            whole = largest(self._root, None)
        packed = need.compressed_bytes if need.document_archive else None
        alone = (packed or 0) + (need.uncompressed_bytes or 0)
        needed = there = ""
        if bound is not None and held + alone > bound:
            needed = f"{held + alone} bytes are needed to unpack it"
            needed += f" beside the {held} of the track's other documents" if held else ""
            there = f"the bound is {bound}"
        # A volume may compress, so that nobody knows how much of several files it takes.
        elif whole is not None and alone > whole:
            needed, there = f"{alone} bytes are needed to unpack it", f"the volume has {whole}"
        if needed:
            text = f"corpus {need.corpus}: no room in {self._where()}: {needed}, {there}"
            raise TrackError(Reason.CORPORA_CACHE, text)

    def _entry(self, need: CorpusFile, test_mode: bool) -> Entry:
        def make(partial: Partial) -> None:
            if self._offline or not need.base_url:
                raise TrackError(Reason.CORPUS_MISSING, self._absent(need))
            fetch(need, partial, self._show_progress, self._stop, test_mode)

        entry = self._guarded(lambda store: store.use(key_of(need), make, f"{need.corpus}/{need.file}"), need.corpus)
        lines = entry.facts.get("lines")
        if isinstance(lines, int):
            check_lines(need, lines)
        return entry

    def _guarded(self, use: Any, corpus: str) -> Entry:
        try:
            if self._store is None:
                bound = self._spec.max_bytes if self._spec else None
                self._store = Store(
                    self._root,
                    bound,
                    self._stop,
                    self._owner,
                    show_progress=lambda words: self._show_progress(words, None),
                )
            entry: Entry = use(self._store)
            return entry
        except StoreFullError as error:
            raise TrackError(Reason.CORPORA_CACHE, f"corpus {corpus}: no room in {self._where()}: {error}") from error
        except PermissionError as error:
            text = f"{self._where()} cannot be written: {error}"
            raise TrackError(Reason.CORPORA_CACHE, text) from error
        except OSError as error:
            if error.errno is None:
                raise
            raise TrackError(Reason.CORPORA_CACHE, f"corpus {corpus}: {self._where()}: {error}") from error

    def _where(self) -> str:
        return "the volume of race.corpora" if self._spec else "the load generator's own disk (race.corpora is not set)"

    def _absent(self, need: CorpusFile) -> str:
        text = f"corpus {need.corpus}: {need.file} is not beside the track"
        text += ", not in the corpora cache" if self._spec else ""
        if not need.base_url:
            return f"{text}, and the track has no base-url to download it from"
        return f"{text}, and race.offline forbids to download it from {need.shown_url}"

    def _note(self, corpus: str, name: str, entry: Entry, made: str, url: str) -> None:
        file = entry.file(name)
        origin = made if entry.made_here else "cache"
        self.used.append(TrackCorpus(corpus, name, file.bytes, f"sha256:{file.sha256}", origin, url or None))


def digest_with(digest: str, used: Sequence[TrackCorpus], known: Mapping[str, str]) -> str:
    """Return the digest of a track together with the corpora it used that are not files of the track itself.

    `known`: files of the track by name whose checksum went into `digest` already.
    """
    others = sorted(f"{corpus.sha256}  {corpus.name}/{corpus.file}" for corpus in used if corpus.file not in known)
    if not others:
        return digest
    return "sha256:" + hashlib.sha256("\n".join([digest, *others]).encode()).hexdigest()


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
