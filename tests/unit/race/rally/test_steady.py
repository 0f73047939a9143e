"""Whether a task had settled: tables of shapes, properties of the test, and how often chance is taken for a change."""

import itertools
import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.settling import LATENCY, SERVICE_TIME, THROUGHPUT, Settling
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.rally.samples import Tally, task_record
from fairlap_race.rally.steady import (
    LEAST_CHANGE,
    LEAST_CHANGE_ASIDE,
    LEVEL,
    MOST_CHANGE,
    WARM_WINDOWS,
    Series,
    WindowTimes,
    changes,
    rank_sum_chance,
    settling,
    settling_of,
    warmed_up,
    why_unjudged,
)
from fairlap_race.rally.windows import Pace


def worked(shape: Callable[[int], float], windows: int, per: int = 20, rates: bool = True) -> Series:
    """Return what a task does whose requests in window n are `shape(n)` times as fast as at first."""
    units, times = {}, WindowTimes()
    for number in range(windows):
        units[number] = per * (shape(number) if rates else 1.0)
        for each in range(per):
            times.add(number + each / per, 0.01 / shape(number))
    return Series(times, units)


def seen(shape: Callable[[int], float], windows: int, per: int = 20, rates: bool = True) -> Settling:
    return settling(0, windows, worked(shape, windows, per, rates), per * windows)


def largest_change(values: list[float]) -> float | None:
    """Return the largest share of all comparisons of a series; None where none finds a change."""
    return max((share for share, _ in changes(values)), key=lambda it: abs(math.log1p(max(it, -0.999))), default=None)


def noisy(spread: float, seed: int) -> Callable[[int], float]:
    rng = random.Random(seed)
    return lambda _: math.exp(rng.gauss(0, spread))


def test_a_pause_in_a_short_task_leaves_too_little_to_tell_of_its_service_times() -> None:
    """Its rate is planned, so the throughput is the same whatever the answers took."""
    units, times = dict.fromkeys(range(14), 20.0), WindowTimes()
    for number in (it for it in range(14) if it not in (6, 7, 8)):
        for each in range(20):
            times.add(number + each / 20, 0.01 if number < 6 else 0.002)
    found = settling(0, 14, Series(times, units), 280)
    assert found.settled is None and found.left_out.startswith("requests ended in 11 of its 14 parts: it takes 12")


@pytest.mark.parametrize(
    ("shape", "settled", "unsettled"),
    [
        (lambda n: 1.0, True, (0, 0)),
        (lambda n: 1.0 + 0.001 * n, True, (0, 0)),
        (lambda n: 1.0 if n < 10 else 2.0, False, (9, 12)),
        (lambda n: 2.0 if n < 10 else 1.0, False, (9, 12)),
        (lambda n: 1.0 if n != 5 else 0.05, True, (0, 0)),
        (lambda n: 1.05**n, False, (30, 30)),
        (lambda n: 2.0 if n == 29 else 1.0, True, (0, 0)),
    ],
    ids=["flat", "creeps", "warms up", "slows down", "one pause", "never settles", "one burst"],
)
def test_shapes_of_thirty_seconds(shape: Callable[[int], float], settled: bool, unsettled: tuple[float, float]) -> None:
    found = seen(shape, 30)
    assert found.settled is settled and found.of_seconds == 30
    assert found.unsettled_seconds is not None and unsettled[0] <= found.unsettled_seconds <= unsettled[1]


def test_of_a_short_time_the_whole_tells_when_it_settled() -> None:
    found = seen(lambda n: 1.0 if n < 6 else 3.0, 14)
    assert found.settled is False and found.unsettled_seconds == 6


def test_where_the_rate_is_planned_the_service_time_tells() -> None:
    found = seen(lambda n: 1.0 if n < 15 else 2.0, 30, rates=False)
    assert found.settled is False and found.measure == "service time"
    assert found.change is not None and found.change < -0.2


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([0.0] * 5 + [7.0] * 8, MOST_CHANGE),
        ([7.0] * 5 + [0.0] * 8, -1.0),
        ([1.0] * 5 + [1e9] * 8, MOST_CHANGE),
        ([0.0] * 13, None),
        ([0.0, 0.0, 7.0, 0.0] + [0.0] * 9, None),
        ([0.0, 7.0] * 7, None),
    ],
    ids=["begins", "ends", "much more", "nothing at all", "one burst", "by turns"],
)
def test_from_nothing_to_something_is_the_most_that_there_is(values: list[float], share: float | None) -> None:
    assert largest_change(values) == share


