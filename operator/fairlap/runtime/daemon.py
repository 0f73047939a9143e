"""Drives one Benchmark: it looks, plans, says and does, and sleeps until there is a reason to look again.

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
from fairlap.kube.cluster import ApiError, Cluster
from fairlap.machines.complete import completed
from fairlap.plan.benchmark import plan
from fairlap.plan.conditions import condition
from fairlap.plan.keep import KEPT
from fairlap.plan.seen import LogOf, Plan, Refusal, Seen, Subject
from fairlap.plan.steps import is_preparation
from fairlap.plan.unreadable import unreadable
from fairlap.queue import summary as slim
from fairlap.queue.turn import Turn, addresses, turn
from fairlap.runtime.look import Index, Indexes, seen_from
from fairlap.runtime.perform import perform
from fairlap.runtime.state import Operator

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
    indexes: Indexes
    benchmarks: Index
    logger: Any
    written: Json = field(default_factory=dict)
    """our own last write, which may not have come back over the watch yet"""
    foreign: str = ""
    refusal: Refusal | None = None
    taken_up: datetime = field(default_factory=lambda: datetime.now(UTC))
    failures: int = 0
    stale: int = 0

    async def run(self, stopped: Stopped) -> None:
        """Look, say and do until kopf says stop."""
        waker, woken = self.operator.wakers[self.uid], True
        while not stopped:
            waker.clear()  # before looking, so that no wake-up is lost
            try:
                async with _counted():
                    pause = await self._pass(woken=woken)
                self.failures = self.stale = 0
            except ApiError as error:
                pause = self._back_off(error)
            if pause > 0:
                woken = await _sleep(waker, stopped, pause)

    async def _pass(self, *, woken: bool) -> float:
        benchmark = _newest(copy.deepcopy(dict(self.body)), self.written)
        if (benchmark.get("status") or {}).get("phase") in TERMINAL:
            return self._resync  # until kopf ends this daemon
        now = datetime.now(UTC)
        try:
            seen = seen_from(benchmark, self.indexes, self.operator.settings, now)
        except ValidationError as error:
            # What an operator that could read it had begun goes first: afterwards nobody would look for it.
            await self._remove_children()
            status = BenchmarkStatus.model_validate(benchmark.get("status") or {})
            await self._say(benchmark, status, unreadable(status, str(error), now))
            return 0
        children = replace(seen.children, foreign=self.foreign)
        seen = replace(seen, children=children, refusal=self.refusal, taken_up=self.taken_up)
        seen = replace(seen, turn=self._turn(seen.subject))
        if not woken and seen.status.step:
            seen = await self._confirmed(seen)
        seen, todo = await self._decide(seen)
        admitted = todo.status.admitted_time and not seen.status.admitted_time
        if admitted and not self._turn(seen.subject).mine:
            return 0  # another one took the place while this one was reading what it decides by
        if todo.status != seen.status:
            await self._say(benchmark, seen.status, todo.status)
            return 0
        return await self._act(seen, todo)

    async def _remove_children(self) -> None:
        for kind, index in (("Elasticsearch", self.indexes.elasticsearches), ("Job", self.indexes.jobs)):
            for there in list(index.get(self.uid, ())):
                await self._cluster.delete(kind, there)

    async def _decide(self, seen: Seen) -> tuple[Seen, Plan]:
        cluster, subject = self._cluster, seen.subject
        todo = plan(seen)
        while todo.look:
            for what in todo.look:
                if isinstance(what, LogOf):
                    text = await cluster.log_tail(subject.namespace, what)
                    seen = replace(seen, logs={**seen.logs, what: text})
                elif what == "track":
                    config_map = subject.spec.race.track.config_map
                    keys = await cluster.config_map_keys(subject.namespace, config_map.name if config_map else "")
                    seen = replace(seen, track_keys=keys)
                elif what == "children":
                    seen = await self._confirmed(seen)
                elif what == "evictions":
                    seen = replace(seen, evictions=await cluster.evictions(seen))
                elif what == "warnings":
                    seen = replace(seen, warnings=await cluster.warnings(seen))
                else:
                    seen = await self._with_records(seen)
            todo = plan(seen)
        return seen, todo

    async def _confirmed(self, seen: Seen) -> Seen:
        return replace(seen, confirmed=True, children=await self._cluster.children(seen))

    async def _with_records(self, seen: Seen) -> Seen:
        cluster, subject, steps = self._cluster, seen.subject, slim.steps_so_far(seen.status)
        records, resources = await cluster.records(subject, steps), await cluster.resources(subject, steps)
        now, step = steps[-1], seen.status.step
        record = records[now]
        if step is not None and not is_preparation(now) and record is not None:
            table = await completed(cluster, self.operator.prometheus, seen, now, resources[now], record)
            resources[now] = table
        return replace(seen, records=records, resources=resources)

    async def _say(self, benchmark: Json, before: BenchmarkStatus, after: BenchmarkStatus) -> None:
        if after.admitted_time and not before.admitted_time:
            self.operator.reserved.add(self.uid)
        try:
            self.written = await self._cluster.say(benchmark, after)
        except ApiError:
            if not before.admitted_time:
                self._give_up_place()
            raise
        if not after.admitted_time:
            self._give_up_place()
        if after.step != before.step:
            self.foreign, self.refusal = "", None
        self._tell(before, after)

    def _give_up_place(self) -> None:
        if self.uid in self.operator.reserved:
            self.operator.reserved.discard(self.uid)
            self.operator.wake_everyone()  # who looked meanwhile, be it on the event of this write, saw the place taken

    def _tell(self, before: BenchmarkStatus, after: BenchmarkStatus) -> None:
        if after.failing and not before.failing:
            self.operator.tell(self.body, "Warning", after.reason, after.message)
        checked = condition(after, "TargetChecked")
        if checked and checked != condition(before, "TargetChecked"):
            self.operator.tell(self.body, "Normal", "TargetChecked", checked.message)
        for kept in (
            c for c in after.conditions if c.type == KEPT and not any(b.type == KEPT for b in before.conditions)
        ):
            self.operator.tell(self.body, "Normal", KEPT, kept.message)
        if after.phase != before.phase:
            bad = after.phase == "Failed"
            text = f"{after.reason}: {after.message}" if bad else after.progress
            self.operator.tell(self.body, "Warning" if bad else "Normal", str(after.phase), text)
            self.logger.info("%s -> %s: %s", before.phase, after.phase, text)

    async def _act(self, seen: Seen, todo: Plan) -> float:
        try:
            self.foreign = await perform(self._cluster, seen, todo)
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

    def _turn(self, subject: Subject) -> Turn:
        reserved, vanished, target = self.operator.reserved, self.operator.vanished, subject.spec.target
        waiting = [
            summary.waiting(reserved=uid in reserved)
            for uid, summaries in self.benchmarks.items()
            if uid not in vanished
            for summary in summaries
        ]
        hosts = addresses(target.hosts, subject.namespace) if target else frozenset[str]()
        return turn(self.uid, waiting, self.operator.settings.max_active, hosts)

    def _back_off(self, error: ApiError) -> float:
        if error.status in (404, 409):  # gone or stale: look again when the watch has caught up
            self.stale += 1
            return random.uniform(0.05, 0.3) * (1 if self.stale < 20 else 50)  # noqa: S311 - jitter, not a secret
        self.failures += 1
        seconds = min(30.0, 0.5 * 2.0 ** min(self.failures, 8))
        self.logger.warning("the API server did not carry out a request, again in %.0f s: %s", seconds, error)
        return seconds * random.uniform(0.7, 1.3)  # noqa: S311

    @property
    def _cluster(self) -> Cluster:
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
