"""The clock of all that is looked at while a race runs: who sets the machine's clock meanwhile moves no look."""

from __future__ import annotations

import time


class RaceClock:
    """Seconds since the epoch by the wall clock as it was when the race began."""

    def __init__(self) -> None:
        self.offset = 0.0
        """seconds that the wall clock was ahead of the monotonic one then"""
        self.begin()

    def begin(self) -> None:
        """Begin the race now: what the wall clock says from now on is right."""
        self.offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Return the moment."""
        return self.offset + time.monotonic()

    def set_by(self) -> float:
        """Return by how many seconds the wall clock has been set forward since the race began; back is below 0."""
        return time.time() - self.now()
