"""Corpora come over HTTP whole and right, or with a reason; a broken connection is gone on with."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import shutil
import socket
import ssl
import tarfile
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fairlap_race.contract.address_secrets import holds_credentials
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import CorporaSpec
from fairlap_race.corpora import fetch
from fairlap_race.corpora.corpora import CorporaSource, digest_with
from fairlap_race.corpora.need import CorpusFile, key_of, shown_base
from fairlap_race.errors import StoppedError, TrackError

DOCUMENTS = b"".join(b'{"n": %d}\n' % number for number in range(120_000))
LINES = 120_000


class Files(ThreadingHTTPServer):
    """Serves `content`; `cut` bytes after which the connection ends, once for each entry of the list."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content: dict[str, bytes] = {}
        self.cut: list[int] = []
        self.status: list[int] = []
        self.asked: list[tuple[str, str, str | None]] = []
        self.redirect: dict[str, str] = {}
        self.tags = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/data"


class Handler(BaseHTTPRequestHandler):
    server: Files

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        name = self.path.removeprefix("/data/")
        self.server.asked.append((self.command, name, self.headers.get("Range")))
        if name in self.server.redirect:
            self.send_response(302)
            self.send_header("Location", self.server.redirect[name])
            self.end_headers()
            return
        status = self.server.status.pop(0) if self.server.status else 200
        if status != 200 or name not in self.server.content:
            self.send_error(404 if status == 200 else status)
            return
        content = self.server.content[name]
        tag = f'"{hashlib.sha256(content).hexdigest()[:8]}"'
        first = 0
        if (asked := self.headers.get("Range")) and self.headers.get("If-Range") == tag:
            first = int(asked.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        if self.server.tags:
            self.send_header("ETag", tag)
        self.end_headers()
        if self.command == "GET":
            end = first + self.server.cut.pop(0) if self.server.cut else len(content)
            self.wfile.write(content[first:end])
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Files]:
    files = Files()
    thread = threading.Thread(target=files.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield files
    files.shutdown()
    thread.join()
    files.server_close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "backoff", lambda _: 0.01)


def need(server: Files, name: str = "documents.json.bz2", content: bytes | None = None) -> CorpusFile:
    whole = name == "documents.json"
    if content is None:
        content = DOCUMENTS if whole else packed(name.removeprefix("documents.json."))
    server.content[name] = content
    archive, size = None if whole else name, len(content)
    return CorpusFile("logs", "documents.json", archive, server.url, size if archive else None, len(DOCUMENTS), LINES)


class Racing:
    """One race's view of the corpora."""

    def __init__(self, work: Path, shared: Path | None = None, bound: int | None = None, offline: bool = False) -> None:
        self.work, self.said = work, list[tuple[str, int | None]]()
        spec = CorporaSpec(shared, bound) if shared else None
        tell = lambda words, percent: self.said.append((words, percent))  # noqa: E731
        self.corpora = CorporaSource(spec, work / "corpora", offline, threading.Event(), tell)
        (work / "track").mkdir(parents=True, exist_ok=True)

    def link(self, *needs: CorpusFile, test_mode: bool = False) -> Path:
        self.corpora.link_all(needs, self.work / "track", self.work / "cache", test_mode)
        return self.work / "cache" / "logs" / "documents.json"


def reachable(wanted: CorpusFile) -> str:
    return fetch.reachable(wanted, threading.Event())


def failing(work: Path, *needs: CorpusFile, **how: object) -> TrackError:
    with pytest.raises(TrackError) as caught:
        Racing(work, **how).link(*needs)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize("name", ["documents.json", "documents.json.bz2", "documents.json.gz"])
