"""The track replay as Rally loads it, with the requests of a file; and each file that is refused, by its line."""

from __future__ import annotations

import itertools
import json
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally.driver import scheduler
from esrally.track import loader

from fairlap_race.contract.codec import encode
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.contract.specification.sweep import SweepSpec, steps_of
from fairlap_race.track import load, request_source
from fairlap_race.track.check.step import check
from fairlap_race.track.searches import describe_searches

TRACKS = Path(__file__).parents[2] / "tracks"
LINES = [f"/shop/_search?q={n}" for n in range(40)]
SETUP = ["delete-index", "create-index", "check-cluster-health", "index-documents", "refresh-after-index",
         "force-merge", "refresh-after-force-merge", "wait-until-merges-finish"]  # fmt: skip


def write(folder: Path, content: str | bytes, documents: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "requests.ndjson").write_bytes(data)
    if documents:
        (folder / "documents.json").write_text("".join(f'{{"n":{n}}}\n' for n in range(documents)))
    return folder


def checked(work: Path, **fields: Any) -> Record:
    spec = {"format": 1, "mode": "check", "namespace": "n", "record": "r", "raceId": "race", "hosts": ["h:9200"]}
    spec |= {"track": {"builtin": "replay"}, **fields}
    (work / "work").mkdir(exist_ok=True)
    return check(parse_spec(json.dumps(spec)), work / "work", builtin_tracks=TRACKS)


def good(work: Path, content: str | None = None, documents: int = 0, **fields: Any) -> Record:
    folder = write(work / "mine", content or "".join(f"{line}\n" for line in LINES), documents)
    record = checked(work, requests={"path": str(folder)}, **fields)
    assert record.outcome.reason is None, record.outcome.message
    return record


def test_on_a_cluster_with_data_nothing_but_the_requests(tmp_path: Path) -> None:
    record = good(tmp_path, target={}, params={"clients": 3})
    assert [(task.name, task.type, task.clients, task.reported) for task in record.track.tasks] == [
        ("replay", "raw-request", 3, True)
    ]
    assert record.target and record.target.touches == () and record.target.unforeseen == ()
    assert record.track.expected_documents == {} and record.track.documents.uncounted == ()


def test_with_documents_these_come_first_and_are_counted(tmp_path: Path) -> None:
    record = good(tmp_path, documents=30, params={"documents": 30, "index": "shop"})
    assert [task.name for task in record.track.tasks] == [*SETUP, "replay"]
    assert record.track.expected_documents == {"shop": 30} and record.track.documents.uncounted == ()


def test_the_smoke_test_sends_the_beginning(tmp_path: Path) -> None:
    lines = "".join(f"/shop/_doc/{n}\n" for n in range(1500))
    params = {"documents": 1200, "index": "shop"}
    record = good(tmp_path, lines, documents=1200, mode="smoke", params=params)
    track = tmp_path / "work" / "tracks" / "replay"
    assert (track / "requests.ndjson").read_bytes().count(b"\n") == request_source.TEST_MODE_LINES
    assert record.track.expected_documents == {"shop": 1000}


def test_what_writes_is_said_and_counted_as_such(tmp_path: Path) -> None:
    lines = '/shop/_search\n{"method": "POST", "path": "/shop/_doc", "body": {"n": 1}}\n'
    record = good(
        tmp_path, lines, documents=3, target={}, params={"documents": 3, "index": "shop", "allow_writes": True}
    )
    assert record.target and "task replay: sends POST /shop/_doc" in record.target.unforeseen
    assert [it.task for it in record.track.documents.uncounted] == ["replay"]


def test_repetition_begins_with_an_empty_cache(tmp_path: Path) -> None:
    params = {"order": "zipf", "requests": 40, "cache_hit_rate": 0.5}
    record = good(tmp_path, target={}, params=params)
    assert [task.name for task in record.track.tasks] == ["clear-request-cache", "replay"]
    assert record.target
    sends = "task clear-request-cache: sends POST /_all/_cache/clear?request=true"
    assert record.target.unforeseen == (sends,)
    assert [task.name for task in good(tmp_path, params={**params, "clear_cache": False}).track.tasks] == ["replay"]


EVERY: dict[str, Any] = {
    "order": "zipf", "requests": 40, "warmup_requests": 10, "cache_hit_rate": 0.6, "request_cache": True,
    "clear_cache": True, "clients": 2, "target_throughput": 20, "seed": 5, "allow_writes": False, "documents": 30,
    "index": "shop", "number_of_shards": 1, "number_of_replicas": 0, "codec": "default", "index_settings": {},
    "cluster_health": "yellow", "bulk_size": 10, "bulk_indexing_clients": 1, "bulk_warmup_time_period": 0,
    "max_num_segments": 1,
}  # fmt: skip
OF_DOCUMENTS = {"documents", "number_of_shards", "number_of_replicas", "codec", "index_settings", "cluster_health",
                "bulk_size", "bulk_indexing_clients", "bulk_warmup_time_period", "max_num_segments"}  # fmt: skip


