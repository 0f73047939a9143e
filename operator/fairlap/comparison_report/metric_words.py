"""Metrics, their values and verdicts in words."""

from __future__ import annotations

import math
from typing import Final

from fairlap.comparison.terms.gate_metrics import METRICS, MetricKind
from fairlap.statistics.sentences import change_digits, is_no_change

_HELD: Final = "\N{NO-BREAK SPACE}"
_SHORT = 3
"""letters of a unit that stays on its number's line"""
_SAID_BY_NAME: Final = tuple(metric for metric, kind in METRICS.items() if kind.unit == metric)
"""metrics whose name says what is counted"""
RESOURCES: Final = (
    "cpuSecondsPerOperation",
    "memoryPeakBytes",
    "diskWriteBytes",
    "storeBytes",
    "segments",
    "documents",
)
VERDICT_WORDS: Final = {
    "Improved": "better",
    "ImprovedWithinMargin": "better, within the margin",
    "NoDifference": "no difference that matters",
    "RegressedWithinMargin": "worse, within the margin",
    "Regressed": "worse",
    "Inconclusive": "cannot tell",
    "NotComparable": "not comparable",
    "Mixed": "a trade",
}
VERDICT_SIGNS: Final = {
    "Improved": "▲",
    "ImprovedWithinMargin": "△",
    "NoDifference": "●",
    "RegressedWithinMargin": "▽",
    "Regressed": "▼",
    "Inconclusive": "?",
    "NotComparable": "⊘",
    "Mixed": "◆",
}


DISAGREE: Final = "variants disagree"
"""Mixed, and no variant of its own is: one is better, another worse."""


def words_of(metric: str) -> MetricKind:
    """Return what a metric is; one that is not known, of a newer operator, goes by its own name."""
    return METRICS.get(metric) or MetricKind(metric, "", metric)


def amount(value: float | None, unit: str) -> str:
    """Return a value with its unit as people write it: three digits that count, GiB for bytes, s for many ms."""
    if value is None or not math.isfinite(value):
        return "–"
    if unit in ("bytes", "B"):
        return _scaled_bytes(value)
    if unit == "ms" and abs(value) >= 10_000:
        value, unit = value / 1000, "s"
    elif unit == "s" and 0 < abs(value) < 0.1:
        value, unit = (value * 1000, "ms") if abs(value) >= 1e-4 else (value * 1e6, "µs")
    if not unit or unit in _SAID_BY_NAME:
        return digits(value)
    return f"{digits(value)}{_HELD if len(unit) <= _SHORT else ' '}{unit}"


def digits(value: float) -> str:
    """Return a number with three digits that count, or all of those before the point."""
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    if places > 6:
        return f"{value:.2e}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(value: float | None, sign: bool = True) -> str:
    """Return per cent with one digit after the point, small ones with two that count, and with the sign.

    A minus is as long as a plus.
    """
    if value is None or not math.isfinite(value):
        return "–"
    text = change_digits(value / 100) if abs(value) < 100 else f"{abs(value):,.0f}"
    mark = ("−" if value < 0 else "+") if sign and not is_no_change(value / 100) else ""
    return f"{mark}{text}{_HELD}%"


def interval(low: float | None, high: float | None) -> str:
    """Return both ends of an interval in per cent."""
    return "–" if low is None or high is None else f"{percent(low)[:-2]} to {percent(high)}"


def duration(seconds: float | None) -> str:
    """Return a time as people say it: 45 s, 12 min, 2 h 5 min."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _scaled_bytes(value: float) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(value) >= size:
            return f"{digits(value / size)}{_HELD}{unit}"
    return f"{digits(value)}{_HELD}bytes"