@pytest.mark.parametrize(("rate", "share"), [(lambda n: n >= 12, MOST_CHANGE), (lambda n: n < 12, -1.0)])
def test_a_task_that_does_nothing_for_a_while_had_not_settled(rate: Callable[[int], bool], share: float) -> None:
    units, times = {number: 20.0 * rate(number) for number in range(30)}, WindowTimes()
    for number in range(600):
        times.add(number / 20, 0.01)
    found = settling(0, 30, Series(times, units), 600)
    assert found.settled is False and (found.measure, found.change) == ("throughput", share)
    assert 9 <= (found.unsettled_seconds or 0) <= 15


@pytest.mark.parametrize(
    ("windows", "per", "words"),
    [(11, 20, "11 full windows of 1 s in the time"), (0, 20, "no full window in the time"), (30, 1, "30 requests in")],
)
def test_too_little_to_tell(windows: int, per: int, words: str) -> None:
    found = seen(lambda n: 1.0, windows, per)
    assert found.settled is None and found.left_out.startswith(words)


def test_sixty_requests_are_enough_however_their_shares_are_rounded() -> None:
    pace, times = Pace(), WindowTimes()
    for client, number in itertools.product(range(3), range(20)):
        begin, end = 1000 + 0.6 * number, 1000 + 0.6 * (number + 1)
        pace.add(client, begin, end, 1.0)
        times.add(end, 0.6)
    assert 59.9 < sum(pace.requests.values()) < 60
    found = settling_of(pace, Series(times))
    assert found is not None and found.settled is True


@pytest.mark.parametrize(
    ("began", "cause"), [(None, "1 of 2 clients measured nothing"), (10.0, "one ended before the last began")]
)
def test_clients_that_never_measured_together_are_the_cause_that_is_named(began: float | None, cause: str) -> None:
    pace = Pace()
    pace.join(0)
    pace.add(1, 0.0, 9.0, 1.0)
    if began is not None:
        pace.add(0, began, began + 9, 1.0)
    found = settling_of(pace, Series(WindowTimes()))
    assert found is not None and found.left_out == f"its clients never measured all together: {cause}"


@pytest.mark.parametrize(("head", "tail"), [(3, 4), (4, 6), (5, 5)])
def test_the_chance_is_the_share_of_all_orders(head: int, tail: int) -> None:
    places = range(head + tail)
    sums = [sum(chosen) for chosen in itertools.combinations(places, head)]
    middle = sum(sums) / len(sums)
    for chosen in itertools.combinations(places, head):
        out = abs(sum(chosen) - middle)
        rest = [place for place in places if place not in chosen]
        share = sum(abs(it - middle) >= out for it in sums) / len(sums)
        assert rank_sum_chance(chosen, rest) == pytest.approx(share)


@given(st.lists(st.floats(0.001, 1000), min_size=12, max_size=16), st.floats(0.01, 100))
def test_no_unit_and_no_direction_matters(values: list[float], unit: float) -> None:
    found = largest_change(values)
    scaled = largest_change([value * unit for value in values])
    if found is None:
        margins = [pytest.approx(it, rel=1e-6) for it in (LEAST_CHANGE, LEAST_CHANGE_ASIDE)]
        assert scaled is None or abs(scaled) in margins or scaled < -0.09
        return
    assert abs(math.log1p(found)) >= math.log1p(LEAST_CHANGE) * (1 - 1e-9)
    upside_down = largest_change([1 / value for value in values])
    assert upside_down is None or (upside_down < 0) == (found > 0)


@given(st.lists(st.floats(0.5, 2.0), max_size=80), st.integers(1, 30))
def test_it_says_something_of_every_task(rates: list[float], per: int) -> None:
    found = seen(lambda n: rates[n], len(rates), per)
    assert (found.settled is None) == bool(found.left_out)
    assert found.unsettled_seconds is None or 0 <= found.unsettled_seconds <= found.of_seconds == len(rates)
    assert (found.settled is False) == bool(found.measure)


