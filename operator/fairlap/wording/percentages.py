"""Shares and changes in per cent: a small one never reads as none, nor what is not certain as certain."""

import math
from typing import Final

from fairlap.wording.numerals import HELD, NOTHING, figure
from fairlap_race.contract.as_percent import as_percent

_NO_CHANGE: Final = 1e-12
"""A smaller share is nothing but rounding."""


def short_percent(share: float) -> str:
    """Return a share (0 to 1) in per cent with three digits that count at most, or more if it would read as all."""
    digits = next(digits for digits in range(3, 20) if float(f"{share * 100:.{digits}g}") < 100 or share >= 1)
    return f"{figure(share * 100, digits)} %"


def margin_words(share: float) -> str:
    """Return a margin, which somebody wrote, in per cent with at most four digits that count."""
    return f"{figure(share * 100, 4)} %"


def change_digits(share: float) -> str:
    """Return the size of a change in per cent, without sign: 0.05 is "5.0".

    A large one has no digit after the point, a small one two that count: what is a change never reads as none, nor a
    fall (below 0) as one by all, since no positive number falls by 100 %.
    """
    percent = abs(share) * 100
    if percent >= 99.5:
        return _below_all(percent) if share < 0 else f"{percent:.0f}"
    return f"{percent:.1f}" if percent >= 0.05 or is_no_change(share) else figure(percent, 2)


def _below_all(percent: float) -> str:
    texts = (f"{percent:.{digits}f}" for digits in range(1, 15))
    return next((text for text in texts if float(text) < 100), f"{percent:.0f}")


def is_no_change(share: float) -> bool:
    """Tell whether a change is none at all."""
    return abs(share) < _NO_CHANGE


def signed(share: float) -> str:
    """Return a change as a percentage with its sign; none has no sign."""
    sign = "" if is_no_change(share) else "-" if share < 0 else "+"
    return f"{sign}{change_digits(share)} %"


def percent(value: float | None, sign: bool = True) -> str:
    """Return per cent with one digit after the point, small ones with two that count, and with the sign.

    A minus is as long as a plus.
    """
    if value is None or not math.isfinite(value):
        return "–"
    text = change_digits(value / 100) if abs(value) < 100 else f"{abs(value):,.0f}"
    mark = ("−" if value < 0 else "+") if sign and not is_no_change(value / 100) else ""
    return f"{mark}{text}{HELD}%"


def interval(low: float | None, high: float | None) -> str:
    """Return both ends of an interval in per cent."""
    return "–" if low is None or high is None else f"{percent(low)[:-2]} to {percent(high)}"


def share_percent(share: float | None) -> str:
    """Return a share (0 to 1) as a cell of a table, in hundredths of a per cent: never as none what is some."""
    return _of_table(share, 2)


def tenths_of_percent(share: float | None) -> str:
    """Return the same in tenths of a per cent; "-" when there is none."""
    return _of_table(share, 1)


def _of_table(share: float | None, decimals: int) -> str:
    if share is None:
        return NOTHING
    least = 10.0**-decimals
    return f"< {least:g} %" if 0 < share * 100 < least else as_percent(share, decimals=decimals)


def two_digits(percent: float) -> str:
    """Return per cent, without the sign, with two digits that count, or all of those before the point."""
    return f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"
