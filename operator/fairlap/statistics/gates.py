"""Whether each gate of a comparison got better, worse or neither, looked at after some blocks and after more of them.

All ratios here are those of cost: ln(contender / baseline) where more is worse, its mirror where more is better. Thus
every rule is written once, and exchanging the arms mirrors the verdict (unless a gate is `to_rule_out`: a worsening).
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from statistics import variance
from typing import NamedTuple

from fairlap.statistics.distributions import shift_found, t_quantile
from fairlap.statistics.moderation import Prior, fitted_to, moderated
from fairlap.statistics.multiplicity import Tested, holm
from fairlap.statistics.paired import Estimate, as_change, paired

MOST_MORE_BLOCKS = 999
"""Nobody races more; where so many would not do either, that is said instead of a number."""


NO_SPREAD = 1e-9
"""Log ratios that differ by less have none: not even rounding would hide so little noise."""


def is_flat(ratios: Sequence[float]) -> bool:
    """Tell whether log ratios show no noise at all."""
    return max(ratios) - min(ratios) < NO_SPREAD


class GateVerdict(StrEnum):
    """What is known of one gate."""

    IMPROVED = "Improved"
    IMPROVED_WITHIN_MARGIN = "ImprovedWithinMargin"
    NO_DIFFERENCE = "NoDifference"
    REGRESSED_WITHIN_MARGIN = "RegressedWithinMargin"
    REGRESSED = "Regressed"
    INCONCLUSIVE = "Inconclusive"


class Look(NamedTuple):
    """After how many blocks it is looked, and with which probability of a false alarm."""

    blocks: int
    alpha: float


USUAL_ALPHA = 0.05
SEQUENTIAL = (Look(3, 0.010), Look(5, 0.0125), Look(7, 0.015), Look(10, 0.025))
"""Together 5 % false alarms; looking each time at 5 % would give 14 %. Simulated in bench/error_rates.py."""


def fixed(blocks: int) -> tuple[Look, ...]:
    """Return the one look of a design whose number of blocks was fixed beforehand."""
    return (Look(blocks, USUAL_ALPHA),)


class Gate(NamedTuple):
    """A number that decides."""

    margin: float
    """from which change on a difference matters; 0.05 is a factor of 1.05, up or down"""
    family: str = ""
    """numbers with like noise, which share a prior"""
    to_rule_out: bool = False
    """asked is whether a worsening of the margin is ruled out: one within it leaves that open until the last look"""


class GateFinding(NamedTuple):
    """What a gate's blocks say."""

    verdict: GateVerdict
    estimate: Estimate
    """of the cost's log ratio"""
    low: float
    high: float
    """interval of that mean, at the level at which the verdict was reached"""
    confidence: float
    """of that interval: 0.95 means that it holds the true mean 19 times in 20"""
    not_worse: bool
    """a worsening of the margin or more is ruled out, by this look or an earlier one"""
    blocks: int
    """how many it was reached with"""
    more_blocks: int
    """about how many more would settle an inconclusive one, at the noise that was seen; else 0"""
    differs: bool = False
    """a difference is shown, be it one that does not matter"""
    ruled_out_before: bool = False
    """an earlier look ruled the margin out, and this one does not"""


class AllBlocks(NamedTuple):
    """What all blocks say of a gate that an earlier look has settled. It tells a size and changes no verdict."""

    estimate: Estimate
    """of the cost's log ratio"""
    low: float
    high: float
    """interval of that mean"""
    confidence: float
    """of that interval, for all gates at once"""
    blocks: int
    """how many they are"""


def judge_as_seen(
    seen: Sequence[Mapping[Look, Sequence[float]]],
    gates: Sequence[Gate],
    priors: Mapping[str, Prior] | None = None,
) -> dict[int, GateFinding]:
    """Return the finding of each gate, by its number; one that was never seen has none.

    `seen`: for each gate its cost ratios at each look that is reached: blocks after the last one are left for the next.
    A gate that one look settles stays so. A worsening that one look shows is not taken back by a later one that shows
    none, unless that one rules the margin out; a margin that one rules out stays so, unless a later one shows a
    worsening of as much. A gate that is flat up to a look, and not up to the last one, is not judged there: what has
    noise, and has shown none yet, cannot say how much it has. A later look may have none of a gate, or others for the
    same blocks, since a race lacked a task: what was settled before stays so, and what was not takes its share of the
    level.
    """
    found: dict[int, GateFinding] = {}
    for look in sorted({look for each in seen for look in each}):
        open_yet = [
            number
            for number, gate in enumerate(gates)
            if seen[number] and (number not in found or is_open(found[number], gate))
        ]
        judged = [it for it in open_yet if look in seen[it] and not _is_flat_yet(seen[it], look)]
        if not judged:
            continue
        closed = [finding for number, finding in found.items() if number not in open_yet]
        present = [seen[number][look] for number in judged]
        estimates = _estimates(present, [gates[number] for number in judged], priors or {})
        margins = [gates[number].margin for number in judged]
        same = sum(finding.verdict == GateVerdict.NO_DIFFERENCE for finding in closed)
        unrejected = same + len(open_yet) - len(judged)
        shown = [number in found and found[number].differs for number in judged]
        now = judge_estimates(estimates, margins, look, unrejected, shown)
        found |= {
            number: _not_worse_as_before(finding, found.get(number))
            for number, finding, before in zip(judged, now, shown, strict=True)
            if not before or finding.differs or finding.not_worse
        }
    return found


