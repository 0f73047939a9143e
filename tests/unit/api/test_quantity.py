"""Quantities, heap sizes and durations."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.quantity import parse_duration, parse_heap, parse_quantity


@pytest.mark.parametrize(
    ("text", "number"), [("500m", 0.5), ("2", 2), ("2Gi", 2**31), ("1.5", 1.5), ("4G", 4e9), ("0", 0)]
)
def test_quantities(text: str, number: float) -> None:
    assert parse_quantity(text) == number


@pytest.mark.parametrize("text", ["", "Gi", "-1", "1 Gi", "1gb"])
def test_bad_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        parse_quantity(text)


def test_heap() -> None:
    assert parse_heap("512m") == 2**29
    with pytest.raises(ValueError, match="heap size"):
        parse_heap("1G")


@given(st.integers(1, 10**6))
def test_durations_survive_the_round_trip(seconds: int) -> None:
    parts = (seconds // 3600, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")
    text = "".join(f"{number}{unit}" for number, unit in parts if number)
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "15", "m", "1h-1m", "1m1h"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ValueError, match="15m"):
        parse_duration(text)
