"""How certain a share is that was counted. Pure."""

from fairlap.statistics.distributions import incomplete_beta


def binomial_interval(found: int, of: int, alpha: float = 0.05) -> tuple[float, float]:
    """Return the interval of a share of which `found` of `of` were seen (Clopper and Pearson 1934: never too short)."""
    low = beta_quantile(alpha / 2, found, of - found + 1) if found else 0.0
    high = beta_quantile(1 - alpha / 2, found + 1, of - found) if found < of else 1.0
    return low, high


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = `share` (0 < share < 1), by halving its range."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if incomplete_beta(a, b, middle) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2
