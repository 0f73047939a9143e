"""From how many requests on a percentile says something."""

import math

_MISSED = 0.025
"""how often the bound may lie below the percentile"""


def fewest_requests(percentile: str) -> int:
    """Return from how many requests on a percentile ("p99") has an upper bound at all, with 95 % confidence.

    The greatest of n lies below the quantile q with the probability q^n, which is to be 2.5 % at most (the interval of
    a quantile by order statistics, distribution-free).
    """
    return math.ceil(math.log(_MISSED) / math.log(float(percentile[1:]) / 100))