def _not_worse_as_before(finding: GateFinding, before: GateFinding | None) -> GateFinding:
    # Each look has its level of ruling the margin out, so that keeping what any of them did costs no more than that.
    kept = before is not None and before.not_worse and finding.verdict != GateVerdict.REGRESSED
    return finding._replace(not_worse=finding.not_worse or kept, ruled_out_before=kept and not finding.not_worse)


def _is_flat_yet(seen: Mapping[Look, Sequence[float]], look: Look) -> bool:
    return is_flat(seen[look]) and not is_flat(seen[max(seen)])


def over_all_blocks(
    ratios: Sequence[Sequence[float]],
    gates: Sequence[Gate],
    last: Look,
    priors: Mapping[str, Prior] | None = None,
    *,
    tests: int,
) -> list[AllBlocks]:
    """Return for each gate what the blocks up to the last look that is reached say; `tests`: how many share its level.

    Repeated confidence intervals (Jennison and Turnbull 1989): each look's is at that look's level, so that those of
    all looks hold together; all gates share the level (Bonferroni), also those that were settled before.
    """
    estimates = _estimates([series[: last.blocks] for series in ratios], gates, priors or {})
    level = last.alpha / tests
    return [AllBlocks(each, *each.interval(level), 1 - level, last.blocks) for each in estimates]


def judge_estimates(
    estimates: Sequence[Estimate],
    margins: Sequence[float],
    look: Look,
    unrejected: int = 0,
    shown: Sequence[bool] = (),
) -> list[GateFinding]:
    """Return the finding of each gate from the estimate of its cost ratio at one look.

    `unrejected`: how many more gates earlier looks have closed without a difference; `shown`: for each gate whether one
    has shown one. Such a gate takes no share of the level from the others, and is told by what this look shows.
    """
    found = [estimate.p_value() for estimate in estimates]
    before = shown or [False] * len(found)
    ranked = [0.0 if each else value for value, each in zip(found, before, strict=True)]
    tests = [
        Tested(test.rejected and value <= test.level, test.level)
        for test, value in zip(holm(ranked, look.alpha, unrejected), found, strict=True)
    ]
    return [
        _finding(estimate, test, look, margin) for estimate, test, margin in zip(estimates, tests, margins, strict=True)
    ]


def is_open(finding: GateFinding, gate: Gate) -> bool:
    """Tell whether a later look may say more of a gate."""
    within = finding.verdict == GateVerdict.REGRESSED_WITHIN_MARGIN
    return finding.verdict == GateVerdict.INCONCLUSIVE or (gate.to_rule_out and within and not finding.not_worse)


def _estimates(
    present: Sequence[Sequence[float]], gates: Sequence[Gate], priors: Mapping[str, Prior]
) -> list[Estimate]:
    """Return each gate's estimate, moderated by its family's prior; a number without any noise stays exact."""
    noise = [(variance(series), len(series) - 1.0) for series in present]
    found = []
    for series, gate, (own, _) in zip(present, gates, noise, strict=True):
        estimate, prior = paired(series), priors.get(gate.family)
        if prior and own > 0:
            family = [each for each, other in zip(noise, gates, strict=True) if other.family == gate.family]
            estimate = moderated(estimate, len(series), fitted_to(prior, family))
        found.append(estimate)
    return found