def loaded(work: Path, params: dict[str, Any], sweep: SweepSpec | None = None) -> Any:
    request = load.Request(
        track_path=str(work / "work" / "tracks" / "replay"), params=params, sweep=sweep, expands=sweep is not None
    )
    config = load.rally_config(request, params)
    loader.load_track_plugins(
        config, "replay", register_runner=lambda *_, **__: None, register_scheduler=scheduler.register_scheduler,
        register_track_processor=lambda *_, **__: None,
    )  # fmt: skip
    track = loader.load_track(config)
    load.expand_if_asked(request, track)
    return track


@pytest.mark.parametrize("seconds", [30.0, None])
def test_a_step_of_a_sweep_has_the_file_again_for_as_long_as_it_takes(tmp_path: Path, seconds: float | None) -> None:
    swept = SweepSpec("replay", duration_seconds=seconds, steps=steps_of("replay", [1, 3], [], "ascending"))
    params = {"target_throughput": 20}
    good(tmp_path, params=params, sweep=json.loads(json.dumps(encode(swept))))
    track = loaded(tmp_path, params, swept)
    try:
        for task in track.challenges[0].schedule:
            assert isinstance(scheduler.scheduler_for(task), scheduler.Unthrottled), "the rate of the track flattens"
            source = loader.operation_parameters(track, task).partition(0, task.clients)
            sent = [found["path"] for found in itertools.islice(iter(partial(drawn, source), None), 100)]
            share = LINES[:: task.clients]
            if seconds is None:
                assert sent == share
            else:
                assert len(sent) == 100 and sent[: len(share)] == share
    finally:
        scheduler.remove_scheduler("evenly")


def drawn(source: Any) -> dict[str, Any] | None:
    try:
        return dict(source.params())
    except StopIteration:
        return None


def test_every_parameter_is_accepted_and_documented(tmp_path: Path) -> None:
    exposed = set(good(tmp_path, documents=30, params=EVERY).track.exposed_params)
    page = (TRACKS.parent / "docs" / "tracks" / "replay.md").read_text()
    assert exposed == {*EVERY, "time_period", "warmup_time_period"}
    assert [name for name in exposed if f"`{name}`" not in page] == []


def test_the_requests_are_shared_among_clients_and_sent_evenly(tmp_path: Path) -> None:
    params = {name: value for name, value in EVERY.items() if name not in OF_DOCUMENTS}
    good(tmp_path, params=params)
    track = loaded(tmp_path, params)
    try:
        (task,) = [task for task in track.challenges[0].schedule if task.name == "replay"]
        assert (task.warmup_iterations, task.iterations, task.clients) == (5, 15, 2)
        due = []
        for client in range(2):
            schedule = scheduler.scheduler_for(task)
            schedule.parameter_source = loader.operation_parameters(track, task).partition(client, 2)
            due.append((schedule.next(0), schedule.next(schedule.next(0))))
        assert due[0][0] == 0 and due[1][0] == pytest.approx(0.05)
        sent = loader.operation_parameters(track, task).partition(0, 2).params()
        assert sent["path"].startswith("/shop/_search?q=") and sent["path"].endswith("&request_cache=true")
    finally:
        scheduler.remove_scheduler("evenly")


def test_its_first_searches_are_looked_at_once_more(tmp_path: Path) -> None:
    search = '{"path": "/shop/_search", "body": {"query": {"match": {"t": "a"}}}}\n'
    good(tmp_path, f"/shop/_doc/1\n{search}{search}/toys/_search?q=b\n")
    found = describe_searches(load.Request(track_path=str(tmp_path / "work" / "tracks" / "replay")))
    assert [(each.task, each.method, each.path, each.index) for each in found.searches] == [
        ("replay", "POST", "/shop/_search", "shop"),
        ("replay", "GET", "/toys/_search?q=b", "toys"),
    ]
    assert not found.unknown


def test_index_settings_reach_the_documents(tmp_path: Path) -> None:
    index = {"shards": 3, "replicas": 1, "codec": "best_compression"}
    params = good(tmp_path, documents=3, index=index, params={"documents": 3}).track.params
    assert (params["number_of_shards"], params["number_of_replicas"], params["codec"]) == (3, 1, "best_compression")
    (tmp_path / "mine" / "index.json").write_text('{"mappings": {"properties": {"n": {"type": "integer"}}}}')
    params = good(tmp_path, documents=3, index=index, params={"documents": 3}).track.params
    assert params["index_settings"] == {
        "index.number_of_shards": 3, "index.number_of_replicas": 1, "index.codec": "best_compression"
    }  # fmt: skip


