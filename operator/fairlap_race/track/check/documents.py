"""Checks that the corpora of a track are there and have as many documents as the track says."""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from fairlap_race.contract.reasons import Reason
from fairlap_race.corpora.need import shown_base
from fairlap_race.track.check.finding import FoundError
from fairlap_race.track.check.source_map import Rendered
from fairlap_race.track.check.tasks import parameter_source
from fairlap_race.track.lfs import LFS_POINTER, is_lfs_pointer
from fairlap_race.track.load import Request

INLINE_BYTES = 4 * 1024 * 1024
"""Every line of a corpus up to this size is checked to be JSON; of larger ones only the first."""
ARCHIVE_BYTES = 64 * 1024 * 1024
"""Archives up to this size are unpacked to count their documents."""
COUNTED_BYTES = 4 << 30
"""Larger files whose size is the one in the track, or that were generated for it, are not counted: that takes minutes
of the ten that a check has."""
_CHUNK = 1 << 20


def corpus_errors(request: Request, track: Any, challenge: Any, rendered: Rendered) -> Iterator[FoundError]:
    """Yield an error for each document file that `challenge` indexes and that is not as the track says."""
    for corpus, documents in used_documents(track, challenge):
        try:
            _check(request, corpus, documents, rendered)
        except FoundError as error:
            yield error


def used_documents(track: Any, challenge: Any) -> Iterator[tuple[str, Any]]:
    """Yield corpus name and Rally's document set for each that the bulks of `challenge` index, each once."""
    corpora: dict[str, Any] = {}
    for leaf in (leaf for element in challenge.schedule for leaf in element):
        try:
            source = parameter_source(track, leaf)
        except Exception:  # noqa: S112 - what is wrong with a task is said by task_errors
            continue
        for corpus in getattr(source, "corpora", ()):
            corpora[corpus.name] = corpora.get(corpus.name, corpus).union(corpus)
    yield from (
        (name, documents) for name, corpus in corpora.items() for documents in corpus.documents if documents.is_bulk
    )


def corpus_file(request: Request, corpus: str, documents: Any) -> tuple[Path | None, Path | None]:
    """Return the document file and the archive of a document set, None for what is not there."""
    roots = [Path(request.track_path), Path(request.data_cache or "/nonexistent") / corpus]
    archive = documents.document_archive
    return _first(roots, documents.document_file), _first(roots, archive) if archive else None


def _check(request: Request, corpus: str, documents: Any, rendered: Rendered) -> None:
    path, archive = corpus_file(request, corpus, documents)
    place = _place(rendered, corpus, documents)
    if path is None and archive is None:
        if request.downloads and documents.base_url:
            return
        raise FoundError(Reason.CORPUS_MISSING, _missing(corpus, documents), _missing_cure(request, documents), place)
    found = path or archive
    if found and is_lfs_pointer(found):
        cure = "Put the track with the whole file on a volume, or remove the file and give the corpus a base-url"
        raise FoundError(Reason.CORPUS_MISSING, f"corpus {corpus}: {found.name} {LFS_POINTER}", cure, place, "git-lfs")
    size = documents.uncompressed_size_in_bytes if path else documents.compressed_size_in_bytes
    if found is None or (size is not None and found.stat().st_size != size):
        actual = found.stat().st_size if found else 0
        key = "uncompressed-bytes" if path else "compressed-bytes"
        what = f"corpus {corpus}: {found.name if found else ''} has {actual} bytes, the track says {size}"
        cure = f"Write {actual} as {key} or leave the key out"
        raise FoundError(Reason.CORPUS_COUNT_MISMATCH, what, cure, place, "corpus-size")
    known = (size is not None or request.generated) and found.stat().st_size > COUNTED_BYTES
    _check_lines(found, corpus, documents, place, counted=not known)


