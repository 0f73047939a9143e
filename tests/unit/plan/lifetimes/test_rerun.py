"""Another run of a Benchmark: its name, what it copies, and that each value asks for one."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.names import MAX_NAME
from fairlap.api.small_metadata import shrink_metadata
from fairlap.plan.lifetimes import rerun

Json = dict[str, Any]


def bench(name: str = "bm", **meta: Any) -> Json:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", **meta},
        "spec": {"race": {"track": {"builtin": "log_ingest"}}, "suspend": True},
    }


@given(first=st.from_regex(r"[a-z][a-z0-9-]{0,25}[a-z]", fullmatch=True), others=st.integers(0, 12))
def test_names_are_free_short_and_in_order(first: str, others: int) -> None:
    taken = {first}
    for _ in range(others + 1):
        name = rerun.free_name(first, taken)
        assert name not in taken and len(name) <= MAX_NAME and not name.startswith("-")
        taken.add(name)
    assert f"-{others + 2}" == name[-len(f"-{others + 2}") :]


LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


@pytest.mark.parametrize("end", [".b", ".b.c", "--b", "b.c"])
@pytest.mark.parametrize("shorter", range(5))
def test_a_name_that_is_cut_at_a_dot_or_a_dash_is_still_a_name(end: str, shorter: int) -> None:
    """On a target a name may have dots, and the API server takes none with a dash at a side of a dot."""
    name = rerun.free_name("a" * (MAX_NAME - len(end) - shorter) + end, set())
    assert re.fullmatch(rf"{LABEL}(\.{LABEL})*", name) and len(name) <= MAX_NAME


def test_a_value_asks_once() -> None:
    assert rerun.requested_value(bench()) is None
    assert rerun.requested_value(bench(annotations={rerun.ASKED: ""})) is None
    wanted = bench(annotations={rerun.ASKED: "1"})
    assert rerun.requested_value(wanted) == "1"
    wanted["metadata"]["annotations"][rerun.DONE] = "1"
    assert rerun.requested_value(wanted) is None
    wanted["metadata"]["annotations"][rerun.ASKED] = "2"
    assert rerun.requested_value(wanted) == "2"
    assert rerun.requested_value({**wanted, "metadata": {**wanted["metadata"], "deletionTimestamp": "x"}}) is None


def test_what_was_said_holds_for_its_value_only() -> None:
    text = rerun.Next("1", "bm-2").to_text()
    told = bench(annotations={rerun.SAID: text})
    assert rerun.announced(told, "1") == ("1", "bm-2")
    assert rerun.announced(told, "2") is None
    for damaged in ("", "no JSON", json.dumps({"name": "x"}), "[]", "3"):
        assert rerun.announced(bench(annotations={rerun.SAID: damaged}), "1") is None


def test_the_copy_has_the_spec_and_says_where_it_comes_from() -> None:
    labels = {"app.kubernetes.io/instance": "of-argo"}
    made = rerun.manifest(bench(labels=labels, annotations={"kubectl": "x"}), rerun.Next("v", "bm-2"))
    assert made["spec"] == {"race": {"track": {"builtin": "log_ingest"}}}
    assert made["metadata"]["labels"] == {rerun.OF: "bm"}
    assert rerun.was_made_for(made, bench(), "v") and not rerun.was_made_for(made, bench(), "w")
    assert not rerun.was_made_for(made, bench("other"), "v")
    # A run of a run is numbered after the first.
    again = {**made, "metadata": {**made["metadata"], "uid": "u2"}}
    assert rerun.first_name(again) == "bm"


def test_a_long_value_is_noted_by_its_hash() -> None:
    """The notes of one that was written whole had no room beside it, and the run was made again for ever."""
    long = "x" * 260_000
    value = rerun.requested_value(bench(annotations={rerun.ASKED: long}))
    assert value is not None
    notes = {rerun.ASKED: long, rerun.SAID: rerun.Next(value, "b" * MAX_NAME).to_text(), rerun.DONE: value}
    assert sum(len(key) + len(text) for key, text in notes.items()) < 262_144
    done = bench(annotations=notes)
    assert rerun.announced(done, value) == rerun.announced(done, long) == (value, "b" * MAX_NAME)
    assert rerun.was_made_for(rerun.manifest(done, rerun.Next(value, "bm-2")), done, long)
    assert rerun.requested_value(done) is None
    shrink_metadata(done["metadata"], (rerun.ASKED, rerun.DONE))
    assert rerun.requested_value(done) is None


def test_values_that_begin_alike_are_two() -> None:
    first, second = ("z" * 5000 + end for end in "12")
    value = rerun.requested_value(bench(annotations={rerun.ASKED: first}))
    asked_anew = bench(annotations={rerun.ASKED: second, rerun.DONE: value})
    shrink_metadata(asked_anew["metadata"], (rerun.ASKED, rerun.DONE))
    assert rerun.requested_value(asked_anew) not in (None, value)


def test_what_an_earlier_version_noted_whole_still_counts() -> None:
    for asked in ("v" * 200, "v" * 201, "v" * 50_000, "\ud800" * 300):
        noted = {rerun.ASKED: asked, rerun.SAID: rerun.Next(asked, "bm-2").to_text(), rerun.DONE: asked}
        assert rerun.requested_value(bench(annotations=noted)) is None
        value = rerun.requested_value(bench(annotations={rerun.ASKED: asked}))
        assert value is not None and rerun.announced(bench(annotations=noted), value) == (value, "bm-2")
        whole = rerun.manifest(bench(), rerun.Next(asked, "bm-2"))
        assert rerun.was_made_for(whole, bench(), value)
        assert (value == asked) is (len(asked) <= 200), "short ones are noted as they are"


@pytest.mark.parametrize(
    ("owner", "of"),
    [
        ({"kind": "Comparison", "apiVersion": "fairlap.dev/v1alpha1", "controller": True}, "a race of Comparison cmp"),
        ({"kind": "Comparison", "apiVersion": "fairlap.dev/v1alpha1"}, ""),
        ({"kind": "Comparison", "apiVersion": "other.dev/v1", "controller": True}, ""),
        ({"kind": "Application", "apiVersion": "argoproj.io/v1alpha1", "controller": True}, ""),
        ({}, ""),
    ],
)
def test_a_race_of_a_comparison_is_not_run_again_alone(owner: Json, of: str) -> None:
    """Its spec is a part of that: a cluster kept for a month, a place in a block, another's cluster as its target."""
    said = rerun.objection(bench("cmp-0a", ownerReferences=[{**owner, "name": "cmp", "uid": "c"}] if owner else []))
    assert bool(said) is bool(of) and of in said
