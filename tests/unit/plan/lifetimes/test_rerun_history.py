"""Of the reruns of a Benchmark the newest stay, and those that somebody needs."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.plan.lifetimes import rerun
from fairlap.plan.lifetimes.rerun_history import limited_history, surplus

Json = dict[str, Any]
KEPT = {"conditions": [{"type": "ClusterKept", "status": "True"}]}
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def over(number: int, limit: int | None = 2, phase: str = "Succeeded", **meta: Any) -> Json:
    """The n-th run, which ended in minute n."""
    found = {
        "metadata": {
            "name": f"bm-{number}",
            "namespace": "ns",
            "uid": f"u{number}",
            "labels": {rerun.OF: "bm"},
            **meta,
        },
        "spec": {},
    }
    found["spec"] |= {"rerunHistoryLimit": limit} if limit else {}
    found["status"] = {"phase": phase, "completionTime": f"2026-01-01T00:{number:02}:00Z", "conditions": []}
    return found


def names(runs: list[Any]) -> list[str]:
    return [each["metadata"]["name"] for each in runs]


@given(limit=st.integers(1, 5), numbers=st.lists(st.integers(2, 50), unique=True, max_size=10))
def test_the_newest_stay(limit: int, numbers: list[int]) -> None:
    gone = names(surplus([over(number, limit) for number in numbers], NOW))
    assert gone == [f"bm-{number}" for number in sorted(numbers)[: max(0, len(numbers) - limit)]]


@pytest.mark.parametrize(
    ("changed", "gone"),
    [
        ({}, ["bm-2", "bm-3"]),
        ({"metadata": {"deletionTimestamp": "x"}}, ["bm-3"]),
        ({"metadata": {"annotations": {rerun.ASKED: "1"}}}, ["bm-3"]),
        ({"metadata": {"annotations": {rerun.ASKED: "1", rerun.DONE: "1"}}}, ["bm-2", "bm-3"]),
        ({"status": {"phase": "Racing"}}, ["bm-3"]),
        ({"status": KEPT, "spec": {"keepClusterFor": "48h"}}, ["bm-3"]),
        ({"status": KEPT, "spec": {"keepClusterFor": "1h"}}, ["bm-2", "bm-3"]),
        ({"status": KEPT, "spec": {"keepClusterFor": "?"}}, ["bm-3"]),
        ({"status": {"phase": "Failed"}}, ["bm-2", "bm-3"]),
    ],
)  # fmt: skip
def test_one_that_somebody_needs_stays(changed: Json, gone: list[str]) -> None:
    runs = [over(number) for number in (5, 4, 3, 2)]
    for part, values in changed.items():
        runs[-1][part] |= values
    assert names(surplus(runs, NOW)) == gone


def test_the_limit_is_that_of_the_newest() -> None:
    assert names(surplus([over(2, 1), over(3, 1), over(4, 2)], NOW)) == ["bm-2"]
    assert not surplus([over(2, 1), over(3, None)], NOW) and not surplus([], NOW)


def test_only_a_rerun_that_has_ended_has_a_history() -> None:
    assert limited_history(over(2, 7)) == 7
    first = {**over(2, 7), "metadata": {"name": "bm", "namespace": "ns"}}
    for other in (over(2, None), over(2, 7, "Racing"), first):
        assert limited_history(other) is None
    for nonsense in (0, -1, "3", None, []):
        assert limited_history({**over(2), "spec": {"rerunHistoryLimit": nonsense}}) is None


def test_runs_of_another_benchmark_that_had_the_name_are_not_counted() -> None:
    """A spec is changed by deleting and making anew: without a limit its runs were to stay for ever."""
    first = [over(number, None, annotations={rerun.OF_UID: "gone"}) for number in (2, 3)]
    again = [over(number, 1, annotations={rerun.OF_UID: "bm-3", rerun.FIRST_UID: "new"}) for number in (4, 5)]
    direct = over(6, 1, annotations={rerun.OF_UID: "new"})  # by a version that noted no first one
    assert names(surplus([*first, *again, direct], NOW)) == ["bm-4", "bm-5"]
    assert not surplus([*again, *first, over(7, 1, annotations={rerun.OF_UID: "newer"})], NOW)


def test_all_runs_name_the_first_one() -> None:
    bm: Json = {"metadata": {"name": "bm", "namespace": "ns", "uid": "first"}, "spec": {}}
    found = bm
    for number in (2, 3, 4):
        made = rerun.manifest(found, rerun.Next(str(number), f"bm-{number}"))
        assert made["metadata"]["annotations"][rerun.FIRST_UID] == "first"
        found = {**made, "metadata": {**made["metadata"], "uid": f"u{number}"}}
    del found["metadata"]["annotations"][rerun.FIRST_UID]
    assert rerun.manifest(found, rerun.Next("5", "bm-5"))["metadata"]["annotations"][rerun.FIRST_UID] == "u3"