def test_documents_and_offsets_are_what_rally_would_make(server: Files, tmp_path: Path, name: str) -> None:
    racing = Racing(tmp_path)
    path = racing.link(need(server, name))

    assert path.read_bytes() == DOCUMENTS
    offsets = Path(f"{path}.offset").read_text().split()
    expected = [f"{n};{len(b''.join(DOCUMENTS.splitlines(keepends=True)[:n]))}" for n in (50_000, 100_000)]
    assert offsets == expected
    assert Path(f"{path}.offset").stat().st_mtime >= path.stat().st_mtime
    used = racing.corpora.used[0]
    assert (used.sha256, used.bytes) == (f"sha256:{hashlib.sha256(DOCUMENTS).hexdigest()}", len(DOCUMENTS))
    assert used.origin == "downloaded" and any(words.startswith("downloading") for words, _ in racing.said)


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_an_archive_of_a_whole_directory(server: Files, tmp_path: Path, kind: str) -> None:
    """As `tar -C DIRECTORY -cf documents.json.tar .` makes it."""
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as zipped:
            zipped.writestr("./other.json", b"")
            zipped.writestr("./documents.json", DOCUMENTS)
    else:
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "documents.json").write_bytes(DOCUMENTS)
        with tarfile.open(fileobj=file, mode="w:gz" if kind == "tgz" else "w") as tar:
            tar.add(tmp_path / "made", arcname=".")
    assert Racing(tmp_path).link(need(server, f"documents.json.{kind}", file.getvalue())).read_bytes() == DOCUMENTS


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_without_the_documents(server: Files, tmp_path: Path, kind: str) -> None:
    wanted = replace(need(server, f"documents.json.{kind}"), document_file="notes.json")
    assert failing(tmp_path, wanted).message.endswith("cannot be unpacked: it has no file notes.json")


@pytest.mark.parametrize("name", ["documents.json", "documents.json.bz2"])
def test_a_name_that_begins_with_a_dot_is_the_same_name(server: Files, tmp_path: Path, name: str) -> None:
    plain = need(server, name)
    archive = plain.document_archive and f".//{plain.document_archive}"
    wanted = replace(plain, document_file="./documents.json", document_archive=archive)
    racing = Racing(tmp_path)
    assert wanted == plain and racing.link(wanted).read_bytes() == DOCUMENTS
    assert [used.file for used in racing.corpora.used] == ["documents.json"]


@cache
def packed(kind: str, compression: int = zipfile.ZIP_STORED) -> bytes:
    if kind in ("gz", "bz2"):
        return gzip.compress(DOCUMENTS) if kind == "gz" else bz2.compress(DOCUMENTS)
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w", compression) as zipped:
            zipped.writestr("documents.json", DOCUMENTS)
    else:
        mode = {"tar": "w", "tgz": "w:gz", "tar.xz": "w:xz", "tar.bz2": "w:bz2"}[kind]
        with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]
            info = tarfile.TarInfo("documents.json")
            info.size = len(DOCUMENTS)
            tar.addfile(info, io.BytesIO(DOCUMENTS))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz", "tar.bz2"])
def test_archives_of_files(server: Files, tmp_path: Path, kind: str) -> None:
    wanted = need(server, f"documents.json.{kind}")
    assert Racing(tmp_path).link(wanted).read_bytes() == DOCUMENTS


def test_the_second_race_downloads_nothing(server: Files, tmp_path: Path) -> None:
    wanted = need(server)
    first = Racing(tmp_path / "a", tmp_path / "shared")
    first.link(wanted)
    first.corpora.close()
    server.asked.clear()
    second = Racing(tmp_path / "b", tmp_path / "shared")
    assert second.link(wanted).read_bytes() == DOCUMENTS
    assert server.asked == [] and second.corpora.used[0].origin == "cache"
    assert digest_with("sha256:1", first.corpora.used, {}) == digest_with("sha256:1", second.corpora.used, {})
    second.corpora.close()
    assert Racing(tmp_path / "c", tmp_path / "shared", offline=True).link(wanted).read_bytes() == DOCUMENTS


def test_a_broken_connection_is_gone_on_with(server: Files, tmp_path: Path) -> None:
    wanted = need(server, "documents.json")
    server.cut, server.status = [100_000, 300_000], [503]
    assert Racing(tmp_path).link(wanted).read_bytes() == DOCUMENTS
    assert [asked for _, _, asked in server.asked] == [None, None, "bytes=100000-", "bytes=400000-"]


