"""How much later than planned the requests of an open loop began, and how long they took from the plan on. Pure.

k6 numbers the requests that it sends, in the order of their planned moments. Each is planned a period after the one
before it, and none begins earlier. So a request that was dropped moves all those behind it by a period, as if they
waited: a lag of nearly a period may be one that was dropped, and a lag that stays to the end is.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

from fairlap_race.rally.histograms import Times
from fairlap_race.rally.schedule import ON_TIME
from fairlap_race.rally.steady import WindowTimes

JITTER_SECONDS = 0.001
"""By so much k6 begins its requests later or less late than another."""

_MOST_JUDGED = 32
"""Last requests that tell whether one was dropped."""


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
    _began: float = math.inf
    """of the plan, on k6's clock"""
    _latest: list[tuple[int, float]] = field(default_factory=list)
    """number of each of the last requests, a heap, and when the plan would have begun by it alone"""

    def lag(self, number: int, start: float) -> float:
        """Return by how many seconds the request of this `number` began later than planned, at `start` seconds."""
        began = start - number * self.period
        self._began = min(self._began, began)
        if len(self._latest) < self._judged:
            heapq.heappush(self._latest, (number, began))
        elif number > self._latest[0][0]:
            heapq.heapreplace(self._latest, (number, began))
        return began - self._began

    def add(self, service: float, lag: float) -> None:
        """Count a measured request, which took so many seconds."""
        self.times.add(service, service + lag)
        self.spread.add(service + lag)
        self.late += lag > ON_TIME

    def may_follow_drop(self, lag: float) -> bool:
        """Return whether a request with this `lag` may be behind one that was dropped."""
        return self.period > 0 and lag >= self.period - min(JITTER_SECONDS, self.period / 2)

    @property
    def _judged(self) -> int:
        # One of many begins late by itself, and of few each counts.
        return min(_MOST_JUDGED, 1 + int(ON_TIME / self.period))

    @property
    def has_gap(self) -> bool:
        """Whether the last requests all lag, as they do behind one that was dropped."""
        began = min((it for _, it in self._latest), default=math.inf)
        return began - self._began > max(JITTER_SECONDS, self.period / 2)
