"""Gets the requests of a replay into its track, with what lies beside them, and reads every line of them before."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.request_lines import MOST_LINE_BYTES, LinesError, RequestLine, read_lines
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, RequestsSource
from fairlap_race.errors import TrackError
from fairlap_race.track.git import fetch_commit, is_inside
from fairlap_race.track.lfs import LFS_POINTER, is_lfs_pointer
from fairlap_race.track.prepare import LINK_BYTES

FILE = "requests.ndjson"
"""Its name in the track."""
DOCUMENTS, SMALL_DOCUMENTS, INDEX = "documents.json", "documents-1k.json", "index.json"
TEST_MODE_LINES = 1000
"""As many as Rally's test mode leaves of the documents."""
_MOST_WRITES = 100
_ALLOW = "allow_writes"
_LINE_ENDS = 2


@dataclass(frozen=True)
class Found:
    """Files where their source has them."""

    files: Mapping[str, Path]
    """by name"""
    repository: str | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Replayed:
    """What the requests are."""

    writes: tuple[str, ...] = ()
    """method and path of those that do more than read, each once; the first ones"""
    repository: str | None = None
    commit: str | None = None


def add_requests(spec: RaceSpec, source: RequestsSource, track: Path, work: Path, stop: threading.Event) -> Replayed:
    """Copy the requests of `source`, with their documents and index, into the directory `track` of the track.

    Raises TrackError when they are not there or are no requests, and StoppedError.
    """
    there = find_files(source, work, stop, (DOCUMENTS, INDEX), first=spec.mode is Mode.CHECK)
    found = there.files
    writes = _read(found[source.file], source.file, spec)
    _copy(found[source.file], track / FILE, TEST_MODE_LINES if _is_cut(spec) else None)
    for name in (DOCUMENTS, INDEX):
        if name in found:
            _copy(found[name], track / name)
    if (track / DOCUMENTS).is_file():
        _copy(track / DOCUMENTS, track / SMALL_DOCUMENTS, TEST_MODE_LINES)
    return Replayed(writes, there.repository, there.commit)


def find_files(
    source: RequestsSource, work: Path, stop: threading.Event, beside: tuple[str, ...] = (), *, first: bool = False
) -> Found:
    """Return where the file of requests is, and those of the names `beside` that lie beside it.

    `first`: as `fetch_commit` has it.
    Raises TrackError when it is not there, and StoppedError.
    """
    if source.git is not None:
        root, commit = fetch_commit(source.git, work, stop, first=first)
        folder, repository = _inside(root, root / source.git.path), source.git.url
    else:
        assert source.path is not None  # noqa: S101 - parse_spec has seen to it
        root, folder, repository, commit = source.path, source.path, None, None
    if not folder.is_dir():
        raise _invalid("race.requests: the directory that path names is not there; correct it")
    found = {name: folder / name for name in (source.file, *beside) if (folder / name).is_file()}
    if source.file not in found:
        there = ", ".join(sorted(path.name for path in folder.iterdir() if not path.name.startswith(".."))[:20])
        raise _invalid(
            f"race.requests: there is no file {source.file}; there is: {there or 'nothing'}. Name the file as "
            "race.requests.file"
        )
    if source.git is not None:
        found = {name: _inside(root, path) for name, path in found.items()}
    for name, path in found.items():
        if is_lfs_pointer(path):
            raise _invalid(f"race.requests: {name} {LFS_POINTER}; put the files on a volume (race.requests.volume)")
    return Found(found, repository, commit)


def read_bounded(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, of one that is too long only its beginning."""
    yield from iter(lambda: file.readline(MOST_LINE_BYTES + _LINE_ENDS), b"")


def _read(file: Path, name: str, spec: RaceSpec) -> tuple[str, ...]:
    writes = str(spec.params.get(_ALLOW, False)).lower() == "true"
    found: dict[str, None] = {}
    try:
        with file.open("rb") as lines:
            for request in read_lines(read_bounded(lines), name, writes=writes):
                if not request.reads and len(found) < _MOST_WRITES:
                    found[_method_and_path(request)] = None
    except LinesError as error:
        raise _invalid(str(error)) from None
    return tuple(found)


def _method_and_path(request: RequestLine) -> str:
    return f"{request.method} {request.path.partition('?')[0]}"


def _is_cut(spec: RaceSpec) -> bool:
    # The smoke test need not send a whole file; where the number of requests is given, Rally reduces it.
    return spec.test_mode and spec.params.get("order", "file") == "file"


def _copy(source: Path, target: Path, lines: int | None = None) -> None:
    target.unlink(missing_ok=True)
    if lines is not None:
        with source.open("rb") as whole, target.open("wb") as beginning:
            beginning.writelines(itertools.islice(whole, lines))
    elif source.stat().st_size > LINK_BYTES:
        target.symlink_to(source.resolve())
    else:
        shutil.copyfile(source, target)


def _inside(root: Path, path: Path) -> Path:
    """Return a path of a checkout; raises TrackError for a link that leads out of it."""
    if not is_inside(root, path):
        raise _invalid(f"race.requests: {path.relative_to(root)} is a link that leads out of the repository")
    return path


def _invalid(sentence: str) -> TrackError:
    return TrackError(Reason.REQUESTS_INVALID, sentence)
