"""The Universal Scalability Law, knee and capacity against known curves."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.statistics.scalability import (
    Fitted,
    LoadStep,
    capacity,
    fit,
    fit_law,
    knee,
    usable_sizes,
)

GRID = (1, 2, 4, 8, 16, 32, 64)


def law(clients: float, rate: float = 100, sigma: float = 0.05, kappa: float = 0.0008) -> float:
    return rate * clients / (1 + sigma * (clients - 1) + kappa * clients * (clients - 1))


def noisy(seed: int, noise: float, grid: Sequence[int] = GRID, races: int = 1) -> list[tuple[float, float]]:
    lot = random.Random(seed)
    return [(n, law(n) * math.exp(lot.gauss(0, noise))) for n in grid for _ in range(races)]


@given(st.floats(1, 1e5), st.floats(0, 0.9), st.one_of(st.just(0.0), st.floats(1e-5, 0.1)), st.integers(6, 20))
def test_an_exact_curve_is_found_again(rate: float, sigma: float, kappa: float, points: int) -> None:
    curve = [(n, law(n, rate, sigma, kappa)) for n in range(1, points + 1)]
    found = fit_law(curve)
    assert found is not None and found.contention >= 0 and found.coherency >= 0
    for n, value in curve:
        assert found.throughput(n) == pytest.approx(value, rel=1e-6)
    assert found.rate == pytest.approx(rate, rel=1e-5)


@given(
    st.lists(
        st.tuples(st.integers(1, 1000), st.floats(1e-3, 1e7) | st.floats(0, exclude_min=True, allow_infinity=False)),
        max_size=40,
    )
)
def test_any_points_give_a_law_or_a_reason(points: list[tuple[int, float]]) -> None:
    found = fit(points)
    assert (found.law is None) == bool(found.refused)
    if found.law:
        assert (found.peak is None) == bool(found.peak_refused)
        assert found.law.rate > 0 and found.law.contention >= 0 and found.law.coherency >= 0
    if found.peak:
        assert found.peak.low <= found.peak.value <= found.peak.high <= 10 * max(n for n, _ in points)


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ([], "6 different numbers of clients that the load generator can drive, and there are 0"),
        ([(n, law(n)) for n in (1, 2, 4, 8, 16)] * 3, "and there are 5"),
        ([(n, law(n)) for n in range(10, 20)], "the most clients (19) are to be 8 times the fewest (10)"),
        ([(n, 100 * (1 + n % 2 * 5)) for n in range(1, 17)], "is not the law's shape"),
        *(([(n, factor * law(n)) for n in GRID], "no curve of the law") for factor in (1e-162, 1e-310, 1e200)),
    ],
)
def test_no_law(points: list[tuple[float, float]], why: str) -> None:
    found = fit(points)
    assert found.law is None and why in found.refused


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ([(n, law(n, kappa=0.0)) for n in GRID], "throughput does not fall up to 64 clients"),
        ([(n, law(n)) for n in GRID[:-1]], "it is at 32 clients or more"),  # the true peak is at 34.5
        ([(n, law(n)) for n in (1, 2, 4, 8, 12, 16)], "it is at 16 clients or more"),
        (
            list(zip((8, 16, 24, 32, 48, 64), (1000, 820, 660, 550, 410, 325), strict=True)),
            "throughput falls from the first step on: the peak is at 8 clients or fewer",
        ),
    ],
)
def test_no_peak_where_no_step_lies_beyond_it_or_before_it(points: list[tuple[float, float]], why: str) -> None:
    found = fit(points)
    assert found.law is not None and found.peak is None and why in found.peak_refused


def test_the_peak_and_how_sure_it_is() -> None:
    """The interval of 95 % holds the truth about so often: 7 steps, 3 races, 3 % noise."""
    truth = math.sqrt((1 - 0.05) / 0.0008)
    found: list[Fitted] = [fit(noisy(seed, 0.03, races=3)) for seed in range(300)]
    peaks = [it.peak for it in found if it.peak]
    assert len(peaks) > 290
    assert 0.91 <= sum(it.low <= truth <= it.high for it in peaks) / len(peaks) <= 0.985
    assert all(truth / 1.25 < it.value < truth * 1.25 for it in peaks)


def test_a_knee_is_where_power_is_greatest() -> None:
    # An asymptotic curve: all alike until 4 clients, then only waiting.
    steps = [(n, 100 * min(n, 4), max(10.0, 10 * n / 4)) for n in (1, 2, 4, 8, 16)]
    assert knee(steps) == 4
    assert knee([]) is None and knee([(1, 0, 1), (2, 5, 0)]) is None


def race(factor: float = 1.0) -> list[LoadStep]:
    return [LoadStep(n, factor * 100 * n, 5 * 2 ** (n - 1)) for n in (1, 2, 3, 4, 5)]


def test_one_race_has_its_capacity_between_two_steps() -> None:
    found = capacity([race()], 30)
    assert found.load is not None and found.by_races == 0
    assert (found.load.low, found.load.high) == (300, 400)
    assert found.load.value == pytest.approx(300 + 100 * math.log(1.5) / math.log(2))


@pytest.mark.parametrize(
    ("steps", "objective", "why"),
    [
        (race(), 4, "is not met even by the smallest step, 1"),
        (race(), 80, "is kept in every step up to the largest, 5"),
        ([], 10, "no step has a latency"),
        (
            [LoadStep(n, 100 * n, latency) for n, latency in ((1, 80), (2, 20), (4, 22), (8, 90))],
            50,
            "the smallest step, 1, does not meet the objective, and larger ones do (2, 4): give the steps a warm-up",
        ),
        ([LoadStep(n, n, 9 if n == 1 else 2) for n in range(1, 7)], 5, "larger ones do (2, 3, 4 and 2 more)"),
    ],
)
def test_no_capacity(steps: list[LoadStep], objective: float, why: str) -> None:
    found = capacity([steps], objective)
    assert found.load is None and why in found.refused


def test_a_rate_that_was_not_sent_is_not_carried() -> None:
    steps = [LoadStep(100, 100, 5), LoadStep(200, 150, 6, keeps_schedule=False)]
    found = capacity([steps], 10)
    assert found.load is not None and (found.load.value, found.load.low, found.load.high) == (100, 100, 150)


@pytest.mark.parametrize(
    ("beyond", "high"),
    [
        (LoadStep(200, 150, math.inf, keeps_schedule=False), 150),  # requests were dropped over HTTP
        (LoadStep(200, 120, 20, keeps_schedule=False), 120),
        (LoadStep(200, 196, math.inf), 196),  # too few for the percentile, and a lower one is beyond the objective
    ],
)
@pytest.mark.parametrize("others", [LoadStep(200, 150, math.inf, keeps_schedule=False), LoadStep(200, 196, 60)])
def test_races_that_agree_on_two_steps_have_these_as_the_interval(
    beyond: LoadStep, high: float, others: LoadStep
) -> None:
    """It was said "95 % interval 100 to 100, 3 races", though nothing between 100 and 200 was tried."""
    found = capacity([[LoadStep(100, 100, 10), it] for it in (beyond, beyond, others)], 50)
    assert found.load is not None and found.by_races == 0
    assert (found.load.value, found.load.low, found.load.high) == (100, 100, high)


@pytest.mark.parametrize(
    ("steps", "low", "high"),
    [
        ([(600, 20), (1000, 40), (400, 500)], 1000, 1000),
        ([(600, 20), (1000, 50), (400, 500)], 1000, 1000),  # the last one is just in time
        ([(600, 20), (1000, 40), (400, math.inf)], 1000, 1000),
        ([(600, 20), (1000, 40), (900, 45), (400, 500)], 1000, 1000),
        ([(600, 20), (1000, 40), (900, 45), (1200, 500)], 1000, 1200),
    ],
)
@pytest.mark.parametrize("races", [1, 3])
def test_no_capacity_is_below_what_was_carried(
    steps: list[tuple[float, float]], low: float, high: float, races: int
) -> None:
    found = capacity([[LoadStep(size, *it) for size, it in enumerate(steps, 1)]] * races, 50)
    assert found.load is not None and found.load.value == pytest.approx(1000)
    if not found.by_races:
        assert (found.load.low, found.load.high) == (low, high)


@pytest.mark.parametrize(
    ("beyond", "high"),
    [
        (LoadStep(400, 60, 900, keeps_schedule=False), 400),
        (LoadStep(200, 175, math.inf, keeps_schedule=False), 200),
        (LoadStep(200, 150, 5, keeps_schedule=False), 200),
    ],
)
@pytest.mark.parametrize("races", [1, 3])
def test_what_was_answered_of_a_rate_that_is_not_carried_bounds_nothing(
    beyond: LoadStep, high: float, races: int
) -> None:
    """It was said "100 (100 to 100)" of 100 that is carried and of 400 of which 60 were."""
    found = capacity([[LoadStep(50, 50, 10), LoadStep(100, 100, 12), beyond]] * races, 50, are_rates=True)
    assert found.load is not None and (found.load.value, found.load.low, found.load.high) == (100, 100, high)
    assert (found.best, found.beyond, found.is_between, found.by_races) == (100, beyond.size, False, 0)


@pytest.mark.parametrize("unjudged", [(), (3.5,), (2.5, 9.0)])
def test_a_step_whose_latency_is_not_known_is_not_drawn_through(unjudged: tuple[float, ...]) -> None:
    found = capacity([race()], 30, unjudged=[unjudged])
    apart = 3.5 in unjudged
    assert found.load is not None and (found.load.low, found.load.high) == (300, 400)
    assert found.is_between is not apart and (found.load.value == 300) is apart


def test_a_race_with_such_a_step_is_none_of_an_interval_over_races() -> None:
    whole = [race(), race(1.1), race(0.9)]
    assert capacity(whole, 30, unjudged=[(), (), ()]).by_races == 3
    found = capacity(whole, 30, unjudged=[(3.5,), (), ()])
    assert found.by_races == 0 and found.load is not None and found.load.low == 300


def test_throughputs_of_no_system_have_no_interval_over_races() -> None:
    """The exponential of its half would be no number."""
    found = capacity([race(1e-300), race(), race(1e300)], 30)
    assert found.load is not None and found.by_races == 0 and (found.load.low, found.load.high) == (300, 400)


def test_the_interval_of_capacity_holds_the_truth() -> None:
    """Five races, each with a pace of its own (5 %): about 95 of 100 intervals hold the true one."""
    lot, hits = random.Random(15), 0
    truth = capacity([race()], 30).load
    assert truth is not None
    for _ in range(400):
        found = capacity([race(math.exp(lot.gauss(0, 0.05))) for _ in range(5)], 30)
        assert found.load is not None and found.by_races == 5
        hits += found.load.low <= truth.value <= found.load.high
    assert 0.92 <= hits / 400 <= 0.98


@given(st.dictionaries(st.integers(1, 100), st.booleans(), max_size=20))
def test_no_saturated_step_is_used(saturated: dict[float, bool]) -> None:
    used = usable_sizes(saturated)
    assert used <= {size for size, is_saturated in saturated.items() if not is_saturated}
    assert used == set(saturated) or any(saturated.values())


@pytest.mark.parametrize(
    ("saturated", "used"),
    [
        ("......", "123456"),
        ("....xx", "1234"),
        ("..x...", "12456"),  # one disturbed step cuts nothing off
        ("...x.x", "1235"),
        ("x.....", "23456"),
        ("xxxxxx", ""),
        (".x..xx", "134"),
    ],
)
def test_which_steps_count(saturated: str, used: str) -> None:
    told = {float(place): mark == "x" for place, mark in enumerate(saturated, 1)}
    assert usable_sizes(told) == {float(each) for each in used}
