"""Downloads a corpus and unpacks it, checked by size, into a directory of the corpora store.

Rally could do both, but writes to the final names while it does, checks no checksum, and knows no bound. What is made
here is what Rally would make: the documents and, beside them, Rally's table of line offsets.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import http.client
import lzma
import shutil
import ssl
import subprocess
import tarfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from fairlap_race.contract.address_secrets import holds_credentials
from fairlap_race.contract.reasons import Reason
from fairlap_race.corpora.need import CorpusFile, ShowProgress
from fairlap_race.corpora.store import Partial
from fairlap_race.errors import StoppedError, TrackError

ATTEMPTS = 6
"""Times in a row that a server is asked in vain before it is given up."""
SOCKET_SECONDS = 60.0
OFFSET_LINES = 50_000
"""Rally keeps the byte offset of every so many lines (esrally/utils/io.py)."""
_CHUNK = 1 << 20
_TOOLS = {".bz2": ("pbzip2", "-d", "-c"), ".zst": ("zstd", "-d", "-c", "-q")}
"""Programs of the race image that unpack with all cores, or what Python cannot unpack."""
_FORMATS = (zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_UNREADABLE = (*_FORMATS, EOFError, ValueError, KeyError, RuntimeError, OSError)
"""What Python says of an archive that it cannot read; RuntimeError of an encrypted one or an unknown compression."""


def fetch(
    need: CorpusFile, partial: Partial, show_progress: ShowProgress, stop: threading.Event, test_mode: bool = False
) -> None:
    """Download `need`, whose names were checked, into `partial`, unpack it there, and note what it is.

    Raises TrackError, StoreFullError, StoppedError and OSError.
    """
    if scheme := _unsupported(need):
        raise TrackError(Reason.CORPUS_MISSING, f"corpus {need.corpus}: {scheme}")
    expected = need.compressed_bytes if need.document_archive else need.uncompressed_bytes
    if need.document_archive and need.compressed_bytes and need.uncompressed_bytes:
        partial.need(need.compressed_bytes + need.uncompressed_bytes)
    target = partial.path / need.file
    target.parent.mkdir(parents=True, exist_ok=True)
    _download(need, target, expected, partial, show_progress, stop, test_mode)
    packed = target.stat().st_size
    partial.facts |= {"url": need.shown_url, "downloadedBytes": packed}
    if need.document_archive:
        offsets = _unpack(need, target, partial, show_progress, stop)
        target.unlink()
    else:
        with target.open("rb") as documents:
            offsets = _read_documents(need, documents, None, partial, show_progress, stop)
    # After the documents are closed: Rally makes a table that is older than them anew.
    (partial.path / f"{need.document_file}.offset").write_text(offsets, encoding="ascii")


def reachable(need: CorpusFile, stop: threading.Event) -> str:
    """Return why `need` cannot be downloaded, as a sentence; empty when it can, or the server does not tell.

    What may pass is asked again, but not once a whole attempt's time is over. Raises StoppedError.
    """
    if scheme := _unsupported(need):
        return scheme
    attempt, last = 1, time.monotonic() + SOCKET_SECONDS
    while True:
        words, may_pass = _asked(need)
        if not may_pass or attempt == ATTEMPTS or time.monotonic() >= last:
            return words
        if stop.wait(backoff(attempt)):
            raise StoppedError
        attempt += 1


def _asked(need: CorpusFile) -> tuple[str, bool]:
    """Return what is wrong with a corpus file by its server's answer, and whether that may pass."""
    request = urllib.request.Request(need.url, method="HEAD", headers=_HEADERS)  # noqa: S310 - checked before
    try:
        with _open(request) as answer:
            length = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        tells = error.code not in (400, 403, 405, 429, 501)
        return (f"{need.shown_url}: {_status(error.code)}", _may_pass(error.code)) if tells else ("", False)
    except (OSError, http.client.HTTPException) as error:
        untrusted = isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError)
        return f"{need.shown_url}: {_no_answer(error)}", isinstance(error, OSError) and not untrusted
    expected = need.compressed_bytes if need.document_archive else need.uncompressed_bytes
    if expected is not None and length is not None and length.isdecimal() and int(length) != expected:
        return f"{need.shown_url} has {length} bytes, the track says {expected}", False
    return "", False


_HEADERS = {"User-Agent": "fairlap", "Accept-Encoding": "identity"}


def _unsupported(need: CorpusFile) -> str:
    if holds_credentials(need.url):
        return "its base-url has a user or a password, which are never sent: name a host that asks for none"
    # ValueError: of an address whose host is none.
    with suppress(ValueError):
        parts = urlsplit(need.url.lstrip())
        if parts.scheme in ("http", "https") and parts.netloc:
            return ""
    how = "only http and https are supported, as https://HOST/PATH"
    return f"{need.shown_url} is not an address to download from: {how}"


@contextmanager
def _open(request: urllib.request.Request) -> Iterator[Any]:
    opener = urllib.request.OpenerDirector()
    # Without handlers for files and FTP, which a redirection could lead to.
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    try:
        answer = opener.open(request, timeout=SOCKET_SECONDS)
    except UnicodeError as error:  # of a host, perhaps a redirection's, that no name server could be asked for
        raise urllib.error.URLError("its host is no name of a host") from error
    with answer:
        yield answer


