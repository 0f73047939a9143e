"""Times as people say them, as a table."""

import pytest

from fairlap.wording.durations import duration, expected_time, tenths_of_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0, "0 s"), (89.4, "89 s"), (3569, "59 min"), (3570, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_a_time_is_said_in_its_largest_unit(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(0, "1 min"), (1.4, "1 min"), (99.4, "99 min"), (99.9, "100 min"), (100, "1.7 h"), (6000, "100.0 h")],
)
def test_an_expected_time_is_a_minute_at_least(minutes: float, text: str) -> None:
    assert expected_time(minutes) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0.0"), (12.34, "12.3"), (0.1, "0.1"), (0.0123, "0.012")])
def test_less_than_a_tenth_of_a_second_is_not_none(seconds: float, text: str) -> None:
    assert tenths_of_seconds(seconds) == text
