"""What share of its target throughput a task reached, on plans and drifts worked out by hand and at random."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.record import LoadGenerator, Task
from fairlap_race.rally.schedule import Drift, judge_lateness


def drift(starts, planned, busy=0.01):
    found = Drift()
    for start, due in zip(starts, planned, strict=True):
        found.add(start, start - due, busy)
    return found


def test_on_time():
    found = drift([n / 10 for n in range(100)], [n / 10 for n in range(100)])
    assert found.share() == 1.0 and found.busy_share(1) == pytest.approx(1 / 9.9, abs=1e-3)


def test_half_as_fast_as_planned():
    found = drift([n / 5 for n in range(100)], [n / 10 for n in range(100)], busy=0.2)
    assert found.share() == 0.5 and found.busy_share(1) == 1.0 and found.busy_share(2) == pytest.approx(0.505, abs=1e-3)


def test_a_constant_delay_is_no_drift():
    assert drift([1 + n / 10 for n in range(100)], [n / 10 for n in range(100)]).share() == 1.0


def test_random_arrivals_that_are_kept_are_kept():
    dice, planned = random.Random(3), [0.0]
    while len(planned) < 60:
        planned.append(planned[-1] + dice.expovariate(10))
    assert drift(planned, planned).share() == 1.0


def test_too_little_to_tell():
    assert drift([0, 10], [0, 1]).share() is None
    assert drift([n / 1000 for n in range(100)], [0.0] * 100).busy_share(1) is None
    assert Drift().share() is None


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e3), st.floats(0, 100)), max_size=50))
def test_shares_are_shares(requests):
    found = Drift()
    for start, wait, busy in requests:
        found.add(start, wait, busy)
    for share in (found.share(), found.busy_share(4)):
        assert share is None or 0 <= share <= 1


@pytest.mark.parametrize(
    ("share", "busy", "saturated"),
    [(None, None, False), (1.0, 0.1, False), (0.98, 0.1, False), (0.9, 0.95, False), (0.9, 0.1, True)],
)
def test_late_although_free(share, busy, saturated):
    task = Task("search", schedule_share=share, client_busy_share=busy)
    assert task.keeps_schedule is (share is None or share >= 0.98)
    found = judge_lateness(LoadGenerator(), [task])
    assert found.saturated is saturated
    assert ("search (10% busy)" in found.why) is saturated
    already = judge_lateness(LoadGenerator(saturated=True, why="used 99%"), [task])
    assert already.saturated and already.why.startswith("used 99%")
