"""Pauses that double, as a table and as a property."""

from hypothesis import given
from hypothesis import strategies as st

from fairlap.kube.backoff import doubled


def test_pauses_double_up_to_the_longest() -> None:
    assert [doubled(1.0, times, 15.0) for times in range(6)] == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


@given(st.floats(0.1, 10.0), st.integers(0, 10**6), st.floats(10.0, 1000.0))
def test_no_number_of_times_is_too_many(first: float, times: int, longest: float) -> None:
    assert first <= doubled(first, times, longest) <= doubled(first, times + 1, longest) <= longest
