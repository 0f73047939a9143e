"""What went wrong with one object in a row, and how long to wait for it: no clock is read, and no dice are thrown.

Times are seconds of any clock that goes on evenly. Pauses double from one setback to the next, up to a bound: an API
server that is down is not to be asked by all at once when it comes back.
"""

from dataclasses import dataclass
from typing import Final

from fairlap.kube.api_error import ApiError
from fairlap.kube.backoff import doubled
from fairlap.plan.unforeseen import pause_after

FORBIDDEN_FAILURES: Final = 6
"""a permission that is missing for about a minute is believed to be"""
REFUSALS: Final = 3
"""in a row: what a policy or a webhook refuses as often is believed to be refused for long"""
_STALE_LOOKS: Final = 20
"""in a row, after which a view is not only a little late"""
_STALE_PAUSE, _LONG_STALE_PAUSE = 0.3, 15.0
_FAILURE_PAUSE, _LONGEST_FAILURE_PAUSE = 0.5, 30.0
_ENDING_PAUSE, _LONGEST_ENDING_PAUSE = 5.0, 300.0


@dataclass
class Setbacks:
    """Counts, each of one kind of setback in a row: a look that went well ends them all."""

    failures: int = 0
    """requests that the API server did not carry out"""
    stale: int = 0
    """looks by a view that was out of date, or at what is gone"""
    errors: int = 0
    """looks that ended in an error that was not foreseen"""
    refused_since: float = 0.0
    """since when the API server has refused what one asks that holds a place; 0 while it does not"""
    unwritten_since: float = 0.0
    """since when no answer has come to the status of one that holds a place; 0 while one comes"""
    not_before: float = 0.0
    """when to look again whatever happens until then"""

    def left(self, now: float) -> float:
        """Return for how many seconds nothing is done, whatever happens; 0 or less: it may be done."""
        return self.not_before - now

    def rest(self, now: float, seconds: float) -> float:
        """Let nothing be done for so long, whatever happens; return the seconds."""
        self.not_before = now + seconds
        return seconds

    def clear(self) -> None:
        """Take in a look that went well."""
        self.failures = self.stale = self.errors = 0
        self.refused_since = self.unwritten_since = 0.0

    def lasts(self) -> bool:
        """Return whether so many requests in a row were not carried out that whoever waits is to be told."""
        return self.failures >= FORBIDDEN_FAILURES or self.stale >= _STALE_LOOKS

    def after_error(self, now: float, *, ends: bool) -> float | None:
        """Take in an error that was not foreseen; return the seconds until the next attempt.

        None when there is none any more, so that it must end; what `ends` already is tried for ever.
        """
        self.errors += 1
        pause = doubled(_ENDING_PAUSE, self.errors, _LONGEST_ENDING_PAUSE) if ends else pause_after(self.errors)
        return None if pause is None else self.rest(now, pause)

    def after_stale(self) -> float:
        """Take in a look by a view that was out of date; return the most seconds until the watch has caught up."""
        self.stale += 1
        return _STALE_PAUSE if self.stale < _STALE_LOOKS else _LONG_STALE_PAUSE

    def after_failure(self) -> float:
        """Take in a request that was not carried out; return the seconds, about, until the next."""
        self.failures += 1
        return doubled(_FAILURE_PAUSE, self.failures, _LONGEST_FAILURE_PAUSE)

    def after_refusal(self, now: float, pause: float, *, forbidden: bool, holds: bool, patience: float) -> bool:
        """Take in that a failure was a refusal, which others may not meet; return whether they go on without it.

        `forbidden`: a permission is missing. One that `holds` a place has its time first, `patience` seconds: what it
        has built is there. Any other is not woken before `pause` is over.
        """
        if holds:
            self.refused_since = self.refused_since or now
            return now - self.refused_since >= patience
        self.rest(now, pause)  # its own alarm rings, too, when others are told
        return self.failures >= (FORBIDDEN_FAILURES if forbidden else REFUSALS)

    def after_no_answer(self, now: float, others_wrote: float, patience: float) -> bool:
        """Take in that no answer came to the status of one that holds a place; return whether others go on without it.

        `others_wrote`: when another object's status was written last. Where none was for the last half of `patience`,
        the API server is away, or slow, for all, and who is left out would come back beside whoever has its place.
        """
        self.unwritten_since = self.unwritten_since or now
        return now - self.unwritten_since >= patience and others_wrote > now - patience / 2

    def is_final(self, error: ApiError) -> bool:
        """Return whether an act was refused for good: for its content, or by a permission that is really missing."""
        return error.final or (error.forbidden and self.failures >= FORBIDDEN_FAILURES)
