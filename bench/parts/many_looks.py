"""Many Comparisons at once, look by look, with numpy, also by levels and rules that are not those of the product.

`tests/unit/bench/test_many_looks.py` holds it against the product's own functions, comparison by comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairlap.statistics.distributions import t_quantile
from fairlap.statistics.moderation import Prior

IMPROVED, IMPROVED_WITHIN, SAME, REGRESSED_WITHIN, REGRESSED, OPEN = range(6)
"""verdicts of a gate, in the order of `GateVerdict`"""


class Level(NamedTuple):
    """After how many blocks it is looked, and at which levels."""

    blocks: int
    alpha: float
    """of a difference, both sides together, for all gates together"""
    same: float
    """of each test that rules the margin out"""


class Rules(NamedTuple):
    """How a Comparison goes on and ends."""

    levels: Sequence[Level]
    races_on: bool
    """a worsening within the margin settles nothing before the last look"""
    gives_up: bool = True
    """it ends where not even the last look would settle what is open"""
    gives_up_within: bool = True
    """that is asked of a worsening within the margin, too; else it is never given up"""


class Ends(NamedTuple):
    """What all Comparisons said: arrays by comparison and gate."""

    verdicts: np.ndarray
    not_worse: np.ndarray
    """a worsening of the margin is ruled out"""
    reached: np.ndarray
    """with how many blocks a gate's verdict was reached"""
    blocks: np.ndarray
    """of each comparison"""


class _Known:
    """What is known of each gate, as the looks go on."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.verdict = np.full(shape, OPEN)
        self.not_worse = np.zeros(shape, bool)
        self.blocks = np.zeros(shape, int)
        self.mean, self.error, self.df = np.zeros(shape), np.ones(shape), np.zeros(shape)

    def open(self, rules: Rules) -> np.ndarray:
        within = self.verdict == REGRESSED_WITHIN
        return (self.verdict == OPEN) | (within & ~self.not_worse if rules.races_on else False)


def ends(ratios: np.ndarray, margin: float, rules: Rules, prior: Prior | None = None) -> Ends:
    """Return how Comparisons end with such cost log ratios (comparison, gate, block); their gates are one family."""
    known = _Known(ratios.shape[:2])
    going, blocks = np.ones(len(ratios), bool), np.zeros(len(ratios), int)
    most = math.log1p(margin)
    for level in rules.levels:
        _look(known, ratios, most, rules, level, prior, going)
        blocks[going] = level.blocks
        still = known.open(rules)
        over = ~still.any(1)
        if rules.gives_up:
            over |= (_futile(known, most, rules, still) | ~still).all(1)
        going &= ~over
    return Ends(known.verdict, known.not_worse, known.blocks, blocks)


def _look(
    known: _Known, ratios: np.ndarray, most: float, rules: Rules, level: Level, prior: Prior | None, going: np.ndarray
) -> None:
    still = known.open(rules) & going[:, None]
    mean, error, df = _estimates(ratios[:, :, : level.blocks], still, prior)
    shown = still & (known.verdict == REGRESSED_WITHIN)
    kept = (known.verdict == SAME).sum(1)
    differs = _differs(np.abs(mean) / error, df, level.alpha, still, shown, kept)
    half = _quantiles(2 * level.same, df) * error
    same, not_worse = (mean - half > -most) & (mean + half < most), mean + half < most
    within = np.abs(mean) < most
    worse, better = np.where(within, REGRESSED_WITHIN, REGRESSED), np.where(within, IMPROVED_WITHIN, IMPROVED)
    verdict = np.where(same, SAME, np.where(~differs, OPEN, np.where(mean > 0, worse, better)))
    new = still & ~(shown & (verdict == OPEN) & ~not_worse)
    not_worse |= known.not_worse & (verdict != REGRESSED)
    known.verdict[new], known.not_worse[new] = verdict[new], not_worse[new]
    known.blocks[new], known.mean[new], known.error[new] = level.blocks, mean[new], error[new]
    known.df[new] = np.broadcast_to(df, new.shape)[new]


def _estimates(
    present: np.ndarray, still: np.ndarray, prior: Prior | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and error of each gate, and the degrees of freedom of each Comparison."""
    blocks = present.shape[2]
    mean, own = present.mean(2), present.var(2, ddof=1)
    df = np.full((len(own), 1), blocks - 1.0)
    weight = np.zeros_like(df)
    if prior:
        pooled = (own * still).sum(1, keepdims=True) / np.maximum(still.sum(1, keepdims=True), 1)
        weight = np.where(pooled > prior.variance, 0.0, prior.df)
        own = (weight * prior.variance + df * own) / (weight + df)
    return mean, np.sqrt(own / blocks), df + weight


def _quantiles(tails: float, df: np.ndarray) -> np.ndarray:
    each, places = np.unique(df, return_inverse=True)
    return np.array([t_quantile(tails, float(one)) for one in each])[places].reshape(df.shape)


def _differs(
    t: np.ndarray, df: np.ndarray, alpha: float, still: np.ndarray, shown: np.ndarray, kept: np.ndarray
) -> np.ndarray:
    """Return where Holm's procedure rejects; one that was `shown` passes its share on, and is tested for itself."""
    ranked = np.where(shown, np.inf, np.where(still, t, -np.inf))
    order = np.argsort(-ranked, axis=1, kind="stable")
    gates = t.shape[1]
    bounds = np.hstack([_quantiles(alpha / tests, df) for tests in range(1, gates + 1)])
    share = still.sum(1)[:, None] - np.arange(gates) + kept[:, None]
    bound = np.take_along_axis(bounds, np.clip(share, 1, gates) - 1, 1)
    going = np.logical_and.accumulate(np.take_along_axis(ranked, order, 1) >= bound, axis=1)
    found, own = np.empty_like(still), np.empty_like(t)
    np.put_along_axis(found, order, going, 1)
    np.put_along_axis(own, order, bound, 1)
    return found & (~shown | (t >= own))


def _futile(known: _Known, most: float, rules: Rules, still: np.ndarray) -> np.ndarray:
    last = rules.levels[-1]
    within = known.verdict == REGRESSED_WITHIN
    tests = (still & ~within).sum(1)[:, None]
    found = np.zeros(still.shape, bool)
    for blocks, df in {(int(b), float(d)) for b, d in zip(known.blocks[still], known.df[still], strict=True)}:
        here = still & (known.blocks == blocks) & (known.df == df)
        at_last = last.blocks - 1 + df - (blocks - 1)
        error = known.error * math.sqrt(blocks / last.blocks)
        half = t_quantile(2 * last.same, at_last) * error
        bounds = np.array([0.0, *(t_quantile(last.alpha / n, at_last) for n in range(1, still.shape[1] + 1))])
        unseen = bounds[tests] * error > np.abs(known.mean) + known.error
        too_wide = half > most - (known.mean - known.error)
        found |= here & np.where(within, too_wide & rules.gives_up_within, (half > most) & unseen)
    return found
