"""A finding in words: which way, how much, how sure, from how much."""

import math

from fairlap.statistics.gates import GateFinding, GateVerdict


def describe(what: str, finding: GateFinding, margin: float, *, more_is_better: bool) -> str:
    """Return a sentence about the number `what`, for example "bulk-index throughput"."""
    low, high = sorted(math.expm1(-end if more_is_better else end) for end in (finding.low, finding.high))
    change = math.expm1(-finding.estimate.mean if more_is_better else finding.estimate.mean)
    blocks = f"{finding.blocks} pairs"
    interval = f"{_confidence(finding.confidence)} interval {_signed(low)} to {_signed(high)}, {blocks}"
    match finding.verdict:
        case GateVerdict.NO_DIFFERENCE:
            return f"{what}: no difference that matters: within {_percent(margin)} either way ({interval})"
        case GateVerdict.INCONCLUSIVE:
            text = f"{what}: cannot tell: {_signed(change)} ({interval})"
            return f"{text}; about {finding.more_blocks} more would settle it at this noise"
        case GateVerdict.IMPROVED_WITHIN_MARGIN | GateVerdict.REGRESSED_WITHIN_MARGIN:
            size = f"real, its size about the margin of {_percent(margin)} or below"
            return f"{what} is {_amount(change)} ({interval}): {size}"
        case GateVerdict.IMPROVED | GateVerdict.REGRESSED:
            return f"{what} is {_amount(change)} ({interval})"


def _confidence(share: float) -> str:
    return f"{share * 100:.3g} %"


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %"


def _digits(share: float) -> str:
    return f"{abs(share) * 100:.1f}" if abs(share) < 0.995 else f"{abs(share) * 100:.0f}"


def _signed(share: float) -> str:
    return f"{'-' if share < 0 else '+'}{_digits(share)} %"


def _amount(change: float) -> str:
    return f"{_digits(change)} % {'lower' if change < 0 else 'higher'}"
