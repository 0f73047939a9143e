"""What the searches of all races found together, and in words."""

from __future__ import annotations

from dataclasses import replace
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
from fairlap_race.contract.recorded.race_capacity import RaceCapacity, race_capacity
from fairlap_race.contract.recorded.record import Counts, RallyNumbers, Record
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


def test_a_load_generator_at_its_limit_is_no_capacity_of_the_cluster() -> None:
    found = capacity_result([searching_race(300.0, saturated_from=290.0)])
    assert found and found.rate is None and found.races[0].end == "LoadGeneratorBottleneck"
    assert "the load generator was the bottleneck" in found.refused
    fine = capacity_result([searching_race(300.0, saturated_from=700.0)])
    assert fine and fine.rate and fine.races[0].end == "Found", "far above the answer it does not matter"


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


def test_the_table_says_which_race_and_whether_it_was_kept() -> None:
    records = [searching_race(300.0), searching_race(400.0)]
    results = Results(sweep=sweep_result(records), capacity=capacity_result(records))
    lines = sweep_report.curve(
        benchmark("one", succeeded("9.0.0").model_copy(update={"results": results}))
    ).splitlines()
    assert lines[2].split()[:3] == ["race", "step", "ops/s"] and "objective" in lines[2]
    assert lines[4].split()[:2] == ["1", "search@probe-1"] and "kept" in lines[4]
    assert any(line.split()[:1] == ["2"] and "broken" in line for line in lines)
