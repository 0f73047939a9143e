"""The tracks percolator and page_cache as Rally loads them: documents, tasks, rates, settings, every parameter."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally.driver import scheduler
from esrally.track import loader

from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.track import load
from fairlap_race.track.check.step import check

TRACKS = Path(__file__).parents[2] / "tracks"
SETUP = ["delete-index", "create-index", "check-cluster-health"]
SETTLE = ["refresh-after-index", "force-merge", "refresh-after-force-merge", "wait-until-merges-finish"]
PERCOLATE = [
    *("percolate-typical", "percolate-typical-no-score", "percolate-typical-highlight", "percolate-rare"),
    *("percolate-rare-no-score", "percolate-frequent", "percolate-frequent-no-score"),
]
SMALL: dict[str, dict[str, Any]] = {"percolator": {"queries": 1000}, "page_cache": {"data_size_mb": 1}}
COMMON: dict[str, Any] = {
    "seed": 5,
    "bulk_size": 100,
    "bulk_indexing_clients": 2,
    "bulk_warmup_time_period": 1,
    "search_clients": 3,
    "max_num_segments": 2,
    "cluster_health": "yellow",
    "index_settings": {"index.refresh_interval": "30s"},
    "number_of_shards": 1,
    "number_of_replicas": 0,
    "codec": "default",
}
OWN: dict[str, dict[str, Any]] = {
    "percolator": {
        "search_iterations": 10,
        "search_warmup_iterations": 1,
        "search_time_period": 0,
        "search_warmup_time_period": 5,
        "target_throughput": 20,
    },
    "page_cache": {
        "measure_bulk": True,
        "document_kb": 4,
        "fetch_rates": [5],
        "search_rates": [2, 3],
        "time_period": 3,
        "warmup_time_period": 1,
    },
}


def checked(work: Path, track: str, **fields: Any) -> Record:
    spec = {"format": 1, "mode": "check", "namespace": "n", "record": "r", "raceId": "race", "hosts": ["h:9200"]}
    spec |= {"track": {"builtin": track}, **fields}
    record = check(parse_spec(json.dumps(spec)), work, builtin_tracks=TRACKS)
    assert record.outcome.reason is None, record.outcome.message
    return record


@pytest.mark.parametrize(
    ("track", "mode", "params", "expected"),
    [
        ("percolator", "check", {}, {"queries": 200_000}),
        ("percolator", "check", {"queries": 1234}, {"queries": 1234}),
        ("percolator", "smoke", {"queries": 5000}, {"queries": 2000}),
        ("percolator", "smoke", {"queries": 500}, {"queries": 500}),
        ("page_cache", "check", {"data_size_mb": 40}, {"large-documents": 2560}),
        ("page_cache", "check", {"data_size_mb": "7", "document_kb": "3"}, {"large-documents": 2389}),
        ("page_cache", "smoke", {"data_size_mb": 20}, {"large-documents": 1000}),
        ("page_cache", "smoke", {"data_size_mb": 2}, {"large-documents": 128}),
    ],
)
def test_expected_documents(
    tmp_path: Path, track: str, mode: str, params: dict[str, Any], expected: dict[str, int]
) -> None:
    found = checked(tmp_path, track, mode=mode, params=params).track

    assert found.expected_documents == expected
    assert (found.challenge, found.challenges) == ("default", ("default", "quick"))


def test_tasks_of_percolator(tmp_path: Path) -> None:
    tasks = checked(tmp_path, "percolator", params=SMALL["percolator"]).track.tasks

    assert [task.name for task in tasks] == [*SETUP, "warm-up-bulk", "index-queries", *SETTLE, *PERCOLATE]
    assert [task.name for task in tasks if task.reported] == ["index-queries", *PERCOLATE]


def test_tasks_of_page_cache(tmp_path: Path) -> None:
    tasks = checked(tmp_path, "page_cache", params=SMALL["page_cache"]).track.tasks

    steps = [*(f"fetch-document-{rate}" for rate in (20, 40, 80, 160)), *(f"search-term-{n}" for n in (10, 20, 40, 80))]
    assert [task.name for task in tasks] == [*SETUP, "bulk-index", *SETTLE, *steps]
    assert [task.name for task in tasks if task.reported] == steps
    assert {task.clients for task in tasks if task.type == "search"} == {8}


@pytest.mark.parametrize("track", SMALL)
def test_index_settings_reach_the_track(tmp_path: Path, track: str) -> None:
    index = {"shards": 3, "replicas": 1, "codec": "best_compression"}
    params = checked(tmp_path, track, index=index, params=SMALL[track]).track.params

    assert (params["number_of_shards"], params["number_of_replicas"]) == (3, 1)
    assert params["codec"] == "best_compression"


@pytest.mark.parametrize("track", SMALL)
def test_every_parameter_is_accepted(tmp_path: Path, track: str) -> None:
    params = {**COMMON, **SMALL[track], **OWN[track]}
    found = checked(tmp_path, track, params=params).track

    assert set(params) == set(found.exposed_params)
    assert {task.clients for task in found.tasks if task.type == "search"} == {3}


def loaded(track: str, work: Path, params: dict[str, Any]) -> Any:
    checked(work, track, params=params)
    request = load.Request(track_path=str(work / "tracks" / track), params=params)
    config = load.rally_config(request, params)
    loader.load_track_plugins(
        config, track, register_runner=lambda *_, **__: None, register_scheduler=scheduler.register_scheduler,
        register_track_processor=lambda *_, **__: None,
    )  # fmt: skip
    return loader.load_track(config)


ITERATIONS = {"search_iterations": 9}


@pytest.mark.parametrize(
    ("track", "challenge", "params", "expected"),
    [
        ("log_ingest", "default", {}, (10, 30, None, None)),
        ("log_ingest", "default", {"search_time_period": 7, "search_warmup_time_period": 3}, (3, 7, None, None)),
        ("log_ingest", "default", ITERATIONS, (None, None, 50, 9)),
        ("log_ingest", "default", {**ITERATIONS, "search_time_period": 7}, (10, 7, None, None)),
        ("log_ingest", "default", {"search_time_period": 0}, (None, None, 50, 200)),
        ("log_ingest", "quick", {}, (None, None, 50, 200)),
        ("log_ingest", "quick", {"search_time_period": 7}, (10, 7, None, None)),
        ("percolator", "default", {}, (10, 30, None, None)),
        ("percolator", "default", ITERATIONS, (None, None, 20, 9)),
        ("percolator", "quick", {}, (None, None, 20, 100)),
        ("page_cache", "default", {}, (10, 30, None, None)),
        ("page_cache", "quick", {}, (2, 10, None, None)),
        ("page_cache", "quick", {"time_period": 5, "warmup_time_period": 1}, (1, 5, None, None)),
    ],
)
def test_how_long_is_measured(
    tmp_path: Path, track: str, challenge: str, params: dict[str, Any], expected: tuple[int | None, ...]
) -> None:
    small = {"log_ingest": {"documents": 100}, **SMALL}[track]
    try:
        schedule = loaded(track, tmp_path, {**small, **params}).find_challenge_or_default(challenge).schedule
    finally:
        with suppress(KeyError):
            scheduler.remove_scheduler("evenly")  # of page_cache; Rally takes no second one of a name

    searches = [task for task in schedule if task.operation.type == "search"]
    found = {(t.warmup_time_period, t.time_period, t.warmup_iterations, t.iterations) for t in searches}
    assert found == {expected}


def test_the_rates_of_page_cache_are_open_loop(tmp_path: Path) -> None:
    params = {"data_size_mb": 1, "fetch_rates": [30], "search_rates": [10], "search_clients": 4}
    track = loaded("page_cache", tmp_path, params)
    try:
        tasks = [task for task in track.challenges[0].schedule if task.operation.type == "search"]
        assert [task.target_throughput.value for task in tasks] == [30, 10]
        for task in tasks:
            due = []
            for client in range(4):
                schedule = scheduler.scheduler_for(task)
                schedule.parameter_source = loader.operation_parameters(track, task).partition(client, 4)
                second = schedule.next(schedule.next(0))
                due.append((second, client))
            assert [client for _, client in sorted(due)] == [0, 1, 2, 3]
            assert due[0][0] == pytest.approx(4 / task.target_throughput.value)
    finally:
        scheduler.remove_scheduler("evenly")


def test_searches_of_percolator_hold_documents(tmp_path: Path) -> None:
    track = loaded("percolator", tmp_path, {"queries": 100})
    bodies = {}
    for task in track.challenges[0].schedule:
        if task.operation.type == "search":
            source = loader.operation_parameters(track, task).partition(0, 1)
            bodies[task.name] = json.dumps(source.params()["body"])

    assert list(bodies) == PERCOLATE
    for name, body in bodies.items():
        assert ("constant_score" in body) == ("no-score" in name)
        assert ("highlight" in body) == ("highlight" in name)
        assert ("quetzal" in body) == ("rare" in name)
        assert ("parcel" in body) == ("frequent" in name)
        assert ('"price"' in body) == ("typical" in name)
        assert "null" not in body
