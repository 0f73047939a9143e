"""How one object is driven, a Benchmark or a Comparison: look, plan, write the status, act, sleep until woken.

A status is written with the resourceVersion that the decision was made from, so a stale view is refused by the API
server and is looked at again. Whatever goes wrong with one object stops nothing but itself.
"""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, Protocol

from prometheus_client import Counter, Histogram
from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.newer_crd import unknown_fields, without_defaults
from fairlap.plan.outdated_crd import Status, describe, say_outdated
from fairlap.plan.unforeseen import Ending, internal_error, left_behind, pause_after, unreadable
from fairlap.queue.summary import PlaceKind
from fairlap.runtime.announce import Announcement
from fairlap.runtime.crd_check import newer_defaults
from fairlap.runtime.last_word import INTERNAL_ERRORS, say_last_word
from fairlap.runtime.project import bounded_copy, is_set_aside, small_written
from fairlap.runtime.reads import find_run
from fairlap.runtime.state import Operator
from fairlap.runtime.unstored_fields import UnstoredFields
from fairlap.runtime.write_rate import WriteRate
from fairlap_race.contract.reasons import Reason

FORBIDDEN_FAILURES = 6  # a permission that is missing for about a minute is believed to be
REFUSALS = 3  # in a row: what a policy or a webhook refuses as often is believed to be refused for long

PASSES = Counter("fairlap_passes", "Looks at a Benchmark or a Comparison", ["result"])
PASS_SECONDS = Histogram("fairlap_pass_seconds", "Time of one look at a Benchmark or a Comparison")


class Stopped(Protocol):
    """The sign that the work must end: true when it must, and somebody may wait for it."""

    def __bool__(self) -> bool: ...

    def wait(self) -> Any:
        """Return when it must end."""


