"""How long something may take, and when to look again; the clock is an argument."""

from datetime import datetime, timedelta
from typing import NamedTuple

_SOONEST = 1.0


class Deadline(NamedTuple):
    """A time that is allowed, counted from a moment."""

    since: datetime
    allowed: timedelta

    @property
    def end(self) -> datetime:
        """The moment at which the time is over; OverflowError where there is no such date."""
        return self.since + self.allowed

    def left(self, now: datetime) -> timedelta:
        """Return how much of the time is left at `now`; negative once it is over."""
        return self.allowed - (now - self.since)

    def passed(self, now: datetime) -> bool:
        """Return whether the time is over at `now`."""
        return self.left(now) <= timedelta(0)


def wake_in(now: datetime, *deadlines: Deadline) -> float:
    """Return the seconds until the first of these that has not passed yet, at least one; one when all have passed."""
    left = [deadline.left(now).total_seconds() for deadline in deadlines if not deadline.passed(now)]
    return max(min(left, default=_SOONEST), _SOONEST)
