"""Drives one Benchmark: it looks, plans, writes the status and acts, and sleeps until there is a reason to look again.

A status is written with the resourceVersion that the decision was made from, so a stale view is refused by the API
server and the daemon looks again.
The indexes alone are not believed for ever: what is deleted while kopf has lost its watch (410 Gone: it lists again)
stays in them, since no event tells of it. A look that no event caused therefore asks the API server itself.
"""

import asyncio
import copy
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
from fairlap.api.status import TERMINAL, BenchmarkStatus
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.benchmark import plan
from fairlap.plan.seen import Plan, Refusal, Seen
from fairlap.plan.unreadable import unreadable
from fairlap.queue.summary import Place, held_place
from fairlap.runtime.announce import announcements, phase_words
from fairlap.runtime.look import ChildIndexes, build_seen, look_at
from fairlap.runtime.perform import perform
from fairlap.runtime.state import Operator
from fairlap.runtime.writes import write_status

FORBIDDEN_FAILURES = 6  # a permission that is missing for about a minute is believed to be

PASSES = Counter("fairlap_passes", "Looks at a Benchmark", ["result"])
PASS_SECONDS = Histogram("fairlap_pass_seconds", "Time of one look at a Benchmark")


class Stopped(Protocol):
    """kopf's sign that a daemon must end: true when it must, and somebody may wait for it."""

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

    async def run(self, stopped: Stopped) -> None:
        """Look, write and act until kopf says stop."""
        waker, woken = self.operator.wakers.waker(self.uid), True
        while not stopped:
            waker.clear()  # before looking, so that no wake-up is lost
            try:
                async with _counted():
                    pause = await self._look_once(woken=woken)
                self.failures = self.stale = 0
            except ApiError as error:
                pause = self._back_off(error)
            if pause > 0:
                woken = await _sleep(waker, stopped, pause)

    async def _look_once(self, *, woken: bool) -> float:
        """Look, decide, and write or act; return how many seconds may pass until the next look."""
        benchmark = _newest(copy.deepcopy(dict(self.body)), self.written)
        if (benchmark.get("status") or {}).get("phase") in TERMINAL:
            return self._resync  # until kopf ends this daemon
        now = datetime.now(UTC)
        try:
            seen = build_seen(benchmark, self.indexes, self.operator.settings, now)
        except ValidationError as error:
            # What an operator that could read it had begun goes first: afterwards nobody would look for it.
            await self._remove_children()
            status = BenchmarkStatus.model_validate(benchmark.get("status") or {})
            await self._write(benchmark, status, unreadable(status, str(error), now))
            return 0
        children = replace(seen.children, foreign=self.foreign)
        seen = replace(seen, children=children, refusal=self.refusal, taken_up=self.taken_up)
        turn, check_turn = self.operator.places.turn(self.uid), self.operator.places.turn(self.uid, "check")
        seen = replace(seen, turn=turn, check_turn=check_turn, kept=self.operator.kept(self.indexes.elasticsearches))
        if not seen.status.step and self.operator.places.lags(self.uid, held_place(seen.status)):
            return 0.5  # the event of our own write will wake it
        if not woken and seen.status.step:
            seen = await look_at("children", seen, self._api_server, self.operator.prometheus)
        seen, todo = await self._decide(seen)
        if not self._holds_what_it_needs(seen.status, todo.status):
            return 0  # another one took the place while this one was reading what it decides by
        if todo.status != seen.status:
            await self._write(benchmark, seen.status, todo.status)
            return 0
        return await self._act(seen, todo)

    async def _remove_children(self) -> None:
        for kind, index in (("Elasticsearch", self.indexes.elasticsearches), ("Job", self.indexes.jobs)):
            for there in list(index.get(self.uid, ())):
                await self._api_server.delete(kind, there)

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

    def _give_up_place(self, but: Place | None = None) -> None:
        self.operator.places.forget(self.uid, but)
        self.in_doubt = False

    async def _act(self, seen: Seen, todo: Plan) -> float:
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
        return min(todo.wake_in or self._resync, self._resync)

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

    return copy.deepcopy(written) if version(written) > version(seen) else seen


@asynccontextmanager
async def _counted() -> AsyncIterator[None]:
    began = time.monotonic()
    try:
        yield
    except ApiError as error:
        PASSES.labels("conflict" if error.status == 409 else "error").inc()
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
