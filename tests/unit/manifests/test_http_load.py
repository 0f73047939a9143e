"""What k6 is told of a race over HTTP, from the manifest to the runner's specification."""

from typing import Any

import pytest
from pydantic import ValidationError

from fairlap.api.spec import BenchmarkSpec, Timeouts
from fairlap.manifests.race_job import job, race_spec
from fairlap.plan.acceptance.accept import objections
from fairlap.plan.basis.seen import Subject
from fairlap.plan.basis.steps import CHECK, SMOKE, steps
from fairlap.settings import Settings
from fairlap_race.contract.specification.http_spec import HttpLoad
from fairlap_race.contract.specification.race_spec import Mode, SpecError, parse_spec

SETTINGS = Settings(race_image="fairlap/race:1")
TARGET = {"kind": "http", "hosts": ["http://one:10041", "http://two:10041"], "health": "/d/status"}


def spec_of(**race: Any) -> BenchmarkSpec:
    whole = {"requests": {"configMap": {"name": "queries"}}, "load": {}, **race}
    return BenchmarkSpec.model_validate({"target": TARGET, "race": whole})


def subject(**race: Any) -> Subject:
    return Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec_of(**race))


def told(step: str = "race-1", **race: Any) -> Any:
    found = race_spec(subject(**race), step, SETTINGS)
    assert parse_spec(found.to_json()) == found  # the runner reads it as it is meant
    return found


def test_there_is_a_check_of_hosts_and_requests_and_no_look_at_a_cluster() -> None:
    assert steps(spec_of()) == (CHECK, SMOKE, "race-1")


def test_one_client_for_thirty_seconds_unless_something_else_is_written() -> None:
    found = told()
    assert found.http.loads == (HttpLoad("requests", 30.0, 1, None, 10.0),)
    assert (found.http.health, found.http.order, found.http.timeout_seconds) == ("/d/status", "file", 60.0)
    assert found.hosts == ("one:10041", "two:10041") and not found.tls and found.track.builtin is None


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ({"clients": 4}, HttpLoad("requests", 30.0, 4, None, 10.0)),
        ({"targetThroughput": 50, "warmup": "0s"}, HttpLoad("requests", 30.0, 100, 50.0, 0.0)),
        ({"targetThroughput": 50, "clients": 7, "duration": "2m"}, HttpLoad("requests", 120.0, 7, 50.0, 10.0)),
    ],
)
def test_a_closed_and_an_open_loop(load: dict[str, Any], expected: HttpLoad) -> None:
    assert told(load=load).http.loads == (expected,)


@pytest.mark.parametrize(("timeout", "stalled"), [("60s", 900), ("500ms", 900), ("999s", 1059)])
def test_a_request_that_is_waited_for_is_no_stall(timeout: str, stalled: float) -> None:
    assert told(load={"timeout": timeout}).stall_seconds == stalled


@pytest.mark.parametrize(
    ("race", "stalled"),
    [
        ({"load": {"targetThroughput": 0.001}}, 1000 + 60 + 60),
        ({"load": {"targetThroughput": 0.5}}, 900),
        (
            {"sweep": {"task": "requests", "targetThroughput": [0.001, 5]}, "load": {"timeout": "999s"}},
            1000 + 999 + 60,
        ),
    ],
)
def test_a_rate_that_sends_hardly_anything_is_no_stall(race: dict[str, Any], stalled: float) -> None:
    assert told(**race).stall_seconds == stalled


def test_a_sweep_is_a_load_for_each_step() -> None:
    found = told(sweep={"task": "requests", "clients": [2, 1], "interval": "10s"})
    assert [(it.name, it.clients, it.seconds) for it in found.http.loads] == [
        ("requests@1", 1, 30.0),
        ("requests@2", 2, 30.0),
    ]
    assert found.http.interval_seconds == 10.0 and found.sweep.names == ("requests@1", "requests@2")
    own = told(sweep={"task": "requests", "targetThroughput": [10], "duration": "5s", "warmup": "1s"})
    assert own.http.loads == (HttpLoad("requests@10/s", 5.0, 100, 10.0, 1.0),)


def test_a_smoke_test_has_no_sweep() -> None:
    found = told(SMOKE, sweep={"task": "requests", "clients": [1]}, allow={"errorRate": {"requests": 0.1}})
    assert found.mode is Mode.SMOKE and found.sweep is None


def test_what_is_accepted_of_the_task_is_accepted_of_each_step() -> None:
    found = told(sweep={"task": "requests", "clients": [1, 2]}, allow={"errorRate": {"requests": 0.1}})
    assert found.allowed_errors == {"requests@1": 0.1, "requests@2": 0.1}


