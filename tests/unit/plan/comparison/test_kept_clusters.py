"""Clusters that a Comparison keeps: what is known of a race on one, and how long it stays."""

from typing import Any

import pytest
from comparison_world import FIXED_2, Film, comparison, record_of

from fairlap.api.spec import BenchmarkSpec, Target
from fairlap.plan.comparison.kept_clusters import (
    built_once,
    changed_meanwhile,
    facts_on_kept_cluster,
    is_kept_for,
    machines_of_kept,
    on_kept_cluster,
    still_needs_cluster,
)

BLOCKS = [
    {"number": 0, "valid": False, "races": [{"benchmark": "cmp-0a"}, {"benchmark": "cmp-0b"}]},
    {"number": 0, "valid": True, "races": [{"benchmark": "cmp-0a-2"}]},
    {"number": 1, "valid": False, "races": [{"benchmark": "cmp-1a"}]},
]


@pytest.mark.parametrize(
    ("status", "benchmark", "needed"),
    [
        (None, "cmp-0a", True),
        ({"phase": "Preparing"}, "cmp-0a", True),
        ({"phase": "Racing", "blocks": BLOCKS}, "cmp-0a", False),
        ({"phase": "Racing", "blocks": BLOCKS}, "cmp-0a-2", True),
        ({"phase": "Complete", "blocks": BLOCKS}, "cmp-0a-2", False),
        ({"phase": "Failed"}, "cmp-0a", False),
    ],
)
def test_a_cluster_stays_as_long_as_it_is_raced_on(status: Any, benchmark: str, needed: bool) -> None:
    assert still_needs_cluster({"status": status}, benchmark) is needed


def test_how_a_race_on_a_kept_cluster_ran_is_how_that_was_built_and_what_the_race_saw() -> None:
    built = {
        "spec.elasticsearch.version": "9.0.0",
        "ran: image": "x",
        "ran: task search: hits": "5",
        "ran: kernel": "6",
    }
    raced = {"spec.target.hosts[0]": "https://a", "ran: target clusterName": "a", "ran: task search: hits": "7"}
    assert facts_on_kept_cluster(built, raced) == {**built, "ran: task search: hits": "7"}


BUILT_ON = {"cmp-0a": ("m1",), "cmp-0b": ("m2", "m3"), "cmp-0b-2": ("m4",), "cmp-1a": ()}


@pytest.mark.parametrize("kept_by", [*BUILT_ON, "unknown"])
def test_the_machines_of_a_race_on_a_kept_cluster_are_those_it_was_built_on(kept_by: str) -> None:
    raced = Target.model_validate(on_kept_cluster({"race": {}}, ["search"], kept_by, "ns")["target"])
    assert machines_of_kept(raced, "ns", BUILT_ON) == BUILT_ON.get(kept_by, ())
    assert machines_of_kept(raced, "elsewhere", BUILT_ON) == ()


@pytest.mark.parametrize("hosts", [None, ["https://old:9200"], ["https://cmp-0a-race-1-es-http.ns.svc:9200"] * 2])
def test_of_any_other_target_no_machines_are_known(hosts: list[str] | None) -> None:
    assert machines_of_kept(Target(hosts=hosts) if hosts else None, "ns", BUILT_ON) == ()


@pytest.mark.parametrize(
    ("comparison", "kept_by", "namespace", "kept"),
    [
        ("cmp", "cmp-0a", "ns", True),
        ("cmp", "cmp-0b-2", "ns", True),
        ("cmp", "cmp-0a", "elsewhere", False),
        ("cmp", "cmp-1a", "ns", False),
        ("cmp", "cmp", "ns", False),
        ("c.p", "cmp-0a", "ns", False),
        ("other", "cmp-0a", "ns", False),
        ("(not there)", "cmp-0a", "ns", False),
        ("", "cmp-0a", "ns", False),
    ],
)
def test_which_target_is_a_cluster_that_a_comparison_keeps(
    comparison: str, kept_by: str, namespace: str, kept: bool
) -> None:
    raced = Target.model_validate(on_kept_cluster({"race": {}}, ["search"], kept_by, "ns")["target"])
    assert is_kept_for(comparison, raced, namespace) is kept


@pytest.mark.parametrize("scheme", ["http://", "https://https://", "https://x."])
def test_nothing_that_only_looks_like_it_is_a_kept_cluster(scheme: str) -> None:
    host = "cmp-0a-race-1-es-http.ns.svc:9200"
    hosts = [[f"{scheme}{host}"], [f"https://{host}"] * 2, [f"https://{host}", "https://prod:9200"]]
    assert not any(is_kept_for("cmp", target, "ns") for target in (None, *(Target(hosts=it) for it in hosts)))


STEPS: dict[str, Any] = {"task": "search", "clients": [1, 8]}