@pytest.mark.parametrize("windows", [15, 30, 60])
@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_noise_is_seldom_taken_for_a_change(windows: int, spread: float) -> None:
    races = 150
    alarms = sum(seen(noisy(spread, seed), windows, per=6).settled is False for seed in range(races))
    # The level, and three standard deviations of a count of that many races.
    assert alarms <= races * 2 * LEVEL + 3 * math.sqrt(races * 2 * LEVEL)


def wandering(spread: float, correlation: float, seed: int, seconds: int = 60) -> Callable[[int], float]:
    """Rates that resemble those of the second before."""
    rng = random.Random(seed)
    found = [rng.gauss(0, 1)]
    while len(found) < seconds:
        found.append(correlation * found[-1] + math.sqrt(1 - correlation**2) * rng.gauss(0, 1))
    return lambda n: math.exp(spread * found[n])


def test_a_steady_task_is_never_called_unsettled() -> None:
    assert not [seed for seed in range(400) if seen(noisy(0.03, seed), 60, per=6).settled is not True]


@pytest.mark.parametrize(
    ("windows", "correlation", "documented"),
    [(30, 0.5, 0.02), (30, 0.8, 0.13), (24, 0.5, 0.03), (24, 0.8, 0.16), (36, 0.5, 0.02), (36, 0.8, 0.12)],
)
def test_rates_that_wander_are_not_taken_for_a_change_more_often_than_is_written(
    windows: int, correlation: float, documented: float
) -> None:
    """docs/noise.md, CV 10 %; 36 are those that race.steady looks at."""
    races = 400
    alarms = sum(seen(wandering(0.1, correlation, seed), windows, per=6).settled is False for seed in range(races))
    assert alarms <= races * documented + 3 * math.sqrt(races * documented * (1 - documented))


def test_merges_that_come_and_go_are_no_change() -> None:
    """Every twelve seconds a third less for four, from another second on in each race."""
    rng, races, alarms = random.Random(5), 100, 0
    for seed in range(races):
        noise, begin = noisy(0.1, seed), rng.randrange(12)
        found = seen(lambda n, noise=noise, at=begin: noise(n) * (0.7 if (n + at) % 12 < 4 else 1.0), 60, per=6)  # type: ignore[misc]
        alarms += found.settled is False
    assert alarms <= 3


@pytest.mark.parametrize(
    ("shape", "windows", "per", "warm"),
    [
        (lambda n: 1.0, WARM_WINDOWS, 20, True),
        (lambda n: 1.0, WARM_WINDOWS - 1, 20, False),
        (lambda n: 1.0, WARM_WINDOWS, 2, False),
        (lambda n: 1.0, WARM_WINDOWS, 3, True),
        (lambda n: 1.0 if n < 12 else 1.2, WARM_WINDOWS, 20, False),
        (lambda n: 1.0 if n < 12 else 1.2, WARM_WINDOWS + 12, 20, True),
        (lambda n: 1.0 if n < 22 else 1.5, WARM_WINDOWS, 20, False),
        (lambda n: 1.0 if n < 9 else 1.5, WARM_WINDOWS, 20, False),
        (lambda n: 0.1 if n == 20 else 1.0, WARM_WINDOWS, 20, True),
        (lambda n: 1.01**n, 200, 20, False),
    ],
    ids=["flat", "too short", "few requests", "enough of them", "slow at first", "no longer", "changes late",
         "is over early", "one pause", "goes on"],
)  # fmt: skip
def test_a_warm_up_is_over_when_no_comparison_finds_a_change(
    shape: Callable[[int], float], windows: int, per: int, warm: bool
) -> None:
    assert warmed_up(0, windows, worked(shape, windows, per)) is warm


def test_a_warm_up_in_which_a_part_has_no_answer_is_not_over() -> None:
    """Of 15 values there is one comparison."""
    series = worked(lambda _: 1.0, WARM_WINDOWS)
    assert warmed_up(0, WARM_WINDOWS, series)
    for number in (18, 19, 20, 21):
        del series.times.logarithms[number], series.times.counts[number]
    assert not warmed_up(0, WARM_WINDOWS, series)


