"""A variance from few blocks leans on what is known of the noise of such numbers (Smyth 2004, as in limma).

Three blocks know their own noise badly. Earlier races on the same machines know what noise numbers of a family (say
99th percentiles) have; both are weighed by their degrees of freedom. Simulations: bench/error_rates.py.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

from fairlap.statistics.distributions import digamma, trigamma, trigamma_inverse
from fairlap.statistics.paired import Estimate

MOST_PRIOR_DF = 4.0
"""However sure the history is, it weighs at most as much as five blocks; without the cap few numbers overrate it."""


class Prior(NamedTuple):
    """The variance of a log ratio that a family of numbers has, and how many degrees of freedom that is worth."""

    variance: float
    df: float


def learn_prior(variances: Sequence[float], df: float | Sequence[float]) -> Prior | None:
    """Return the prior of a family from variances of log ratios, each on its `df` degrees of freedom; None from few.

    Few are 2 or fewer above 0. Moments of the logarithms of the variances (Smyth 2004, section 6.2). Its weight is
    capped at MOST_PRIOR_DF only after the variance was taken, which would be a quarter too small otherwise.
    """
    each_df = [float(df)] * len(variances) if isinstance(df, int | float) else df
    known = [(math.log(value), of / 2) for value, of in zip(variances, each_df, strict=True) if value > 0]
    if len(known) < 3:
        return None
    centred = [value - digamma(half) + math.log(half) for value, half in known]
    spread = variance(centred) - fmean(trigamma(half) for _, half in known)
    weight = 2 * trigamma_inverse(spread) if spread > 0 else math.inf
    of_weight = 0.0 if math.isinf(weight) else digamma(weight / 2) - math.log(weight / 2)
    return Prior(math.exp(fmean(centred) + of_weight), min(weight, MOST_PRIOR_DF))


def fitted_to(prior: Prior, present: Sequence[tuple[float, float]]) -> Prior:
    """Return the prior, without weight where the present variances (variance, df) of its family say it is too small.

    Made as large as they are it would still add its degrees of freedom to what contradicts it: a tenth of the truth
    would double the false alarms. One that is too large only costs power.
    """
    df = sum(weight for _, weight in present)
    pooled = sum(value * weight for value, weight in present) / df if df else 0.0
    return prior._replace(df=0.0) if pooled > prior.variance else prior


def moderated(estimate: Estimate, blocks: int, prior: Prior | None) -> Estimate:
    """Return an estimate from `blocks` paired blocks with its noise weighed against a prior; without one, as it is."""
    if prior is None or prior.df <= 0:
        return estimate
    own = estimate.error**2 * blocks
    df = estimate.df + prior.df
    both = (prior.df * prior.variance + estimate.df * own) / df
    return Estimate(estimate.mean, math.sqrt(both / blocks), df)