@pytest.mark.parametrize(
    ("race", "raced"),
    [
        ({}, {}),
        ({"requireTasks": ["bulk", "search"]}, {"requireTasks": ["search"]}),
        ({"allow": {"errorRate": {"bulk": 0.1}}}, {}),
        ({"allow": {"errorRate": {"bulk": 0.1, "search": 0.2}}}, {"allow": {"errorRate": {"search": 0.2}}}),
        ({"sweep": {**STEPS, "task": "bulk"}, "requireTasks": ["search", "bulk@8"]}, {"requireTasks": ["search"]}),
        ({"capacity": {"task": "bulk"}, "allow": {"errorRate": {"bulk@probe-1": 0.1}}}, {}),
        (
            {"sweep": STEPS, "requireTasks": ["search", "search@8"], "allow": {"errorRate": {"search@1": 0.1}}},
            {"sweep": STEPS, "requireTasks": ["search", "search@8"], "allow": {"errorRate": {"search@1": 0.1}}},
        ),
        ({"expect": {"documents": {"logs": 5}, "totalDocuments": 5}}, {}),
        ({"includeTasks": ["bulk", "search"], "steady": {"maxWarmup": "60s"}}, {"steady": {"maxWarmup": "60s"}}),
        ({"excludeTasks": ["tag:slow"], "challenge": "c"}, {"challenge": "c"}),
    ],
)
def test_what_a_race_says_of_other_tasks_and_of_the_filling_is_left_out_on_a_kept_cluster(
    race: dict[str, Any], raced: dict[str, Any]
) -> None:
    found = on_kept_cluster({"race": race, "racedAgain": ["search"]}, ["search"], "cmp-0a", "ns")
    alone = {"includeTasks": ["search"], "excludeTasks": [], "requireTasks": []}
    assert found["race"] == {**alone, **raced} and found["racedAgain"] == ["search"]


SWEPT = {
    "elasticsearch": {"version": "8.11.0"},
    "race": {"track": {"builtin": "log_ingest"}, "sweep": STEPS, "allow": {"errorRate": {"bulk": 0.1}}},
}
ON_A_STEP = [{"task": "search@8", "metric": "throughput", "margin": 5}]


def test_a_gate_on_a_step_is_asked_for_in_the_preparation_and_in_each_block() -> None:
    design = {**FIXED_2, "state": "Kept", "tasks": ["search"]}
    film = Film(comparison(design=design, template=SWEPT, gates=ON_A_STEP)).run()
    required = [race.spec["race"]["requireTasks"] for race in film.created]
    assert film.status.phase == "Complete" and required == [["search", "search@8"]] * len(film.created)
    assert {tuple(race.spec["racedAgain"]) for race in film.created} == {("search",)}
    for race in film.created:
        spec = BenchmarkSpec.model_validate(race.spec)
        assert (spec.race.allow is None) is (spec.elasticsearch is None)


def test_fresh_clusters_race_nothing_again() -> None:
    film = Film(comparison(design=FIXED_2)).run()
    assert not [race.name for race in film.created if "racedAgain" in race.spec]


OF_THE_SPEC = ("UnknownTask", "InvalidSpec", "ParameterMissing", "TemplateError")


@pytest.mark.parametrize(
    ("reason", "message", "ended", "sentence"),
    [
        *((it, "track.json is odd", "InvalidVariant", f"{it}: track.json is odd") for it in OF_THE_SPEC[1:]),
        ("UnknownTask", "race.allow.errorRate: no", "UnknownTask", "UnknownTask: race.allow.errorRate: no"),
    ],
)
def test_what_no_filling_can_mend_ends_it_in_the_first_block(
    reason: str, message: str, ended: str, sentence: str
) -> None:
    film = Film(comparison(design={**FIXED_2, "state": "Kept", "tasks": ["search"]})).until("Running", 1)
    film.finish("Failed", reason=reason, message=message)
    film.step()
    film.run()
    status = film.status
    assert (status.phase, status.reason, len(film.created)) == ("Failed", ended, 3), "nothing is filled again"
    assert status.message == f"variant {film.created[-1].variant.rstrip('*')}: {sentence}"
    assert status.findings == [], "no variant is blamed for it"
    assert [(block.number, block.valid) for block in status.blocks] == [(0, True), (1, False)]
    assert {each.type: each.status for each in status.conditions}["Accepted"] == "False"


@pytest.mark.parametrize(
    ("state", "blocks", "reason"),
    [("Kept", 2, "UnknownTask"), ("Kept", 1, "ClusterUnreachable"), ("Fresh", 1, "TrackInvalid")],
)
def test_what_was_raced_before_or_was_checked_as_it_is_or_may_pass_is_raced_again(
    state: str, blocks: int, reason: str
) -> None:
    tasks = ["search"] if state == "Kept" else []
    film = Film(comparison(design={**FIXED_2, "state": state, "tasks": tasks})).until("Running", blocks)
    film.finish("Failed", reason=reason, message="odd")
    film.step()
    assert film.run().status.phase == "Complete"