def test_from_git_the_commit_is_in_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = write(tmp_path / "repository", "/shop/_search\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(repository)]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    # Git may not read this machine's files; what is fetched is another test's matter.
    monkeypatch.setattr(request_source, "fetch_commit", lambda *_, **__: (repository, commit))
    source = {"git": {"url": "https://git.example.com/shop.git", "revision": "main"}}
    record = checked(tmp_path, requests=source)
    assert record.outcome.reason is None, record.outcome.message
    assert (record.track.repository, record.track.revision) == ("https://git.example.com/shop.git", commit)
    (repository / "requests.ndjson").unlink()
    (repository / "requests.ndjson").symlink_to("/etc/hostname")
    assert "leads out of the repository" in checked(tmp_path, requests=source).outcome.message


REFUSED = {
    "empty": (b"", "requests.ndjson: the file is empty"),
    "only line ends": (b"\n\n", "requests.ndjson: the file is empty"),
    "crlf": (b"/a\n/b\r\n", "requests.ndjson line 2: the line ends with CR LF"),
    "byte order mark": (b"\xef\xbb\xbf/a\n", "requests.ndjson line 1: the file begins with a byte order mark"),
    "no path": (b"/a\nshop/_search\n", "requests.ndjson line 2: 'shop/_search' is neither a path"),
    "no json": (b'/a\n/b\n{"path": "/a"\n', "requests.ndjson line 3: "),
    "an empty line": (b"/a\n\n/b\n", "requests.ndjson line 2: the line is empty"),
    "no object": (b"[]\n", "requests.ndjson line 1: '[]' is not a JSON object"),
    "without a path": (b'{"body": {}}\n', "requests.ndjson line 1: the object has no path"),
    "an address": (b'{"path": "http://a/b"}\n', "line 1: 'http://a/b' is no path"),
    "another host": (b"//a/b\n", "line 1: '//a/b' is no path"),
    "what no client sends": (b"/a?q=c#\n", "line 1: '/a?q=c#' is no path"),
    "no code of a character": (b"/100%\n", "line 1: '/100%' is no path"),
    "not encoded": ("/a?q=é\n".encode(), "line 1: '/a?q=é' is no path"),
    "not utf-8": (b"/a?q=\xe9\n", "line 1: the line is not UTF-8 text"),
    "unknown member": (b'{"path": "/a", "header": {}}\n', "line 1: there is no member 'header'"),
    "body": (b'{"path": "/a", "body": 3}\n', "line 1: the body must be an object, a list"),
    "a number of no JSON": (b'{"path": "/a", "body": {"a": NaN}}\n', "line 1: "),
    "head": (b'{"method": "HEAD", "path": "/a"}\n', "line 1: Rally takes a HEAD that is answered by 404 as a success"),
    "method": (b'{"method": "FETCH", "path": "/a"}\n', "line 1: the method 'FETCH' is none of GET, POST, PUT, DELETE"),
    "delete": (b'{"method": "DELETE", "path": "/shop"}\n', "line 1: DELETE '/shop' does more than read"),
    "index": (b'{"path": "/shop/_doc/_search", "body": {}}\n', "line 1: POST '/shop/_doc/_search' does more than read"),
    "deep": (b'{"path": "/a", "body": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n", "line 1: the JSON is nested"),
    "long": (b"/" + b"a" * (1 << 20) + b"\n", "line 1: the line has 1,048,57"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_anything_is_measured(tmp_path: Path, name: str) -> None:
    content, words = REFUSED[name]
    outcome = checked(tmp_path, requests={"path": str(write(tmp_path / "mine", content))}).outcome
    assert outcome.reason is Reason.REQUESTS_INVALID, outcome
    assert words in outcome.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", "/a\n")
    outcome = checked(tmp_path, requests={"path": str(folder), "file": "more.ndjson"}).outcome
    assert outcome.reason is Reason.REQUESTS_INVALID
    assert "there is no file more.ndjson; there is: requests.ndjson" in outcome.message
    assert checked(tmp_path, requests={"path": str(tmp_path / "none")}).outcome.reason is Reason.REQUESTS_INVALID


def test_a_rate_that_cannot_be_had_is_refused_too(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", "/a\n/b\n")
    params = {"order": "zipf", "requests": 100, "cache_hit_rate": 0.5}
    outcome = checked(tmp_path, requests={"path": str(folder)}, params=params).outcome
    assert outcome.reason is Reason.TRACK_INVALID
    assert "task replay: cache_hit_rate 0.5 cannot be had: 100 requests of only 2 distinct ones" in outcome.message
