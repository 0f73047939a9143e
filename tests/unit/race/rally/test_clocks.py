"""A clock that was set while a task ran is told from one that was not, whatever the machine's load."""

from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.rally.clocks import LEAST_SECONDS, WITNESSES, ClockWatch, never_set

GAPS = st.floats(0, 5)
REQUESTS = st.lists(st.tuples(st.floats(0, 1000), GAPS, GAPS, GAPS), min_size=1, max_size=30)


def watched(requests: list[tuple[float, float, float, float]], *, offset: float = 1e9) -> ClockWatch:
    """Watch requests: when each began to be made, how long that took, how long it ran, and what came after it."""
    watch = ClockWatch()
    for at, making, running, after in requests:
        watch.add(at + offset, at + making, running, making + running + after)
    return watch


@given(REQUESTS)
def test_a_clock_that_nobody_set_is_never_said_to_have_been(requests: list[tuple[float, float, float, float]]) -> None:
    assert watched(requests).shift() is None


@given(st.floats(0.2, 1e6), st.booleans(), st.integers(WITNESSES, 20))
def test_a_clock_that_was_set_is_told_in_either_direction(step: float, back: bool, count: int) -> None:
    watch = watched([(float(at), 0.001, 0.01, 0.001) for at in range(count)])
    for at in range(count):
        wall = 1e9 + count + at + (-step if back else step)
        watch.add(wall, count + at + 0.001, 0.01, 0.012)
    found = watch.shift()
    assert found is not None and step - 0.01 <= found <= step + 0.01


def test_a_process_that_was_held_up_between_two_readings_proves_nothing() -> None:
    watch = watched([(float(at), 0.001, 0.01, 0.001) for at in range(100)])
    for at in (100.0, 101.0):
        watch.add(1e9 + at, at + 0.9, 0.01, 0.012)  # 0.9 s passed after the wall clock was read, and were not counted
    assert watch.shift() is None
    assert LEAST_SECONDS < 0.9


@given(st.floats(0, 1e9), st.floats(-0.9, 0.9), GAPS)
def test_a_clock_that_agrees_within_a_second_is_taken_as_it_is(start: float, drift: float, making: float) -> None:
    wall = start - making + 1.7e9 + drift
    assert never_set(wall, start, making, 1.7e9) == wall


@given(st.floats(0, 1e9), st.floats(8, 1e8), st.booleans(), GAPS)
def test_a_clock_that_was_set_moves_no_moment(start: float, step: float, back: bool, making: float) -> None:
    right = start - making + 1.7e9
    found = never_set(right + (-step if back else step), start, making, 1.7e9)
    assert abs(found - right) <= making + 1e-6
