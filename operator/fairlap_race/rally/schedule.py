"""Whether a task with a target throughput kept its schedule, and whether the load generator was the cause. Pure.

Rally sends the requests of such a task at planned moments, whatever happened to the ones before. How far the real
moments drifted from the planned ones says what share of the rate was reached, for even and for random (Poisson) plans.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from fairlap_race.contract.record import LoadGenerator, Task

LEAST_REQUESTS = 10
LEAST_SECONDS = 1.0
"""Below these a single slow request would decide."""
BUSY = 0.8
"""Clients that are busy for more than this share of the time are too few, or Elasticsearch is too slow for them."""


@dataclass
class Drift:
    """Sums over the measured requests of one task."""

    requests: int = 0
    first_planned: float = math.inf
    last_planned: float = -math.inf
    first_start: float = math.inf
    last_start: float = -math.inf
    busy_seconds: float = 0.0

    def add(self, start: float, wait: float, busy: float) -> None:
        """Count a request that started at `start`, `wait` seconds after its planned moment, and took `busy` seconds."""
        self.requests += 1
        self.first_start, self.last_start = min(self.first_start, start), max(self.last_start, start)
        planned = start - wait
        self.first_planned, self.last_planned = min(self.first_planned, planned), max(self.last_planned, planned)
        self.busy_seconds += busy

    def share(self) -> float | None:
        """Return the share of the planned rate that was reached, 0 to 1; None when there was too little to tell."""
        planned, real = self.last_planned - self.first_planned, self.last_start - self.first_start
        if self.requests < LEAST_REQUESTS or real < LEAST_SECONDS:
            return None
        return round(min(1.0, max(0.0, planned / real)), 4)

    def busy_share(self, clients: int) -> float | None:
        """Return the share of the time in which the task's clients waited for an answer; None as with `share`."""
        real = self.last_start - self.first_start
        if self.requests < LEAST_REQUESTS or real < LEAST_SECONDS:
            return None
        return round(min(1.0, self.busy_seconds / (real * max(1, clients))), 4)


def judge_lateness(load: LoadGenerator, tasks: Iterable[Task]) -> LoadGenerator:
    """Return `load`, saturated too when a task fell behind although its clients were free to send."""
    late = [t for t in tasks if not t.keeps_schedule and t.client_busy_share is not None and t.client_busy_share < BUSY]
    if not late:
        return load
    names = ", ".join(f"{t.task} ({t.client_busy_share:.0%} busy)" for t in late[:5])
    why = f"sent requests late although its clients were free: {names}"
    return replace(load, saturated=True, why="; ".join(filter(None, (load.why if load.saturated else "", why))))
