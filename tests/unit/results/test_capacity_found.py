"""What the searches of all races found together, and in words."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from math import log
from statistics import fmean
from typing import Any

import pytest
from searched_races import searching_race
from statuses import benchmark, succeeded

from fairlap.api.status import Results
from fairlap.cli.tables import sweep_report
from fairlap.results import capacity_found
from fairlap.results.aggregate import aggregate, remarks
from fairlap.results.capacity_found import capacity_result
from fairlap.results.sweep_curve import sweep_result
from fairlap_race.contract.recorded.http_record import HttpAnswers
from fairlap_race.contract.recorded.race_capacity import BOTTLENECK, RaceCapacity, race_capacity
from fairlap_race.contract.recorded.record import Counts, RallyNumbers, Record
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.specification.sweep import SweepStep


def test_one_race() -> None:
    found = capacity_result([searching_race(300.0)])
    assert found and found.rate and found.rate.low <= 300 <= found.rate.high and not found.refused
    (sentence,) = found.sentences
    assert sentence.startswith("9.0.0 carries 30") or sentence.startswith("9.0.0 carries 29")
    assert "ops/s of search with p99 of latency at most 50 ms, and no request failed (90 % interval" in sentence


def forged(search: dict[str, Any], rates: list[float]) -> Record:
    """Return a record as a race's own pod may write it."""
    of = searching_race(300.0)
    assert of.track.sweep and of.track.sweep.search
    steps = tuple(SweepStep(f"p{number}", target_throughput=rate, kept=True) for number, rate in enumerate(rates))
    swept = replace(of.track.sweep, search=replace(of.track.sweep.search, **search), steps=steps)
    return replace(of, track=replace(of.track, sweep=swept))


@pytest.mark.parametrize(
    ("search", "rates"),
    [
        ({"highest": 1e15, "resolution": 1e-9}, [5.0]), ({"resolution": 1e-300}, [5.0]), ({"resolution": 0.0}, [5.0]),
        ({"lowest": 0.0}, [5.0]), ({"lowest": -1.0}, [5.0]), ({"highest": float("inf")}, [5.0]),
        ({"lowest": float("nan")}, [5.0]), ({}, [0.0]), ({}, [-5.0]), ({}, [float("inf")]), ({}, [5.0] * 10_000),
    ],
)  # fmt: skip
def test_a_search_that_cannot_have_been_costs_nothing(search: dict[str, Any], rates: list[float]) -> None:
    """Its grid would have 10^11 cells, in the process that all Benchmarks share, at each of its starts."""
    assert capacity_result([forged(search, rates)]) is None
    assert race_capacity(forged(search, rates)) is None


def test_two_races_that_agree() -> None:
    found = capacity_result([searching_race(300.0), searching_race(303.0)])
    assert found and found.rate and [it.end for it in found.races] == ["Found", "Found"] and len(found.sentences) == 1
    assert found.rate.low <= min(it.low or 0 for it in found.races) and "in 2 races" in found.sentences[0]


