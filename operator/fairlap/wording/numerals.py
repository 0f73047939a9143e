"""Numbers as people read them: with as many digits as count."""

import math
from collections.abc import Iterable
from typing import Final

HELD: Final = "\N{NO-BREAK SPACE}"
"""between a number and its unit, so that they stay on one line"""
NOTHING: Final = "-"
"""in a table, where there is no number"""


def figure(value: float, digits: int) -> str:
    """Return a number with so many significant digits and never an exponent; whole ones keep all of theirs."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    if abs(value) >= 1:
        return f"{value:.0f}"
    return f"{value:.{digits - 1 - math.floor(math.log10(abs(value)))}f}".rstrip("0")


def figure_text(value: float) -> str:
    """Return a number in a sentence: whole ones and large ones in full, others with four digits that count."""
    if 1e-6 < abs(value) < 1000 and value != math.floor(value):
        return figure(value, 4)
    in_full = value == 0 or 1 <= abs(value) < 1e15
    return f"{value:,.0f}" if in_full else f"{value:.4g}"


def digits(value: float) -> str:
    """Return a number with three digits that count, or all of those before the point."""
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    if places > 6:
        return f"{value:.2e}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate_text(rate: float) -> str:
    """Return a rate in a sentence: whole from a hundred on, else with three digits that count."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separated and `digits` decimals; "-" when there is none."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def digits_for(values: Iterable[float]) -> int:
    """Return how many decimals keep two or three figures of the smallest value that is not 0, at most 9.

    None where all are whole numbers.
    """
    known = [value for value in values if value]
    smallest = 100.0 if all(value == int(value) for value in known) else min(map(abs, known))
    if smallest < 1:
        return min(9, 1 - math.floor(math.log10(smallest)))
    return 0 if smallest >= 100 else 1
