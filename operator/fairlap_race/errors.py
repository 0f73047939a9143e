"""Exceptions that several rooms of the race image share; one that belongs to a single room stands there."""

from __future__ import annotations

from fairlap_race.contract.reasons import Reason


class TrackError(Exception):
    """The track cannot be raced; `reason` is from the closed list."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class StoppedError(Exception):
    """The process was told to stop while it waited."""