@pytest.mark.parametrize(
    ("reason", "message", "ended", "sentence"),
    [
        ("InvalidSpec", "racedAgain: task bulk (bulk) changes index a.", "InvalidSpec",
         "design.tasks: variant 9.0.0: task bulk (bulk) changes index a."),
        ("NoTasks", "racedAgain: raced alone: nothing.", "InvalidSpec",
         "design.tasks: variant 9.0.0: raced alone: nothing."),
        ("UnknownTask", "requireTasks: no task search@9.", "UnknownTask",
         "design.tasks, gates[].task: variant 9.0.0: no task search@9."),
        ("UnknownTask", "race.allow.errorRate: no task b.", "UnknownTask",
         "variant 9.0.0: UnknownTask: race.allow.errorRate: no task b."),
    ],
)  # fmt: skip
def test_tasks_that_cannot_be_raced_again_are_refused_in_the_preparation_with_their_field(
    reason: str, message: str, ended: str, sentence: str
) -> None:
    design = {**FIXED_2, "state": "Kept", "tasks": ["search"]}
    film = Film(comparison(design=design, template=SWEPT, gates=ON_A_STEP)).until("Running", 0, 2)
    film.finish("Failed", reason=reason, message=message, field=message.partition(": ")[0])
    film.step()
    film.run()
    assert (film.status.phase, film.status.reason, film.status.message) == ("Failed", ended, sentence)


@pytest.mark.parametrize(
    ("reason", "field", "message", "ended", "sentence"),
    [
        ("UnknownTask", "requireTasks", "race-1: requireTasks: the race over HTTP has no task b.", "UnknownTask",
         "design.tasks: variant 9.0.0: race-1: the race over HTTP has no task b."),
        ("TrackInvalid", "", "racedAgain: words of a track's own code.", "PreparationFailed",
         "variant 9.0.0: TrackInvalid: racedAgain: words of a track's own code."),
    ],
)  # fmt: skip
def test_which_field_a_race_failed_for_is_not_read_from_its_words(
    reason: str, field: str, message: str, ended: str, sentence: str
) -> None:
    film = Film(comparison(design={**FIXED_2, "state": "Kept", "tasks": ["search"]})).until("Running", 0, 2)
    film.finish("Failed", reason=reason, message=message, field=field)
    film.step()
    film.run()
    assert (film.status.phase, film.status.reason, film.status.message) == ("Failed", ended, sentence)


@pytest.mark.parametrize(
    ("built", "raced", "changed"),
    [
        (["a", "b"], ["b", "a"], False),
        (["a"], ["b"], True),
        (["a", "b"], ["a"], True),
        (["a"], [None], False),
        ([None], ["a"], False),
    ],
)
def test_a_node_that_was_started_again_is_seen(built: list[Any], raced: list[Any], changed: bool) -> None:
    assert bool(changed_meanwhile(built, raced)) is changed


def test_no_cluster_is_kept_longer_than_a_benchmark_may() -> None:
    assert built_once({"race": {}})["keepClusterFor"] == "720h"


@pytest.mark.parametrize(
    ("resources", "becomes"),
    [
        ({"limits": {"memory": "2Gi"}}, {"requests": {"cpu": "100m"}, "limits": {"memory": "2Gi"}}),
        ({"limits": {"cpu": "2", "memory": "2Gi"}}, {"limits": {"cpu": "2", "memory": "2Gi"}}),
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1"}}),
    ],
)
def test_clusters_share_processors_unless_a_cpu_is_named(resources: dict[str, Any], becomes: dict[str, Any]) -> None:
    spec = {"elasticsearch": {"version": "9.0.0", "resources": resources}, "race": {}}
    assert built_once(spec)["elasticsearch"] == {"version": "9.0.0", "resources": becomes}
    assert spec["elasticsearch"]["resources"] == resources, "the variant's own spec stays"


def test_a_race_that_failed_since_its_clusters_builder_was_deleted_is_nobodys_loss() -> None:
    film = Film(comparison(design={**FIXED_2, "state": "Kept", "tasks": ["search"]})).until("Running", 1)
    film.finish("Failed", reason="ClusterUnreachable")
    film.step()
    assert film.status.block and film.status.block.stage == "Recording"
    film.records[1] = record_of(film.status, **{film.status.block.races[0].variant: "ClusterRestarted"})
    film.step()
    first = next(block for block in film.status.blocks if block.number == 1)
    assert (first.valid, first.reason, first.races[0].reason) == (False, "ClusterRestarted", "ClusterRestarted")
    assert not film.status.findings
