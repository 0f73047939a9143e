"""The part of a task's record that says how busy the load generator was while the task was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskLoad:
    """The load generator during the measured part of one task."""

    cpu_share: float | None = None
    """of the CPU that it may use, 0 to 1"""
    busiest_share: float | None = None
    """of one core, that its busiest process used; over HTTP the thread that reads the lines of k6"""
    throttled_periods: float | None = None
    throttled_seconds: float | None = None
    judged_seconds: float = 0.0
    """of the task's time, for which the figures are known"""
    saturated_seconds: float = 0.0
    """of these: in spans of about ten seconds in which it was itself the bottleneck"""
    saturated: bool = False
    why: str = ""
