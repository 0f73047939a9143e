"""What is not stored as it was written is found out by comparing, and named by its path."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import START, is_true

from fairlap.api.base import Answer
from fairlap.api.crd import BENCHMARK, COMPARISON, Resource, crd
from fairlap.api.status import BenchmarkStatus
from fairlap.api.steering import Steering, Steers, steering
from fairlap.plan.outdated_crd import (
    COMPARISON_STEERING,
    STEERING,
    describe,
    field_paths,
    lost_fields,
    missing_fields,
    say_outdated,
    steers,
    without,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
MAPS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@pytest.mark.parametrize(
    ("sent", "stored", "lost"),
    [
        ({"a": 1, "b": {"c": True}}, {"a": 1, "b": {"c": True}}, set()),
        ({"step": {"name": "x", "jobStarted": True}}, {"step": {"name": "x"}}, {"step.jobStarted"}),
        ({"step": {"name": "x"}}, {}, {"step"}),
        ({"a": None}, {}, set()),
        ({"a": 2.0}, {"a": 2}, set()),
        ({"a": "x"}, {"a": "y"}, {"a"}),
        ({"l": [{"a": 1, "b": 2}, {"b": 3}]}, {"l": [{"a": 1}, {}]}, {"l.b"}),
        ({"l": [1, 2]}, {"l": [1]}, {"l"}),
        ({"a": {"b": 1}}, {"a": None}, {"a"}),
        ({"a": 1}, {"a": 1, "more": 2}, set()),
    ],
)
def test_what_was_lost(sent: Any, stored: Any, lost: set[str]) -> None:
    assert lost_fields(sent, stored) == lost


@given(MAPS)
def test_what_comes_back_as_it_was_has_lost_nothing(sent: dict[str, Any]) -> None:
    assert not lost_fields(sent, sent)


@given(MAPS, st.frozensets(st.sampled_from(["a", "b", "a.b", "b.c", "a.a.b"])))
def test_what_a_schema_does_not_know_is_what_was_lost(sent: dict[str, Any], unknown: frozenset[str]) -> None:
    pruned = without(sent, unknown)
    lost = lost_fields(sent, pruned)
    assert lost <= unknown and lost <= field_paths(sent)
    assert without(sent, lost) == pruned or any(value is None for value in _leaves(sent))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list) else [value]


@pytest.mark.parametrize(
    ("fields", "does"),
    [({"step.jobStarted"}, False), ({"step"}, True), ({"step.jobUID"}, True), ({"resources"}, False),
     ({"resources", "races"}, True), (set(), False), ({"steps"}, False),
     ({"step.givesWay"}, True), ({"nodeSettings.index.codec"}, True), ({"nodeProcessors.message"}, False),
     ({"nodeProcessors.refused"}, True), ({"step.lacksProcessors"}, True)],
)  # fmt: skip
def test_what_decisions_stand_on(fields: set[str], does: bool) -> None:
    assert steers(fields) is does


def schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    def one() -> dict[str, Any]:
        (version,) = crd()["spec"]["versions"]
        schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
        return schema

    return one(), one()


def test_what_steers_is_in_the_schema() -> None:
    find_in_schema(BENCHMARK, STEERING)


def test_what_steers_a_comparison_is_in_its_schema() -> None:
    find_in_schema(COMPARISON, COMPARISON_STEERING)


def find_in_schema(resource: Resource, found: Steering) -> None:
    (version,) = crd(resource)["spec"]["versions"]
    assert len(found.decided_by) > 25
    for path in found.decided_by | found.read_by:
        node: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        for name in path.split("."):
            node = node.get("items") or node.get("additionalProperties") or node
            node = node["properties"][name]


@pytest.mark.parametrize(
    "field", ["block", "blocks", "variants", "seed", "calibrateEvery", "startTime", "queuedTime", "block.valid",
              "blocks.races.benchmark", "suspendedTime", "knownNoise", "knownNoise.kinds", "block.meetsAt",
              "block.races.reason", "blocks.reason", "blocks.races.seconds", "variants.lackingMemory"],
)  # fmt: skip
def test_what_decisions_about_a_comparison_stand_on(field: str) -> None:
    assert steers({field}, COMPARISON_STEERING)


@pytest.mark.parametrize(
    ("fields", "steering", "does"),
    [
        ({"results.tasks.samples"}, STEERING, True), ({"results.tasks"}, STEERING, False),
        ({"results"}, STEERING, False), ({"races.remarks.reason"}, STEERING, True),
        ({"contenders.gates.verdict"}, COMPARISON_STEERING, True),
        ({"contenders"}, COMPARISON_STEERING, False),
        ({"findings", "costSeconds"}, COMPARISON_STEERING, False),
    ],
)  # fmt: skip
def test_what_a_part_cannot_be_read_without_steers_though_the_part_does_not(
    fields: set[str], steering: Steering, does: bool
) -> None:
    assert steers(fields, steering) is does


class _Part(Answer):
    needed: str
    other: str = ""


class _Status(Answer):
    seen_at: Annotated[str, Steers()] = ""
    parts: Annotated[tuple[_Part, ...], Steers()] = ()
    by_name: dict[str, _Part | None] | None = None
    shown: str = ""


def test_what_is_marked_in_a_model_steers_by_the_name_that_the_api_server_knows() -> None:
    found = steering(_Status)
    assert found == Steering(frozenset({"seenAt", "parts"}), frozenset({"parts.needed", "byName.needed"}))
    assert steers({"parts.other"}, found) and not steers({"shown"}, found) and not steers({"byName.other"}, found)


def test_what_an_older_schema_lacks() -> None:
    ours, older = schemas()
    assert missing_fields(ours, older) == frozenset()
    status = older["properties"]["status"]["properties"]
    del status["step"]["properties"]["jobStarted"], status["resources"]
    del status["races"]["items"]["properties"]["remarks"]
    assert missing_fields(ours, older) == {"status.step.jobStarted", "status.resources", "status.races.remarks"}
    assert missing_fields(older, ours) == frozenset(), "a newer one is no trouble"
    older["properties"]["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert missing_fields(ours, older) == frozenset()


def test_the_sentence_is_bounded_and_the_status_says_it() -> None:
    fields = frozenset(f"results.field{number:02}" for number in range(30))
    assert "status.results.field00, " in describe(fields) and "and 20 more, so" in describe(fields)
    said = say_outdated(BenchmarkStatus(phase="Racing"), fields, START)
    assert said.phase == "Racing" and said.progress.startswith("CRDOutdated: the Custom") and len(said.progress) <= 120
    assert is_true(said, "CRDOutdated")
