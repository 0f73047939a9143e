"""What is left out of a record that is too large: nothing that follows from it is another thing without."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from searched_races import searching_race
from world import good_record, spec

from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap.results.drift import differences
from fairlap.results.environment import environment
from fairlap.results.sweep_curve import sweep_result
from fairlap_race.contract.config_maps import compressed
from fairlap_race.contract.recorded.http_record import HostAnswers, HttpAnswers
from fairlap_race.contract.recorded.kept_samples import TaskHistogram
from fairlap_race.contract.recorded.race_capacity import BOTTLENECK, race_capacity
from fairlap_race.contract.recorded.record import (
    Counts,
    LoadGenerator,
    Node,
    RallyNumbers,
    Record,
    Shard,
    TargetReport,
    Task,
    Throughput,
    Touch,
    Windows,
)
from fairlap_race.contract.recorded.request_evidence import RequestEvidence, SearchAnswer
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.recorded.track_record import TrackCorpus
from fairlap_race.runner.telling.bounds import DISPENSABLE, LEFT_OUT, MAX_ITEMS, bounded

GOOD = good_record()
ASKED = spec(elasticsearch={"nodes": 2}, race={"allow": {"errorRate": {"bulk": 0.01}}})
ERROR = "HTTP 429: rejected"
THROTTLED = TaskLoad(0.5, 0.9, throttled_periods=9.0, throttled_seconds=2.0, judged_seconds=30.0, why="why")
ARGUMENTS = ("-Xms1g", "-Xmx1g")


def waiting(millis: float) -> dict[str, Any]:
    """Return what a probe has whose requests waited for clients, and were answered in so many milliseconds."""
    numbers = RallyNumbers(Throughput(*(1.23456789,) * 4), {"p99": millis}, {"p99": 90.1234567})
    return {"client_busy_share": 0.8000001, "rally": numbers}


SATURATED = searching_race(300.0, saturated_from=200.0)
SEARCHES = (SATURATED, searching_race(300.0, **waiting(49.9999996)), searching_race(300.0, **waiting(50.0000004)))


def measured(task: Task) -> Task:
    """Return a task with all that may be left out."""
    rally = replace(task.rally or RallyNumbers(), processing_time_millis={"p50": 1.2345678})
    return replace(
        task, rally=rally, load=task.load or THROTTLED, histogram=TaskHistogram(3, "x"), support={"p99": 9},
        windows=Windows(1.0, 9, 1.2345678, 1.0, 2.0, (1.0, 2.0)), http=HttpAnswers(hosts=(HostAnswers("a"),)),
        duration_seconds=9.99999996, client_seconds=60.1234567,
    )  # fmt: skip


def large(search: Record) -> Record:
    """Return a race that counts, by what it says at the end of its lists: on a target that held documents."""
    bulk = replace(
        GOOD.tasks[0], errors=Counts(0, 1), first_error=ERROR, units_done=999.0, duration_seconds=60.0, load=THROTTLED
    )
    new = tuple(Touch("index", f"new-{number}", creates=True) for number in range(MAX_ITEMS + 1))
    held = Touch("index", "logs", creates=True, existing=("logs",), documents=400)
    index = replace(
        (GOOD.indices or ())[0], documents=1400, indexed=1000, default_pipeline="before",
        explicit={"index.a": "b"}, defaults={"index.c": "d"},
    )  # fmt: skip
    track = replace(
        GOOD.track, sweep=search.track.sweep, tasks=(*GOOD.track.tasks, *search.track.tasks[1:]), params={"a": 1},
        exposed_params=("a",), challenges=("default",), allowed_errors={"bulk": 0.01},
        corpora=tuple(TrackCorpus(f"c{number}") for number in range(MAX_ITEMS + 1)),
    )  # fmt: skip
    nodes = tuple(Node(name, version="9.0.0", jvm_arguments=ARGUMENTS) for name in ("es-0", "es-1"))
    return replace(
        GOOD, track=track, tasks=(measured(bulk), *map(measured, search.tasks[1:])), indices=(index,),
        target=TargetReport(touches=(*new, held)), load_generator=LoadGenerator(wall_seconds=1e9, throttled_periods=9),
        environment=replace(GOOD.environment, nodes=nodes, modules=("reindex",)),
        shards=(Shard("logs", 0, primary=True, state="STARTED", node="es-0"),),
        requests=RequestEvidence(answers=(SearchAnswer("bulk", request="r", hit_ids="i", content="c"),)),
    )  # fmt: skip


def what_follows(record: Record) -> tuple[object, ...]:
    """Return what is decided by a record, and what is said of it beside what it has no room for."""
    curve = sweep_result([record])
    assert curve is not None
    # Of several nodes without the places of shards nothing is known of where they were.
    said = [(it.reason, it.text.replace(ERROR, LEFT_OUT)) for it in remarks(replace(record, shards=None), [], "")]
    counted = [(it.step, it.used, it.saturated_races) for it in curve.rows]
    return race_capacity(record), first_violation(record, ASKED), said, counted


def test_what_follows_from_the_large_records_is_told_by_all_that_may_be_left_out() -> None:
    whole = large(SATURATED)
    found = race_capacity(whole)
    assert found is not None and found.end == BOTTLENECK and first_violation(whole, ASKED) is None
    assert [it and it.busy_clients for it in map(race_capacity, map(large, SEARCHES))] == [None, 8, None]
    said = " ".join(it.text for it in remarks(whole, [], ""))
    assert ERROR in said and "bulk 9 periods" in said and "held 400 before the race" in said and "for 10 s" in said


@pytest.mark.parametrize(("what", "without"), DISPENSABLE, ids=[what for what, _ in DISPENSABLE])
@pytest.mark.parametrize("search", SEARCHES, ids=["saturated", "waiting", "slow"])
def test_nothing_else_follows_from_what_is_left(search: Record, what: str, without: Callable[[Record], Record]) -> None:
    whole = large(search)
    left = without(whole)
    assert left != whole and without(left) == left, what
    assert what_follows(left) == what_follows(whole)
    assert differences(environment(whole, (), ()), environment(left, (), ())) == []


def test_a_race_at_the_limit_of_its_load_generator_stays_one_in_less_room() -> None:
    chance = random.Random(1)
    loads = [replace(task.load or TaskLoad(), why=chance.randbytes(500).hex()) for task in SATURATED.tasks]
    tasks = tuple(replace(task, load=load) for task, load in zip(SATURATED.tasks, loads, strict=True))
    whole = large(replace(SATURATED, tasks=tasks))
    left = bounded(whole, len(compressed(whole.to_json())) - 1000)
    assert left.outcome.reason is None and left.left_out[-1] == "how busy the load generator was in each task"
    assert race_capacity(left) == race_capacity(whole) and first_violation(left, ASKED) is None
