"""Which rate to try next where the highest one that keeps an objective is looked for, and what was found. Pure.

A probe at a rate says whether the objective was kept there. Near the capacity it errs: noise breaks an objective that
is kept as a rule, and keeps one that is not. So what is looked for is the rate at which it is kept every other time. A
probe at the rate x keeps it with the probability 1/100 + 98/100 Φ((ln capacity - ln x) / spread); the hundredth at each
end is for accidents that have nothing to do with the rate. Neither capacity nor spread is known: all pairs of them on a
grid begin as equally likely, and each probe makes those likelier that foresaw it (Bayes). The next probe is made beside
the median of what is still likely, below it and above it in turn, which narrows it as a bisection does and goes back
where an early probe erred (probabilistic bisection: Waeber, Frazier and Henderson 2013). It is over when nine tenths of
the likelihood lie within the resolution, or after so many probes as a search may take: then what is left is wider.
`bench/capacity.py` counts by simulation how often that interval holds the capacity (docs/capacity.md has the table).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

MOST_TRIES = 40
SEARCHED = ("p50", "p90", "p99")
CREDIBLE = 0.9
ACCIDENT = 0.01
LOWER, UPPER = 0.3, 0.7
"""Where the next probe is made: at these shares of the likelihood, in turn."""
SPREADS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""In resolutions."""
_CELLS = 4
"""Of the grid of capacities, within a resolution."""
_BEYOND = 4
"""Resolutions by which the grid reaches further than the rates on either side."""
_MOST_CELLS = 10_000
"""Between the rates; a hundredth of rates that are ten thousand times apart has 3,700."""


class End(StrEnum):
    """What a search found."""

    FOUND = "Found"
    """an interval no wider than the resolution"""
    WIDE = "Wide"
    """a wider one: the probes contradict each other"""
    NEVER_KEPT = "NeverKept"
    """the objective is not kept at the lowest rate"""
    NEVER_BROKEN = "NeverBroken"
    """it is kept at the highest rate"""


@dataclass(frozen=True)
class CapacitySearch:
    """What is looked for: the highest of the rates at which a task keeps its objective."""

    lowest: float = 1.0
    """requests per second, as in a target throughput without a unit"""
    highest: float = 2.0
    resolution: float = 0.05
    """share by which the ends of the answer may differ"""
    percentile: str = "p99"
    """of latency, that is to be `millis` at most"""
    millis: float = 0.0
    error_rate: float = 0.0
    """share of the measured requests that may fail"""
    clients: int | None = None
    """that send them together; None leaves the task's own"""

    @property
    def width(self) -> float:
        """The resolution as a difference of logarithms."""
        return math.log1p(self.resolution)


@dataclass(frozen=True)
class ProbeOutcome:
    """What a probe measured."""

    millis: float | None = None
    """the percentile of latency; None where it cannot be had: planned requests were not sent, or none was answered"""
    failed_share: float = 0.0
    """of the measured requests"""
    keeps_schedule: bool = True
    """whether the requests were sent as planned: a rate that was not reached is not carried"""


@dataclass(frozen=True)
class RateProbe:
    """A rate, and whether the objective was kept at it."""

    rate: float
    kept: bool


@dataclass(frozen=True)
class CapacityFound:
    """What the probes say together."""

    end: End
    rate: float | None = None
    """the median of the likelihood, or the asked rate next to it; None where the capacity is outside those asked for"""
    low: float | None = None
    """nine tenths of the likelihood lie between this and `high`; None: below the lowest rate"""
    high: float | None = None
    """None: above the highest rate"""


def find_wrong_search(search: CapacitySearch) -> Iterator[str]:
    """Yield a sentence for each value that is out of its bounds or contradicts another."""
    if not 0 < search.lowest < search.highest < math.inf:
        rates = f"{search.lowest:g} and {search.highest:g}"
        yield f"lowest, highest: must be rates above 0, the lower one first, not {rates}"
    if not 0 < search.resolution < 1:
        yield f"resolution: must be a share above 0 and below 1, not {search.resolution:g}"
    elif search.lowest > 0 and not is_apart(search.lowest, search.highest, search.resolution):
        yield "lowest, highest: must be apart by the resolution at least, or nothing is left to be found"
    elif 0 < search.lowest < search.highest < math.inf and _inner_cells(search) > _MOST_CELLS:
        yield f"resolution: {search.resolution:g} is too fine for rates so far apart"
    if search.percentile not in SEARCHED:
        yield f"percentile: must be one of {', '.join(SEARCHED)}, not {search.percentile!r}"
    if search.millis <= 0 or not 0 <= search.error_rate < 1:
        yield "millis, errorRate: must be milliseconds above 0, and a share of 0 or more, below 1"
    if search.clients is not None and search.clients < 1:
        yield f"clients: must be a whole number of at least 1, not {search.clients}"