@pytest.mark.parametrize(
    ("windows", "per", "empty", "why"),
    [
        (WARM_WINDOWS, 3, (), ""),
        (WARM_WINDOWS - 1, 20, (), "35 s since its first answer: it takes 36"),
        (200, 2, (), "72 requests in 36 s: it takes 80"),
        (WARM_WINDOWS, 20, (18, 19, 20, 21), "requests ended in 14 of the 16 parts of 36 s: it takes all"),
    ],
    ids=["it can", "too short", "few requests", "a part without any"],
)
def test_why_a_warm_up_cannot_be_judged(windows: int, per: int, empty: tuple[int, ...], why: str) -> None:
    series = worked(lambda n: 1.0 if n < 9 else 1.5, windows, per)
    for number in empty:
        del series.times.logarithms[number], series.times.counts[number]
    assert why_unjudged(0, windows, series) == why
    assert not warmed_up(0, windows, series), "what cannot be judged is not over, nor is what changes"


@given(st.lists(st.floats(0.5, 2.0), min_size=WARM_WINDOWS, max_size=60), st.integers(3, 20))
def test_a_warm_up_that_is_over_had_settled_whatever_came_before(rates: list[float], per: int) -> None:
    last, done = len(rates), worked(lambda n: rates[n], len(rates), per)
    found = warmed_up(0, last, done)
    begin = last - WARM_WINDOWS
    assert found == warmed_up(begin, last, done) == settling(begin, last, done, per * WARM_WINDOWS).settled
    assert not warmed_up(begin + 1, last, done)


def warm_for(shape: Callable[[int], float], noise: Callable[[int], float], seconds: int = 160) -> int:
    """Return after how many seconds of six requests each a warm-up is over, looking each second."""
    done = worked(lambda n: shape(n) * noise(n), seconds, per=6)
    return next((last for last in range(seconds) if warmed_up(0, last, done)), seconds)


@pytest.mark.parametrize(
    ("constant", "spread", "below", "documented"),
    [(20, 0.1, 0.1, 0.0), (20, 0.2, 0.1, 0.0), (40, 0.03, 0.1, 0.34), (40, 0.1, 0.2, 0.07), (40, 0.2, 0.2, 0.53)],
)
def test_a_warm_up_is_not_over_too_early_more_often_than_is_written(
    constant: float, spread: float, below: float, documented: float
) -> None:
    """docs/noise.md: half the rate at first."""
    races = 200
    rate = lambda n: 1 - 0.5 * math.exp(-n / constant)  # noqa: E731
    early = sum(rate(warm_for(rate, wandering(spread, 0, seed, 160))) < 1 - below for seed in range(races))
    assert early <= races * documented + 3 * math.sqrt(races * documented * (1 - documented))


@pytest.mark.parametrize(("correlation", "latest"), [(0.0, 36), (0.5, 36), (0.8, 37)])
def test_a_steady_task_is_not_kept_warming_up_for_longer_than_is_written(correlation: float, latest: int) -> None:
    """docs/noise.md, CV 10 %: nine of ten."""
    races = 200
    late = sum(warm_for(lambda _: 1.0, wandering(0.1, correlation, seed, 160)) > latest for seed in range(races))
    assert late <= races * 0.1 + 3 * math.sqrt(races * 0.1 * 0.9)


@pytest.mark.parametrize("late", [2.0, 0.5])
@pytest.mark.parametrize("pause", [None, 20, 50])
def test_a_change_after_the_middle_is_seen(late: float, pause: int | None) -> None:
    """It was called settled: the last half was as fast as the first third, in the median. One pause hides nothing."""
    found = seen(lambda n: 0.01 if n == pause else 1.0 if n < 36 else late, 60)
    assert found.settled is False and 33 <= (found.unsettled_seconds or 0) <= 38
    assert found.change is not None and (found.change > 0.9 or found.change < -0.4)


def test_a_slow_beginning_of_a_quarter_is_seen() -> None:
    races = 40
    unseen = 0
    for seed in range(races):
        noise = noisy(0.03, seed)
        found = seen(lambda n, noise=noise: noise(n) * (0.5 if n < 15 else 1.0), 60)  # type: ignore[misc]
        unseen += found.settled is not False or not 14 <= (found.unsettled_seconds or 0) <= 19
    assert unseen <= races // 10