def test_two_races_that_differ_by_more_than_they_say() -> None:
    found = capacity_result([searching_race(300.0), searching_race(400.0)])
    assert found and "The races differ by more than their intervals say" in found.sentences[-1]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (101.0, 106.0, "90 % interval 101 to 106, "),
        (None, 106.0, "90 % interval from below 100 to 106, "),
        (970.0, None, "90 % interval 970 to above 1,000, "),
        (None, None, "90 % interval from below 100 to above 1,000, "),
    ],
)
def test_an_end_outside_the_rates_is_not_told_as_a_bound(
    low: float | None, high: float | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge = RaceCapacity("search", "Found", rate=103.0, low=low, high=high, probes=9, unit="ops/s")
    monkeypatch.setattr(capacity_found, "race_capacity", lambda _: edge)
    found = capacity_result([searching_race(300.0)])
    assert found and found.rate and said in found.sentences[0]
    assert (found.rate.open_below, found.rate.open_above) == (low is None, high is None)


@pytest.mark.parametrize(
    ("end", "low", "high", "answer"),
    [
        ("Found", 980.0, 999.0, 990.0),
        ("Wide", 800.0, 999.0, 990.0),
        ("Found", 980.0, None, None),
        ("Wide", None, 999.0, None),
        ("Wide", None, None, None),
        ("NeverBroken", 1000.0, None, None),
        ("LoadGeneratorBottleneck", 980.0, 999.0, None),
    ],
)
def test_a_bound_is_no_capacity_to_compare(
    end: str, low: float | None, high: float | None, answer: float | None
) -> None:
    assert RaceCapacity("search", end, rate=990.0, low=low, high=high).answer == answer


def test_probes_that_contradict_each_other_at_the_highest_rate_give_a_bound() -> None:
    record = forged({}, [100.0, *[1000.0] * 8])
    assert record.track.sweep
    steps = tuple(replace(step, kept=number % 2 == 0) for number, step in enumerate(record.track.sweep.steps))
    found = race_capacity(replace(record, track=replace(record.track, sweep=replace(record.track.sweep, steps=steps))))
    assert found and found.end == "Wide" and found.rate and found.low and found.high is None
    assert found.answer is None, "it would pass for a measured one"


def test_rates_are_of_requests_whatever_the_task_counts() -> None:
    record = searching_race(300.0)
    bulks = replace(record, tasks=tuple(replace(task, unit="docs/s") for task in record.tasks))
    found = capacity_result([bulks])
    assert found and found.unit == "ops/s" and " ops/s of search with p99" in found.sentences[0]


def test_what_cannot_be_told() -> None:
    low, high = capacity_result([searching_race(50.0)]), capacity_result([searching_race(5000.0)])
    assert low and low.rate is None and "not kept at 100 ops/s, the lowest rate" in low.refused
    assert high and high.rate is None and "still kept at 1,000 ops/s, the highest rate" in high.refused
    assert high.sentences[0].startswith("9.0.0 has no capacity to be told for search")


@pytest.mark.parametrize(
    ("capacities", "said"),
    [
        (
            (300.0, 301.0, 302.0, 50.0),
            "in 1 of 4 races (race 4) the objective is not kept at 100 ops/s, the lowest rate that was tried; the "
            "others found 29[0-9] to 30[0-9] ops/s",
        ),
        (
            (50.0, 5000.0, 50.0),
            "in 2 of 3 races (race 1, race 3) the objective is not kept at 100 ops/s, the lowest rate that was tried; "
            "in 1 of 3 races (race 2) the objective is still kept at 1,000 ops/s, the highest rate that was tried",
        ),
        ((50.0, 51.0), "the objective is not kept at 100 ops/s, the lowest rate that was tried: write a lower .*from"),
    ],
)
def test_an_odd_race_does_not_speak_for_the_others(capacities: tuple[float, ...], said: str) -> None:
    found = capacity_result([searching_race(it) for it in capacities])
    assert found and found.rate is None
    assert re.fullmatch(said.replace("(", r"\(").replace(")", r"\)"), found.refused), found.refused
    differ = [it for it in found.sentences if it.startswith("The races differ by more than")]
    assert len(differ) == (max(capacities) > 2 * min(capacities))


@pytest.mark.parametrize(("at_least", "differ"), [(300.0, False), (700.0, True)])
def test_a_bottleneck_bounds_only_what_is_below_it(at_least: float, differ: bool) -> None:
    found = capacity_result([searching_race(600.0), searching_race(at_least, saturated_from=250.0)])
    assert found and "in 1 of 2 races (race 2) the load generator was the bottleneck" in found.refused
    assert len(found.sentences) == 1 + differ


@pytest.mark.parametrize(
    ("end", "low", "high", "said"),
    [
        ("Found", 101.0, 106.0, ""),
        ("Wide", None, None, "the interval reaches below the lowest rate and above the highest rate"),
        ("Found", 970.0, None, "the interval reaches above the highest rate"),
        ("NeverKept", None, 100.0, "the objective is not kept at the lowest rate"),
        ("LoadGeneratorBottleneck", 101.0, 106.0, "the load generator was the bottleneck"),
    ],
)
def test_why_a_race_has_nothing_to_compare(end: str, low: float | None, high: float | None, said: str) -> None:
    found = RaceCapacity("search", end, rate=103.0, low=low, high=high, probes=9, unit="ops/s")
    assert found.why_no_answer == said and (found.answer is None) == bool(said)
    assert RaceCapacity("search", "Wide").why_no_answer == "no probe was recorded"


def test_a_load_generator_at_its_limit_is_no_capacity_of_the_cluster() -> None:
    found = capacity_result([searching_race(300.0, saturated_from=290.0)])
    assert found and found.rate is None and found.races[0].end == "LoadGeneratorBottleneck"
    assert "the load generator was the bottleneck" in found.refused
    fine = capacity_result([searching_race(300.0, saturated_from=700.0)])
    assert fine and fine.rate and fine.races[0].end == "Found", "far above the answer it does not matter"


@pytest.mark.parametrize(
    ("share", "end"), [(0.05, "Wide"), (0.4, "Wide"), *((it, BOTTLENECK) for it in (0.5, 0.95, 1))]
)
def test_a_few_probes_at_the_limit_of_the_load_generator_leave_the_rest_its_answer(share: float, end: str) -> None:
    """Among noise twenty probes of forty break; without most of those that did the capacity would seem higher."""
    noisy = searching_race(300.0, noise=random.Random(3))
    whole, steps = race_capacity(noisy), noisy.track.sweep.steps if noisy.track.sweep else ()
    broken = sorted((step.target_throughput or 0, step.name) for step in steps if not step.kept)
    at_limit = {name for _, name in broken[: max(1, int(share * len(broken)))]}
    assert whole and whole.end == "Wide"
    found = race_capacity(saturated(noisy, at_limit))
    assert found and found.end == end and (found.answer is None) == (end == BOTTLENECK)
    assert end == BOTTLENECK or (found.low and found.high and found.low <= 300 <= found.high)


def test_no_probe_that_kept_it_is_no_capacity() -> None:
    """Two probes of three broke without a bottleneck: that is no rate that the cluster carries."""
    race = searching_race(50.0)
    names = race.track.sweep.names if race.track.sweep else ()
    found = race_capacity(saturated(race, {names[1]}))
    assert found and (found.end, found.answer) == (BOTTLENECK, None)
    whole = race_capacity(race)
    assert whole and whole.end == "NeverKept"


def test_what_is_left_out_does_not_move_the_answer() -> None:
    """Those that kept the objective at the limit go as those that broke it: else 3 % and more came on top."""
    chance, errors = random.Random(5), []
    for _ in range(12):
        race = searching_race(300.0, noise=chance)
        names = race.track.sweep.names if race.track.sweep else ()
        found = race_capacity(saturated(race, {name for name in names if chance.random() < 0.3}))
        if found and found.answer and found.left_out:
            errors.append(log(found.answer / 300))
    assert len(errors) > 5 and abs(fmean(errors)) < 0.015


def test_what_was_left_out_is_told() -> None:
    race = searching_race(300.0)
    steps = race.track.sweep.steps if race.track.sweep else ()
    nearest = min((step.target_throughput or 0, step.name) for step in steps if not step.kept)[1]
    found = capacity_result([saturated(race, {nearest})])
    assert found and found.rate and found.races[0].end == "Wide"
    assert found.sentences[1:] == [
        "1 probe in which the load generator was the bottleneck is left out, so the interval is wider than the "
        "resolution: give it more CPU"
    ]


def saturated(record: Record, names: set[str]) -> Record:
    """Return a race whose load generator was at its limit in these probes."""
    tasks = (replace(it, load=TaskLoad(saturated=True)) if it.task in names else it for it in record.tasks)
    return replace(record, tasks=tuple(tasks))


def numbers(service: float, latency: float | None = 90.0) -> RallyNumbers:
    return RallyNumbers(
        service_time_millis={"p99": service}, latency_millis={} if latency is None else {"p99": latency}
    )


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"rally": numbers(20.0), "client_busy_share": 0.98}, True),
        (
            {
                "rally": numbers(20.0, None),
                "http": HttpAnswers(latency_left_out="requests were not sent"),
                "client_busy_share": 0.7,
            },
            True,
        ),
        ({"rally": numbers(80.0), "client_busy_share": 0.98}, False),  # the engine itself is slow
        ({"rally": numbers(20.0), "client_busy_share": 0.3}, False),
        ({"rally": numbers(20.0), "client_busy_share": 0.98, "errors": Counts(0, 9)}, False),
        ({"rally": None, "client_busy_share": 0.98}, False),
    ],
)
def test_clients_that_were_all_busy_may_be_the_limit(broken: dict[str, Any], said: bool) -> None:
    for capacity in (300.0, 50.0):
        found = capacity_result([searching_race(capacity, **broken)])
        assert found and any("All 8 clients were busy" in it for it in found.sentences) is said
        assert not said or found.sentences[-1].endswith("more clients (race.capacity.clients) may carry more")
        assert len(found.sentences) == 1 + said