@pytest.mark.parametrize("resumes", [True, False], ids=["a server that resumes", "a server that begins anew"])
def test_a_connection_may_break_any_number_of_times_while_bytes_come(
    server: Files, tmp_path: Path, resumes: bool
) -> None:
    wanted = need(server, "documents.json")
    pieces = 5 * fetch.ATTEMPTS
    each = len(DOCUMENTS) // pieces
    server.cut = [each if resumes else each * (number + 1) for number in range(pieces)]
    server.tags = resumes
    assert Racing(tmp_path).link(wanted).read_bytes() == DOCUMENTS
    assert len(server.asked) > 4 * fetch.ATTEMPTS


@pytest.mark.parametrize("tags", [True, False])
def test_a_connection_that_always_breaks_at_the_same_byte_is_given_up(
    server: Files, tmp_path: Path, tags: bool
) -> None:
    wanted = need(server, "documents.json")
    server.tags = tags
    server.cut = [100_000, *([0] * 100)] if tags else [100_000] * 100
    assert "100000 of" in failing(tmp_path, wanted).message
    assert len(server.asked) == 1 + fetch.ATTEMPTS


def test_a_download_that_stays_short_is_said(server: Files, tmp_path: Path) -> None:
    wanted = need(server, "documents.json")
    server.content["documents.json"] = DOCUMENTS[:-10]
    error = failing(tmp_path, wanted)
    assert error.reason is Reason.CORPUS_MISSING
    assert f"{len(DOCUMENTS) - 10} of {len(DOCUMENTS)} bytes" in error.message and server.url in error.message


def test_a_download_that_is_too_long_is_not_taken(server: Files, tmp_path: Path) -> None:
    wanted = need(server, "documents.json")
    server.content["documents.json"] = DOCUMENTS + b"more\n"
    assert "more than" in failing(tmp_path, wanted).message


