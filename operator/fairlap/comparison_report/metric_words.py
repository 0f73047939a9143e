"""Metrics, their values and verdicts in words."""

from __future__ import annotations

import math
from typing import Final

from fairlap.comparison.terms.gate_metrics import METRICS, MetricKind
from fairlap.wording.numerals import HELD, digits
from fairlap.wording.sizes import scaled_bytes

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


NO_GATE: Final = "nothing to decide"
"""of the gates, where all of them are only reported"""
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
        return scaled_bytes(value)
    if unit == "ms" and abs(value) >= 10_000:
        value, unit = value / 1000, "s"
    elif unit == "s" and 0 < abs(value) < 0.1:
        value, unit = (value * 1000, "ms") if abs(value) >= 1e-4 else (value * 1e6, "µs")
    if not unit or unit in _SAID_BY_NAME:
        return digits(value)
    return f"{digits(value)}{HELD if len(unit) <= _SHORT else ' '}{unit}"
