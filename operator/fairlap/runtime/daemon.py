"""Drives one Benchmark: it looks, plans, writes the status and acts, and sleeps until there is a reason to look again.

A status is written with the resourceVersion that the decision was made from, so a stale view is refused by the API
server and the daemon looks again.
The indexes alone are not believed for ever: what is deleted while kopf has lost its watch (410 Gone: it lists again)
stays in them, since no event tells of it. A look that no event caused therefore asks the API server itself.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from prometheus_client import Counter, Histogram
from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import TERMINAL, BenchmarkStatus
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.benchmark import plan
from fairlap.plan.outdated_crd import describe, say_outdated
from fairlap.plan.seen import Plan, Refusal, Seen
from fairlap.plan.unforeseen import Ending, internal_error, pause_after, unreadable
from fairlap.queue.summary import Place, held_place
from fairlap.runtime.announce import announcements, phase_words
from fairlap.runtime.last_word import INTERNAL_ERRORS, remove_children, say_last_word
from fairlap.runtime.look import ChildIndexes, build_seen, look_at
from fairlap.runtime.perform import perform
from fairlap.runtime.project import bounded_copy
from fairlap.runtime.skew import Skew
from fairlap.runtime.state import Operator
from fairlap.runtime.write_rate import WriteRate
from fairlap.runtime.writes import write_status
from fairlap_race.contract.reasons import Reason

FORBIDDEN_FAILURES = 6  # a permission that is missing for about a minute is believed to be

PASSES = Counter("fairlap_passes", "Looks at a Benchmark", ["result"])
PASS_SECONDS = Histogram("fairlap_pass_seconds", "Time of one look at a Benchmark")


class Stopped(Protocol):
    """The sign that a daemon must end: true when it must, and somebody may wait for it."""

    def __bool__(self) -> bool: ...

    def wait(self) -> Any:
        """Return when it must end."""


@dataclass
class Daemon:
    """Drives one Benchmark from its first sight to its end."""

    operator: Operator
    body: Mapping[str, Any]
    uid: str
    indexes: ChildIndexes
    logger: Any
    written: Json = field(default_factory=dict)
    """our own last write, which may not have come back over the watch yet"""
    in_doubt: bool = False
    """whether an admission was sent whose answer was lost: it may have been written"""
    foreign: str = ""
    refusal: Refusal | None = None
    taken_up: datetime = field(default_factory=lambda: datetime.now(UTC))
    failures: int = 0
    stale: int = 0
    errors: int = 0
    """looks in a row that ended in an error that was not foreseen"""
    ending: Ending | None = None
    """why it ends at once, when it cannot go on"""
    ending_since: float = 0.0
    not_before: float = 0.0
    """when to look again whatever happens until then, in seconds of time.monotonic"""
    skew: Skew = field(default_factory=Skew)
    intended: BenchmarkStatus | None = None
    """what was written and not stored, although decisions stand on it"""
    rate: WriteRate = field(default_factory=WriteRate)

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
                pause = await (self._end_at_once() if self.ending else self._look_once(woken=woken))
        except ApiError as error:
            return self._stumble(error) if error.unfit else self._back_off(error)
        except Exception as error:  # one Benchmark's content must not stop anything but itself
            return self._stumble(error)
        self.failures = self.stale = self.errors = 0
        if not self.ending:
            self.operator.places.take_back(self.uid)
        return pause

    def _stumble(self, error: Exception) -> float:
        """Take in an error that was not foreseen; return how many seconds may pass until the next attempt."""
        meta = self.body["metadata"]
        INTERNAL_ERRORS.labels("end" if self.ending else "look").inc()
        self.logger.error("Benchmark %s/%s: %r", meta["namespace"], meta["name"], error, exc_info=error)
        self.errors += 1
        if self.ending or self.uid not in self.operator.places.holders():
            self.operator.places.set_aside(self.uid)
        pause = min(300.0, 5.0 * 2.0 ** min(self.errors, 8)) if self.ending else pause_after(self.errors)
        if pause is None:
            self._end_with(internal_error(error))
            return 0
        self.not_before = time.monotonic() + pause
        return pause

    def _end_with(self, ending: Ending) -> None:
        self.ending, self.ending_since, self.errors = ending, time.monotonic(), 0

    async def _end_at_once(self) -> float:
        """Remove what there is, say why, and give the place back; return the seconds until it is looked at again."""
        assert self.ending is not None  # noqa: S101 - asked by the only caller
        meta = self.body["metadata"]
        gone = await remove_children(self._api_server, meta["namespace"], self.uid)
        if not gone and time.monotonic() - self.ending_since < self.operator.settings.cleanup_seconds:
            return 2.0
        if (said := await say_last_word(self._api_server, meta, self.ending)) is not None:
            words = f"{self.ending.reason}: {self.ending.message}"
            self.operator.post_event(self.body, "Warning", "Failed", words)
            self.logger.info("ended at once: %s", words)
            self.written = said
        self.operator.places.set_aside(self.uid)
        self.not_before = time.monotonic() + self._resync  # until its end comes back over the watch, and ends this
        return self._resync

    async def _look_once(self, *, woken: bool) -> float:
        """Look, decide, and write or act; return how many seconds may pass until the next look."""
        benchmark = _newest(bounded_copy(self.body), self.written)
        if (benchmark.get("status") or {}).get("phase") in TERMINAL:
            return self._resync  # until its end is told
        now = datetime.now(UTC)
        try:
            seen = build_seen(benchmark, self.indexes, self.operator.settings, now)
        except ValidationError as error:
            if error.title != BenchmarkSpec.__name__:
                raise
            self._end_with(unreadable(error))
            return 0
        if self.intended is not None:
            await self._write(benchmark, seen.status, self.intended)
            return 0
        children = replace(seen.children, foreign=self.foreign)
        seen = replace(seen, children=children, refusal=self.refusal, taken_up=self.taken_up, pruned=self.skew.fields)
        turn, check_turn = self.operator.places.turn(self.uid), self.operator.places.turn(self.uid, "check")
        seen = replace(seen, turn=turn, check_turn=check_turn, kept=self.operator.kept(self.indexes.elasticsearches))
        if not seen.status.step and self.operator.places.lags(self.uid, held_place(seen.status)):
            return 0.5  # the event of our own write will wake it
        if not woken and seen.status.step:
            seen = await look_at("children", seen, self._api_server, self.operator.prometheus)
        seen, todo = await self._decide(seen)
        if not self._holds_what_it_needs(seen.status, todo.status):
            return 0  # another one took the place while this one was reading what it decides by
        if self.skew.differs(seen.status, todo.status, time.monotonic()):
            await self._write(benchmark, seen.status, todo.status)
            return 0
        return await self._act(seen, todo)

    async def _decide(self, seen: Seen) -> tuple[Seen, Plan]:
        todo = plan(seen)
        while todo.look:
            for what in todo.look:
                seen = await look_at(what, seen, self._api_server, self.operator.prometheus)
            todo = plan(seen)
        return seen, todo

    def _holds_what_it_needs(self, before: BenchmarkStatus, after: BenchmarkStatus) -> bool:
        """Take a place for one that is to be admitted now; return whether there was one, or none is needed."""
        held, wanted = held_place(before), held_place(after)
        if wanted and wanted != held:
            return self.operator.places.assume(self.uid, wanted)
        self._give_up_place(but=held)
        return True

    async def _write(self, benchmark: Json, before: BenchmarkStatus, after: BenchmarkStatus) -> None:
        await asyncio.sleep(self.rate.wait(time.monotonic()))
        try:
            self.written = await write_status(self._api_server, benchmark, after)
        except ApiError as error:
            # A place that may have been written is kept until a later look, which decides by what there is then.
            self.in_doubt = self.in_doubt or error.unanswered
            if not self.in_doubt:
                self._give_up_place(but=held_place(before))
            raise
        self.in_doubt = False
        self._give_up_place(but=held_place(after))
        if after.step != before.step:
            self.foreign, self.refusal = "", None
        for event in announcements(before, after):
            self.operator.post_event(self.body, *event)
        if after.phase != before.phase:
            self.logger.info("%s -> %s: %s", before.phase, after.phase, phase_words(after))
        self._compare(after)

    def _compare(self, sent: BenchmarkStatus) -> None:
        """Take in whether the API server stored all that was sent, and say so when it did not."""
        stored = self.written.get("status") or {}
        if self.skew.note(sent, stored, time.monotonic()):
            told = f"{describe(self.skew.fields or ())}. What to do: {Reason.CRD_OUTDATED.cure}"
            self.operator.post_event(self.body, "Warning", Reason.CRD_OUTDATED, told)
            self.logger.warning("%s: %s", Reason.CRD_OUTDATED, told)
        self.intended = None
        if self.skew.misleads:
            # Going on would be wrong, and so would be to decide anew by what is left of it: it is said again, later.
            self.intended, self.not_before = say_outdated(sent, self.skew.fields, datetime.now(UTC)), self.skew.again_at

    def _give_up_place(self, but: Place | None = None) -> None:
        self.operator.places.forget(self.uid, but)
        self.in_doubt = False

    async def _act(self, seen: Seen, todo: Plan) -> float:
        if todo.create or todo.delete or todo.start_job:
            await asyncio.sleep(self.rate.wait(time.monotonic()))
        try:
            self.foreign = await perform(self._api_server, seen, todo)
        except ApiError as error:
            if not (error.final or (error.forbidden and self.failures >= FORBIDDEN_FAILURES)):
                raise
            self.refusal = Refusal("request", error.message)
            self.logger.warning("refused: %s", error)
            return 0 if seen.refusal != self.refusal else self._resync
        if self.foreign != seen.children.foreign:
            return 0
        if self.foreign:  # it is not ours, so no event will tell when it has gone: try again
            return 2.0
        again = self.skew.again_at - time.monotonic() if self.skew.fields else self._resync
        return min(todo.wake_in or self._resync, max(again, 1.0), self._resync)

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
        return seconds * random.uniform(0.7, 1.3)  # noqa: S311

    @property
    def _api_server(self) -> ApiServer:
        return self.operator.connection()


def _newest(seen: Json, written: Json) -> Json:
    def version(thing: Json) -> int:
        return int(thing.get("metadata", {}).get("resourceVersion", 0))

    return dict(bounded_copy(written)) if version(written) > version(seen) else seen


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
