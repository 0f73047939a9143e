"""How small a difference could be seen: from a Benchmark's own races, from history, from both, or unknown."""

import math
from dataclasses import replace
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.noise_status import NumberNoise
from fairlap.comparison.benchmark_noise import History, combined_variance, noise_of
from fairlap.statistics.gates import smallest_visible
from fairlap.statistics.moderation import Prior
from fairlap_race.contract import record as rec

SUM = rec.Counts(warmup=0, normal=1000)
LOGS = st.lists(st.floats(-3, 3), min_size=2, max_size=8)


def task(rate: float, name: str = "search", requests: int = 1000, target: float | None = None) -> rec.Task:
    numbers = rec.RallyNumbers(
        throughput=rec.Throughput(rate, rate, rate, rate), service_time_millis={"p50": 1000 / rate, "p99": 9.0},
        latency_millis={"p50": 7.0, "p99": 2000 / rate}, error_rate=0.0,
    )  # fmt: skip
    return rec.Task(task=name, rally=numbers, samples=replace(SUM, normal=requests), target_throughput=target)


def race(*tasks: rec.Task) -> rec.Record:
    return rec.Record(tasks=tasks)


def number(metric: str, *races: rec.Record, history: History | None = None) -> NumberNoise:
    found = noise_of(races, history or History())
    return next(each for each in found.tasks[0].numbers if each.metric == metric)


def test_one_race_without_history_says_that_it_does_not_know() -> None:
    found = noise_of([race(task(100))], History())
    assert found.message == (
        "how small a difference can be seen here is unknown: 1 valid race, and no Comparison of the same work on the "
        "same machines in the last 30 days"
    )
    for each in found.tasks[0].numbers:
        assert each.smallest_visible is None and each.own_spread is None and each.message.startswith("unknown: 1 race ")
    assert found.history.startswith("none: ")


def test_three_races_tell_by_the_formula_what_pairs_would_see() -> None:
    rates = (100.0, 104.0, 99.0)
    found = number("throughput", *(race(task(rate)) for rate in rates))
    spread = math.sqrt(2) * stdev(map(math.log, rates))
    assert found.own_spread == pytest.approx(100 * math.expm1(spread), abs=0.01)
    assert found.smallest_visible == pytest.approx(100 * smallest_visible(spread, 5), abs=0.01)
    assert found.message == "a difference below 6.3 % cannot be seen with 5 pairs here"


def test_history_alone_is_enough_for_one_race() -> None:
    history = History({"throughput": Prior(0.03**2, 4.0)})
    found = noise_of([race(task(100))], history)
    rate, p50, _ = found.tasks[0].numbers
    assert rate.history_spread == pytest.approx(3.05, abs=0.01) and rate.own_spread is None
    assert rate.smallest_visible == pytest.approx(100 * smallest_visible(0.03, 5), abs=0.01)
    assert p50.smallest_visible is None and p50.message.startswith("unknown")
    assert found.message == (
        "with 5 pairs, differences below 5.1 % (search throughput) cannot be seen here; of 2 more numbers it is unknown"
    )
    assert found.history == "throughput"


@pytest.mark.parametrize(
    ("target", "metrics"),
    [(None, ["throughput", "serviceTimeP50", "serviceTimeP99"]), (50.0, ["throughput", "latencyP50", "latencyP99"])],
)
def test_a_task_with_a_rate_is_told_by_its_latency(target: float | None, metrics: list[str]) -> None:
    found = noise_of([race(task(100, target=target)), race(task(90, target=target))], History())
    assert [each.metric for each in found.tasks[0].numbers] == metrics


def test_a_percentile_of_too_few_requests_is_unknown() -> None:
    races = [race(task(100, requests=200)), race(task(90, requests=300))]
    found = number("serviceTimeP99", *races)
    assert found.smallest_visible is None
    assert found.message == "unknown: service time p99 needs 368 requests to decide, a race had 200"
    assert number("serviceTimeP50", *races).smallest_visible is not None


def test_what_never_differs_and_what_differs_by_any_factor_are_said() -> None:
    assert number("serviceTimeP99", race(task(90)), race(task(100))).message == (
        "unknown: 2 races have exactly the same number"
    )
    wild = number("throughput", race(task(1e-6)), race(task(1e6)))
    assert wild.smallest_visible is None and wild.own_spread is None
    assert "5 pairs show nothing here" in wild.message


def test_the_status_has_room_and_counts_what_it_left_out() -> None:
    races = [race(*(task(rate, f"task-{number}") for number in range(400))) for rate in (100.0, 105.0)]
    found = noise_of(races, History())
    assert len(found.model_dump_json()) < 62_000 and found.tasks[0].task == "task-0"
    assert len(found.tasks) + found.left_out == 400 and found.left_out > 0


def test_of_no_race_nothing_is_known() -> None:
    found = noise_of([], History(why_none="nobody looked"))
    assert found.tasks == [] and found.message.endswith("0 valid races, and nobody looked")


@given(LOGS, st.floats(1e-6, 4), st.floats(0.5, 4))
def test_history_never_makes_less_of_the_noise_that_is_there(logs: list[float], known: float, df: float) -> None:
    own, both = combined_variance(logs, None), combined_variance(logs, Prior(known, df))
    assert own is not None and both is not None
    assert own * (1 - 1e-9) <= both <= max(own, known) * (1 + 1e-9)


@given(st.lists(st.floats(1e-300, 1e300), max_size=5), st.floats(1e-17, 99.0))
def test_any_numbers_give_a_status(rates: list[float], known: float) -> None:
    for history in (History(), History({"throughput": Prior(known, 1.0)})):
        found = noise_of([race(task(rate)) for rate in rates], history)
        for each in (number for task in found.tasks for number in task.numbers):
            assert each.message and (each.smallest_visible is None or each.smallest_visible >= 0)
