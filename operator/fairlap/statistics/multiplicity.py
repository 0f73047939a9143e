"""Many numbers at once: Holm for those that decide, Benjamini and Hochberg for those that only hint."""

from collections.abc import Sequence
from typing import NamedTuple


class Tested(NamedTuple):
    """Whether a hypothesis was rejected, and against which level its p-value stood."""

    rejected: bool
    level: float


def holm(p_values: Sequence[float], alpha: float, settled: int = 0) -> list[Tested]:
    """Return for each p-value whether it is rejected so that any false rejection has at most probability `alpha`.

    Holm 1979. One that is rejected leaves its share of alpha to the others, also to those of a later look (Maurer and
    Bretz 2013). `settled`: how many more of the family an earlier look has closed without rejecting them: they keep
    their shares.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found: list[Tested] = [Tested(False, alpha)] * len(p_values)
    going = True
    level = alpha
    for place, index in enumerate(order):
        if going:
            level = alpha / (len(p_values) - place + settled)
            going = p_values[index] <= level
        found[index] = Tested(going, level)
    return found


def q_values(p_values: Sequence[float]) -> list[float]:
    """Return for each p-value the share of false ones among all findings, were it and all smaller ones called findings.

    Benjamini and Hochberg 1995, made monotone.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    found = [1.0] * len(p_values)
    lowest = 1.0
    for behind, index in enumerate(order):
        rank = len(p_values) - behind
        lowest = min(lowest, p_values[index] * len(p_values) / rank)
        found[index] = lowest
    return found
