"""How long something may take, and when to look again; the clock is an argument."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from fairlap.api.base import Answer
from fairlap.plan.basis.conditions import moment, stamp
from fairlap.queue.turn import Turn

_SOONEST = 1.0
_CLOCKS_DIFFER: Final = timedelta(minutes=5)
"""by less than this those of two machines may, and the one that is behind only waits a little longer"""
_Said = TypeVar("_Said", bound=Answer)


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


def begun_by(now: datetime, said: _Said, *fields: str) -> _Said:
    """Return what we have said with `now` in place of times in these fields that are still to come.

    A clock that was far ahead wrote them: what is counted from there would not pass for years.
    """
    times = {name: getattr(said, name) for name in fields}
    ahead = {name: stamp(now) for name, at in times.items() if at and is_ahead(moment(at), now)}
    return said.model_copy(update=ahead) if ahead else said


def lined_up_by(now: datetime, said: _Said, *turns: Turn) -> _Said:
    """Return what we have said with a queuedTime that is still to come as late as it must be; `turns`: in its lines.

    It may be ahead of our clock for a good reason: those before it are, too.
    """
    if begun_by(now, said, "queued_time") == said:
        return said
    return begun_by(max(turn.end_of_line(now) for turn in turns), said, "queued_time")


def ended_by(now: datetime, completion_time: str) -> datetime:
    """Return when something ended; `now` where a clock that was far ahead wrote a time that is still to come."""
    at = moment(completion_time)
    return now if is_ahead(at, now) else at


def is_ahead(at: datetime, now: datetime) -> bool:
    """Return whether a time that was written is further ahead of our clock than clocks differ."""
    return at - now > _CLOCKS_DIFFER


def wake_in(now: datetime, *deadlines: Deadline) -> float:
    """Return the seconds until the first of these that has not passed yet, at least one; one when all have passed."""
    left = [deadline.left(now).total_seconds() for deadline in deadlines if not deadline.passed(now)]
    return max(min(left, default=_SOONEST), _SOONEST)
