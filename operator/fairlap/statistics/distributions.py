"""Student's t, central or not, beta, chi-squared, digamma and trigamma, to about 12 digits (tests ask scipy)."""

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 8
"""of the trapezoidal rule to a standard deviation, which is enough for 12 digits up to 100 degrees of freedom"""
_FARTHEST = 8
"""standard deviations: beyond it is less of a normal distribution than 2e-15"""


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b); `a`, `b` > 0, 0 <= x <= 1.

    Continued fraction DLMF 8.17.22 by Lentz's method, on the side of its mean where it converges fast.
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    return front / _continued_fraction(a, b, x)


def _continued_fraction(a: float, b: float, x: float) -> float:
    value = c = 1.0
    d = 0.0
    for number in range(1, 2000):
        half, odd = divmod(number, 2)
        if odd:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        d = 1.0 / ((1.0 + term * d) or _TINY)
        c = (1.0 + term / c) or _TINY
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def t_tails(t: float, df: float) -> float:
    """Return the probability that Student's t on `df` degrees of freedom is farther from 0 than `t`, both tails."""
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


@lru_cache(maxsize=4096)
def t_quantile(tails: float, df: float) -> float:
    """Return the t > 0 beyond which both tails together hold the probability `tails` (0 < tails < 1).

    Newton's steps on the logarithms of both, where the curve is nearly straight, from the normal quantile on.
    """
    t = NormalDist().inv_cdf(1 - tails / 2) or _TINY
    scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    for _ in range(100):
        there = t_tails(t, df)
        density = math.exp(scale - (df + 1) / 2 * math.log1p(t * t / df))
        step = math.log(there / tails) * there / (2 * density * t)
        t *= math.exp(max(-2.0, min(2.0, step)))
        if abs(step) < 1e-14:
            break
    return t


def chi_squared_below(x: float, df: int) -> float:
    """Return how probably chi-squared on `df` degrees of freedom is at most `x`: by DLMF 8.8.5 from 1 or 2 on."""
    half = x / 2
    if half <= 0:
        return 0.0
    found = math.erf(math.sqrt(half)) if df % 2 else -math.expm1(-half)
    for lower in range(2 - df % 2, df, 2):
        found -= math.exp(lower / 2 * math.log(half) - half - math.lgamma(lower / 2 + 1))
    return found


def beyond(t: float, df: int, shift: float) -> float:
    """Return the probability that Student's t is farther from 0 than `t` > 0 where its normal part has mean `shift`.

    That is the noncentral t, (Z + shift) / root of (chi-squared / df): beyond `t` wherever chi-squared is less than
    df ((Z + shift) / t)^2, summed over the normal Z (Johnson, Kotz and Balakrishnan 1995, chapter 31). On one degree
    of freedom next to no shift it has 4 digits.
    """
    places = (step / _STEPS for step in range(-_FARTHEST * _STEPS, _FARTHEST * _STEPS + 1))
    parts = (math.exp(-z * z / 2) * chi_squared_below(df * ((z + shift) / t) ** 2, df) for z in places)
    return sum(parts) / (_STEPS * math.sqrt(2 * math.pi))


@lru_cache(maxsize=4096)
def shift_found(tails: float, df: int, power: float) -> float:
    """Return how many standard errors a mean is from 0 that a test of level `tails` finds with probability `power`."""
    critical = t_quantile(tails, df)
    high = critical
    while beyond(critical, df, high) < power:
        high *= 2
    return _bisect(lambda shift: beyond(critical, df, shift) < power, 0.0, high)


def _bisect(too_low: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if too_low(middle) else (low, middle)
    return (low + high) / 2


def digamma(x: float) -> float:
    """Return the derivative of ln gamma at `x` > 0: recurrence up to 10, then the asymptotic series (DLMF 5.11.2)."""
    below = 0.0
    while x < 10:
        below -= 1 / x
        x += 1
    s = 1 / (x * x)
    return below + math.log(x) - 0.5 / x - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))


def trigamma(x: float) -> float:
    """Return the second derivative of ln gamma at `x` > 0 (DLMF 5.15.8 after the recurrence)."""
    below = 0.0
    while x < 10:
        below += 1 / (x * x)
        x += 1
    s = 1 / (x * x)
    return below + 1 / x + s / 2 + s / x * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * 5 / 66))))


def trigamma_inverse(y: float) -> float:
    """Return the x > 0 with trigamma(x) = `y` > 0."""
    low, high = 1e-8, 1.0
    while trigamma(high) > y:
        low, high = high, high * 2
    return _bisect(lambda x: trigamma(x) > y, low, high)
