"""What n blocks say of one number: the mean of its log ratios, and how well it is known.

A ratio is contender over baseline, raced in the same block. Its logarithm makes a factor up and the same factor down
the same distance, and what both arms of a block share (the machine's hour) cancels.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

from fairlap.statistics.distributions import t_quantile, t_tails

LARGEST_CHANGE = 1e9
"""A larger one (a factor) says nothing more, and soon is no number any more."""


def as_change(log_ratio: float) -> float:
    """Return the change that a log ratio is (0.05: a factor of 1.05), LARGEST_CHANGE at most."""
    return math.expm1(log_ratio) if log_ratio < math.log(LARGEST_CHANGE) else LARGEST_CHANGE


class Estimate(NamedTuple):
    """A mean of log ratios, its standard error, and on how many degrees of freedom the error is known."""

    mean: float
    error: float
    df: float

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return both ends of the interval that holds the true mean with a probability of 1 - `alpha`."""
        half = self.half_width(alpha)
        return self.mean - half, self.mean + half

    def half_width(self, alpha: float) -> float:
        """Return half the length of that interval."""
        return t_quantile(alpha, self.df) * self.error

    def p_value(self) -> float:
        """Return the probability of a mean at least as far from 0 if the true one were 0."""
        if self.error == 0:
            return 0.0 if self.mean else 1.0
        return t_tails(self.mean / self.error, self.df)

    def mirrored(self) -> "Estimate":
        """Return the same with the arms exchanged."""
        return self._replace(mean=-self.mean)


def paired(ratios: Sequence[float]) -> Estimate:
    """Return Student's estimate of two or more log ratios, one a block (Student 1908, "the paired t")."""
    return Estimate(fmean(ratios), math.sqrt(variance(ratios) / len(ratios)), len(ratios) - 1)


def unpaired(baseline: Sequence[float], contender: Sequence[float]) -> Estimate:
    """Return Welch's estimate of the difference of two groups of logarithms that share no blocks (Welch 1947).

    Each group has two races or more.
    """
    parts = [variance(group) / len(group) for group in (baseline, contender)]
    error = math.sqrt(sum(parts))
    mean = fmean(contender) - fmean(baseline)
    weights = [part**2 / (len(group) - 1) for part, group in zip(parts, (baseline, contender), strict=True)]
    df = sum(parts) ** 2 / sum(weights) if sum(weights) else float(len(baseline) + len(contender) - 2)
    return Estimate(mean, error, df)