@pytest.mark.parametrize("share", [0.3, 0.25])
def test_a_change_in_the_last_quarter_is_seen(share: float) -> None:
    """It was called settled: no comparison had an end as short as that."""
    races = 40
    unseen = 0
    for seed in range(races):
        noise = noisy(0.03, seed)
        found = seen(lambda n, noise=noise: noise(n) * (0.5 if n >= 60 * (1 - share) else 1.0), 60)  # type: ignore[misc]
        unseen += found.settled is not False
    assert unseen <= races // 10


def test_a_warm_up_of_a_third_is_found_in_noise() -> None:
    races = 60
    for seed in range(races):
        noise = noisy(0.05, seed)
        assert seen(lambda n, noise=noise: noise(n) * (1.0 if n < 10 else 1.5), 30).settled is False  # type: ignore[misc]


def test_the_record_of_a_task_says_it() -> None:
    it = Tally(about={"task": "search", "clients": 1, "target": None})
    at = 100.0
    while at < 140:
        took = 0.1 if at < 115 else 0.05
        it.add(1, True, 0, at, took, 1.0)
        it.note_time(1, at, took)
        at += took
    found = task_record(it, None).settling
    assert found is not None and found.settled is False and 14 <= (found.unsettled_seconds or 0) <= 18


@pytest.mark.parametrize(("own_schedule", "settled"), [(False, False), (True, True)])
def test_a_rate_that_the_track_plans_by_itself_is_no_sign(own_schedule: bool, settled: bool) -> None:
    """10 a second, then 20, each as fast as the others."""
    it = Tally(about={"task": "search", "clients": 1, "target": None, "own_schedule": own_schedule})
    at = 100.0
    while at < 140:
        it.add(1, True, 0, at, 0.01, 1.0)
        it.note_time(1, at, 0.01)
        at += 0.1 if at < 120 else 0.05
    found = task_record(it, None).settling
    assert found is not None and found.settled is settled


def test_where_the_track_plans_the_rate_a_queue_that_grows_is_a_sign() -> None:
    it = Tally(about={"task": "search", "clients": 1, "target": None, "own_schedule": True})
    for n in range(400):
        it.add(1, True, 0, 100 + n / 10, 0.01, 1.0, wait=n / 10)
        it.note_time(1, 100 + n / 10, 0.01)
    found = task_record(it, None).settling
    assert found is not None and found.settled is False and found.measure == "latency"


def raced_in_turn(
    one: Callable[[float], float], other: Callable[[float], float], target: float | None = None
) -> list[Settling]:
    """Return what is said of two races that send a request each in turn for 30 s, by how long theirs take."""
    rng = random.Random(3)
    tallies = [Tally(about={"task": "search", "clients": 1, "target": target}) for _ in range(2)]
    now = 100.0
    while now < 130:
        due = now
        for it, takes in zip(tallies, (one, other), strict=True):
            took = takes(now - 100) * math.exp(rng.gauss(0, 0.05))
            it.add(1, True, 0, now, took, 1.0, wait=now - due)
            it.note_time(1, now, took)
            now += took + 0.001
    found = [task_record(it, None, TaskTurns("search", it.samples[1], 0)).settling for it in tallies]
    return [it for it in found if it is not None]


@pytest.mark.parametrize("target", [None, 40.0], ids=["free", "planned"])
@pytest.mark.parametrize(
    "other",
    [lambda t: 0.01 + 0.02 * math.exp(-t / 6), lambda t: 0.01 if t < 18 else 0.03],
    ids=["warms up", "slows down"],
)
def test_in_turn_a_steady_race_has_settled_whatever_the_other_one_does(
    other: Callable[[float], float], target: float | None
) -> None:
    for first in (True, False):
        steady = lambda _: 0.01  # noqa: E731
        one, two = raced_in_turn(*((steady, other) if first else (other, steady)), target)
        mine, changes = (one, two) if first else (two, one)
        assert mine.settled is True
        assert changes.settled is False and changes.measure == SERVICE_TIME


def planned(
    rate: float, takes: Callable[[float], float], gaps: Callable[[], float] = lambda: 1.0, seconds: float = 30
) -> Tally:
    """Return what a client does whose requests are due `rate` times a second, by how long they take at a time."""
    it = Tally(about={"task": "search", "clients": 1, "target": rate})
    due = free = 100.0
    while due < 100 + seconds:
        begin = max(due, free)
        took = takes(begin - 100)
        it.add(1, True, 0, begin, took, 1.0, wait=begin - due)
        it.note_time(1, begin, took)
        free = begin + took
        due += gaps() / rate
    return it


