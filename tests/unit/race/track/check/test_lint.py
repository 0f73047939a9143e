"""The rules about tracks, as tables of facts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.track.check.lint import RULES, TaskFacts, TrackFacts, lint

CREATE = TaskFacts("create", "create-index")


def bulk(**fields: Any) -> TaskFacts:
    return TaskFacts(**{"name": "index", "kind": "bulk", "operation": "index", "documents": 100_000, **fields})


def put(name: str, operation: str = "put") -> TaskFacts:
    return TaskFacts("put", "put-pipeline", operation, {"id": name, "body": {}})


def search(**fields: Any) -> TaskFacts:
    return TaskFacts(**{"name": "find", "kind": "search", "operation": "find", **fields})


def raw(path: str) -> TaskFacts:
    return TaskFacts("raw", "raw-request", "raw", {"path": path})


CODE = TaskFacts("code", "my-own", custom=True)


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        ([search(warmup_time_period=5)], ["endless-task"]),
        ([search(warmup_time_period=5, time_period=10)], []),
        ([search(warmup_time_period=5, ended_by_other=True)], []),
        ([search(warmup_time_period=5, custom=True)], []),
        ([search(warmup_iterations=5)], []),
        ([CREATE, bulk(params={"looped": True})], ["endless-task"]),
        ([CREATE, bulk(params={"looped": True}, time_period=60)], []),
        ([raw("_flush")], ["request-path"]),
        ([raw("/_flush")], []),
        (
            [
                TaskFacts(
                    "c",
                    "composite",
                    params={"requests": [{"stream": [{"operation-type": "raw-request", "path": "x"}]}]},
                )
            ],
            ["request-path"],
        ),
        ([CREATE, bulk(params={"pipeline": "p"})], ["pipeline-not-created"]),
        ([CREATE, bulk(params={"pipeline": "p"}), put("p")], ["pipeline-not-created"]),
        ([CREATE, put("p"), bulk(params={"pipeline": "p"})], []),
        ([CREATE, raw("/_ingest/pipeline/p?x=1"), bulk(params={"pipeline": "p"})], []),
        ([CREATE, CODE, bulk(params={"pipeline": "p"})], []),
        ([CREATE, bulk(params={"pipeline": "_none"})], []),
        ([CREATE, bulk(params={"pipeline": "logs@default-pipeline"})], []),
        ([CREATE, bulk(params={"pipeline": "logs-default-pipeline"})], []),
        ([CREATE, put("unused"), bulk()], ["pipeline-not-used"]),
        ([CREATE, put("unused"), bulk(custom=True)], []),
        ([CREATE, put("unused"), search()], []),
        ([CREATE, bulk(warmup_time_period=60)], ["warmup-longer-than-data"]),
        ([CREATE, bulk(warmup_time_period=60, documents=None)], []),
        ([CREATE, bulk(warmup_time_period=60, size=1e8)], ["warmup-longer-than-data"]),
        ([CREATE, bulk(warmup_time_period=60, size=1e9)], []),
        ([CREATE, bulk(warmup_time_period=10)], []),
        ([CREATE, bulk(warmup_time_period=0)], []),
        ([CREATE, bulk(params={"bulk-size": 1000}, clients=4, warmup_iterations=25)], ["warmup-takes-all"]),
        ([CREATE, bulk(params={"bulk-size": 1000}, clients=4, warmup_iterations=24)], []),
        ([CREATE, bulk(params={"bulk-size": 5000}, documents=20_000, in_files=(1000,) * 20, warmup_iterations=5)], []),
        (
            [CREATE, bulk(params={"bulk-size": 5000}, documents=2000, in_files=(1000, 1000), warmup_iterations=5)],
            ["warmup-takes-all"],
        ),
        ([CREATE, bulk(errors_ignored=True)], ["errors-ignored"]),
        ([bulk(targets=("i",))], ["index-not-created"]),
        ([CREATE, bulk(targets=("i",))], []),
        ([bulk(targets=("other",))], []),
        ([raw("/i"), bulk(targets=("i",))], []),
    ],
)
def test_rules(tasks: list[TaskFacts], found: list[str]) -> None:
    words = {task.params["pipeline"]: 1 for task in tasks if "pipeline" in task.params}
    remarks = list(lint(TrackFacts(tuple(tasks), indices=("i",), words=words)))

    assert [remark.rule for remark in remarks] == found
    assert all(remark.what and remark.cure for remark in remarks)


def test_templates_create_indices() -> None:
    facts = TrackFacts((bulk(targets=("i",)),), indices=("i",), templates=True)

    assert not list(lint(facts))


def test_an_existing_cluster_may_have_the_pipeline() -> None:
    late = (CREATE, bulk(params={"pipeline": "p"}), put("p"))

    assert not list(lint(TrackFacts((CREATE, bulk(params={"pipeline": "p"})), existing_cluster=True)))
    found = lint(TrackFacts(late, words={"p": 1}, existing_cluster=True))
    assert [remark.rule for remark in found] == ["pipeline-not-created"]


def test_a_pipeline_that_an_index_names_is_used() -> None:
    facts = TrackFacts((CREATE, put("p"), bulk()), words={"p": 1})

    assert not list(lint(facts))


TASKS = st.builds(
    TaskFacts,
    name=st.sampled_from(["a", "b"]),
    kind=st.sampled_from(["bulk", "search", "put-pipeline", "raw-request", "composite", "create-index"]),
    operation=st.sampled_from(["a", "b"]),
    params=st.dictionaries(
        st.sampled_from(["id", "pipeline", "path", "bulk-size", "looped", "requests"]),
        st.none() | st.text(max_size=3) | st.integers(-1, 5) | st.booleans() | st.lists(st.none(), max_size=1),
    ),
    clients=st.integers(1, 4),
    warmup_time_period=st.none() | st.floats(0, 100),
    time_period=st.none() | st.floats(0, 100),
    warmup_iterations=st.none() | st.integers(0, 100),
    custom=st.booleans(),
    documents=st.none() | st.integers(0, 1000),
)


@given(st.lists(TASKS, max_size=5))
def test_no_rule_fails_whatever_a_track_says(tasks: list[TaskFacts]) -> None:
    for remark in lint(TrackFacts(tuple(tasks))):
        assert remark.task in tasks


@given(st.lists(TASKS, max_size=5))
def test_a_track_of_code_alone_is_left_in_peace(tasks: list[TaskFacts]) -> None:
    code = tuple(TaskFacts(**{**vars(task), "custom": True}) for task in tasks if task.kind != "put-pipeline")

    assert {remark.rule for remark in lint(TrackFacts(code))} <= {"errors-ignored"}


def test_every_rule_says_why_it_is_one() -> None:
    assert all(rule.__doc__ for rule in RULES)
