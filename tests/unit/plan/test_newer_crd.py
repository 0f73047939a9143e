"""Fields of a spec that a newer CustomResourceDefinition brings: their defaults are left out, other values stay."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.crd import COMPARISON, crd
from fairlap.plan.newer_crd import unknown_defaults, without_defaults

OURS: dict[str, Any] = crd(COMPARISON)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def older(*path: str) -> dict[str, Any]:
    """The schema without a field, as an older operator has it."""
    schema = copy.deepcopy(OURS)
    *parents, last = path
    part = schema
    for name in parents:
        part = part["properties"][name] if "properties" in part else part["items"]["properties"][name]
    part.get("properties", part.get("items", {}).get("properties", {})).pop(last)
    return schema


@pytest.mark.parametrize(
    ("path", "defaults"),
    [
        (("design", "state"), {"design.state": "Fresh"}),
        (("gates", "policy"), {"gates.policy": "requireNonInferior"}),
        (("template", "smokeTest"), {"template.smokeTest": True}),
        (("baseline",), {}),
    ],
)
def test_what_a_newer_crd_fills_in(path: tuple[str, ...], defaults: dict[str, Any]) -> None:
    assert unknown_defaults(older(*path), OURS) == defaults
    assert unknown_defaults(OURS, OURS) == {} == unknown_defaults(OURS, older(*path))


def test_a_default_is_left_out_with_those_inside_it_and_a_wish_stays() -> None:
    published = {
        "properties": {
            "new": {"default": {}, "properties": {"a": {"default": 1}, "b": {"default": {"c": 2}}}},
            "list": {"items": {"properties": {"x": {"default": True}, "old": {}}}},
        }
    }
    ours = {"properties": {"list": {"items": {"properties": {"old": {}}}}}}
    defaults = unknown_defaults(ours, published)
    assert defaults == {"new": {"a": 1, "b": {"c": 2}}, "list.x": True}
    spec = {"new": {"a": 1, "b": {"c": 2}}, "list": [{"x": True, "old": 1}, {"x": False}], "mine": 3}
    assert without_defaults(spec, defaults) == {"list": [{"old": 1}, {"x": False}], "mine": 3}
    assert without_defaults({"new": {"a": 2}}, defaults) == {"new": {"a": 2}}


SPEC = ComparisonSpec.model_validate(
    {
        "template": {"elasticsearch": {"version": "8.11.0"}, "race": {"track": {"builtin": "log_ingest"}}},
        "variants": [{"name": "a"}, {"name": "b", "patch": {"elasticsearch": {"version": "9.0.0"}}}],
        "baseline": "a",
    }
).to_json()


@given(st.lists(st.sampled_from([("design", "state"), ("design", "retries"), ("onInconclusive",), ("calibrate",)])))
def test_what_an_older_operator_reads_is_what_was_written(fields: list[tuple[str, ...]]) -> None:
    """Each field that it does not know, at its default, is gone; nothing else is."""
    left, defaults = copy.deepcopy(SPEC), {}
    for field in fields:
        part = left
        for name in field[:-1]:
            part = part[name]
        part.pop(field[-1], None)
        defaults |= unknown_defaults(older(*field), OURS)
    assert without_defaults(SPEC, defaults) == left
