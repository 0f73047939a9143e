"""The part of a task's record that says whether its requests were sent when they were planned."""

from __future__ import annotations

from dataclasses import dataclass

CLIENT_KEPT = 0.9
"""A client whose share of its plan is at least this is not slow: one long request at the end costs it some per cent."""
BUSY = 0.8
"""Clients that wait for answers for more than this share of the time have none to spare."""
BACKLOG_SHARE = 0.1
"""Of the measured requests: with fewer that waited for what the warm-up had left, p50 and p90 hardly show it."""


@dataclass(frozen=True)
class ScheduleRecord:
    """Requests sent against requests planned while they were measured, client by client."""

    sent: int = 0
    planned: int = 0
    """that the plans of all clients had by the time of their last requests"""
    clients: int = 0
    slow_clients: int = 0
    """those that sent less than 90 % of their plan"""
    slowest_share: float | None = None
    """share of its plan that the slowest client sent, 0 to 1; None where it has too few requests"""
    slowest_busy_share: float | None = None
    """share of the time in which that client waited for an answer"""
    backlog_requests: int = 0
    """measured requests that were late since their client has been busy without a pause from its warm-up on"""
    backlog_seconds: float | None = None
    """how late these were on average"""
    late_requests: int = 0
    """over HTTP: measured requests that k6 itself began late, since it drops what finds no free client"""

    @property
    def has_slow_client(self) -> bool:
        """Tell whether some client sent less than 90 % of its plan."""
        return self.slowest_share is not None and self.slowest_share < CLIENT_KEPT

    @property
    def has_backlog(self) -> bool:
        """Tell whether at least a tenth of the measured requests waited for what the warm-up had left."""
        return self.backlog_requests > 0 and self.backlog_requests >= BACKLOG_SHARE * self.sent
