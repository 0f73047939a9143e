"""What the runner fetches is what Rally itself finds ready: it writes nothing, and reads the right documents."""

from __future__ import annotations

import bz2
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally.track import loader
from esrally.utils import io

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.specification.race_spec import CorporaSpec, parse_spec
from fairlap_race.corpora.corpora import CorporaSource
from fairlap_race.track.check.step import check
from fairlap_race.track.check.tasks import load
from fairlap_race.track.load import Request, describe, rally_config

LINES = 120_000
DOCUMENTS = b"".join(b'{"n": %d}\n' % number for number in range(LINES))


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    served = tmp_path / "served"
    served.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(served))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    (served / "documents.json.bz2").write_bytes(bz2.compress(DOCUMENTS))
    yield f"http://127.0.0.1:{server.server_address[1]}", served
    server.shutdown()
    thread.join()
    server.server_close()


def write_track(directory: Path, url: str) -> Path:
    directory.mkdir(parents=True)
    documents = {
        "source-file": "documents.json.bz2",
        "document-count": LINES,
        "uncompressed-bytes": len(DOCUMENTS),
        "target-index": "numbers",
    }
    track = {
        "version": 2,
        "description": "d",
        "indices": [{"name": "numbers", "body": "index.json"}],
        "corpora": [{"name": "numbers", "base-url": url, "documents": [documents]}],
        "schedule": [{"name": "index", "operation": {"operation-type": "bulk", "bulk-size": 10}}],
    }
    (directory / "track.json").write_text(json.dumps(track))
    (directory / "index.json").write_text("{}")
    return directory


def checked(work: Path, track: dict[str, Any], **fields: Any) -> Record:
    spec = {"format": 1, "mode": "check", "namespace": "n", "record": "r", "raceId": "race", "track": track, **fields}
    work.mkdir(parents=True, exist_ok=True)
    return check(parse_spec(json.dumps(spec)), work)


def test_rally_finds_everything_done(tmp_path: Path, files: tuple[str, Path]) -> None:
    track = write_track(tmp_path / "numbers", files[0])
    cache = tmp_path / "cache"
    request = Request(track_path=str(track), data_cache=str(cache), downloads=True)
    answer = describe(request)
    assert answer.error is None and len(answer.corpora) == 1 and not answer.own_code
    stop = threading.Event()
    corpora = CorporaSource(CorporaSpec(tmp_path / "shared"), tmp_path, False, stop, lambda *_: None)
    corpora.link_all(answer.corpora, track, cache, test_mode=False)
    before = {path: path.lstat() for path in tmp_path.rglob("*") if path.is_file()}

    cfg, loaded = rally_config(request, {}), load(request, {})
    preparator = loader.DefaultTrackPreparator()
    preparator.cfg, preparator.downloader = cfg, loader.Downloader(offline=True, test_mode=False)
    preparator.decompressor = loader.Decompressor()
    for work, arguments in preparator.on_prepare_track(loaded, str(cache)):
        work(**arguments)

    after = {path: path.lstat() for path in tmp_path.rglob("*") if path.is_file()}
    assert {p: (s.st_size, s.st_mtime_ns) for p, s in after.items()} == {
        p: (s.st_size, s.st_mtime_ns) for p, s in before.items()
    }
    path = cache / "numbers" / "documents.json"
    with io.MmapSource(str(path), mode="rt").open() as source:
        io.skip_lines(str(path), source, 100_007)
        assert json.loads(source.readline()) == {"n": 100_007}
    corpora.close()


def test_the_check_asks_the_server(tmp_path: Path, files: tuple[str, Path]) -> None:
    track = {"path": str(write_track(tmp_path / "numbers", files[0]))}
    assert checked(tmp_path / "a", track).outcome.reason is None
    offline = checked(tmp_path / "b", track, offline=True).outcome
    assert offline.reason is Reason.CORPUS_MISSING and "offline" in offline.message
    (files[1] / "documents.json.bz2").unlink()
    gone = checked(tmp_path / "c", track).outcome
    assert gone.reason is Reason.CORPUS_MISSING and "HTTP 404" in gone.message and "documents.json.bz2" in gone.message


def test_a_track_from_git(tmp_path: Path, files: tuple[str, Path]) -> None:
    """A server of plain files: one of git's own protocols is in the unit tests."""
    work = tmp_path / "work"
    write_track(work / "team" / "numbers", files[0])
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(work)]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *arguments], check=True)
    bare = files[1] / "tracks.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "update-server-info"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()

    source = {"url": f"{files[0]}/tracks.git", "revision": "main", "path": "team/numbers"}
    record = checked(tmp_path / "check", {"git": source})
    assert record.outcome.reason is None, record.outcome.message
    assert (record.track.name, record.track.revision) == ("numbers", commit)
    assert record.track.expected_documents == {"numbers": LINES}
    plain = checked(tmp_path / "plain", {"path": str(work / "team" / "numbers")})
    assert plain.track.digest == record.track.digest
    pinned = checked(tmp_path / "pinned", {"git": {**source, "revision": commit}})
    assert pinned.track.revision == commit
    lost = checked(tmp_path / "lost", {"git": {**source, "path": "team/number"}}).outcome
    assert lost.reason is Reason.TRACK_NOT_FOUND and "did you mean team/numbers?" in lost.message
