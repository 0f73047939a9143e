"""How small a difference could be seen: from a Benchmark's own races, from history, from both, or unknown."""

import math
from dataclasses import replace
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searched_races import searching_race

from fairlap.api.noise_status import NumberNoise
from fairlap.comparison.noise.benchmark_noise import History, combined_variance, history_of, noise_of
from fairlap.statistics.gates import smallest_visible
from fairlap.statistics.moderation import Prior
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.contract.watched_machines.resources import ELASTICSEARCH, Machine, MachineTable, TaskUsage, Usage

SUM = rec.Counts(warmup=0, normal=1000)
LOGS = st.lists(st.floats(-3, 3), min_size=2, max_size=8)


def task(rate: float, name: str = "search", requests: int = 1000, target: float | None = None) -> rec.Task:
    numbers = rec.RallyNumbers(
        throughput=rec.Throughput(rate, rate, rate, rate),
        service_time_millis={"p50": 1000 / rate, "p90": 1500 / rate, "p99": 9.0},
        latency_millis={"p50": 7.0, "p90": 1800 / rate, "p99": 2000 / rate}, error_rate=0.0,
    )  # fmt: skip
    return rec.Task(task=name, rally=numbers, samples=replace(SUM, normal=requests), target_throughput=target)


def race(*tasks: rec.Task, store: int | None = None) -> rec.Record:
    return rec.Record(tasks=tasks, totals=rec.Totals(store_bytes=store))


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
    assert found.smallest_visible == pytest.approx(100 * smallest_visible(spread, 5, 0.0125), abs=0.01)
    assert found.message == "a difference below 9.6 % cannot be seen with 5 pairs here"


def test_history_alone_is_enough_for_one_race() -> None:
    history = History({"throughput": Prior(0.03**2, 4.0)})
    found = noise_of([race(task(100))], history)
    rate, p50 = found.tasks[0].numbers[:2]
    assert rate.history_spread == pytest.approx(3.05, abs=0.01) and rate.own_spread is None
    assert rate.smallest_visible == pytest.approx(100 * smallest_visible(0.03, 5, 0.0125), abs=0.01)
    assert p50.smallest_visible is None and p50.message == (
        "unknown: 1 race with it, and finished Comparisons of the same work here have shown too little of it"
    )
    assert found.message == (
        "with 5 pairs, differences below 7.7 % (search throughput) cannot be seen here; of 3 more numbers it is unknown"
    )
    assert found.history == "throughput"


SERVICE = ["serviceTimeP50", "serviceTimeP90", "serviceTimeP99"]
LATENCY = ["latencyP50", "latencyP90", "latencyP99"]


@pytest.mark.parametrize(
    ("target", "turns", "metrics"),
    [
        (None, None, ["throughput", *SERVICE]),
        (50.0, None, LATENCY),
        (None, TaskTurns("search"), SERVICE),
        (50.0, TaskTurns("search"), SERVICE),
    ],
)
def test_a_planned_rate_is_told_by_latency_and_turns_by_service_time(
    target: float | None, turns: TaskTurns | None, metrics: list[str]
) -> None:
    found = noise_of([race(replace(task(rate, target=target), turns=turns)) for rate in (100, 90)], History())
    assert [each.metric for each in found.tasks[0].numbers] == metrics
    assert all("no race has this number" not in each.message for each in found.tasks[0].numbers)


def test_the_sentence_begins_with_no_planned_rate() -> None:
    planned = [task(19.9999 + n / 1e5, "fetch", target=20.0) for n in range(3)]
    races = [race(one, task(rate)) for one, rate in zip(planned, (100, 104, 99), strict=True)]
    assert "throughput" not in [each.metric for each in noise_of(races, History()).tasks[0].numbers]
    assert "fetch throughput" not in noise_of(races, History()).message


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


def test_what_hardly_differs_differs_by_more_than_nothing() -> None:
    found = noise_of([race(task(100), store=size) for size in (168458898, 168459957)], History())
    store = next(each for each in found.numbers if each.metric == "storeBytes")
    assert store.own_spread == pytest.approx(0.00063) and store.smallest_visible and store.smallest_visible > 0
    assert store.message == f"a difference below {store.smallest_visible:g} % cannot be seen with 5 pairs here"


def test_the_store_and_what_machines_used_have_a_noise_and_the_sentence_is_about_speed() -> None:
    races = [race(task(rate), store=size) for rate, size in ((100, 10**9), (104, 10**9 + 10**6), (99, 10**9))]
    found = noise_of(races, History())
    assert [each.metric for each in found.numbers] == ["storeBytes"]
    assert found.numbers[0].message == "a difference below 0.2 % cannot be seen with 5 pairs here"
    assert "store" not in found.message and "search throughput" in found.message
    done = [replace(each, tasks=tuple(replace(one, units_done=1000.0) for one in each.tasks)) for each in races]
    used = [Usage(seconds=2.0, cpu_mean_cores=cores, memory_peak_bytes=cores * 1e9) for cores in (0.5, 0.6, 0.5)]
    tables = [
        MachineTable(machines=(Machine("es-0", ELASTICSEARCH, race=each, tasks=(TaskUsage("search", usage=each),)),))
        for each in used
    ]
    found = noise_of(done, History(), tables)
    assert [each.metric for each in found.numbers] == ["storeBytes", "memoryPeakBytes"]
    assert found.tasks[0].numbers[-1].metric == "cpuSecondsPerOperation"
    assert found.tasks[0].numbers[-1].smallest_visible == found.numbers[1].smallest_visible
    some = noise_of(done, History(), [tables[0], None, tables[2]])
    assert some.tasks[0].numbers[-1].races == 2
    apart = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z")
    beside = [
        replace(each, tasks=tuple(replace(each.tasks[0], task=name, started_at=apart[0], ended_at=apart[1])
                                  for name in ("search", "bulk")))
        for each in done
    ]  # fmt: skip
    told = {number.metric for of_task in noise_of(beside, History(), tables).tasks for number in of_task.numbers}
    assert "cpuSecondsPerOperation" not in told, "the machine shows what both of them used"


def test_a_capacity_that_was_looked_for_is_in_the_sentence() -> None:
    found = noise_of([searching_race(300.0), searching_race(400.0)], History())
    assert [each.metric for each in found.numbers] == ["capacity"]
    assert "% (capacity)" in found.message


@pytest.mark.parametrize(
    ("in_turn", "on_kept_cluster", "words"),
    [
        (False, False, "work on the"), (True, False, "work in turn on the"),
        (False, True, "work on kept clusters on the"), (True, True, "work on kept clusters in turn on the"),
    ],
)  # fmt: skip
def test_why_nothing_is_known_names_the_design(in_turn: bool, on_kept_cluster: bool, words: str) -> None:
    found = history_of(None, in_turn=in_turn, on_kept_cluster=on_kept_cluster)
    assert found.lacks == f"no Comparison of the same {words} same machines in the last 30 days"
    shown = history_of({}, in_turn=in_turn, on_kept_cluster=on_kept_cluster)
    assert "no Comparison" not in noise_of([race(task(100))], shown).message


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
