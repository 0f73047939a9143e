"""Quantities, heap sizes and durations."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fairlap.api.base import structural_schema
from fairlap.api.quantity import DURATION, HEAP, LONGEST, PATCH, QUANTITY, parse_duration, parse_heap, parse_quantity
from fairlap.api.spec import ResourceList


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("500m", 0.5),
        ("2", 2),
        ("2Gi", 2**31),
        ("1.5", 1.5),
        ("4G", 4e9),
        ("0", 0),
        ("1Ei", 2**60),
        ("4E", 4e18),
        ("250000u", 0.25),
        ("500000000n", 0.5),
    ],
)
def test_quantities(text: str, number: float) -> None:
    assert parse_quantity(text) == number


@given(st.integers(0, 100_000))
def test_the_same_amount_is_the_same_number(thousandths: int) -> None:
    """A request of 700m is not more than a limit of 0.7."""
    assert parse_quantity(f"{thousandths}m") == parse_quantity(f"{thousandths // 1000}.{thousandths % 1000:03}")


@pytest.mark.parametrize("text", ["", "Gi", "-1", "1 Gi", "1gb"])
def test_bad_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("number", "instead"),
    [
        (0.5, 'write "0.5" or 500m'),
        (1234.25, 'write "1234.25" or 1234250m'),
        (0.0005, 'write "0.0005"'),
        (1e-7, "write for example 500m, 2 or 4Gi"),
        (-0.5, "write for example 500m, 2 or 4Gi"),
        (float("nan"), "write for example 500m, 2 or 4Gi"),
        (float("inf"), "write for example 500m, 2 or 4Gi"),
    ],
)
def test_a_number_with_a_fraction_is_no_quantity_of_a_manifest(number: float, instead: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ResourceList.model_validate({"cpu": number})
    (detail,) = refused.value.errors()
    assert detail["msg"].endswith(instead)


@given(st.integers(1, 100_000))
def test_texts_and_whole_numbers_are_quantities_and_any_amount_in_a_patch(thousandths: int) -> None:
    amount = thousandths / 1000
    for given_as in (str(amount), f"{thousandths}m", thousandths, float(thousandths)):
        assert ResourceList.model_validate({"cpu": given_as}).cpu == str(given_as)
    assert ResourceList.model_validate({"cpu": amount}, context=PATCH).cpu == str(amount)


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


@given(st.from_regex(DURATION, fullmatch=True))
def test_every_duration_that_the_schema_takes_is_one(text: str) -> None:
    try:
        assert timedelta(0) <= parse_duration(text) <= LONGEST
    except ValueError:
        assert text.strip() == "" or not text.isascii() or text.endswith("\n")


@pytest.mark.parametrize("text", ["99999999h", "9" * 19 + "s", "9" * 5000 + "h"])
def test_a_duration_beyond_all_clocks_is_cut(text: str) -> None:
    assert parse_duration(text) == LONGEST


@given(st.from_regex(QUANTITY, fullmatch=True), st.from_regex(HEAP, fullmatch=True))
def test_no_quantity_overflows(quantity: str, heap: str) -> None:
    for parse, text in ((parse_quantity, quantity), (parse_heap, heap)):
        try:
            assert parse(text) >= 0
        except ValueError:
            assert len(text) > 40 or text.endswith("\n")


@pytest.mark.parametrize("text", ["9" * 5000, "9" * 5000 + "g", "1" + "0" * 400 + "Pi"])
def test_texts_of_any_length_are_refused(text: str) -> None:
    for parse in (parse_quantity, parse_heap):
        with pytest.raises(ValueError, match="write for example"):
            parse(text)


def test_a_quantity_below_zero_is_refused_by_the_schema_as_by_the_operator() -> None:
    schema = structural_schema(ResourceList)["properties"]["cpu"]
    assert schema["x-kubernetes-int-or-string"] and schema["minimum"] == 0
    with pytest.raises(ValidationError):
        ResourceList.model_validate({"cpu": -1})