def _check_lines(path: Path, corpus: str, documents: Any, place: tuple[str, int, str] | None, *, counted: bool) -> None:
    try:
        with path.open("rb"):  # also what is not counted must be readable
            lines = _count(path) if counted else None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FoundError(
            Reason.CORPUS_MISSING, f"corpus {corpus}: {path.name} cannot be read: {error}", rule="corpus-unreadable"
        ) from None
    whole = path.stat().st_size <= INLINE_BYTES
    if lines is not None and lines != documents.number_of_lines:
        if whole:
            _check_empty_lines(path)
        each = 2 if documents.includes_action_and_meta_data else 1
        what = f"corpus {corpus}: {path.name} has {lines} lines, the track says {documents.number_of_lines}"
        if each == 2:
            what += " (two for each document, because of includes-action-and-meta-data)"
        cure = f"Write {lines // each} as document-count" if lines % each == 0 else "Each document needs two lines"
        raise FoundError(Reason.CORPUS_COUNT_MISMATCH, what, cure, place, "corpus-count")
    for number, line in enumerate(_corpus_lines(path), start=1):
        _check_document(path.name, number, line)
        if not whole:
            break


def _check_empty_lines(path: Path) -> None:
    for number, line in enumerate(_corpus_lines(path), start=1):
        if not line.strip():
            what, cure = "the line is empty, and Rally takes each line for a document", "Remove the line"
            raise FoundError(Reason.CORPUS_COUNT_MISMATCH, what, cure, (path.name, number, ""), "corpus-empty-line")


def _check_document(name: str, number: int, line: bytes) -> None:
    text = line.decode("utf-8", "replace").strip()
    try:
        good = isinstance(json.loads(line), dict)
        why = "not a JSON object"
    except RecursionError:
        good, why = False, "nested deeper than Rally reads"
    except ValueError as error:
        good, why = False, f"not JSON: {error}"
    if not good:
        cure = "A corpus has one whole JSON object in each line, and no commas or brackets around them"
        raise FoundError(Reason.TRACK_INVALID, f"the document is {why}", cure, (name, number, text), "corpus-line")


def _first(roots: list[Path], name: str) -> Path | None:
    return next((root / name for root in roots if (root / name).is_file()), None)


def _open(path: Path) -> BinaryIO | bz2.BZ2File | gzip.GzipFile | None:
    if path.suffix in (".bz2", ".gz") and not path.name.endswith((".tar.bz2", ".tar.gz")):
        if path.stat().st_size > ARCHIVE_BYTES:
            return None
        return bz2.BZ2File(path) if path.suffix == ".bz2" else gzip.GzipFile(path)
    if path.suffix in (".zip", ".tar", ".tgz", ".zst") or path.name.endswith((".tar.bz2", ".tar.gz")):
        return None
    return path.open("rb")


def _count(path: Path) -> int | None:
    """Return the lines of a corpus, None for an archive that is not unpacked here."""
    file = _open(path)
    if file is None:
        return None
    lines, last = 0, b"\n"
    with file:
        while chunk := file.read(_CHUNK):
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return lines + (last != b"\n")


def _corpus_lines(path: Path) -> Iterator[bytes]:
    file = _open(path)
    if file is not None:
        with file:
            yield from file


def _missing(corpus: str, documents: Any) -> str:
    name = documents.document_archive or documents.document_file
    if documents.base_url:
        where = shown_base(documents.base_url)
        return f"corpus {corpus}: {name} is not there and is not downloaded from {where} during a race"
    return f"corpus {corpus}: {name} is not in the track"


def _missing_cure(request: Request, documents: Any) -> str:
    name = documents.document_file
    if request.test_mode and name.partition(".")[0].endswith("-1k"):
        return f"The smoke test needs the first 1,000 documents as {name}; add that file or do without the smoke test"
    return "Put the file beside track.json, in a ConfigMap as one more key, or correct source-file"


def _place(rendered: Rendered, corpus: str, documents: Any) -> tuple[str, int, str] | None:
    names = {documents.document_archive, documents.document_file}
    for number, spec in enumerate(json.loads(rendered.text).get("corpora", [])):
        for position, each in enumerate(spec.get("documents", [])):
            source = str(each.get("source-file"))
            head, dot, tail = source.partition(".")
            if spec.get("name") == corpus and names & {source, f"{head}-1k{dot}{tail}"}:
                place = rendered.place_of(["corpora", number, "documents", position, "source-file"])
                return place.as_tuple() if place else None
    return None
