"""How one object is driven, a Benchmark or a Comparison: look, plan, write the status, act, sleep until woken.

A status is written with the resourceVersion that the decision was made from, so a stale view is refused by the API
server and is looked at again. Whatever goes wrong with one object stops nothing but itself.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, Protocol

from prometheus_client import Counter, Histogram
from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.phases import is_over
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.kube.shared_room import SharedRoom
from fairlap.plan.outdated_crd import Status
from fairlap.plan.unforeseen import Ending, internal_error
from fairlap.runtime.loop.announce import Announcement
from fairlap.runtime.loop.attempts import Attempts
from fairlap.runtime.loop.driven_kind import DrivenKind, PlanOf, SeenOf
from fairlap.runtime.loop.newest_version import newest_version, why_unreadable
from fairlap.runtime.loop.own_place import OwnPlace
from fairlap.runtime.loop.state import Operator
from fairlap.runtime.loop.status_writer import StatusWriter
from fairlap.runtime.loop.sudden_end import SuddenEnd
from fairlap.runtime.objects.project import is_set_aside

PASSES = Counter("fairlap_passes", "Looks at a Benchmark or a Comparison", ["result"])
for _result in ("ok", "conflict", "error", "unforeseen"):
    PASSES.labels(_result)  # exposed from the beginning, so that the first of each is an increase
PASS_SECONDS = Histogram("fairlap_pass_seconds", "Time of one look at a Benchmark or a Comparison")


class Stopped(Protocol):
    """The sign that the work must end: true when it must, and somebody may wait for it."""

    @property
    def last_status(self) -> Mapping[str, Any]:
        """What is kept of the status, where the work must end since the object is over."""

    def __bool__(self) -> bool: ...

    def wait(self) -> Any:
        """Return when it must end."""


class _ToWrite(NamedTuple, Generic[Status]):
    """A status that was decided, and nothing of what it was decided from: that may be large, and a write may hang."""

    version: Json
    before: Status
    after: Status


@dataclass
class ReconcileLoop(ABC, Generic[Status, SeenOf, PlanOf]):
    """Drives one object from its first sight to its end; what is particular to its kind is in the class for that."""

    kind: ClassVar[DrivenKind[Any]]
    operator: Operator
    body: Mapping[str, Any]
    uid: str
    indexes: Any
    logger: Any
    foreign: str = ""
    """something else that has a name which is needed, as a sentence"""
    sudden_end: SuddenEnd | None = None
    """when it cannot go on"""
    entered: list[SharedRoom] = field(default_factory=list)
    """what has room for a few looks at once, and holds this one now"""
    end_known: bool = False
    """whether it was taken in that it is over"""
    attempts: Attempts = field(init=False)
    place: OwnPlace = field(init=False)
    writer: StatusWriter[Status] = field(init=False)

    def __post_init__(self) -> None:
        """Set up its parts. None of them knows the loop: most are made for one event, and go with it at once."""
        self.attempts = Attempts(self.operator, self.uid, self.logger)
        self.place = OwnPlace(self.operator.places, self.uid)
        self.writer = StatusWriter(self.kind, self.place, self.logger)

    @abstractmethod
    def _see(self, there: Json) -> SeenOf:
        """Return what is seen at first. Raises ValidationError when the spec cannot be read."""

    @abstractmethod
    def _see_more(self, seen: SeenOf) -> SeenOf:
        """Add what is known in this process: the queue, other objects, and what earlier looks have met."""

    @abstractmethod
    async def _look_at(self, what: Any, seen: SeenOf) -> SeenOf:
        """Add what a plan has asked for, read from the API server. Raises ApiError."""

    @abstractmethod
    async def _plan(self, seen: SeenOf) -> PlanOf:
        """Decide what follows from what is seen."""

    @abstractmethod
    async def _before_write(self, seen: SeenOf, todo: PlanOf) -> None:
        """Do what must be done before the status of a plan stands."""

    @abstractmethod
    def _set_down(self, seen: SeenOf, todo: PlanOf) -> SeenOf:
        """Return what the acts of a plan need of what is seen: what it was decided from may be large, and they hang."""

    @abstractmethod
    async def _perform(self, seen: SeenOf, todo: PlanOf) -> str:
        """Carry out the acts in order; return a sentence when a foreign object is in the way. Raises ApiError."""

    @abstractmethod
    def _retry_seconds(self, seen: SeenOf, error: ApiError) -> float | None:
        """Return the seconds until an act is tried again which may go well then; None when this error is none such."""

    @abstractmethod
    def _is_news(self, refusal: str) -> bool:
        """Keep the API server's words about a refused act for the next decision; return whether they are new."""

    @abstractmethod
    def _has_written(self, before: Status, after: Status) -> None:
        """Take in that `after` now stands in place of `before`."""

    @abstractmethod
    def _has_ended(self, last_status: Mapping[str, Any]) -> None:
        """Take in that it is over, whoever wrote so, by what is kept of its status."""

    @abstractmethod
    async def _remove_children(self) -> list[str]:
        """Remove what it has, when it ends at once; return the names of what is still there. Raises ApiError."""

    async def run(self, stopped: Stopped) -> None:
        """Look, write and act until told to stop; then take in its end, if it is over."""
        woken = True
        while not stopped:
            waker = self.operator.wakers.waker(self.uid)
            waker.clear()  # before looking, so that no wake-up is lost
            pause = await self._pass(woken=woken)
            if pause > 0:
                woken = await _sleep(waker, stopped, pause)
        # Our own word is enough: the event that would show it may be one that no watch tells of.
        if last := stopped.last_status or (self.writer.written["status"] if is_over(self.writer.written) else {}):
            self.writer.announce_unanswered(last, self._post_event)
            if not self.end_known:
                self.end_known = True
                self._has_ended(last)

    def take_over(self, before: "ReconcileLoop[Any, Any, Any]") -> None:
        """Take in what an earlier one for the same object, which has ended, knows of its end and of lost answers."""
        self.end_known, self.writer.unanswered = before.end_known, before.writer.unanswered

    async def _pass(self, *, woken: bool) -> float:
        """Do what is to be done now, whatever goes wrong with it; return how many seconds may pass until the next."""
        if (left := self.attempts.left()) > 0:
            return left
        try:
            async with _counted():
                end = self.sudden_end
                pause = await (self._end_at_once(end) if end else self._look(woken=woken))
        except ApiError as error:
            return self._stumble(error) if error.unfit else self.attempts.after_failure(error)
        except Exception as error:  # one object's content must not stop anything but itself
            return self._stumble(error)
        self.attempts.setbacks.clear()
        if not self.sudden_end:
            self.operator.places.take_back(self.uid)
        return pause

    async def _look(self, *, woken: bool) -> float:
        try:
            if is_set_aside(self.body):
                await self._enter(self.operator.large_specs)
            found = await self._look_once(woken=woken)
        finally:
            for room in [*self.entered]:
                self._leave(room)
        if isinstance(found, _ToWrite):
            await self._write(found.version, found.before, found.after)
            return 0
        return found

    async def _enter(self, room: SharedRoom) -> None:
        """Wait until there is room for what this look will hold; it is left once all is decided and done."""
        if room not in self.entered:
            await room.enter(self._namespace)
            self.entered.append(room)

    def _leave(self, room: SharedRoom) -> None:
        """Let others in, if this look has entered: what needed the room is not held any more."""
        if room in self.entered:
            self.entered.remove(room)
            room.leave(self._namespace)

    async def _look_once(self, *, woken: bool) -> float | _ToWrite[Status]:
        """Look, decide, and act; return how many seconds may pass until the next look, or what is to be written now."""
        known_defaults = self.operator.newer_defaults
        there = await newest_version(self._api_server, self.kind.name, self.body, self.writer.written, known_defaults)
        if there is None or is_over(there):
            return self._resync  # until its end is told
        try:
            seen = self._see(there)
        except ValidationError as error:
            if why := await why_unreadable(self._api_server, self.kind, error, known_defaults, self.logger):
                self._end_with(why)
            return 0
        self.writer.announce_unanswered(there.get("status") or {}, self._post_event)
        if (unstored := self.writer.said_again(seen.now)) is not None:
            return _ToWrite({"metadata": there["metadata"]}, seen.status, unstored)
        held = self.kind.held(seen.status)
        if self.kind.waits_for_events(seen.status) and self.operator.places.lags(self.uid, held):
            return 0.5  # the event of our own write will wake it
        seen = self._see_more(seen)
        for what in () if woken else self.kind.to_confirm(seen.status):
            seen = await self._look_at(what, seen)
        seen, todo = await self._decide(seen)
        if not self.place.take(held, self.kind.held(todo.status)):
            return 0  # another one took the place while this one was reading what it decides by
        if self.writer.differs(seen.status, todo.status):
            await self._before_write(seen, todo)
            return _ToWrite({"metadata": there["metadata"]}, seen.status, todo.status)
        seen = self._set_down(seen, todo)
        return await self._act(seen, todo)

    async def _decide(self, seen: SeenOf) -> tuple[SeenOf, PlanOf]:
        todo = await self._plan(seen)
        while todo.look:
            for what in todo.look:
                seen = await self._look_at(what, seen)
            todo = await self._plan(seen)
        return seen, todo

    async def _write(self, there: Json, before: Status, after: Status) -> None:
        try:
            await self.writer.write(self._api_server, there, before, after)
        except ApiError as error:
            self.attempts.after_status(error)
            raise
        self.attempts.after_status()
        self._has_written(before, after)
        self.writer.announce(before, after, self._post_event)
        if self.writer.intended is not None:
            self.attempts.setbacks.not_before = self.writer.unstored.again_at

    async def _act(self, seen: SeenOf, todo: PlanOf) -> float:
        before = self.foreign
        try:
            self.foreign = await self._perform(seen, todo)
        except ApiError as error:
            if (pause := self._retry_seconds(seen, error)) is not None:
                return pause
            if not self.attempts.setbacks.is_final(error):
                raise
            self.logger.warning("refused: %s", error)
            return 0 if self._is_news(error.message) else self._resync
        if self.foreign != before:
            return 0
        if self.foreign:  # it is not ours, so no event will tell when it has gone: try again
            return 2.0
        return self._next_look(todo)

    def _next_look(self, todo: PlanOf) -> float:
        """Return the seconds until the next look after the acts of a plan."""
        unstored = self.writer.unstored
        again = unstored.again_at - time.monotonic() if unstored.fields else self._resync
        return min(todo.wake_in or self._resync, max(again, 1.0), self._resync)

    def _stumble(self, error: Exception) -> float:
        """Take in an error that was not foreseen; return how many seconds may pass until the next attempt."""
        meta = self.body["metadata"]
        title, ends = f"{self.kind.name} {meta['namespace']}/{meta['name']}", self.sudden_end is not None
        pause = self.attempts.after_unforeseen(error, title, ends=ends)
        if pause is None:
            self._end_with(internal_error(error, self.kind.name))
            return 0
        return pause

    def _end_with(self, why: Ending) -> None:
        self.sudden_end, self.attempts.setbacks.errors = SuddenEnd(why, time.monotonic()), 0

    async def _end_at_once(self, end: SuddenEnd) -> float:
        """Remove what there is, say why, and give the place back; return the seconds until it is looked at again."""
        patience = self.operator.settings.cleanup_seconds
        ending = await end.clear_away(self._remove_children, time.monotonic(), patience)
        if ending is None:
            return 2.0
        self.operator.places.set_aside(self.uid)  # first: the last word may be refused as well
        await self.writer.end(self._api_server, self.body["metadata"], ending, self._post_event)
        return self.attempts.rest(self._resync)  # until its end comes back over the watch, and ends this

    def _post_event(self, event: Announcement) -> None:
        self.operator.post_event({"kind": self.kind.name, "metadata": self.body["metadata"]}, *event)

    @property
    def _namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def _resync(self) -> float:
        return float(self.operator.settings.resync_seconds)

    @property
    def _api_server(self) -> ApiServer:
        return self.operator.connection()


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