def _download(
    need: CorpusFile,
    target: Path,
    expected: int | None,
    partial: Partial,
    show_progress: ShowProgress,
    stop: threading.Event,
    test_mode: bool,
) -> None:
    words, tag, missing = "", "", False
    for _ in _attempts(target, stop):
        try:
            tag, total = _go_on(need, target, tag, expected, partial, show_progress, stop)
        except urllib.error.HTTPError as error:
            words, missing = _status(error.code), error.code == http.HTTPStatus.NOT_FOUND
            if error.code == 416:
                target.unlink(missing_ok=True)
            elif not _may_pass(error.code):
                break
            continue
        except (http.client.HTTPException, urllib.error.URLError, TimeoutError, ConnectionError, ssl.SSLError) as error:
            words = _no_answer(error)
            continue
        size = target.stat().st_size
        if expected is not None and size > expected:
            break
        if size >= (expected if expected is not None else total or 0):
            return
        words = f"the connection ended after {size} of {expected or total} bytes"
    size = target.stat().st_size if target.exists() else 0
    if expected is not None and size > expected:
        words, missing = f"it has more than the {expected} bytes that the track says", False
    raise TrackError(Reason.CORPUS_MISSING, _not_had(need, words, missing and test_mode))


def _attempts(target: Path, stop: threading.Event) -> Iterator[None]:
    """Yield before each attempt at `target`, until ATTEMPTS in a row have not made it longer than it was ever before.

    Raises StoppedError.
    """
    most = in_vain = 0
    while in_vain < ATTEMPTS:
        yield
        have = target.stat().st_size if target.exists() else 0
        in_vain, most = (0, have) if have > most else (in_vain + 1, most)
        if in_vain < ATTEMPTS and stop.wait(backoff(in_vain)):
            raise StoppedError


def _may_pass(code: int) -> bool:
    return code >= 500 or code in (408, 429)


def _status(code: int) -> str:
    # In words of our own: a server's may be anything, and a status is read by others.
    return f"HTTP {code} {http.client.responses.get(code, '')}".rstrip()


def _no_answer(error: Exception) -> str:
    """Return why there was no answer; what is not HTTP is not quoted, since any host can be named."""
    if isinstance(error, http.client.HTTPException) and not isinstance(error, ConnectionError):
        return f"the answer is not whole, or not HTTP ({type(error).__name__})"
    return str(getattr(error, "reason", None) or error or type(error).__name__)


def backoff(attempt: int) -> float:
    """Return the seconds to wait after so many attempts in vain."""
    return min(2.0**attempt, 15.0) if attempt > 1 else 0.5


def _go_on(
    need: CorpusFile,
    target: Path,
    tag: str,
    expected: int | None,
    partial: Partial,
    show_progress: ShowProgress,
    stop: threading.Event,
) -> tuple[str, int | None]:
    """Download what `target` still lacks; returns the server's tag of the file and its size, if it says."""
    have = target.stat().st_size if target.exists() else 0
    headers = dict(_HEADERS)
    if have and tag:
        headers |= {"Range": f"bytes={have}-", "If-Range": tag}
    with _open(urllib.request.Request(need.url, headers=headers)) as answer:  # noqa: S310 - checked before
        if answer.status != 206:
            have = 0
        length = answer.headers.get("Content-Length") or ""
        total = have + int(length) if length.isdecimal() else None
        if total and expected is None:
            partial.need(total)
        with target.open("ab" if have else "wb") as out:
            while chunk := answer.read(_CHUNK):
                have += len(chunk)
                if expected is not None and have > expected:
                    out.write(chunk)
                    break
                partial.grow(have)
                out.write(chunk)
                show_progress(f"downloading {need.file}", _percent(have, expected or total))
                if stop.is_set():
                    raise StoppedError
        # A weak tag does not promise the same bytes.
        found = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        return "" if found.startswith("W/") else found, total


def _not_had(need: CorpusFile, words: str, missing_in_test: bool) -> str:
    """Return why a file could not be downloaded; `missing_in_test`: the server has none, and it was for test mode."""
    text = f"corpus {need.corpus}: {need.shown_url} could not be downloaded: {words}"
    if missing_in_test and need.document_file.partition(".")[0].endswith("-1k"):
        text += "; the track has no documents for a smoke test: write smokeTest: false"
    return text


def _unpack(
    need: CorpusFile, archive: Path, partial: Partial, show_progress: ShowProgress, stop: threading.Event
) -> str:
    packed = archive.stat().st_size
    if need.uncompressed_bytes:
        partial.need(packed + need.uncompressed_bytes)
    try:
        with _unpacked(archive, need.document_file) as documents, (partial.path / need.document_file).open("wb") as out:
            return _read_documents(need, documents, out, partial, show_progress, stop, packed)
    except _UNREADABLE as error:
        # It has no number when data is not bzip2, and EINVAL when the archive names a place that no file has.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        # gzip quotes the first bytes of what is not gzip.
        words = "it is not gzip" if isinstance(error, gzip.BadGzipFile) else str(error) or type(error).__name__
        text = f"corpus {need.corpus}: {need.shown_url} cannot be unpacked: {words}"
        raise TrackError(Reason.CORPUS_MISSING, text) from error