def _finding(estimate: Estimate, test: Tested, look: Look, margin: float) -> GateFinding:
    most = math.log1p(margin)
    # Two tests of one side each: the interval of twice their level (Schuirmann 1987).
    inner_low, inner_high = estimate.interval(2 * look.alpha)
    level = test.level
    verdict = _verdict(estimate, (inner_low, inner_high), most, differs=test.rejected)
    low, high = estimate.interval(level)
    if verdict == GateVerdict.NO_DIFFERENCE:
        level, low, high = 2 * look.alpha, inner_low, inner_high
    more = more_blocks(estimate, look.blocks, most, level, look.alpha) if verdict == GateVerdict.INCONCLUSIVE else 0
    return GateFinding(verdict, estimate, low, high, 1 - level, inner_high < most, look.blocks, more, test.rejected)


def _verdict(estimate: Estimate, inner: tuple[float, float], margin: float, *, differs: bool) -> GateVerdict:
    if -margin < inner[0] and inner[1] < margin:
        return GateVerdict.NO_DIFFERENCE  # be it a real one: it does not matter
    if not differs:
        return GateVerdict.INCONCLUSIVE
    within = abs(estimate.mean) < margin
    if estimate.mean > 0:
        return GateVerdict.REGRESSED_WITHIN_MARGIN if within else GateVerdict.REGRESSED
    return GateVerdict.IMPROVED_WITHIN_MARGIN if within else GateVerdict.IMPROVED


def more_blocks(
    estimate: Estimate, blocks: int, margin: float, differs: float, same: float, most: int = MOST_MORE_BLOCKS
) -> int:
    """Return about how many blocks more would settle a gate whose mean and noise stayed what they are; at most `most`.

    `margin` is a log ratio; `differs` the level of the test for a difference, `same` that of each test of equivalence.
    """
    spread = estimate.error * math.sqrt(blocks)
    borrowed = estimate.df - (blocks - 1)

    def settles(more: int) -> bool:
        df, root = blocks + more - 1 + borrowed, math.sqrt(blocks + more)
        shows = t_quantile(differs, df) * spread / root < abs(estimate.mean)
        return shows or t_quantile(2 * same, df) * spread / root < margin - abs(estimate.mean)

    return _fewest(settles, most)


def blocks_to_rule_out(finding: GateFinding, margin: float, alpha: float) -> int:
    """Return about how many blocks more would rule a worsening of the margin out, if mean and noise stayed as they are.

    `margin` is a change (0.05: a factor of 1.05), larger than the estimate; `alpha` the level of the look.
    """
    estimate, spread = finding.estimate, finding.estimate.error * math.sqrt(finding.blocks)
    borrowed = estimate.df - (finding.blocks - 1)
    room = math.log1p(margin) - estimate.mean

    def rules_out(more: int) -> bool:
        blocks = finding.blocks + more
        return t_quantile(2 * alpha, blocks - 1 + borrowed) * spread / math.sqrt(blocks) < room

    return _fewest(rules_out, MOST_MORE_BLOCKS)


def _fewest(settles: Callable[[int], bool], most: int) -> int:
    # Each block more makes an interval shorter.
    return min(1 + bisect_left(range(1, most), True, key=settles), most)


def is_futile(finding: GateFinding, margin: float, last: Look, tests: int) -> bool:
    """Tell whether not even the last look would settle an open gate at the noise that was seen.

    That is when its interval would still be too long to rule a difference of the margin (0.05: a factor of 1.05) out,
    and a mean one standard error farther from 0 would still not be shown to differ. Without that allowance comparisons
    would end in which the next blocks find a change. `tests`: how many gates share the level. Of a worsening that is
    shown only the margin is asked: whether a mean one standard error better would rule it out.
    """
    estimate, spread = finding.estimate, finding.estimate.error * math.sqrt(finding.blocks)
    df = last.blocks - 1 + estimate.df - (finding.blocks - 1)
    error = spread / math.sqrt(last.blocks)
    half, most = t_quantile(2 * last.alpha, df) * error, math.log1p(margin)
    if finding.verdict == GateVerdict.REGRESSED_WITHIN_MARGIN:
        return half > most - (estimate.mean - estimate.error)
    return half > most and t_quantile(last.alpha / tests, df) * error > abs(estimate.mean) + estimate.error


def smallest_visible(spread: float, blocks: int, alpha: float = USUAL_ALPHA, power: float = 0.8) -> float:
    """Return the smallest change (0.05: a factor of 1.05) that so many blocks find with probability `power`.

    LARGEST_CHANGE stands for any that is larger.

    `spread`: standard deviation of the log ratio of one block. Two-sided, by the power of Student's t itself, which is
    a noncentral t (Cohen 1988): the sum of two quantiles would find less than it says with few blocks.
    """
    return as_change(shift_found(alpha, blocks - 1, power) * spread / math.sqrt(blocks))