@dataclass
class ReconcileLoop(ABC, Generic[Status]):
    """Drives one object from its first sight to its end; what is particular to its kind is in the class for that."""

    operator: Operator
    body: Mapping[str, Any]
    uid: str
    indexes: Any
    logger: Any
    written: Json = field(default_factory=dict)
    """our own last write, which may not have come back over the watch yet"""
    in_doubt: bool = False
    """whether an admission was sent whose answer was lost: it may have been written"""
    foreign: str = ""
    """something else that has a name which is needed, as a sentence"""
    failures: int = 0
    stale: int = 0
    errors: int = 0
    """looks in a row that ended in an error that was not foreseen"""
    ending: Ending | None = None
    """why it ends at once, when it cannot go on"""
    ending_since: float = 0.0
    refused_since: float = 0.0
    """since when the API server has refused what it asks for, in seconds of time.monotonic; 0 while it does not"""
    not_before: float = 0.0
    """when to look again whatever happens until then, in seconds of time.monotonic"""
    unstored: UnstoredFields = field(default_factory=UnstoredFields)
    intended: Status | None = None
    """what was written and not stored, although decisions stand on it"""
    rate: WriteRate = field(default_factory=WriteRate)
    entered: list[asyncio.Semaphore] = field(default_factory=list)
    """what has room for a few looks at once, and for this one now"""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind of what is driven."""

    @abstractmethod
    async def _look_once(self, *, woken: bool) -> float:
        """Look, decide, and write or act; return how many seconds may pass until the next look."""

    @abstractmethod
    async def _send(self, there: Json, status: Status) -> Json:
        """Write the status and return the new object. Raises ApiError."""

    @abstractmethod
    async def _remove_children(self) -> list[str]:
        """Remove what it has, when it ends at once; return the names of what is still there. Raises ApiError."""

    @abstractmethod
    def _held(self, status: Status) -> PlaceKind | None:
        """Return the place that it holds by this status."""

    @abstractmethod
    def _announcements(self, before: Status, after: Status) -> Iterable[Announcement]:
        """Return the events that a new status is worth."""

    @abstractmethod
    def _phase_words(self, status: Status) -> str:
        """Return a sentence about the phase that it is in now."""

    @abstractmethod
    def _has_written(self, before: Status, after: Status) -> None:
        """Take in that `after` now stands in place of `before`."""

    async def run(self, stopped: Stopped) -> None:
        """Look, write and act until told to stop."""
        waker, woken = self.operator.wakers.waker(self.uid), True
        while not stopped:
            waker.clear()  # before looking, so that no wake-up is lost
            pause = await self._pass(woken=woken)
            if pause > 0:
                woken = await _sleep(waker, stopped, pause)

    async def _pass(self, *, woken: bool) -> float:
        """Do what is to be done now, whatever goes wrong with it; return how many seconds may pass until the next."""
        if (left := self.not_before - time.monotonic()) > 0:
            return left
        try:
            async with _counted():
                pause = await (self._end_at_once() if self.ending else self._look(woken=woken))
        except ApiError as error:
            return self._stumble(error) if error.unfit else self._back_off(error)
        except Exception as error:  # one object's content must not stop anything but itself
            return self._stumble(error)
        self.failures = self.stale = self.errors = 0
        self.refused_since = 0.0
        if not self.ending:
            self.operator.places.take_back(self.uid)
        return pause

    async def _look(self, *, woken: bool) -> float:
        try:
            if is_set_aside(self.body):
                await self._enter(self.operator.large_specs)
            return await self._look_once(woken=woken)
        finally:
            for room in self.entered:
                room.release()
            self.entered.clear()

    async def _enter(self, room: asyncio.Semaphore) -> None:
        """Wait until there is room for what this look will hold; it is left with the look's end."""
        if room not in self.entered:
            await room.acquire()
            self.entered.append(room)

    def _stumble(self, error: Exception) -> float:
        """Take in an error that was not foreseen; return how many seconds may pass until the next attempt."""
        meta = self.body["metadata"]
        INTERNAL_ERRORS.labels("end" if self.ending else "look").inc()
        self.logger.error("%s %s/%s: %r", self.kind, meta["namespace"], meta["name"], error, exc_info=error)
        self.errors += 1
        if self.ending or self.uid not in self.operator.places.holders():
            self.operator.places.set_aside(self.uid)
        pause = min(300.0, 5.0 * 2.0 ** min(self.errors, 8)) if self.ending else pause_after(self.errors)
        if pause is None:
            self._end_with(internal_error(error, self.kind))
            return 0
        self.not_before = time.monotonic() + pause
        return pause

    def _end_with(self, ending: Ending) -> None:
        self.ending, self.ending_since, self.errors = ending, time.monotonic(), 0

    async def _end_at_once(self) -> float:
        """Remove what there is, say why, and give the place back; return the seconds until it is looked at again."""
        assert self.ending is not None  # noqa: S101 - asked by the only caller
        late = time.monotonic() - self.ending_since >= self.operator.settings.cleanup_seconds
        left, failure = list[str](), None
        try:
            left = await self._remove_children()
        except ApiError as error:
            if not late:
                raise
            failure = error
        if left and not late:
            return 2.0
        ending = left_behind(self.ending, left, failure)
        self.operator.places.set_aside(self.uid)  # first: the last word may be refused as well
        said = await say_last_word(self._api_server, self.body["metadata"], ending, self.kind)
        if said is not None:
            words = f"{ending.reason}: {ending.message}"
            self._tell(Announcement("Warning", "Failed", words))
            self.logger.info("ended at once: %s", words)
            self.written = small_written(said)
        self.not_before = time.monotonic() + self._resync  # until its end comes back over the watch, and ends this
        return self._resync

    async def _newest(self) -> Json | None:
        """Return the object as it was last seen or written; None when it is gone. Raises ApiError."""
        newest, written = dict(bounded_copy(self.body)), self.written
        if _version(written) > _version(newest):
            newest |= bounded_copy(written)
        if is_set_aside(newest):
            meta = newest["metadata"]
            there = await find_run(self._api_server, self.kind, meta["namespace"], meta["name"])
            if there is None or there["metadata"]["uid"] != meta["uid"]:
                return None
            newest["spec"] = bounded_copy(there["spec"])
        if newer := self.operator.newer_defaults.get(self.kind):
            newest["spec"] = without_defaults(newest["spec"], newer)
        return newest

    async def _take_in_unreadable(self, error: ValidationError, of: str) -> None:
        """End what has a spec that cannot be read, unless that is for defaults newly known.

        `of`: the model of the spec. Raises ApiError, and the error itself when it is of something else.
        """
        if error.title != of:
            raise error
        if unknown_fields(error):
            newer = await newer_defaults(self._api_server, self.kind)
            if newer != self.operator.newer_defaults.get(self.kind, {}):
                self.operator.newer_defaults[self.kind] = newer
                told = "the CustomResourceDefinition of %s is newer than this operator; left out as defaults: %s"
                self.logger.warning(told, self.kind, ", ".join(sorted(newer)))
                return
        self._end_with(unreadable(error))

    def _holds_what_it_needs(self, before: Status, after: Status) -> bool:
        """Take a place for one that is to be admitted now; return whether there was one, or none is needed."""
        held, wanted = self._held(before), self._held(after)
        if wanted and wanted != held:
            return self.operator.places.assume(self.uid, wanted)
        self._give_up_place(but=held)
        return True

    async def _write(self, there: Json, before: Status, after: Status) -> None:
        await self._bide()
        try:
            self.written = small_written(await self._send(there, after))
        except ApiError as error:
            # A place that may have been written is kept until a later look, which decides by what there is then.
            self.in_doubt = self.in_doubt or error.unanswered
            if not self.in_doubt:
                self._give_up_place(but=self._held(before))
            raise
        self.in_doubt = False
        self._give_up_place(but=self._held(after))
        self._has_written(before, after)
        for event in self._announcements(before, after):
            self._tell(event)
        if after.phase != before.phase:
            self.logger.info("%s -> %s: %s", before.phase, after.phase, self._phase_words(after))
        self._compare(after)

    def _compare(self, sent: Status) -> None:
        """Take in whether the API server stored all that was sent, and say so when it did not."""
        stored = self.written.get("status") or {}
        if self.unstored.note(sent, stored, time.monotonic()):
            told = f"{describe(self.unstored.fields or ())}. What to do: {Reason.CRD_OUTDATED.cure}"
            self._tell(Announcement("Warning", Reason.CRD_OUTDATED, told))
            self.logger.warning("%s: %s", Reason.CRD_OUTDATED, told)
        self.intended = None
        if self.unstored.misleads:
            # Going on would be wrong, and so would be to decide anew by what is left of it: it is said again, later.
            self.intended, self.not_before = (
                say_outdated(sent, self.unstored.fields, datetime.now(UTC)),
                self.unstored.again_at,
            )

    def _give_up_place(self, but: PlaceKind | None = None) -> None:
        self.operator.places.forget(self.uid, but)
        self.in_doubt = False

    def _is_refusal(self, error: ApiError) -> bool:
        """Return whether an act was refused for good: for its content, or by a permission that is really missing."""
        return error.final or (error.forbidden and self.failures >= FORBIDDEN_FAILURES)

    def _next_look(self, wake_in: float | None) -> float:
        """Return the seconds until the next look after an act; `wake_in`: what the plan asks for."""
        again = self.unstored.again_at - time.monotonic() if self.unstored.fields else self._resync
        return min(wake_in or self._resync, max(again, 1.0), self._resync)

    async def _bide(self) -> None:
        """Take one write of those that are allowed, as late as that may be."""
        await asyncio.sleep(self.rate.wait(time.monotonic()))

    def _tell(self, event: Announcement) -> None:
        self.operator.post_event({"kind": self.kind, "metadata": self.body["metadata"]}, *event)

    @property
    def _resync(self) -> float:
        return float(self.operator.settings.resync_seconds)

    def _back_off(self, error: ApiError) -> float:
        if error.status in (404, 409):  # gone or stale: look again when the watch has caught up
            self.stale += 1
            return random.uniform(0.05, 0.3) * (1 if self.stale < 20 else 50)  # noqa: S311 - jitter, not a secret
        self.failures += 1
        seconds = min(30.0, 0.5 * 2.0 ** min(self.failures, 8))
        self.logger.warning("the API server did not carry out a request, again in %.0f s: %s", seconds, error)
        pause = seconds * random.uniform(0.7, 1.3)  # noqa: S311
        if error.refused:
            self._make_room(pause, forbidden=error.forbidden)
        return pause

    def _make_room(self, pause: float, *, forbidden: bool) -> None:
        """Let others go on while the API server refuses what this one asks; who holds a place has its time first."""
        now, places = time.monotonic(), self.operator.places
        if self.uid not in places.holders():
            self.not_before = now + pause  # its own alarm rings, too, when others are told
            if self.failures >= (FORBIDDEN_FAILURES if forbidden else REFUSALS):
                places.set_aside(self.uid)
            return
        self.refused_since = self.refused_since or now
        if now - self.refused_since >= self.operator.settings.cleanup_seconds:
            self.logger.warning("it was refused all the time, so that others do not wait for its place any longer")
            places.set_aside(self.uid)

    @property
    def _api_server(self) -> ApiServer:
        return self.operator.connection()


def _version(thing: Mapping[str, Any]) -> int:
    return int(thing.get("metadata", {}).get("resourceVersion", 0))


@asynccontextmanager
async def _counted() -> AsyncIterator[None]:
    began = time.monotonic()
    try:
        yield
    except ApiError as error:
        PASSES.labels("conflict" if error.status == 409 else "error").inc()
        raise
    except Exception:
        PASSES.labels("unforeseen").inc()
        raise
    else:
        PASSES.labels("ok").inc()
    finally:
        PASS_SECONDS.observe(time.monotonic() - began)


async def _sleep(waker: asyncio.Event, stopped: Stopped, seconds: float) -> bool:
    """Wait that long or for an event; return whether there was one."""
    waits = [asyncio.ensure_future(waker.wait()), asyncio.ensure_future(stopped.wait())]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return waker.is_set()