def test_races_without_a_search_have_none() -> None:
    assert capacity_result([]) is None and capacity_result([Record()]) is None


def test_the_command_line_shows_probes_and_answer() -> None:
    records = [searching_race(300.0)]
    results = Results(sweep=sweep_result(records), capacity=capacity_result(records))
    text = sweep_report.curve(benchmark("one", succeeded("9.0.0").model_copy(update={"results": results})))
    assert "search@probe-1" in text and "* 9.0.0 carries" in text and "Universal" not in text


def test_probes_of_two_races_stand_apart() -> None:
    records = [searching_race(300.0), searching_race(400.0)]
    results = aggregate(records)
    assert results.sweep and [task.task for task in results.tasks] == ["bulk"], "a probe is of one race alone"
    rows = results.sweep.rows
    assert len(rows) == sum(len(record.probe_names) for record in records) and {row.race for row in rows} == {1, 2}
    assert [row.target_throughput for row in rows] == sorted(row.target_throughput or 0 for row in rows)
    for row in rows:
        assert row.throughput and row.throughput.median == row.target_throughput and row.samples == 1000
        assert row.kept == ((row.target_throughput or 0) <= {1: 300.0, 2: 400.0}[row.race or 0])
    assert not list(remarks(records[1], results, 0)), "nothing was left out"


