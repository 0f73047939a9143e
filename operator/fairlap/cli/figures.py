"""Numbers as people read them; pure, standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

NOTHING = "-"
_SCALES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separated and `digits` decimals; "-" when there is none."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def digits_for(values: Iterable[float]) -> int:
    """Return how many decimals keep two or three figures of the smallest value that is not 0, at most 3.

    None where all are whole numbers.
    """
    known = [value for value in values if value]
    smallest = 100.0 if all(value == int(value) for value in known) else min(map(abs, known))
    return next((digits for digits, least in enumerate((100, 1, 0.1)) if smallest >= least), 3)


def figure(found: Mapping[str, Any] | None, digits: int = 0, divisor: float = 1) -> str:
    """Return the median over the races with the smallest and largest, as "median (min–max)"."""
    if not found:
        return NOTHING
    values = (found.get(key) for key in ("median", "min", "max"))
    middle, low, high = (number(None if value is None else value / divisor, digits) for value in values)
    return middle if found.get("races") == 1 else f"{middle} ({low}–{high})"


def percent(share: float | None) -> str:
    """Return a share (0 to 1) as a percentage; a small one never reads as none at all."""
    if share is None:
        return NOTHING
    if 0 < share < 0.0001:
        return "< 0.01 %"
    return f"{share * 100:.2f} %"


def byte_scale(values: Iterable[float]) -> tuple[float, str]:
    """Return divisor and unit in which the largest of `values` (bytes) is a number from 1 up."""
    largest = max(values, default=0)
    return next(((float(size), unit) for size, unit in _SCALES if largest >= size), (1.0, "bytes"))


def short_digest(image: str) -> str:
    """Return the first 12 hex digits of an image's digest, or the text as it is when it has none."""
    found = re.findall(r"sha256:([0-9a-f]{12})", image)
    return f"sha256:{found[-1]}" if found else image


def words(key: str) -> str:
    """Return a camelCase name as words: "diskReadBytes" as "disk read bytes"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).lower()
