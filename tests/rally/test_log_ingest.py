"""The track log_ingest as Rally loads it: documents, tasks and settings of each challenge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.track.check.step import check

TRACKS = Path(__file__).parents[2] / "tracks"
INLINE = Path(__file__).parents[1] / "unit" / "tracks" / "fixtures" / "inline"
STEPS = [f"access-logs-clients-{clients}" for clients in (1, 2, 4, 8)]


def checked(work: Path, **fields: Any) -> Record:
    spec = {"format": 1, "mode": "check", "namespace": "n", "record": "r", "raceId": "race", "hosts": ["h:9200"]}
    spec |= {"track": {"builtin": "log_ingest"}, **fields}
    record = check(parse_spec(json.dumps(spec)), work, builtin_tracks=TRACKS)
    assert record.outcome.reason is None, record.outcome.message
    return record


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where documents are kept from test to test: more than a million of them take long to make."""
    return tmp_path_factory.mktemp("corpora")


@pytest.mark.parametrize(
    ("mode", "challenge", "params", "expected"),
    [
        ("check", None, {"documents": 100_000}, {"access-logs": 100_000}),
        ("check", "quick", {}, {"access-logs": 100_000}),
        ("check", "quick", {"documents": 12}, {"access-logs": 12}),
        ("check", "high-concurrency", {"documents": 20_001}, {"access-logs": 20_001}),
        ("check", "ramp-up", {"documents": 4003}, dict.fromkeys(STEPS, 1000)),
        ("check", "ramp-up", {}, dict.fromkeys(STEPS, 100_000)),
        ("smoke", "default", {}, {"access-logs": 2000}),
        ("smoke", "quick", {}, {"access-logs": 1000}),
        ("smoke", "ramp-up", {}, dict.fromkeys(STEPS, 1000)),
        pytest.param("check", None, {}, {"access-logs": 1_750_000}, marks=pytest.mark.long),  # makes all of them
    ],
)
def test_expected_documents(
    tmp_path: Path, corpora: Path, mode: str, challenge: str | None, params: dict[str, Any], expected: dict[str, int]
) -> None:
    kept = {"path": str(corpora)}
    track = checked(tmp_path, mode=mode, challenge=challenge, params=params, corpora=kept).track

    assert track.expected_documents == expected
    assert track.pipelines == ("access-logs",)
    assert track.pipeline_documents == {"access-logs": sum(expected.values())}
    assert track.challenges == ("default", "quick", "high-concurrency", "ramp-up")
    assert track.challenge == (challenge or "default")


@pytest.mark.parametrize(
    ("challenge", "bulks", "search_clients"),
    [
        ("default", {"warm-up-bulk": 4, "bulk-index": 4}, 1),
        ("quick", {"bulk-index": 4}, 1),
        ("high-concurrency", {"warm-up-bulk": 8, "bulk-index": 8}, 8),
        ("ramp-up", {f"bulk-index-clients-{n}": n for n in (1, 2, 4, 8)}, None),
    ],
)
def test_clients(tmp_path: Path, challenge: str, bulks: dict[str, int], search_clients: int | None) -> None:
    tasks = checked(tmp_path, challenge=challenge, params={"documents": 1000}).track.tasks

    assert {task.name: task.clients for task in tasks if task.type == "bulk"} == bulks
    searches = {task.clients for task in tasks if task.type == "search"}
    assert searches == ({search_clients} if search_clients else set())
    assert [task.name for task in tasks][:4] == ["delete-index", "create-index", "put-pipeline", "check-cluster-health"]


@pytest.mark.parametrize("challenge", ["default", "quick", "high-concurrency"])
def test_no_search_begins_before_merges_have_ended(tmp_path: Path, challenge: str) -> None:
    tasks = checked(tmp_path, challenge=challenge, params={"documents": 1000}).track.tasks
    names = [task.name for task in tasks]
    first = next(number for number, task in enumerate(tasks) if task.type == "search")

    assert names[first - 4 : first] == [
        "refresh", "force-merge", "refresh-after-force-merge", "wait-until-merges-finish",
    ]  # fmt: skip
    assert len(names) == first + 4


@pytest.mark.parametrize(("challenge", "unreported"), [("default", ["warm-up-bulk"]), ("quick", [])])
def test_what_warms_up_is_not_reported(tmp_path: Path, challenge: str, unreported: list[str]) -> None:
    tasks = checked(tmp_path, challenge=challenge, params={"documents": 1000}).track.tasks

    assert [task.name for task in tasks if task.type == "bulk" and not task.reported] == unreported


def test_index_settings_reach_the_track(tmp_path: Path) -> None:
    index = {"shards": 3, "replicas": 1, "codec": "best_compression"}
    track = checked(tmp_path, index=index, params={"documents": 1000}).track

    assert track.params["number_of_shards"] == 3
    assert track.params["number_of_replicas"] == 1
    assert track.params["codec"] == "best_compression"


@pytest.mark.parametrize("clients", [1, 2, 3, 8])
def test_every_parameter_is_accepted(tmp_path: Path, clients: int) -> None:
    params = {
        "documents": 1000,
        "seed": 5,
        "bulk_size": 100,
        "bulk_indexing_clients": clients,
        "bulk_warmup_time_period": 1,
        "search_clients": clients,
        "search_iterations": 10,
        "search_warmup_iterations": 1,
        "search_time_period": 0,
        "search_warmup_time_period": 5,
        "max_num_segments": 2,
        "cluster_health": "yellow",
        "target_throughput_per_client": 100,
        "index_settings": {"index.refresh_interval": "30s"},
        "number_of_shards": 1,
        "number_of_replicas": 0,
        "codec": "default",
        "mapping_type": "doc",
    }
    track = checked(tmp_path, params=params).track

    assert set(params) == set(track.exposed_params)


@pytest.mark.parametrize(
    ("challenge", "indices"), [("default", ["access-logs"]), ("ramp-up", STEPS), ("high-concurrency", ["access-logs"])]
)
def test_what_it_does_to_a_cluster(tmp_path: Path, challenge: str, indices: list[str]) -> None:
    found = checked(tmp_path, challenge=challenge, params={"documents": 4000}, target={"remove": "always"}).target

    assert found is not None
    assert [t.name for t in found.touches if t.kind == "index" and t.creates and t.deletes] == indices
    assert [t.name for t in found.touches if t.kind == "ingest pipeline" and t.creates] == ["access-logs"]
    assert len(found.touches) == len(indices) + 1
    assert found.unforeseen == ()


@pytest.mark.usefixtures("process_of_its_own")
def test_inline_track(tmp_path: Path) -> None:
    track = checked(tmp_path, track={"path": str(INLINE)}, index={"codec": "best_compression"}).track

    assert track.expected_documents == {"articles": 20}
    assert track.params["codec"] == "best_compression"
    assert track.challenge is None