def said_of(it: Tally) -> Settling:
    found = task_record(it, None).settling
    assert found is not None
    return found


def test_a_planned_task_had_not_settled_while_its_queue_drains() -> None:
    """Two slow seconds, and 56 times the latency at first: the service time is the same but in two parts of 16."""
    found = said_of(planned(50, lambda t: 0.06 if t < 2 else 0.0185))
    assert found.settled is False and found.measure == LATENCY
    assert found.change is not None and found.change < -0.9 and 15 <= (found.unsettled_seconds or 0) <= 30


def test_a_planned_task_of_more_than_can_be_carried_never_settles() -> None:
    found = said_of(planned(50, lambda _: 0.025))
    assert (found.settled, found.measure, found.unsettled_seconds) == (False, LATENCY, found.of_seconds)
    assert found.change is not None and found.change > 0


def test_a_latency_that_changed_beside_a_greater_change_is_judged_by_a_tenth_too() -> None:
    """Four times the rate after 20 s; then a latency is still by a fifth above its end, and a third is more."""
    times, latencies, units = WindowTimes(), WindowTimes(), {}
    for number in range(60):
        units[number] = 5.0 if number < 20 else 20.0
        for each in range(20):
            times.add(number + each / 20, 0.01)
            latencies.add(number + each / 20, 0.02 if number < 20 else 0.012 if number < 36 else 0.01)
    found = settling(0, 60, Series(times, units, latencies), 1200)
    assert (found.settled, found.measure, found.unsettled_seconds) == (False, THROUGHPUT, 30.0)


def test_without_a_plan_a_wait_is_none() -> None:
    found = {}
    for target in (None, 20.0):
        it = Tally(about={"task": "search", "clients": 1, "target": target})
        for number in range(600):
            it.add(1, True, 0, 100 + number / 20, 0.01, 1.0, wait=600.0 - number)
            it.note_time(1, 100 + number / 20, 0.01)
        found[target] = said_of(it).settled
    assert found == {None: True, 20.0: False}


def queued(gaps: str, rate: float, utilisation: float, correlation: float, seed: int) -> tuple[bool, bool]:
    """Return whether a stable planned task of one client is called not settled without its latency, and with it.

    Its service times differ from second to second by CV 10 %, and within one by 30 %.
    """
    rng, level = random.Random(seed), wandering(0.1, correlation, seed, 90)
    it = planned(
        rate,
        lambda t: utilisation / rate * level(min(89, int(t))) * math.exp(rng.gauss(-0.045, 0.3)),
        (lambda: rng.expovariate(1.0)) if gaps == "poisson" else (lambda: 1.0),
    )
    now = said_of(it).settled is False
    it.window_latencies = WindowTimes()
    return said_of(it).settled is False, now


@pytest.mark.parametrize(
    ("plan", "before", "documented"),
    [
        (("even", 20, 0.2, 0.0), 0.003, 0.003),
        (("poisson", 20, 0.2, 0.0), 0.008, 0.008),
        (("poisson", 20, 0.2, 0.5), 0.022, 0.023),
        (("even", 20, 0.8, 0.0), 0.003, 0.006),
        (("poisson", 20, 0.8, 0.0), 0.007, 0.03),
        (("poisson", 20, 0.8, 0.5), 0.018, 0.05),
        (("poisson", 6, 0.8, 0.0), 0.025, 0.08),
    ],
)
def test_a_stable_planned_task_is_not_called_unsettled_more_often_than_is_written(
    plan: tuple[str, float, float, float], before: float, documented: float
) -> None:
    """docs/noise.md, without latency and with it."""
    races = 200
    found = [queued(*plan, seed) for seed in range(races)]
    for share, alarms in ((before, sum(it for it, _ in found)), (documented, sum(it for _, it in found))):
        assert alarms <= races * share + 3 * math.sqrt(races * share * (1 - share))
    if plan[2] < 0.5:
        assert sum(now and not alone for alone, now in found) <= 1
