"""Races on a track from git with documents from elsewhere: downloaded by the first, found by the second."""

import bz2
import json
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason

from .runner import Race, Ran, Runner, asked, rally_turn
from .tracks import BULK, CREATE, DOCUMENTS, Json, search, write

DELETE: Json = {"operation": {"operation-type": "delete-index", "name": "delete"}}


class Files(ThreadingHTTPServer):
    """Serves a directory and notes which files were asked for."""

    def __init__(self, served: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                asked.append(f"{self.command} {self.path}")

        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(served)))
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    (tmp_path / "served").mkdir()
    server = Files(tmp_path / "served")
    yield server
    server.shutdown()
    server.server_close()


def publish(folder: Path, files: Files) -> str:
    """Serve a track in a repository, its documents beside the repository; return the commit."""
    track = write(folder / "work", DELETE, CREATE, BULK, {"operation": "refresh"}, search(), documents=None)
    content = (track / "documents.json").read_bytes()
    (track / "documents.json").unlink()
    (folder / "served" / "documents.json.bz2").write_bytes(bz2.compress(content))
    spec = json.loads((track / "track.json").read_text())
    documents = {"source-file": "documents.json.bz2", "document-count": DOCUMENTS, "uncompressed-bytes": len(content)}
    spec["corpora"] = [{"name": "c", "base-url": files.url, "documents": [documents]}]
    (track / "track.json").write_text(json.dumps(spec))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(track)]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *arguments], check=True)
    bare = folder / "served" / "tracks.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(track), str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "update-server-info"], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def race(runner: Runner, **spec: object) -> Ran:
    with rally_turn(alone=False):
        running = Race(runner.folder, {**runner.defaults, **spec})
        try:
            return running.result(120)
        finally:
            running.end()


def test_the_second_race_downloads_nothing(runner: Runner, files: Files, tmp_path: Path) -> None:
    commit = publish(tmp_path, files)
    source = {"url": f"{files.url}/tracks.git", "revision": "main"}
    shared = {"path": str(tmp_path / "shared"), "maxBytes": 10_000_000}
    first = race(runner, track={"git": source}, corpora=shared).record
    pinned = {**source, "revision": commit}
    second = race(runner, track={"git": pinned}, corpora=shared, offline=True).record

    for record, origin in ((first, "downloaded"), (second, "cache")):
        assert record.outcome.reason is None, record.outcome
        assert record.track.revision == commit and record.track.name == "tracks"
        assert [(c.name, c.file, c.origin) for c in record.track.corpora] == [("c", "documents.json", origin)]
        assert record.indices is not None and record.indices[0].documents == DOCUMENTS
    assert first_violation(first, asked()) is None
    assert first.track.digest == second.track.digest
    assert files.asked.count("GET /documents.json.bz2") == 1
    assert not list((tmp_path / "shared" / "claims").iterdir())

    cold = race(runner, track={"git": source}, offline=True).record
    assert cold.outcome.reason is Reason.CORPUS_MISSING and "race.offline" in cold.outcome.message
