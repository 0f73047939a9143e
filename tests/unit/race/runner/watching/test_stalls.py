"""What counts as standing still, and in which task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.task_spans import TaskSpan
from fairlap_race.contract.watched_machines.series import Span
from fairlap_race.elasticsearch.node_stats import CollectionTime
from fairlap_race.runner.watching.stalls import MOST, MOST_IN_ALL, StallWatch

BEGAN = 1_700_000_000.0
TASKS = (TaskSpan("index", "", Span(BEGAN, BEGAN + 30)), TaskSpan("search", "", Span(BEGAN + 40, BEGAN + 70)))
SECONDS = st.floats(0, 100)


def quick(watch: StallWatch, since: float, collected: float = 0.0) -> None:
    watch.answered(BEGAN + since, 0.01, {"n": CollectionTime(collected)})


def test_a_sleep_that_takes_too_long() -> None:
    watch = StallWatch()
    watch.waited(BEGAN + 10, 0.5, 1.4)
    watch.waited(BEGAN + 50, 0.5, 5.6)
    (stall,) = watch.found(TASKS)
    assert (stall.task, stall.seconds, stall.collected_seconds) == ("search", 5.1, 0.0)


def test_an_answer_that_comes_late() -> None:
    watch = StallWatch()
    quick(watch, 40, 7.0)
    quick(watch, 44, 7.0)
    watch.answered(BEGAN + 48, 1.1, {"n": CollectionTime(7.3)})
    quick(watch, 52, 9.0)
    (stall,) = watch.found(TASKS)
    assert (stall.task, stall.seconds, stall.collected_seconds) == ("search", 1.1, 0.3)


def test_answers_that_do_not_come_are_one_stall_with_what_was_collected_meanwhile() -> None:
    watch = StallWatch()
    quick(watch, 4, 1.0)
    watch.failed(BEGAN + 8, 3.0)
    watch.failed(BEGAN + 12, 3.0)
    watch.answered(BEGAN + 16, 1.5, {"n": CollectionTime(8.5)})
    watch.failed(BEGAN + 20, 0.01)
    quick(watch, 24, 9.0)
    watch.failed(BEGAN + 34, 3.0)
    first, second = watch.found(TASKS)
    assert (first.task, first.seconds, first.collected_seconds) == ("index", 9.5, 7.5)
    assert (second.task, second.seconds) == ("", 3.0), "between two tasks"


def test_a_cluster_that_is_always_slow_does_not_stand_still() -> None:
    watch = StallWatch()
    for at in range(0, 70, 4):
        watch.answered(BEGAN + at, 1.2, {})
    assert watch.found(TASKS) == ()


def test_an_unknown_time_of_garbage_collections_is_none() -> None:
    watch = StallWatch()
    watch.answered(BEGAN, 0.01, {})
    watch.answered(BEGAN + 4, 2.0, {"n": CollectionTime(5.0)})
    quick(watch, 8, 5.0)
    assert [it.collected_seconds for it in watch.found(TASKS)] == [0.0]


@given(st.lists(st.tuples(st.sampled_from(["waited", "answered", "also", "failed"]), SECONDS, SECONDS), max_size=80))
def test_whatever_is_told_the_stalls_are_few_and_in_order(told: list[tuple[str, float, float]]) -> None:
    watch, now = StallWatch(), BEGAN
    for what, pause, took in told:
        now += pause
        if what == "waited":
            watch.waited(now, 0.5, took)
        elif what == "answered":
            watch.answered(now, took, {"n": CollectionTime(pause)})
        elif what == "also":
            watch.asked_also(now, took)
        else:
            watch.failed(now, took)
        now += took
    found = watch.found(TASKS)
    assert len(found) <= MOST
    assert [it.at for it in found] == sorted(it.at for it in found)
    assert all(it.seconds >= 0.5 and it.collected_seconds >= 0 for it in found)


@pytest.mark.parametrize("offset", [0.0, 0.5, 2.0, 3.9, 4.0])
def test_a_pause_of_five_seconds_is_seen_wherever_it_begins(offset: float) -> None:
    """Who asks every four seconds waits for the rest of the pause, a second at least."""
    watch, stop = StallWatch(), (BEGAN + 44 + offset, BEGAN + 49 + offset)
    at = BEGAN + 40
    while at < BEGAN + 70:
        late = stop[1] - at if stop[0] < at < stop[1] else 0.0
        if late > 3.0:
            watch.failed(at, 3.0)
        else:
            watch.answered(at, max(0.01, late), {"n": CollectionTime(0.0)})
        at += max(4.0, late)
    assert [it.task for it in watch.found(TASKS)] == ["search"]


@pytest.mark.parametrize("into", [0.02, 0.05, 0.07])
def test_a_pause_is_seen_while_something_else_is_asked(into: float) -> None:
    """After the node stats two more questions are asked, each of which waits three seconds at most."""
    watch = StallWatch()
    for at in range(0, 70, 4):
        quick(watch, at)
        watch.asked_also(BEGAN + at, 5.0 + into if at == 48 else 0.08)
    assert [(it.task, it.seconds) for it in watch.found(TASKS)] == [("search", round(5.0 + into, 3))]


def test_a_cluster_that_always_takes_its_time_for_that_does_not_stand_still() -> None:
    watch = StallWatch()
    for at in range(0, 70, 4):
        quick(watch, at)
        watch.asked_also(BEGAN + at, 2.5 if at % 8 else 1.2)
    assert watch.found(TASKS) == ()


def test_of_many_nodes_the_one_that_collected_the_longest_explains_it() -> None:
    """Thirty of them collect a little in each interval: together longer than the time for which one was stopped."""
    watch = StallWatch()
    names = [f"n{number}" for number in range(30)]
    for at in (40, 44):
        watch.answered(BEGAN + at, 0.01, dict.fromkeys(names, CollectionTime(1.0)))
    watch.answered(BEGAN + 48, 4.9, dict.fromkeys(names, CollectionTime(1.15)) | {"new": CollectionTime(9.0)})
    (stall,) = watch.found(TASKS)
    assert (stall.seconds, stall.collected_seconds) == (4.9, 0.15)


@pytest.mark.parametrize(
    ("worked", "limit", "collected"),
    [
        (0.6, None, 0.0),  # stopped in the middle of a collection, as raced on 2026-11-27
        (4.4, None, 0.0),
        (4.6, None, 5.1),
        (9.0, 4.0, 5.1),
        (1.0, 0.2, 5.1),  # it may not use more
        (0.5, 0.2, 0.0),
    ],
)
def test_a_collection_that_did_not_work_was_stopped(worked: float, limit: float | None, collected: float) -> None:
    watch = StallWatch()
    for at in (36, 40, 44):
        watch.answered(BEGAN + at, 0.01, {"n": CollectionTime(1.0, 20.0, limit)})
    watch.answered(BEGAN + 48, 1.336, {"n": CollectionTime(6.1, 20.0 + worked, limit)})
    (stall,) = watch.found(TASKS)
    assert (stall.seconds, stall.collected_seconds) == (1.336, collected)


@pytest.mark.parametrize("order", [1, -1])
def test_a_stall_is_of_every_task_that_ran_in_it_whatever_their_order(order: int) -> None:
    watch, span = StallWatch(), Span(BEGAN, BEGAN + 60)
    watch.waited(BEGAN + 20, 0.5, 5.5)
    found = watch.found([TaskSpan("background", "", span), TaskSpan("search", "", span)][::order])
    assert {it.task for it in found} == {"background", "search"}


def test_long_stalls_of_one_task_do_not_push_out_those_of_another() -> None:
    watch = StallWatch()
    for at in range(MOST + 10):
        watch.waited(BEGAN + at * 10, 0.5, 3.5)
    watch.waited(BEGAN + 1020, 0.5, 2.5)
    tasks = [TaskSpan("fill", "", Span(BEGAN, BEGAN + 900)), TaskSpan("search", "", Span(BEGAN + 1000, BEGAN + 1100))]
    assert [it.task for it in watch.found(tasks)].count("search") == 1


def test_of_too_many_in_all_each_task_keeps_its_longest() -> None:
    watch, tasks = StallWatch(), list[TaskSpan]()
    for number in range(MOST_IN_ALL // 2):
        tasks.append(TaskSpan(f"t{number}", "", Span(BEGAN + number * 100, BEGAN + number * 100 + 90)))
        for at, seconds in enumerate((1.5, 4.5, 2.5)):
            watch.waited(BEGAN + number * 100 + at * 20, 0.5, 0.5 + seconds)
    found = watch.found(tasks)
    assert len(found) == MOST_IN_ALL
    assert sorted(it.task for it in found if it.seconds == 4.5) == sorted(it.task for it in tasks)
