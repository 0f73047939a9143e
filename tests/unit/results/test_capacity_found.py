"""What the searches of all races found together, and in words."""

from __future__ import annotations

from statuses import benchmark, succeeded

from fairlap.api.status import Results
from fairlap.cli import sweep_report
from fairlap.results.capacity_found import capacity_result
from fairlap.results.sweep_curve import sweep_result
from fairlap_race.contract.capacity_search import CapacitySearch, RateProbe, next_rate
from fairlap_race.contract.record import Counts, EnvironmentRecord, RallyNumbers, Record, Task
from fairlap_race.contract.sweep import SEARCH, SweepSpec, SweepStep
from fairlap_race.contract.task_load import TaskLoad
from fairlap_race.contract.track_record import TrackRecord

SEARCHED = CapacitySearch(lowest=100.0, highest=1000.0, resolution=0.05, millis=50.0)


def race(capacity: float, saturated_from: float = 1e9) -> Record:
    """Return a race of a cluster that carries `capacity`, by a load generator that is at its limit from a rate on."""
    probes: list[RateProbe] = []
    while (rate := next_rate(SEARCHED, probes)) is not None:
        probes.append(RateProbe(rate, rate <= capacity))
    steps = tuple(
        SweepStep(f"search@probe-{number}", target_throughput=probe.rate, kept=probe.kept)
        for number, probe in enumerate(probes, start=1)
    )
    tasks = tuple(
        Task(
            step.name,
            unit="ops/s",
            clients=8,
            rate=step.target_throughput,
            target_throughput=step.target_throughput,
            samples=Counts(0, 1000),
            rally=RallyNumbers(latency_millis={"p99": 20.0 if step.kept else 90.0}),
            load=TaskLoad(saturated=(step.target_throughput or 0) >= saturated_from),
        )
        for step in steps
    )
    swept = SweepSpec(task="search", order=SEARCH, steps=steps, search=SEARCHED)
    return Record(tasks=tasks, track=TrackRecord(sweep=swept), environment=EnvironmentRecord(version="9.0.0"))


def test_one_race() -> None:
    found = capacity_result([race(300.0)])
    assert found and found.rate and found.rate.low <= 300 <= found.rate.high and not found.refused
    (sentence,) = found.sentences
    assert sentence.startswith("9.0.0 carries 30") or sentence.startswith("9.0.0 carries 29")
    assert "ops/s of search with p99 of latency at most 50 ms, and no request failed (90 % interval" in sentence


def test_two_races_that_agree() -> None:
    found = capacity_result([race(300.0), race(303.0)])
    assert found and found.rate and [it.end for it in found.races] == ["Found", "Found"] and len(found.sentences) == 1
    assert found.rate.low <= min(it.low or 0 for it in found.races) and "in 2 races" in found.sentences[0]


def test_two_races_that_differ_by_more_than_they_say() -> None:
    found = capacity_result([race(300.0), race(400.0)])
    assert found and "The races differ by more than their intervals say" in found.sentences[-1]


def test_what_cannot_be_told() -> None:
    low, high = capacity_result([race(50.0)]), capacity_result([race(5000.0)])
    assert low and low.rate is None and "not kept at 100 ops/s, the lowest rate" in low.refused
    assert high and high.rate is None and "still kept at 1,000 ops/s, the highest rate" in high.refused
    assert high.sentences[0].startswith("9.0.0 has no capacity to be told for search")


def test_a_load_generator_at_its_limit_is_no_capacity_of_the_cluster() -> None:
    found = capacity_result([race(300.0, saturated_from=290.0)])
    assert found and found.rate is None and found.races[0].end == "LoadGeneratorBottleneck"
    assert "the load generator was the bottleneck" in found.refused
    fine = capacity_result([race(300.0, saturated_from=700.0)])
    assert fine and fine.rate and fine.races[0].end == "Found", "far above the answer it does not matter"


def test_races_without_a_search_have_none() -> None:
    assert capacity_result([]) is None and capacity_result([Record()]) is None


def test_the_command_line_shows_probes_and_answer() -> None:
    records = [race(300.0)]
    results = Results(sweep=sweep_result(records), capacity=capacity_result(records))
    text = sweep_report.curve(benchmark("one", succeeded("9.0.0").model_copy(update={"results": results})))
    assert "search@probe-1" in text and "* 9.0.0 carries" in text and "Universal" not in text
