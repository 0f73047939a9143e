"""A finding in words: which way, how much, how sure, from how much."""

import math

from fairlap.statistics.gates import MOST_MORE_BLOCKS, AllBlocks, GateFinding, GateVerdict
from fairlap.statistics.paired import as_change

_NO_CHANGE = 1e-12
"""A smaller share is nothing but rounding."""
_LOPSIDED = 0.1
"""A margin above which up and down are visibly not as far in per cent: -33 % is as far from none as +50 %."""


def change_of(finding: GateFinding | AllBlocks, *, more_is_better: bool) -> tuple[float, float, float]:
    """Return a number's change and both ends of its interval, as shares of the baseline's (-0.1: a tenth less)."""
    low, high = sorted(as_change(-end if more_is_better else end) for end in (finding.low, finding.high))
    return as_change(-finding.estimate.mean if more_is_better else finding.estimate.mean), low, high


def describe(what: str, finding: GateFinding, margin: float, *, more_is_better: bool, of: str = "") -> str:
    """Return a sentence about the number `what`, for example "bulk-index throughput".

    `of` says what it was found in; without it, the finding's blocks are pairs.
    """
    change, low, high = change_of(finding, more_is_better=more_is_better)
    found_in = of or f"{finding.blocks} pairs"
    interval = f"{confidence_words(finding.confidence)} interval {signed(low)} to {signed(high)}, {found_in}"
    match finding.verdict:
        case GateVerdict.NO_DIFFERENCE:
            return f"{what}: no difference that matters: within {_both_ways(margin)} ({interval})"
        case GateVerdict.INCONCLUSIVE:
            text = f"{what}: cannot tell: {signed(change)} ({interval})"
            return f"{text}; {about_so_many(finding.more_blocks)} more would settle it at this noise"
        case GateVerdict.IMPROVED_WITHIN_MARGIN | GateVerdict.REGRESSED_WITHIN_MARGIN:
            size = f"real, its size about the margin of {_percent(margin)} or below"
            return f"{what} is {_amount(change)} ({interval}): {size}"
        case GateVerdict.IMPROVED | GateVerdict.REGRESSED:
            return f"{what} is {_amount(change)} ({interval})"


def all_blocks_words(found: AllBlocks | None, *, more_is_better: bool) -> str:
    """Return what all blocks say of a gate that fewer had settled, to follow its sentence; "" where they say it."""
    if found is None:
        return ""
    change, low, high = change_of(found, more_is_better=more_is_better)
    interval = f"{confidence_words(found.confidence)} interval {signed(low)} to {signed(high)}"
    return f"; all {found.blocks} together: {signed(change)} ({interval})"


def about_so_many(more: int) -> str:
    """Return how many more blocks would settle a gate, in words: "about 6", or "at least 999" at the bound."""
    return f"{'about' if more < MOST_MORE_BLOCKS else 'at least'} {more}"


def figure(value: float, digits: int) -> str:
    """Return a number with so many significant digits and never an exponent; whole ones keep all of theirs."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    if abs(value) >= 1:
        return f"{value:.0f}"
    return f"{value:.{digits - 1 - math.floor(math.log10(abs(value)))}f}".rstrip("0")


def confidence_words(share: float) -> str:
    """Return a confidence in per cent, with as many digits as it takes not to look certain."""
    digits = next(digits for digits in range(3, 20) if float(f"{share * 100:.{digits}g}") < 100 or share >= 1)
    return f"{figure(share * 100, digits)} %"


def _percent(share: float) -> str:
    return f"{figure(share * 100, 4)} %"


def _both_ways(margin: float) -> str:
    if margin <= _LOPSIDED:
        return f"{_percent(margin)} either way"
    return f"{signed(-margin / (1 + margin))} to {signed(margin)}"


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


def _amount(change: float) -> str:
    return f"{change_digits(change)} % {'lower' if change < 0 else 'higher'}"