@contextmanager
def _unpacked(archive: Path, member: str) -> Iterator[IO[bytes]]:
    """Open the documents in an archive. Raises ValueError, EOFError or another error of the format."""
    name = archive.name
    if name.endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2")):
        with tarfile.open(archive) as tar:
            found = tar.extractfile(_name_in(tar.getnames(), member))
            if found is None:
                raise ValueError(f"{member} in it is not a file")
            yield found
    elif name.endswith(".zip"):
        with zipfile.ZipFile(archive) as zipped, zipped.open(_name_in(zipped.namelist(), member)) as inner:
            yield inner
    elif archive.suffix in _TOOLS and (tool := _tool(archive.suffix)) is not None:
        with _piped([*tool, str(archive)]) as output:
            yield output
    elif archive.suffix == ".bz2":
        with bz2.open(archive) as unpacked:
            yield unpacked
    elif archive.suffix == ".gz":
        with gzip.open(archive) as unpacked_gzip:
            yield unpacked_gzip  # type: ignore[misc]
    else:
        raise ValueError(f"this kind of archive is not supported: {name}")


def _name_in(names: Sequence[str], member: str) -> str:
    """Return how an archive of those names calls what is unpacked to `member`. Raises ValueError."""
    # The last one is what is there when all is unpacked.
    found = next((name for name in reversed(names) if PurePosixPath(name) == PurePosixPath(member)), None)
    if found is None:
        raise ValueError(f"it has no file {member}")
    return found


def _tool(suffix: str) -> list[str] | None:
    program, *options = _TOOLS[suffix]
    found = shutil.which(program)
    return [found, *options] if found else None


@contextmanager
def _piped(argv: list[str]) -> Iterator[IO[bytes]]:
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    words: list[bytes] = []
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    assert process.stderr is not None  # noqa: S101
    reader = threading.Thread(target=lambda: words.append(process.stderr.read(4000)), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        yield process.stdout
        if process.wait(60):
            reader.join(5)
            text = b"".join(words).decode("utf-8", "replace").strip()
            raise ValueError(f"{argv[0]} ended with exit code {process.returncode}: {text[-300:]}")
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


def _read_documents(
    need: CorpusFile,
    documents: IO[bytes],
    out: IO[bytes] | None,
    partial: Partial,
    show_progress: ShowProgress,
    stop: threading.Event,
    packed: int = 0,
) -> str:
    """Read the documents once: copy, hash and count them; returns Rally's table of offsets. Raises TrackError."""
    whole, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    offsets: list[str] = []
    last_tell = time.monotonic()
    while chunk := documents.read(_CHUNK):
        whole.update(chunk)
        lines = _note_offsets(chunk, size, lines, offsets)
        size, last = size + len(chunk), chunk[-1:]
        if out is not None:
            partial.grow(packed + size)
            out.write(chunk)
        if time.monotonic() - last_tell > 0.5:
            last_tell = time.monotonic()
            show_progress(f"unpacking {need.document_file}", _percent(size, need.uncompressed_bytes))
        if stop.is_set():
            raise StoppedError
        if need.uncompressed_bytes is not None and size > need.uncompressed_bytes:
            break
    lines += last != b"\n"
    if need.uncompressed_bytes is not None and size != need.uncompressed_bytes:
        more = "more than " if size > need.uncompressed_bytes else ""
        found = need.uncompressed_bytes if more else size
        text = f"{need.document_file} has {more}{found} bytes, the track says {need.uncompressed_bytes}"
        raise TrackError(Reason.CORPUS_COUNT_MISMATCH, f"corpus {need.corpus}: {text}")
    check_lines(need, lines)
    partial.checksums[need.document_file] = whole.hexdigest()
    partial.facts["lines"] = lines
    return "".join(offsets)


def check_lines(need: CorpusFile, lines: int) -> None:
    """Raise TrackError when the documents have not as many lines as the track says."""
    if lines != need.lines:
        text = f"{need.document_file} has {lines} lines, the track says {need.lines}: correct document-count"
        raise TrackError(Reason.CORPUS_COUNT_MISMATCH, f"corpus {need.corpus}: {text}")


def _note_offsets(chunk: bytes, before: int, lines: int, offsets: list[str]) -> int:
    """Add Rally's offsets of the lines that end in `chunk`; returns the number of lines so far."""
    found = chunk.count(b"\n")
    if lines // OFFSET_LINES == (lines + found) // OFFSET_LINES:
        return lines + found
    at = -1
    while (at := chunk.find(b"\n", at + 1)) >= 0:
        lines += 1
        if lines % OFFSET_LINES == 0:
            offsets.append(f"{lines};{before + at + 1}\n")
    return lines


def _percent(done: int, whole: int | None) -> int | None:
    return min(100, 100 * done // whole) if whole else None
