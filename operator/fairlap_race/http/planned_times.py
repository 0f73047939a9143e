"""How much later than planned the requests of an open loop began, and how long they took from the plan on. Pure.

k6 numbers the requests that it sends, in the order of their planned moments. Each is planned a period after the one
before it, and none begins earlier. So a request that was dropped moves all those behind it by a period, as if they
waited; where a period is much longer than what k6 itself is late by, the lag tells how many were dropped.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

from fairlap_race.rally.histograms import Times
from fairlap_race.rally.schedule import ON_TIME
from fairlap_race.rally.steady import WindowTimes

SHORTEST_PERIOD = 0.004
"""Seconds between requests from which on a lag tells what was dropped: k6 begins them a millisecond late, or two."""
_FEWEST_LAST = 3
"""Last requests that tell whether one before them was dropped: one of three is late by itself, not all."""


@dataclass
class Spread:
    """Sum and extreme of the times of the measured requests of a task, in seconds; the rest is in the histogram."""

    total: float = 0.0
    most: float = 0.0

    def add(self, seconds: float) -> None:
        """Count a time."""
        self.total += seconds
        self.most = max(self.most, seconds)


@dataclass
class PlannedTimes:
    """What measured requests took from their planned moments on, where the first that it is told of began in time."""

    period: float
    """seconds from one planned moment to the next; 0 in a closed loop, which plans none"""
    times: Times = field(default_factory=Times)
    windows: WindowTimes = field(default_factory=WindowTimes)
    spread: Spread = field(default_factory=Spread)
    """of the latencies"""
    late: int = 0
    """requests that began later than on time"""
    began: float = math.inf
    """of the plan, on k6's clock"""

    def lag(self, number: int, start: float) -> float:
        """Return by how many seconds the request of this `number` began later than planned, at `start` seconds."""
        began = start - number * self.period
        self.began = min(self.began, began)
        return began - self.began

    def lag_at_end(self, number: int, start: float) -> float:
        """Return as much, at least, of a request that began at the end or later: the clock of its `start` stands."""
        return max(0.0, start - number * self.period - self.began) if math.isfinite(self.began) else 0.0

    def add(self, service: float, lag: float) -> None:
        """Count a measured request, which took so many seconds."""
        self.times.add(service, service + lag)
        self.spread.add(service + lag)
        self.late += lag > ON_TIME


@dataclass
class MeasuredTimes(PlannedTimes):
    """The same of the measured requests alone, whatever was dropped before them, and whether any was since."""

    first: int | None = None
    """the lowest number"""
    _last: list[tuple[int, float]] = field(default_factory=list)
    """the highest numbers, a heap, each with when the plan would have begun by it alone"""

    @staticmethod
    def can_tell(period: float) -> bool:
        """Return whether dropped requests can be told at all."""
        return period >= SHORTEST_PERIOD

    def lag(self, number: int, start: float) -> float:
        """Return as above, and remember the request."""
        self.first = number if self.first is None else min(self.first, number)
        began = start - number * self.period
        if len(self._last) < max(_FEWEST_LAST, int(ON_TIME / self.period)):
            heapq.heappush(self._last, (number, began))
        elif number > self._last[0][0]:
            heapq.heapreplace(self._last, (number, began))
        return super().lag(number, start)

    def has_all(self, first: int, last: int, plan_began: float) -> bool:
        """Return whether none was dropped from the `first` planned request to the `last`, counted from 0 on.

        `plan_began`: as `began` is, of the whole load.
        """
        if self.first is None:
            return False
        dropped_before = round((self.began - plan_began) / self.period)
        gap = min(began for _, began in self._last) - self.began
        number, _ = max(self._last)
        return gap < self.period / 2 and self.first + dropped_before <= first and number + dropped_before >= last