def test_requests_are_mounted_and_no_cluster_secret_is() -> None:
    pod = job(subject(), "race-1", SETTINGS)["spec"]["template"]["spec"]
    assert {"name": "requests", "configMap": {"name": "queries"}} in pod["volumes"]
    assert not [it for it in pod["volumes"] if "secret" in it]


def test_what_a_comparison_races_again_is_no_request_over_http() -> None:
    spec = spec_of().model_copy(update={"raced_again": ["requests"]})
    words = " ".join(it.message for it in objections(spec, SETTINGS))
    assert words == "what means nothing with target.kind: http, so leave it out: racedAgain"


@pytest.mark.parametrize("field", ["params", "clientOptions", "telemetryParams"])
def test_what_only_rally_knows_is_refused(field: str) -> None:
    words = " ".join(it.message for it in objections(spec_of(**{field: {"node-stats-x": 1}}), SETTINGS))
    assert f"what means nothing with target.kind: http, so leave it out: race.{field}" in words


@pytest.mark.parametrize(
    ("field", "steps"),
    [
        ("sweep", {"clients": [1, 2]}),
        ("sweep", {"targetThroughput": [50, 100]}),
        ("capacity", {"objective": {"p50": "5ms"}, "targetThroughput": {"from": 50, "to": 500}}),
    ],
)
def test_a_rate_beside_steps_is_refused_where_it_was_ignored(field: str, steps: dict[str, Any]) -> None:
    race = {field: {"task": "requests", **steps}}
    (wrong,) = objections(spec_of(load={"targetThroughput": 50}, **race), SETTINGS)
    assert wrong.message.startswith(f"race.load.targetThroughput means nothing beside race.{field}, whose steps are")
    assert not objections(spec_of(load={"clients": 50}, **race), SETTINGS)


def test_a_load_longer_than_the_race_may_take() -> None:
    spec = spec_of(load={"duration": "5h", "warmup": "2h"})
    (wrong,) = objections(spec, SETTINGS)
    assert wrong.message.startswith("race.load takes 25200 s, and timeouts.race is 6h")
    (too_long,) = objections(spec_of(load={"duration": "169h"}), SETTINGS)[:1]
    assert too_long.message == "race.load.duration 169h is too long: write at most 168h"


@pytest.mark.parametrize(
    ("race", "sentence"),
    [
        ({"sweep": {"interval": "1h"}}, ""),
        ({"sweep": {"interval": "61m"}}, "race.sweep.interval 61m is too long over HTTP: write at most 1h"),
        ({"sweep": {"duration": "169h"}}, "race.sweep.duration 169h is too long over HTTP: write at most 168h"),
        ({"sweep": {"duration": "1s", "warmup": "169h"}}, "race.sweep.warmup 169h is too long over HTTP"),
        ({"sweep": {"clients": [], "targetThroughput": [1, 1_000_000]}}, ""),
        (
            {"sweep": {"clients": [], "targetThroughput": [1, 1_000_001]}},
            "race.sweep.targetThroughput goes up to 1,000,001/s, and k6 is asked for 1,000,000/s at most",
        ),
        ({"capacity": {"interval": "2h"}}, "race.capacity.interval 2h is too long over HTTP: write at most 1h"),
        (
            {"capacity": {"targetThroughput": {"from": 1000, "to": 2_000_000}}},
            "race.capacity.targetThroughput goes up to 2,000,000/s, and k6 is asked for 1,000,000/s at most",
        ),
    ],
)
def test_steps_are_within_what_the_runner_takes(race: dict[str, Any], sentence: str) -> None:
    good = {
        "sweep": {"task": "requests", "clients": [1]},
        "capacity": {
            "task": "requests", "objective": {"p99": "2.5ms"}, "targetThroughput": {"from": 100, "to": 200},
        },
    }  # fmt: skip
    whole = {field: {**good[field], **changes} for field, changes in race.items()}
    spec = spec_of(**whole).model_copy(update={"timeouts": Timeouts(race="720h")})
    found = [objection.message for objection in objections(spec, SETTINGS)]
    assert len(found) == bool(sentence) and all(message.startswith(sentence) for message in found)
    runs = race_spec(
        Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec), "race-1", SETTINGS
    )
    if sentence and "targetThroughput" not in race.get("capacity", {}):  # whose rates follow from each other
        with pytest.raises(SpecError):
            parse_spec(runs.to_json())
    elif not sentence:
        parse_spec(runs.to_json())


def test_a_header_is_text() -> None:
    with pytest.raises(ValidationError):
        spec_of(load={"headers": {"x": 1}})