@pytest.mark.parametrize(
    ("change", "reason", "words"),
    [
        ({"uncompressed_bytes": 10}, Reason.CORPUS_COUNT_MISMATCH, "more than 10 bytes"),
        ({"uncompressed_bytes": len(DOCUMENTS) + 1}, Reason.CORPUS_COUNT_MISMATCH, f"says {len(DOCUMENTS) + 1}"),
        ({"lines": 7}, Reason.CORPUS_COUNT_MISMATCH, "120000 lines, the track says 7"),
        ({"document_archive": "other.bz2", "compressed_bytes": None}, Reason.CORPUS_MISSING, "HTTP 404"),
        ({"base_url": "http://127.0.0.1:1/x"}, Reason.CORPUS_MISSING, "refused"),
        ({"base_url": "s3://bucket/x"}, Reason.CORPUS_MISSING, "only http and https"),
        ({"base_url": "file:///etc"}, Reason.CORPUS_MISSING, "only http and https"),
        ({"base_url": "https://bot:SECRET@host/x"}, Reason.CORPUS_MISSING, "has a user or a password"),
        ({"base_url": None}, Reason.CORPUS_MISSING, "no base-url"),
        ({"base_url": "http://a[b/x"}, Reason.CORPUS_MISSING, "is not an address"),
        ({"document_file": "../escape.json"}, Reason.TRACK_INVALID, "leaves the directory"),
        ({"document_archive": "/escape.json.bz2"}, Reason.TRACK_INVALID, "leaves the directory"),
        ({"corpus": "../escape"}, Reason.TRACK_INVALID, "corpus ../escape: ../escape leaves the directory"),
        ({"corpus": "logs/../../escape"}, Reason.TRACK_INVALID, "leaves the directory"),
        ({"corpus": "/escape"}, Reason.TRACK_INVALID, "leaves the directory"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    server: Files, tmp_path: Path, change: dict[str, object], reason: Reason, words: str
) -> None:
    error = failing(tmp_path, replace(need(server), **change))  # type: ignore[arg-type]
    assert error.reason is reason and words in error.message, error.message
    assert not list(tmp_path.glob("corpora/entries/*"))


@pytest.mark.parametrize(
    "name", ["documents.json.bz2", "documents.json.gz", "documents.json.zip", "documents.json.tar"]
)
def test_what_is_no_archive_is_said(server: Files, tmp_path: Path, name: str) -> None:
    error = failing(tmp_path, need(server, name, b"<html>not found, but with status 200</html>"))
    assert error.reason is Reason.CORPUS_MISSING and "cannot be unpacked" in error.message


def test_half_an_archive_is_said(server: Files, tmp_path: Path) -> None:
    whole = packed("bz2")
    error = failing(tmp_path, need(server, "documents.json.bz2", whole[: len(whole) // 2]))
    assert error.reason is Reason.CORPUS_MISSING and "cannot be unpacked" in error.message


def damaged(kind: str, compression: int = zipfile.ZIP_STORED) -> bytes:
    found = bytearray(packed(kind, compression))
    middle = len(found) // 2
    found[middle : middle + 4096] = hashlib.shake_128(b"").digest(4096)
    return bytes(found)


def changed(mark: bytes, place: int, content: bytes) -> bytes:
    """A ZIP file with `content` at a place that is counted from `mark`."""
    found = bytearray(packed("zip"))
    at = found.index(mark) + place
    found[at : at + len(content)] = content
    return bytes(found)


def entry(**facts: object) -> bytes:
    """A TAR file of one entry and no content."""
    info = tarfile.TarInfo("documents.json")
    for name, value in facts.items():
        setattr(info, name, value)
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(tarfile.BLOCKSIZE * 2)


DAMAGED = {
    "gz": ("gz", lambda: damaged("gz")),
    "gz that ends early": ("gz", lambda: packed("gz")[:-9]),
    "bz2": ("bz2", lambda: damaged("bz2")),
    "tgz": ("tgz", lambda: damaged("tgz")),
    "xz in a tgz": ("tgz", lambda: damaged("tar.xz")),
    "tar.bz2": ("tar.bz2", lambda: damaged("tar.bz2")),
    "tar with a link to itself": ("tar", lambda: entry(type=tarfile.SYMTYPE, linkname="documents.json")),
    "tar with a file of 4 EiB": ("tar", lambda: entry(size=1 << 62)),
    "stored": ("zip", lambda: damaged("zip", zipfile.ZIP_STORED)),
    "deflated": ("zip", lambda: damaged("zip", zipfile.ZIP_DEFLATED)),
    "bzip2": ("zip", lambda: damaged("zip", zipfile.ZIP_BZIP2)),
    "lzma": ("zip", lambda: damaged("zip", zipfile.ZIP_LZMA)),
    "encrypted": ("zip", lambda: changed(b"PK\x01\x02", 8, b"\x01")),
    "unknown compression": ("zip", lambda: changed(b"PK\x01\x02", 10, b"\x63")),
    "zip whose list begins before it": ("zip", lambda: changed(b"PK\x05\x06", 12, b"\xff" * 4)),
}


@pytest.mark.parametrize(("name", "make"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_archive_is_said(
    server: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, make: Callable[[], bytes]
) -> None:
    # What Python says of it, not what a program of this machine says.
    monkeypatch.setattr(shutil, "which", lambda _: None)
    error = failing(tmp_path, need(server, f"documents.json.{name}", make()))
    assert error.reason is Reason.CORPUS_MISSING and "cannot be unpacked: " in error.message, error.message
    assert not list(tmp_path.glob("corpora/entries/*"))


@pytest.mark.parametrize("told", [StoppedError(), TrackError(Reason.CORPUS_MISSING, "no"), OSError(errno.EIO, "no")])
def test_what_is_no_fault_of_the_archive_is_not_laid_to_it(
    server: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Exception
) -> None:
    def read(*_: object) -> str:
        raise told

    monkeypatch.setattr(fetch, "_read_documents", read)
    with pytest.raises((StoppedError, TrackError)) as caught:
        Racing(tmp_path).link(need(server))
    assert "cannot be unpacked" not in str(caught.value)


def test_the_bound_is_kept(server: Files, tmp_path: Path) -> None:
    error = failing(tmp_path / "w", need(server), shared=tmp_path / "shared", bound=len(DOCUMENTS) // 2)
    assert error.reason is Reason.CORPORA_CACHE and "race.corpora" in error.message


def test_a_volume_that_cannot_be_written_is_said(server: Files, tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("a file where the directory should be")
    error = failing(tmp_path / "w", need(server), shared=tmp_path / "shared")
    assert error.reason is Reason.CORPORA_CACHE


def test_offline_downloads_nothing(server: Files, tmp_path: Path) -> None:
    error = failing(tmp_path, need(server), offline=True)
    assert error.reason is Reason.CORPUS_MISSING and "race.offline" in error.message and server.asked == []


def test_a_redirection_leads_to_http_only(server: Files, tmp_path: Path) -> None:
    wanted = need(server)
    server.redirect["documents.json.bz2"] = "ftp://127.0.0.1/documents.json.bz2"
    assert failing(tmp_path / "a", wanted).reason is Reason.CORPUS_MISSING
    server.content["moved"] = server.content["documents.json.bz2"]
    server.redirect["documents.json.bz2"] = f"{server.url}/moved"
    assert Racing(tmp_path / "b").link(wanted).read_bytes() == DOCUMENTS


def test_what_is_beside_the_track_is_left_to_rally(server: Files, tmp_path: Path) -> None:
    racing = Racing(tmp_path)
    (tmp_path / "track" / "documents.json.bz2").write_bytes(b"")
    assert not racing.link(need(server)).exists() and server.asked == []


@pytest.mark.parametrize("change", [{"corpus": "/x"}, {"corpus": "../x"}, {"document_file": "../documents.json"}])
def test_a_name_that_leads_out_is_refused_wherever_its_file_is(tmp_path: Path, change: dict[str, str]) -> None:
    racing = Racing(tmp_path)
    for folder in (tmp_path, tmp_path / "track"):
        (folder / "documents.json").write_bytes(DOCUMENTS)
    wanted = replace(CorpusFile("logs", "documents.json", lines=LINES), **change)  # type: ignore[arg-type]
    for use in (lambda: racing.link(wanted), lambda: racing.corpora.look([wanted], tmp_path / "track")):
        with pytest.raises(TrackError, match="leaves the directory of the corpora") as caught:
            use()
        assert caught.value.reason is Reason.TRACK_INVALID


def test_a_smoke_test_without_documents_is_said(server: Files, tmp_path: Path) -> None:
    small = CorpusFile("logs", "documents-1k.json", "documents-1k.json.bz2", server.url, None, None, 1000)
    with pytest.raises(TrackError, match="smokeTest: false"):
        Racing(tmp_path).link(small, test_mode=True)


@pytest.mark.parametrize(("status", "said"), [([], True), ([410], False)], ids=["not found", "gone"])
def test_that_there_are_no_documents_is_known_by_the_status_and_not_by_its_words(
    server: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: list[int], said: bool
) -> None:
    monkeypatch.setattr(fetch, "_status", lambda code: "HTTP 404" if code != 404 else "no such file")
    server.status = status
    small = CorpusFile("logs", "documents-1k.json", "documents-1k.json.bz2", server.url, None, None, 1000)
    with pytest.raises(TrackError) as caught:
        Racing(tmp_path).link(small, test_mode=True)
    assert ("smokeTest: false" in caught.value.message) is said


@pytest.mark.parametrize(
    ("answer", "words"),
    [(b"HTTP/1.1 404 SECRET\r\n\r\n", "HTTP 404 Not Found"), (b"SECRET\r\n\r\n", "not HTTP (BadStatusLine)")],
)
def test_no_word_of_the_server_is_in_the_message(server: Files, answer: bytes, words: str) -> None:
    """The message stands in the status, and the address may be any that the pod can reach."""
    with socket.create_server(("127.0.0.1", 0)) as listens:

        def tell() -> None:
            talks, _address = listens.accept()
            with talks:
                talks.recv(1000)
                talks.sendall(answer)

        threading.Thread(target=tell, daemon=True).start()
        said = reachable(replace(need(server), base_url=f"http://127.0.0.1:{listens.getsockname()[1]}"))
    assert words in said and "SECRET" not in said


def test_a_check_asks_without_downloading(server: Files, tmp_path: Path) -> None:
    good, corpora = need(server), Racing(tmp_path / "w", tmp_path / "shared", 10**9).corpora
    track = tmp_path / "track"

    def said(corpus: CorpusFile, by: CorporaSource = corpora) -> str:
        with pytest.raises(TrackError) as caught:
            by.look([corpus], track)
        return f"{caught.value.reason}: {caught.value.message}"

    corpora.look([good], track)
    assert "HTTP 404" in said(replace(good, document_archive="x.bz2"))
    assert "the track says 5" in said(replace(good, compressed_bytes=5))
    assert "no base-url" in said(replace(good, base_url=None))
    assert "is not an address" in said(replace(good, base_url="http://a[b"))
    assert "its host is no name of a host" in said(replace(good, base_url="http://a..b"))
    small = Racing(tmp_path / "v", tmp_path / "shared", 1000).corpora
    assert "CorporaCacheUnusable" in said(good, small) and "the bound is 1000" in said(good, small)
    assert {command for command, _, _ in server.asked} == {"HEAD"}
    server.status = [405]
    assert reachable(good) == ""


@pytest.mark.parametrize(
    ("answers", "words", "asked"),
    [
        ([503], "", 2),
        ([500, 502, 504, 408], "", 5),
        ([429], "", 1),
        ([503] * 100, "HTTP 503", fetch.ATTEMPTS),
        ([410], "HTTP 410", 1),
    ],
)
def test_a_server_that_fails_for_a_moment_is_asked_again(
    server: Files, answers: list[int], words: str, asked: int
) -> None:
    wanted = need(server)
    server.status = answers
    said = reachable(wanted)
    assert words in said and bool(said) is bool(words) and len(server.asked) == asked


def test_a_server_that_is_just_starting_is_asked_again(server: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, tried = need(server), list[object]()
    opened = fetch._open

    def late(request: urllib.request.Request) -> object:
        tried.append(request)
        if len(tried) < 3:
            raise urllib.error.URLError("[Errno -3] Temporary failure in name resolution")
        return opened(request)

    monkeypatch.setattr(fetch, "_open", late)
    assert reachable(wanted) == "" and len(tried) == 3


@pytest.mark.parametrize(
    ("error", "seconds", "asked"),
    [
        (TimeoutError("x"), 60.0, 1),
        (TimeoutError("x"), 25.0, 3),
        (urllib.error.URLError(ssl.SSLCertVerificationError("x")), 0.0, 1),
        (urllib.error.URLError(ssl.SSLError("x")), 0.0, fetch.ATTEMPTS),
    ],
)
def test_a_server_that_will_not_answer_is_not_waited_for(
    server: Files, monkeypatch: pytest.MonkeyPatch, error: OSError, seconds: float, asked: int
) -> None:
    """A firewall that drops packets costs a minute for each attempt, a certificate stays as it is."""
    now, tried = [0.0], list[object]()

    def refuse(request: urllib.request.Request) -> object:
        tried.append(request)
        now[0] += seconds
        raise error

    monkeypatch.setattr(fetch.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(fetch, "_open", refuse)
    assert "x" in reachable(need(server)) and len(tried) == asked


def test_who_asks_again_can_be_stopped(server: Files) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        fetch.reachable(replace(need(server), base_url="http://127.0.0.1:1/x"), stop)


def test_a_check_adds_up_what_a_race_has_at_once(server: Files, tmp_path: Path) -> None:
    archive = need(server)
    whole = archive.uncompressed_bytes or 0
    assert archive.compressed_bytes is not None
    second = replace(archive, corpus="more", document_file="documents-2.json", base_url=f"{server.url}/.")
    both, track = 2 * whole + archive.compressed_bytes, tmp_path / "track"

    def look(bound: int, *needs: CorpusFile, shared: str = "shared") -> None:
        Racing(tmp_path / "w", tmp_path / shared, bound).corpora.look(needs, track)

    server.content["./documents.json.bz2"] = server.content["documents.json.bz2"]
    look(both, archive, second)
    look(both - whole, archive, archive)
    with pytest.raises(
        TrackError, match=f"corpus more: no room .*: {both} bytes are needed .*, the bound is {both - 1}"
    ):
        look(both - 1, archive, second)
    first = Racing(tmp_path / "a", tmp_path / "shared")
    first.link(archive)
    first.corpora.close()
    look(1, archive)  # It is there already.
    with pytest.raises(TrackError, match="no room in") as caught:
        look(both - 1, second, archive)
    assert caught.value.reason is Reason.CORPORA_CACHE
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrackError, match=r"the volume has \d+"):
        Racing(tmp_path / "w", tmp_path / "empty").corpora.look([replace(archive, uncompressed_bytes=1 << 62)], track)


def test_of_a_volume_without_a_bound_each_file_is_looked_at_alone(
    server: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system may compress, so how much fits at once is not known."""
    archive = need(server)
    most = len(DOCUMENTS) + (archive.compressed_bytes or 0)
    monkeypatch.setattr("fairlap_race.corpora.corpora.largest", lambda root, bound: most)
    second = replace(archive, corpus="more", document_file="documents-2.json", base_url=f"{server.url}/.")
    server.content["./documents.json.bz2"] = server.content["documents.json.bz2"]
    larger = replace(second, uncompressed_bytes=len(DOCUMENTS) + 1)
    Racing(tmp_path / "w", tmp_path / "shared").corpora.look([archive, second], tmp_path)
    for bound, needs, words in ((None, (archive, larger), rf"{most + 1} bytes .* the volume has {most}"),
            (most, (archive, second), rf"beside the {len(DOCUMENTS)} .*, the bound is {most}")):  # fmt: skip
        with pytest.raises(TrackError, match=f"corpus more: no room .*{words}"):
            Racing(tmp_path / "w", tmp_path / "shared", bound).corpora.look(needs, tmp_path)


@pytest.mark.parametrize(
    "base",
    [
        *("https://SECRET@{}/x", "https://bot:SECRET@{}/x", " http://bot:SECRET@{}/x", "//bot:SECRET@{}/x"),
        *("https://bot:SEC/SECRET@{}/x", "https://bot:a@b/SECRET@{}/x", "s3://bot:SECRET@{}/x", "http://:SECRET@{}"),
    ],
)
def test_who_may_read_documents_is_said_to_nobody(tmp_path: Path, base: str) -> None:
    wanted = CorpusFile("logs", "documents.json", base_url=base.format("127.0.0.1:1"))
    assert "SECRET" not in wanted.shown_url and "127.0.0.1:1" in wanted.shown_url
    assert reachable(wanted).startswith("its base-url has a user or a password")
    for offline in (False, True):
        assert "SECRET" not in failing(tmp_path, wanted, offline=offline).message


@pytest.mark.parametrize(
    "base",
    [
        *("bot:SECRET@host/x", "https:/bot:SECRET@host/x", "https:bot:SECRET@host/x", "https:///bot:SECRET@host/x"),
        *(
            "bot:SECRET@host//x",
            "bot:SECRET%40host//x",
            "https:\\\\bot:SECRET@host/x",
            "SECRET@host",
            "s3:SECRET@host/x",
        ),
    ],
)
def test_what_is_no_address_is_not_shown_where_it_may_hold_credentials(tmp_path: Path, base: str) -> None:
    wanted = CorpusFile("logs", "documents.json", base_url=base)
    assert reachable(wanted) == (
        "its base-url is not an address to download from: only http and https are supported, as https://HOST/PATH"
    )
    for offline in (False, True):
        assert "SECRET" not in failing(tmp_path, wanted, offline=offline).message
    assert "SECRET" not in wanted.shown_url


@pytest.mark.parametrize("base", ["https:/host/x", "host/x", "https:///host/x", "https:host/x", "//host/x"])
def test_an_address_that_names_no_host_is_refused_as_it_is(base: str) -> None:
    assert reachable(CorpusFile("logs", "documents.json", base_url=base)).startswith(
        f"{base}/documents.json is not an "
    )


def test_what_an_address_asks_for_is_said_to_nobody(server: Files, tmp_path: Path) -> None:
    query = "documents.json?sig=SECRET/documents.json"
    server.content[query] = DOCUMENTS
    wanted = replace(need(server, "documents.json"), base_url=f"{server.url}/documents.json?sig=SECRET")
    racing = Racing(tmp_path / "a")
    racing.link(wanted)
    assert [corpus.url for corpus in racing.corpora.used] == [f"{server.url}/documents.json"]
    assert not [path for path in tmp_path.rglob("entry.json") if "SECRET" in path.read_text()]
    del server.content[query]
    assert "SECRET" not in failing(tmp_path / "b", wanted).message and "SECRET" not in reachable(wanted)


@pytest.mark.parametrize("url", ["http://h:9200/a@b/c", "http://[::1]:80/a@b", "https://h//a@b", "https://h/a:b@c"])
def test_an_at_sign_elsewhere_is_no_user(url: str) -> None:
    assert shown_base(url) == url and not holds_credentials(url)


def test_generated_documents_are_made_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(into: Path, watch: Callable[[], None]) -> None:
        made.append(into)
        watch()
        (into / "documents.json").write_bytes(b"{}\n")

    for name in ("a", "b"):
        racing = Racing(tmp_path / name, tmp_path / "shared")
        target = tmp_path / name / "track"
        checksums = racing.corpora.generated("key", "log_ingest", make, target)
        assert (target / "documents.json").read_bytes() == b"{}\n"
        assert checksums == {"documents.json": hashlib.sha256(b"{}\n").hexdigest()}
        assert digest_with("sha256:1", racing.corpora.used, checksums) == "sha256:1"
        racing.corpora.close()
    assert len(made) == 1


def test_generated_documents_are_bounded(tmp_path: Path) -> None:
    racing = Racing(tmp_path / "w", tmp_path / "shared", 1000)
    for watched in (True, False):

        def make(into: Path, watch: Callable[[], None], watched: bool = watched) -> None:
            (into / "documents.json").write_bytes(b"x" * 5000)
            if watched:
                watch()

        with pytest.raises(TrackError, match="corpus log_ingest: no room in the volume") as caught:
            racing.corpora.generated("key", "log_ingest", make, tmp_path / "track")
        assert caught.value.reason is Reason.CORPORA_CACHE
        assert not list(tmp_path.glob("shared/entries/*"))


def test_a_corpus_without_sizes_that_was_replaced_is_fetched_anew(server: Files, tmp_path: Path) -> None:
    wanted = replace(need(server, "documents.json"), uncompressed_bytes=None)
    first = Racing(tmp_path / "a", tmp_path / "shared")
    first.link(wanted)
    first.corpora.close()
    server.content["documents.json"] = DOCUMENTS + b"{}\n"
    assert Racing(tmp_path / "b", tmp_path / "shared").link(wanted).read_bytes() == DOCUMENTS
    corrected = replace(wanted, lines=LINES + 1)
    assert Racing(tmp_path / "c", tmp_path / "shared").link(corrected).read_bytes() == DOCUMENTS + b"{}\n"


def test_the_same_name_elsewhere_is_another_corpus(server: Files) -> None:
    one = need(server)
    others = [
        replace(one, base_url="http://other/data"),
        replace(one, compressed_bytes=1),
        replace(one, uncompressed_bytes=1),
    ]
    assert len({key_of(each) for each in (one, *others)}) == 4
    assert key_of(replace(one, lines=5, corpus="x")) == key_of(one)
    assert key_of(one).startswith("corpus-")
