"""What a user nests deeper than Python likes is copied as far as anything reads it."""

import copy
from typing import Any

import pytest

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.names import MOST_SPEC_VALUES
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.variants.variants import VariantsRefusedError, expand
from fairlap.plan.acceptance.accept import objections
from fairlap.runtime.objects.project import bounded_copy, cut_spec, is_set_aside, project_child, set_spec_aside
from fairlap.settings import Settings


def test_a_deep_spec_is_copied_and_refused() -> None:
    deep: Any = {}
    for _ in range(9000):
        deep = {"a": deep}
    body = {"spec": {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "x"}, "params": deep}}}
    copied = bounded_copy(body)
    (found,) = objections(BenchmarkSpec.model_validate(copied["spec"]), Settings(race_image="r"))
    assert found.message == "race.params is nested more than 20 levels deep: write it flatter"


def test_a_copy_is_one() -> None:
    body = {"a": [{"b": [1, None, "x"]}], "c": True}
    copied = bounded_copy(body)
    assert copied == body and copied["a"] is not body["a"] and copied["a"][0]["b"] is not body["a"][0]["b"]


MANY = {
    "lists in lists": [[]] * 300_000,
    "empty texts": [""] * 300_000,
    "numbers": list(range(300_000)),
    "names": {f"k{number}": 1 for number in range(300_000)},
}


@pytest.mark.parametrize("what", MANY)
def test_a_spec_of_more_values_than_any_is_cut_and_refused(what: str) -> None:
    """Else kopf holds 40 MB for each that is created, until the operator has no memory, again at every start."""
    body = {
        "spec": {
            "elasticsearch": {"version": "9.0.0"},
            "race": {"track": {"builtin": "x"}, "params": {"a": MANY[what]}},
        }
    }
    cut_spec(body)
    left = body["spec"]["race"]["params"]["a"]
    assert MOST_SPEC_VALUES < len(left) < 1.3 * MOST_SPEC_VALUES
    objected = objections(BenchmarkSpec.model_validate(body["spec"]), Settings(race_image="r"))
    assert [each.message for each in objected] == [
        "race.params is larger than 64 KiB: write less, and keep what is large in the track"
    ]


@pytest.mark.parametrize("what", MANY)
def test_a_comparison_of_more_values_than_any_is_cut_and_refused(what: str) -> None:
    template = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "x"}}}
    variants = [{"name": "a"}, {"name": "b", "patch": {"race": {"params": {"a": MANY[what]}}}}]
    body: Any = {"spec": {"template": template, "variants": variants, "baseline": "a"}}
    cut_spec(body)
    assert len(body["spec"]["variants"][1]["patch"]["race"]["params"]["a"]) < 1.3 * MOST_SPEC_VALUES
    with pytest.raises(VariantsRefusedError, match="have more than 16000 values: keep what is large in the track"):
        expand(ComparisonSpec.model_validate(body["spec"]))


def test_what_is_beside_something_large_stays() -> None:
    """So that the sentence is about what is too large, and not about what is missing."""
    built = {"config": {"a": MANY["numbers"]}, "version": "9.0.0"}
    race = {"clientOptions": {"a": MANY["numbers"]}, "params": {"b": 1}, "track": {"builtin": "x"}}
    body: Any = {"spec": {"elasticsearch": built, "race": race}}
    cut_spec(body)
    objected = objections(BenchmarkSpec.model_validate(body["spec"]), Settings(race_image="r"))
    assert [each.message.partition(" is")[0] for each in objected] == ["elasticsearch.config"]


def test_no_spec_that_is_accepted_is_cut() -> None:
    most = {"a": list(range(MOST_SPEC_VALUES - 1))}
    names = [f"n{number}" for number in range(100)]
    race = {"params": most, "includeTasks": names, "requireTasks": names, "track": {"builtin": "log_ingest"}}
    body = {"spec": {"elasticsearch": {"version": "9.0.0"}, "race": race}}
    before = copy.deepcopy(body)
    cut_spec(body)
    assert body == before


SMALL = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"name": "geonames"}, "params": {"a": 1}}}


@pytest.mark.parametrize(
    "large",
    [
        {"race": {"params": {"a": [{}] * (MOST_SPEC_VALUES - 10)}}},
        {"race": {"params": {f"k{number}": "x" * 900 for number in range(60)}}},
        {"elasticsearch": {"config": {f"k{number:05}": "" for number in range(5000)}}},
    ],
    ids=["lists", "texts", "names"],
)
def test_a_spec_that_takes_much_memory_is_left_to_the_api_server(large: dict[str, Any]) -> None:
    """Each is 64 KiB of text that may be accepted, and a megabyte in Python: 200 in line were more than there is."""
    body: Any = {"metadata": {"name": "a"}, "spec": {**copy.deepcopy(SMALL), "suspend": True, **copy.deepcopy(large)}}
    set_spec_aside(body)
    assert is_set_aside(body) and body["spec"]["suspend"] is True and len(str(body)) < 200
    again = copy.deepcopy(body)
    set_spec_aside(again)
    assert again == body


def test_a_usual_spec_stays() -> None:
    body: Any = {"spec": {**SMALL, "race": {**SMALL["race"], "params": {f"p{n}": "a value" for n in range(150)}}}}
    before = copy.deepcopy(body)
    set_spec_aside(body)
    assert body == before and not is_set_aside(body) and not is_set_aside({"metadata": {}})


def test_a_long_progress_is_not_kept() -> None:
    meta = {"name": "r", "namespace": "n", "uid": "u"}
    assert project_child("configmaps", {"metadata": meta, "data": {"progress": "x" * 5000}})["progress"] is None
    assert project_child("configmaps", {"metadata": meta, "data": {"progress": "{}"}})["progress"] == "{}"
    assert project_child("configmaps", {"metadata": meta})["progress"] is None
