"""Writes one object's status: no more often than is allowed, and with an eye on what of it is stored."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple

from fairlap.api.base import Json
from fairlap.api.phases import OVER
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.outdated_crd import Status, describe, say_outdated
from fairlap.plan.unforeseen import Ending
from fairlap.runtime.beside.last_word import find_not_over, say_last_word
from fairlap.runtime.loop.announce import Announcement
from fairlap.runtime.loop.driven_kind import DrivenKind
from fairlap.runtime.loop.own_place import OwnPlace
from fairlap.runtime.loop.unstored_fields import UnstoredFields
from fairlap.runtime.loop.write_rate import WriteRate
from fairlap.runtime.objects.project import small_written
from fairlap.runtime.objects.writes import status_json, write_status
from fairlap_race.contract.reasons import Reason

_MOST_UNANSWERED: Final = 4
"""kept of what was sent in vain, each a status: an API server may fail for hours"""


class Unanswered(NamedTuple):
    """A status that was sent and may stand, since no answer came, and that is worth events once it does."""

    phase: str
    status: Json
    """as it is stored; {} of one that is over, which nobody else writes"""
    events: tuple[Announcement, ...]


@dataclass
class StatusWriter(Generic[Status]):
    """What is written of one object, and what became of it."""

    kind: DrivenKind[Status]
    place: OwnPlace
    logger: Any
    written: Json = field(default_factory=dict)
    """our own last write, which may not have come back over the watch yet"""
    intended: Status | None = None
    """what was written and not stored, although decisions stand on it"""
    unanswered: tuple[Unanswered, ...] = ()
    """any one of which may stand, until one is known to"""
    rate: WriteRate = field(default_factory=WriteRate)
    unstored: UnstoredFields = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is known to be lost yet."""
        self.unstored = UnstoredFields(steering=self.kind.steering)

    async def wait_until_allowed(self) -> None:
        """Take one write of those that are allowed, as late as that may be."""
        await asyncio.sleep(self.rate.wait(time.monotonic()))

    def differs(self, before: Status, after: Status) -> bool:
        """Return whether `after` is to be written now, while `before` stands."""
        return self.unstored.differs(before, after, time.monotonic())

    async def write(self, api_server: ApiServer, there: Json, before: Status, after: Status) -> None:
        """Write `after` in place of `before`, by the version that is `there`. Raises ApiError."""
        await self.wait_until_allowed()
        try:
            self.written = small_written(await write_status(api_server, there, after, self.kind.name))
        except ApiError as error:
            events = tuple(self.kind.announcements(before, after))
            if error.unanswered and events:
                sent = {} if after.phase in OVER else status_json(after)
                self._note_unanswered(Unanswered(str(after.phase), sent, events))
            self.place.not_written(self.kind.held(before), error)
            raise
        self.unanswered = ()
        self.place.give_up(but=self.kind.held(after))

    def announce(self, before: Status, after: Status, post_event: Callable[[Announcement], None]) -> None:
        """Tell what is worth an event now that `after` was written, and whether it stands: else it is intended."""
        for event in self.kind.announcements(before, after):
            post_event(event)
        if after.phase != before.phase:
            self.logger.info("%s -> %s: %s", before.phase, after.phase, self.kind.phase_words(after))
        stored = self.written.get("status") or {}
        if self.unstored.note(after, stored, time.monotonic()):
            told = f"{describe(self.unstored.fields or ())}. What to do: {Reason.CRD_OUTDATED.cure}"
            post_event(Announcement("Warning", Reason.CRD_OUTDATED, told))
            self.logger.warning("%s: %s", Reason.CRD_OUTDATED, told)
        # Going on would be wrong, and so would be to decide anew by what is left of it: it is said again, later.
        self.intended = after if self.unstored.misleads else None

    def announce_unanswered(self, stands: Mapping[str, Any], post_event: Callable[[Announcement], None]) -> None:
        """Tell what of all that was sent and not answered is the status that `stands`, as JSON.

        Of one that is over the phase is enough: nearly all else may have been dropped.
        """
        for sent in self.unanswered:
            if sent.phase == stands.get("phase") and (sent.phase in OVER or sent.status == stands):
                break
        else:
            return
        self.unanswered = ()
        for event in sent.events:
            post_event(event)
            self.logger.info("%s, written without an answer: %s", event.reason, event.message)

    def _note_unanswered(self, sent: Unanswered) -> None:
        """Keep it in place of the newest one where there are many: what came before the trouble may well stand."""
        self.unanswered = (*self.unanswered[: _MOST_UNANSWERED - 1], sent)

    def said_again(self, now: datetime) -> Status | None:
        """Return what a pass at `now` writes in place of a decision: what is intended, and why it does not stand."""
        return None if self.intended is None else say_outdated(self.intended, self.unstored.fields, now)

    async def end(
        self, api_server: ApiServer, meta: Mapping[str, Any], ending: Ending, post_event: Callable[[Announcement], None]
    ) -> None:
        """Write that the object has failed, whatever stands, and tell why; not where it is gone or over.

        Raises ApiError.
        """
        words = f"{ending.reason}: {ending.message}"
        told = Announcement("Warning", "Failed", words)
        found = await find_not_over(api_server, meta, self.kind.name)
        if found is None:
            return
        try:
            said = await say_last_word(api_server, found, ending, self.kind.name)
        except ApiError as error:
            if error.unanswered:
                self._note_unanswered(Unanswered(told.reason, {}, (told,)))
            raise
        self.unanswered = ()
        post_event(told)
        self.logger.info("ended at once: %s", words)
        self.written = small_written(said)
