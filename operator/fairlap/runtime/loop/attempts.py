"""How one object goes on after something went wrong with it: what is logged, and whether others wait for it meanwhile.

How long to wait is decided in `setbacks.py`. Here is the clock, and the jitter: many objects meet the same outage.
"""

import random
import time
from dataclasses import dataclass, field
from typing import Any

from fairlap.kube.api_error import ApiError
from fairlap.queue.places import PLACES
from fairlap.runtime.beside.last_word import count_unforeseen
from fairlap.runtime.loop.setbacks import Setbacks
from fairlap.runtime.loop.state import Operator


@dataclass
class Attempts:
    """Takes in what goes wrong with one object, so that it stops nothing but itself."""

    operator: Operator
    uid: str
    logger: Any
    setbacks: Setbacks = field(default_factory=Setbacks)

    def left(self) -> float:
        """Return for how many seconds nothing is done, whatever happens; 0 or less: it may be done."""
        return self.setbacks.left(time.monotonic())

    def rest(self, seconds: float) -> float:
        """Let nothing be done for so long, whatever happens; return the seconds."""
        return self.setbacks.rest(time.monotonic(), seconds)

    def after_unforeseen(self, error: Exception, title: str, *, ends: bool) -> float | None:
        """Take in an error that was not foreseen; return the seconds until the next attempt.

        None when there is none any more, so that the object must end; `ends`: it does already. `title`: its kind and
        name.
        """
        count_unforeseen("end" if ends else "look")
        self.logger.error("%s: %r", title, error, exc_info=error)
        if ends or self.uid not in self.operator.places.holders():
            self.operator.places.set_aside(self.uid)
        return self.setbacks.after_error(time.monotonic(), ends=ends)

    def after_failure(self, error: ApiError) -> float:
        """Take in a request that was not carried out; return the seconds until the next attempt."""
        if error.status in (404, 409):  # gone or stale: look again when the watch has caught up
            return self.setbacks.after_stale() * random.uniform(1 / 6, 1)  # noqa: S311 - jitter, not a secret
        seconds = self.setbacks.after_failure()
        self.logger.warning("the API server did not carry out a request, again in %.0f s: %s", seconds, error)
        pause = seconds * random.uniform(0.7, 1.3)  # noqa: S311
        if error.refused and not (error.over_quota and self.uid in self.operator.places.holders()):
            # A holder that waits for a quota says so, and its own deadline ends that.
            self._make_room(pause, forbidden=error.forbidden)
        return pause

    def after_status(self, error: ApiError | None = None) -> None:
        """Take in that the status was written, or that it was not, by an `error`.

        Without it no deadline passes: where no answer ever comes, as when webhooks hang, others do not wait for that.
        """
        places, now, patience = self.operator.places, time.monotonic(), self.operator.settings.cleanup_seconds
        if error is None:
            self.operator.last_writes.note(self.uid, now)
        elif error.unanswered and any(self.uid in places.holders(place) for place in PLACES):
            others_wrote = self.operator.last_writes.by_others(self.uid)
            if self.setbacks.after_no_answer(now, others_wrote, patience):
                self.logger.warning("no answer came to its status all the time, so that others do not wait any longer")
                places.set_aside(self.uid)

    def _make_room(self, pause: float, *, forbidden: bool) -> None:
        """Let others go on while the API server refuses what this one asks; who holds a place has its time first."""
        places, patience = self.operator.places, self.operator.settings.cleanup_seconds
        holds = self.uid in places.holders()
        if self.setbacks.after_refusal(time.monotonic(), pause, forbidden=forbidden, holds=holds, patience=patience):
            if holds:
                self.logger.warning("it was refused all the time, so that others do not wait for its place any longer")
            places.set_aside(self.uid)
