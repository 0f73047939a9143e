"""What a user nests deeper than Python likes is copied as far as anything reads it."""

from typing import Any

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.accept import objections
from fairlap.runtime.project import bounded_copy, project_child
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


def test_a_long_progress_is_not_kept() -> None:
    meta = {"name": "r", "namespace": "n", "uid": "u"}
    assert project_child("configmaps", {"metadata": meta, "data": {"progress": "x" * 5000}})["progress"] is None
    assert project_child("configmaps", {"metadata": meta, "data": {"progress": "{}"}})["progress"] == "{}"
    assert project_child("configmaps", {"metadata": meta})["progress"] is None
