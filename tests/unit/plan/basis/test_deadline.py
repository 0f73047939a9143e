"""A deadline is arithmetic on what was said and what the clock shows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import START

from fairlap.plan.basis.deadline import Deadline, wake_in

MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
SPANS = st.timedeltas(timedelta(0), timedelta(days=400))
DEADLINES = st.builds(Deadline, MOMENTS, SPANS)


@given(DEADLINES, MOMENTS)
def test_it_has_passed_when_nothing_is_left(deadline: Deadline, now: datetime) -> None:
    assert deadline.passed(now) == (now >= deadline.end) == (deadline.left(now) <= timedelta(0))
    assert deadline.left(now) == deadline.end - now


@given(DEADLINES, MOMENTS, SPANS)
def test_once_passed_it_stays_passed(deadline: Deadline, now: datetime, later: timedelta) -> None:
    assert deadline.left(now + later) == deadline.left(now) - later
    assert deadline.passed(now + later) or not deadline.passed(now)


@given(st.lists(DEADLINES, max_size=4), MOMENTS)
def test_the_next_look_is_when_the_first_of_them_passes(deadlines: list[Deadline], now: datetime) -> None:
    seconds = wake_in(now, *deadlines)
    ahead = [deadline for deadline in deadlines if not deadline.passed(now)]
    assert seconds >= 1
    if not ahead:
        assert seconds == 1
        return
    then = now + timedelta(seconds=seconds)
    assert any(deadline.passed(then) for deadline in ahead)
    if seconds > 1:
        assert not any(deadline.passed(then - timedelta(milliseconds=1)) for deadline in ahead)


@pytest.mark.parametrize(("seconds", "passed"), [(-1, False), (59.999, False), (60, True), (61, True)])
def test_the_moment_itself_is_past(seconds: float, passed: bool) -> None:
    assert Deadline(START, timedelta(minutes=1)).passed(START + timedelta(seconds=seconds)) is passed


def test_a_time_beyond_all_dates_is_only_long() -> None:
    """A spec may allow more hours than the calendar has years for."""
    for_ever = Deadline(START, timedelta(days=900_000_000))
    assert not for_ever.passed(START)
    assert wake_in(START, for_ever, Deadline(START, timedelta(seconds=30))) == 30