def test_what_broke_at_the_limit_of_the_load_generator_does_not_count() -> None:
    found = sweep_result([searching_race(300.0, saturated_from=290.0)])
    assert found and {row.used for row in found.rows if row.kept} == {True}
    assert {row.used for row in found.rows if not row.kept} == {False}


@pytest.mark.parametrize(("over_http", "said"), [(False, True), (True, False)])
def test_the_table_of_probes_says_what_the_objective_goes_by(over_http: bool, said: bool) -> None:
    """Rally's own percentile, which is shown, may lie on the other side of the objective."""
    records = [searching_race(300.0)]
    results = Results(sweep=sweep_result(records), capacity=capacity_result(records))
    one = benchmark("one", succeeded("9.0.0").model_copy(update={"results": results}))
    one["status"]["environment"] |= {"k6Version": "1.8.0"} if over_http else {}
    text = sweep_report.curve(one)
    assert ("goes by the time of one request; the table has Rally's percentiles" in text) is said


def test_the_table_says_which_race_and_whether_it_was_kept() -> None:
    records = [searching_race(300.0), searching_race(400.0)]
    results = Results(sweep=sweep_result(records), capacity=capacity_result(records))
    lines = sweep_report.curve(
        benchmark("one", succeeded("9.0.0").model_copy(update={"results": results}))
    ).splitlines()
    assert lines[2].split()[:3] == ["race", "step", "ops/s"] and "objective" in lines[2]
    assert lines[4].split()[:2] == ["1", "search@probe-1"] and "kept" in lines[4]
    assert any(line.split()[:1] == ["2"] and "broken" in line for line in lines)
