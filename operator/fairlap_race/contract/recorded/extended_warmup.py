"""The part of a task's record that says how its warm-up ended, where race.steady may prolong it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExtendedWarmup:
    """A warm-up that went on until the task had settled."""

    most_seconds: float = 0.0
    """race.steady.maxWarmup"""
    settled: bool = False
    """False: it was measured because that time was over"""
    unjudged: str = ""
    """why it could never be told whether it had settled; "" where it could be, and in records of before"""