def is_sound(search: CapacitySearch, probes: Sequence[RateProbe]) -> bool:
    """Tell whether what a record says was looked for and tried can be: a race's pod may have written anything."""
    tried = len(probes) <= MOST_TRIES and all(0 < probe.rate < math.inf for probe in probes)
    return tried and not any(find_wrong_search(search))


def is_apart(lowest: float, highest: float, resolution: float) -> bool:
    """Tell whether two rates are apart by a resolution at least: between closer ones a search could end in nothing."""
    return highest >= lowest * (1 + resolution) * (1 - 1e-9)


def is_kept(search: CapacitySearch, found: ProbeOutcome) -> bool:
    """Tell whether a probe kept the objective."""
    fast = found.millis is not None and found.millis <= search.millis
    return fast and found.keeps_schedule and found.failed_share <= search.error_rate


def next_rate(search: CapacitySearch, probes: Sequence[RateProbe]) -> float | None:
    """Return the rate to try after `probes`, in their order; None when the search is over."""
    if not probes:
        return search.lowest
    belief = _believe(search, probes)
    if len(probes) >= MOST_TRIES or belief.found().end is not End.WIDE:
        return None
    if not any(probe.kept for probe in probes):
        return search.lowest  # so long nothing above it is worth a look
    rate = belief.quantile(LOWER if len(probes) % 2 else UPPER)
    return min(max(float(f"{rate:.4g}"), search.lowest), search.highest)


def what_is_found(search: CapacitySearch, probes: Sequence[RateProbe]) -> CapacityFound:
    """Return what `probes` say together; raises ValueError without any."""
    if not probes:
        raise ValueError("nothing follows from no probe")
    return _believe(search, probes).found()


@dataclass(frozen=True)
class _Belief:
    """How likely each capacity is."""

    search: CapacitySearch
    first: float
    """logarithm of the middle of the first cell"""
    cell: float
    """width of a cell, as a logarithm"""
    shares: tuple[float, ...]

    def found(self) -> CapacityFound:
        low, high = math.log(self.search.lowest), math.log(self.search.highest)
        middles = [self.first + place * self.cell for place in range(len(self.shares))]
        if sum(share for share, at in zip(self.shares, middles, strict=True) if at < low) >= CREDIBLE:
            return CapacityFound(End.NEVER_KEPT, high=self.search.lowest)
        if sum(share for share, at in zip(self.shares, middles, strict=True) if at > high) >= CREDIBLE:
            return CapacityFound(End.NEVER_BROKEN, low=self.search.highest)
        left, middle, right = (self.quantile(share) for share in ((1 - CREDIBLE) / 2, 0.5, (1 + CREDIBLE) / 2))
        narrow = math.log(right / left) <= self.search.width * (1 + 1e-9)
        return CapacityFound(
            End.FOUND if narrow else End.WIDE,
            min(max(middle, self.search.lowest), self.search.highest),
            left if left >= self.search.lowest else None,
            right if right <= self.search.highest else None,
        )

    def quantile(self, share: float) -> float:
        """Return the rate below which the capacity is with that probability."""
        below, last = 0.0, len(self.shares) - 1
        for place, until in enumerate(accumulate(self.shares)):
            if until >= share or place == last:
                part = min(1.0, (share - below) / max(until - below, 1e-300))
                return math.exp(self.first + (place - 0.5 + part) * self.cell)
            below = until
        raise ValueError("nothing is likely")


def _inner_cells(search: CapacitySearch) -> float:
    return (math.log(search.highest) - math.log(search.lowest)) * _CELLS / search.width


def _believe(search: CapacitySearch, probes: Sequence[RateProbe]) -> _Belief:
    cell = search.width / _CELLS
    inner = math.ceil(_inner_cells(search) - 1e-9)
    first = math.log(search.lowest) - (_BEYOND * _CELLS - 0.5) * cell
    middles = [first + place * cell for place in range(inner + 2 * _BEYOND * _CELLS)]
    total = [0.0] * len(middles)
    for spread in SPREADS:
        scale = 1 / (spread * search.width * math.sqrt(2))
        likely = [1.0] * len(middles)
        for probe in probes:
            at, sign = math.log(probe.rate), scale if probe.kept else -scale
            for place, middle in enumerate(middles):
                likely[place] *= 0.5 + (0.5 - ACCIDENT) * math.erf((middle - at) * sign)
        for place, value in enumerate(likely):
            total[place] += value
    whole = sum(total)
    return _Belief(search, first, cell, tuple(value / whole for value in total))
