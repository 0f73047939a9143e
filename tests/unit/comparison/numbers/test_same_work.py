"""Races of two variants that did not run the same tasks, or tell their numbers in other units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.comparison.judging.test_side_by_side import race_json, raced, races, read

from fairlap.comparison.judging.side_by_side import judge_side_by_side
from fairlap.comparison.numbers.race_numbers import Kind, Number, Raced
from fairlap.comparison.numbers.same_work import tasks_of_one_side, told_apart, units_of
from fairlap.comparison.terms.verdicts import ComparisonVerdict

NAMES = ("before/", "after/")
CURE = "give both the same track, challenge, and included and excluded tasks"
BULK = Number("bulk", Kind.THROUGHPUT)
TASKS = st.lists(st.sampled_from("abc"), unique=True)
SIDES = st.lists(TASKS, min_size=1, max_size=4)


def changed(change: Callable[[dict[str, Any]], Any], count: int = 3) -> list[Raced]:
    """Return races with another object `results`."""
    found = []
    for _ in range(count):
        race = race_json()
        change(race["results"])
        found.append(read(race))
    return found


def without_bulk(results: dict[str, Any]) -> None:
    results["op_metrics"] = results["op_metrics"][1:]


def in_unit(unit: str, *, failed: float = 0.0, count: int = 3) -> list[Raced]:
    """Return races whose bulk counts in this unit, with this share of its requests failed."""

    def change(results: dict[str, Any]) -> None:
        results["op_metrics"][0]["throughput"]["unit"] = unit
        results["op_metrics"][0]["error_rate"] = failed

    return changed(change, count)


def test_a_task_that_one_side_ran_alone_makes_it_not_comparable() -> None:
    both, one = changed(lambda results: None), changed(without_bulk)
    for sides, alone in (((both, one), NAMES[0]), ((one, both), NAMES[1])):
        found = judge_side_by_side(*sides, names=NAMES)
        assert found.obstacles == (f"bulk was raced by {alone} alone: {CURE}",)
        assert found.verdict == ComparisonVerdict.NOT_COMPARABLE
    assert judge_side_by_side(both, one).obstacles == (f"bulk was raced by the baseline alone: {CURE}",)


@pytest.mark.parametrize("in_blocks", [True, False])
def test_a_task_that_single_races_lack_stays_a_note(in_blocks: bool) -> None:
    both, one = changed(lambda results: None), changed(without_bulk)
    found = judge_side_by_side([one[0], *both[1:]], [*one[1:], both[0]], in_blocks=in_blocks, names=NAMES)
    assert found.obstacles == () and "not compared, since not every race has it: bulk" in found.notes


def test_a_side_without_any_task_is_not_judged_by_its_store_alone() -> None:
    found = judge_side_by_side(races(1.0, 1, 3), changed(lambda results: results.update(op_metrics=[])), names=NAMES)
    assert found.verdict == ComparisonVerdict.NOT_COMPARABLE
    assert len(found.obstacles) == 1 and found.obstacles[0].startswith("after/ has no task at all in its results")


def test_a_task_without_numbers_was_raced() -> None:
    silent = changed(lambda results: results["op_metrics"][0].update(throughput={}, service_time={}))
    assert judge_side_by_side(races(1.0, 1, 3), silent).obstacles == ()


@given(SIDES, SIDES)
def test_which_tasks_are_of_one_side_alone(one: Sequence[Sequence[str]], two: Sequence[Sequence[str]]) -> None:
    some = raced()
    sides = [[replace(some, tasks=tuple(tasks)) for tasks in side] for side in (one, two)]
    sentences = list(tasks_of_one_side((sides[0], sides[1]), NAMES))
    if not any(one) or not any(two):
        assert [text.split(" ")[0] for text in sentences] == [
            name for name, side in zip(NAMES, (one, two), strict=True) if not any(side)
        ]
        return
    ours = {task for task in "abc" if all(task in race for race in one) and not any(task in race for race in two)}
    theirs = {task for task in "abc" if all(task in race for race in two) and not any(task in race for race in one)}
    told = {text.partition(" alone")[0].rpartition(" by ")[2]: text for text in sentences}
    assert set(told) == {name for name, alone in zip(NAMES, (ours, theirs), strict=True) if alone}
    for name, alone in zip(NAMES, (ours, theirs), strict=True):
        if alone:
            named = told[name].partition(" were " if len(alone) > 1 else " was ")[0]
            assert set(named.split(", ")) == alone


def test_throughputs_in_two_units_are_given_up_and_told() -> None:
    found = judge_side_by_side(in_unit("docs/s"), in_unit("MB/s"))
    sentence = "not compared, since told in docs/s and MB/s: bulk throughput; have both tell it in one unit"
    assert sentence in found.notes and found.obstacles == ()
    assert found.gates[0].what == "throughput, geometric mean of 1 task"
    assert "bulk throughput" not in [line.what for line in found.others]
    assert not [note for note in found.notes if "decides nothing" in note or "not every race has it" in note]


def test_times_in_two_units_are_given_up_and_told_together() -> None:
    def in_seconds(results: dict[str, Any]) -> None:
        times = results["op_metrics"][0]["service_time"]
        times.update({key: value / 1000 for key, value in times.items()}, unit="s")

    def in_milliseconds(results: dict[str, Any]) -> None:
        results["op_metrics"][0]["service_time"]["unit"] = "ms"

    found = judge_side_by_side(changed(in_milliseconds), changed(in_seconds))
    told = "bulk service time p50, bulk service time p90, bulk service time p99"
    assert f"not compared, since told in ms and s: {told}; have both tell it in one unit" in found.notes
    assert [line.what for line in found.gates][1:3] == [
        "service time p50, geometric mean of 1 task",
        "service time p99, geometric mean of 1 task",
    ]
    alike = judge_side_by_side(changed(in_seconds), changed(in_seconds))
    assert [line.unit for line in alike.others if line.what == "bulk service time p50"] == ["s"]


def test_a_race_without_a_unit_is_compared_in_that_of_the_others() -> None:
    unknown = changed(lambda results: results["op_metrics"][0]["throughput"].pop("unit"))
    found = judge_side_by_side(unknown, in_unit("docs/s"))
    assert [line.unit for line in found.others if line.what == "bulk throughput"] == ["docs/s"]


@pytest.mark.parametrize(
    ("contender", "units"),
    [
        (lambda: in_unit("ops/s", failed=0.01), ["docs/s"]),
        (lambda: [*in_unit("docs/s", count=2), *in_unit("ops/s", count=1)], ["docs/s"]),
        (lambda: in_unit("ops/s"), ["docs/s", "ops/s"]),
        (lambda: in_unit("MB/s", failed=0.01), ["docs/s", "MB/s"]),
    ],
    ids=["requests failed", "one failed in the warm-up of a race", "nothing failed", "a unit of its own"],
)
def test_a_race_that_tells_the_unit_of_a_failed_request_is_not_lost(
    contender: Callable[[], list[Raced]], units: list[str]
) -> None:
    baseline, other = in_unit("docs/s"), contender()
    assert units_of((baseline, other), BULK) == units
    assert ("bulk throughput" in [line.what for line in judge_side_by_side(baseline, other).others]) == (
        len(units) == 1
    )


def test_many_numbers_in_two_units_are_one_sentence() -> None:
    (sentence,) = told_apart({Number(f"t{task}", Kind.P50): ["ms", "s"] for task in range(30)})
    assert "t9 service time p50 and 20 more; " in sentence and "t10" not in sentence
