"""What several gates, or several contenders, say together. Pure."""

from collections.abc import Iterable
from enum import StrEnum


class ComparisonVerdict(StrEnum):
    """What all gates together say."""

    IMPROVED = "Improved"
    IMPROVED_WITHIN_MARGIN = "ImprovedWithinMargin"
    NO_DIFFERENCE = "NoDifference"
    REGRESSED_WITHIN_MARGIN = "RegressedWithinMargin"
    REGRESSED = "Regressed"
    MIXED = "Mixed"
    INCONCLUSIVE = "Inconclusive"
    NOT_COMPARABLE = "NotComparable"


WORSE = frozenset({ComparisonVerdict.REGRESSED, ComparisonVerdict.REGRESSED_WITHIN_MARGIN})
BETTER = frozenset({ComparisonVerdict.IMPROVED, ComparisonVerdict.IMPROVED_WITHIN_MARGIN})
_ORDER = (
    ComparisonVerdict.MIXED, ComparisonVerdict.REGRESSED, ComparisonVerdict.REGRESSED_WITHIN_MARGIN,
    ComparisonVerdict.INCONCLUSIVE, ComparisonVerdict.IMPROVED, ComparisonVerdict.IMPROVED_WITHIN_MARGIN,
    ComparisonVerdict.NO_DIFFERENCE,
)  # fmt: skip
"""The first of these that any of them says is what all say."""


def together(verdicts: Iterable[str]) -> ComparisonVerdict:
    """Return what all of them together say; Inconclusive of none."""
    found = {ComparisonVerdict(verdict) for verdict in verdicts}
    if found & WORSE and found & BETTER:
        return ComparisonVerdict.MIXED
    return next((verdict for verdict in _ORDER if verdict in found), ComparisonVerdict.INCONCLUSIVE)
