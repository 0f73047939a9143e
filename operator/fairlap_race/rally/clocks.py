"""Whether the machine's clock was set during a race, from what each sample says of two clocks. Pure.

Rally computes throughput from the wall clock, which somebody can set; durations from a clock that only goes forward. A
sample has the wall clock before the request and the other clock at its start. Between the two lies at most what the
sample took beside the request itself. So each sample bounds the difference of the clocks from both sides, and two
samples whose bounds exclude each other prove that it changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from fairlap_race.contract.recorded.task_spans import CLOCK_SET_SECONDS

LEAST_SECONDS = 0.05
"""Less is what a clock that is kept right by and by gains or loses in a task, or two readings of it differ by."""


WITNESSES = 3
"""So many samples must agree on an upper bound: one that is held up between its readings makes it too low."""


def never_set(wall: float, start: float, slack: float, offset: float) -> float:
    """Return when a request began by the wall clock as it was when the race began, whoever has set it since.

    `wall`: the wall clock before the request; `start`: the other clock at its start; `slack`: the most seconds that lie
    between the two; `offset`: by how much the wall clock was ahead of the other one when the race began. Where `wall`
    agrees with that within a second, it is right.
    """
    latest = start + offset
    return wall if latest - slack - CLOCK_SET_SECONDS < wall < latest + CLOCK_SET_SECONDS else latest


@dataclass
class ClockWatch:
    """Bounds of the difference between the two clocks."""

    highest_lower: float = -math.inf
    lowest_uppers: list[float] = field(default_factory=list)
    """the lowest few, in order"""

    def add(self, wall: float, start: float, seconds: float, processing: float) -> None:
        """Take in a request: the clocks before it and at its start, how long it took, and how long with its making."""
        lower = wall - start
        upper = lower + max(0.0, processing - seconds)
        self.highest_lower = max(self.highest_lower, lower)
        if len(self.lowest_uppers) < WITNESSES or upper < self.lowest_uppers[-1]:
            self.lowest_uppers = sorted([*self.lowest_uppers, upper])[:WITNESSES]

    def shift(self) -> float | None:
        """Return by how many seconds at least the clock was set, in whatever direction; None when nothing shows it."""
        if len(self.lowest_uppers) < WITNESSES:
            return None
        proven = self.highest_lower - self.lowest_uppers[-1]
        return round(proven, 6) if math.isfinite(proven) and proven >= LEAST_SECONDS else None
