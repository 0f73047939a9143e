"""A finding in words: which way, how much, how sure, from how much."""

from fairlap.statistics.gates import MOST_MORE_BLOCKS, AllBlocks, GateFinding, GateVerdict
from fairlap.statistics.paired import as_change
from fairlap.wording.percentages import change_digits, margin_words, short_percent, signed

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
    interval = f"{short_percent(finding.confidence)} interval {signed(low)} to {signed(high)}, {found_in}"
    match finding.verdict:
        case GateVerdict.NO_DIFFERENCE:
            return f"{what}: no difference that matters: within {_both_ways(margin)} ({interval})"
        case GateVerdict.INCONCLUSIVE:
            text = f"{what}: cannot tell: {signed(change)} ({interval})"
            return f"{text}; {about_so_many(finding.more_blocks)} more would settle it at this noise"
        case GateVerdict.IMPROVED_WITHIN_MARGIN | GateVerdict.REGRESSED_WITHIN_MARGIN:
            size = f"real, its size about the margin of {margin_words(margin)} or below"
            return f"{what} is {_amount(change)} ({interval}): {size}"
        case GateVerdict.IMPROVED | GateVerdict.REGRESSED:
            return f"{what} is {_amount(change)} ({interval})"


def all_blocks_words(found: AllBlocks | None, *, more_is_better: bool) -> str:
    """Return what all blocks say of a gate that fewer had settled, to follow its sentence; "" where they say it."""
    if found is None:
        return ""
    change, low, high = change_of(found, more_is_better=more_is_better)
    interval = f"{short_percent(found.confidence)} interval {signed(low)} to {signed(high)}"
    return f"; all {found.blocks} together: {signed(change)} ({interval})"


def about_so_many(more: int) -> str:
    """Return how many more blocks would settle a gate, in words: "about 6", or "at least 999" at the bound."""
    return f"{'about' if more < MOST_MORE_BLOCKS else 'at least'} {more}"


def _both_ways(margin: float) -> str:
    if margin <= _LOPSIDED:
        return f"{margin_words(margin)} either way"
    return f"{signed(-margin / (1 + margin))} to {signed(margin)}"


def _amount(change: float) -> str:
    return f"{change_digits(change)} % {'lower' if change < 0 else 'higher'}"
