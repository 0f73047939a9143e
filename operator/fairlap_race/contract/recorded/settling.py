"""The part of a task's record that says whether the task had settled while it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SERVICE_TIME: Final = "service time"
THROUGHPUT: Final = "throughput"
LATENCY: Final = "latency"
SETTLED_FROM_SECONDS: Final = 36
"""Of requests race.steady tells whether a task has settled: one look at so many errs less than two at 24 that see as
many (docs/noise.md)."""


@dataclass(frozen=True)
class Settling:
    """Whether throughput, service time and latency were the same at the end of the measured time as at its beginning.

    Latency is judged where requests are planned; in turn with other races the service time alone.
    """

    of_seconds: float = 0.0
    """in which all clients measured: what was judged"""
    unsettled_seconds: float | None = None
    """of these, from their beginning, until nothing changed any more; 0 for a settled task, all of them for one that
    did not settle; None where it cannot be told"""
    measure: str = ""
    """what changed the most: throughput, service time or latency"""
    change: float | None = None
    """of the measure, from the beginning to the end: 0.2 is 20 % more; 999 at most, as from nothing on"""
    left_out: str = ""
    """why it cannot be told"""

    @property
    def settled(self) -> bool | None:
        """True or False; None where it cannot be told."""
        return None if self.unsettled_seconds is None else self.unsettled_seconds <= 0
