"""Bytes as people read them, in binary units."""

from collections.abc import Iterable
from typing import Final

from fairlap.wording.numerals import HELD, NOTHING, digits

_SCALES: Final = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def scaled_bytes(value: float) -> str:
    """Return bytes in the unit, up to GiB, in which they are a number from 1 up, with three digits that count."""
    for size, unit in _SCALES[1:]:
        if abs(value) >= size:
            return f"{digits(value / size)}{HELD}{unit}"
    return f"{digits(value)}{HELD}bytes"


def size_text(value: float | None) -> str:
    """Return bytes in the largest unit, up to GiB, that leaves at least 1, with a tenth; "-" when there are none."""
    if value is None:
        return NOTHING
    amount, units = float(value), ["B", "KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def byte_scale(values: Iterable[float]) -> tuple[float, str]:
    """Return divisor and unit in which the largest of `values` (bytes) is a number from 1 up."""
    largest = max(values, default=0)
    return next(((float(size), unit) for size, unit in _SCALES if largest >= size), (1.0, "bytes"))
