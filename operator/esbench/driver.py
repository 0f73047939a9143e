"""The thin layer between kopf and the decisions. The only file that imports kopf.

For each active Benchmark one daemon looks, plans, says and does; it sleeps until one of the Benchmark's children
changes, its own deadline comes, or five minutes are over. A status is written with the resourceVersion that the
decision was made from, so a stale view is refused by the API server and the daemon looks again.

The indexes alone are not believed for ever: what is deleted while kopf has lost its watch (410 Gone: it lists again)
stays in them, since no event tells of it. A look that no event caused therefore asks the API server itself, and now
and then the queue is cleared of Benchmarks that have vanished so.
"""

import asyncio
import copy
import logging
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import kopf
from prometheus_client import Counter, Histogram
from pydantic import ValidationError

from . import slim
from .api.base import Json
from .api.names import GROUP, MANAGED_BY, MANAGER, PLURAL, VERSION
from .api.status import TERMINAL, BenchmarkStatus
from .chores import Chores
from .cluster import ApiError, Cluster
from .look import Indexes, seen_from, unreadable
from .machines import completed
from .perform import perform
from .plan.benchmark import plan
from .plan.conditions import condition
from .plan.keep import KEPT
from .plan.seen import LogOf, Plan, Refusal, Seen
from .plan.steps import is_preparation
from .plan.turn import Waiting, addresses, turn
from .prometheus import Prometheus
from .settings import Settings

BENCHMARKS = (GROUP, VERSION, PLURAL)
CHILDREN: dict[str, tuple[str, ...]] = {
    "elasticsearches": ("elasticsearch.k8s.elastic.co", "v1", "elasticsearches"),
    "jobs": ("batch", "v1", "jobs"),
    "config_maps": ("v1", "configmaps"),
    "pods": ("v1", "pods"),
    "endpoint_slices": ("discovery.k8s.io", "v1", "endpointslices"),
}
OURS = {MANAGED_BY: MANAGER}
LOG = logging.getLogger(__name__)
FORBIDDEN_FAILURES = 6  # a permission that is missing for about a minute is believed to be

PASSES = Counter("esbench_passes", "Looks at a Benchmark", ["result"])
PASS_SECONDS = Histogram("esbench_pass_seconds", "Time of one look at a Benchmark")


@dataclass
class Operator:
    """What the handlers share: the settings, the connection, and who must be woken."""

    settings: Settings
    cluster: Cluster | None = None
    prometheus: Prometheus | None = None
    wakers: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    reserved: set[str] = field(default_factory=set)
    """uids whose admission is being written: the index does not show it yet"""
    holding: set[str] = field(default_factory=set)
    """uids that the last event showed with a place"""
    vanished: set[str] = field(default_factory=set)
    """uids that the index still shows, although there is no such Benchmark any more"""
    benchmarks: kopf.Index[str, slim.Summary] | None = None
    elasticsearches: kopf.Index[str, Json] | None = None
    sweeper: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        """Set the chores up: what is done beside races."""
        self.chores = Chores(_post, self._connection, self._clusters_of, self._names_in)

    def _connection(self) -> Cluster:
        assert self.cluster is not None  # noqa: S101 - kopf runs handlers after startup
        return self.cluster

    def _clusters_of(self, uid: str) -> list[Json]:
        return list(self.elasticsearches.get(uid, ())) if self.elasticsearches is not None else []

    def _names_in(self, namespace: str) -> set[str]:
        names = (summary.name for summaries in (self.benchmarks or {}).values() for summary in summaries)
        return {name.removeprefix(f"{namespace}/") for name in names if name.startswith(f"{namespace}/")}

    def wake_everyone(self) -> None:
        """Let every active Benchmark look again: a place in the queue may be free."""
        for waker in self.wakers.values():
            waker.set()

    def phases(self) -> Iterator[str]:
        """Yield the phase of each known Benchmark."""
        for uid, summaries in (self.benchmarks or {}).items():
            if uid not in self.vanished:
                yield from (summary.phase for summary in summaries)

    async def look_for_vanished(self) -> None:
        """Find again and again which of the known Benchmarks are gone, and let those behind them go on."""
        while True:
            await asyncio.sleep(self.settings.resync_seconds)
            known = set(self.benchmarks or ())  # before it is asked who lives: a uid never comes back
            try:
                living = await self._connection().benchmark_uids(self.settings.namespaces)
            except ApiError as error:
                LOG.info("Benchmarks were not listed: %s", error)
                continue
            if known - living != self.vanished:
                self.vanished = known - living
                self.wake_everyone()


def registry_for(operator: Operator) -> kopf.OperatorRegistry:
    """Return kopf's handlers, bound to one operator."""
    registry = kopf.OperatorRegistry()
    _register_lifecycle(registry, operator)
    _register_children(registry, operator)
    _register_benchmarks(registry, operator)
    return registry


def _register_lifecycle(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    @kopf.on.startup(registry=registry)
    async def connect(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)
        operator.cluster = operator.cluster or await Cluster.connect()
        if operator.settings.prometheus.url:
            operator.prometheus = Prometheus(operator.settings.prometheus)
        operator.sweeper = asyncio.create_task(operator.look_for_vanished(), name="look for vanished Benchmarks")

    @kopf.on.cleanup(registry=registry)
    async def disconnect(**_: Any) -> None:
        if operator.sweeper:
            operator.sweeper.cancel()
        await operator.chores.stop()

    @kopf.on.login(registry=registry)
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)


def configure(settings: kopf.OperatorSettings) -> None:
    """Set kopf up for one replica with namespaced permissions that never gives up on the API server."""
    settings.scanning.disabled = True  # else kopf asks for CRDs and namespaces, which we may not list
    settings.peering.standalone = True
    settings.persistence.finalizer = f"{GROUP}/operator"
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = Backoffs()
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 360
    settings.watching.reconnect_backoff = 1.0
    settings.posting.reporting_component = "esbench-operator"
    settings.posting.level = logging.INFO
    settings.execution.default_backoff = 5
    settings.background.cancellation_polling = 5
    plurals = {child[-1] for child in CHILDREN.values()}
    settings.watching.label_selectors[lambda resource: resource.plural in plurals] = f"{MANAGED_BY}={MANAGER}"


class Backoffs:
    """Waiting times between requests that failed, in seconds: for ever, capped at 30."""

    def __iter__(self) -> Iterator[float]:
        """Yield 1, 2, 4 … 30, 30 …; each loop begins anew."""
        seconds = 1.0
        while True:
            yield seconds
            seconds = min(seconds * 2, 30.0)


def _register_children(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    def index(body: kopf.Body, resource: kopf.Resource, **_: Any) -> dict[str, Json] | None:
        uid = slim.owner_uid(body)
        return {uid: slim.child(resource.plural, body)} if uid else None

    async def changed(body: kopf.Body, **_: Any) -> None:
        if waker := operator.wakers.get(slim.owner_uid(body) or ""):  # none for a Benchmark that is over
            waker.set()

    for name, resource in CHILDREN.items():
        kopf.index(*resource, labels=OURS, id=name, param=resource[-1], registry=registry)(index)
        kopf.on.event(*resource, labels=OURS, id=f"{name}_changed", registry=registry)(changed)


def _register_benchmarks(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    @kopf.index(*BENCHMARKS, id="benchmarks", registry=registry)
    def benchmarks(body: kopf.Body, **_: Any) -> dict[str, slim.Summary]:
        return {str(body["metadata"]["uid"]): slim.summary(body)}

    @kopf.on.event(*BENCHMARKS, id="benchmark_changed", registry=registry)
    async def changed(uid: str, body: kopf.Body, event: kopf.RawEvent, status: kopf.Status, **kwargs: Any) -> None:
        operator.benchmarks, operator.elasticsearches = kwargs["benchmarks"], kwargs["elasticsearches"]
        gone = event["type"] == "DELETED"
        over = gone or status.get("phase") in TERMINAL
        if over:
            operator.reserved.discard(uid)
        if gone:
            operator.chores.forget(uid)
        else:
            operator.chores.look(body)
        if over:
            operator.wakers.pop(uid, None)
        else:
            operator.wakers[uid].set()
        if over:
            slim.forget_record(event["object"])
        held = uid in operator.holding
        if status.get("admittedTime") and not over:
            operator.holding.add(uid)
        else:
            operator.holding.discard(uid)
        if over or (held and uid not in operator.holding):  # ended, or suspended on its way
            operator.wake_everyone()

    def is_active(status: kopf.Status, **_: Any) -> bool:
        return status.get("phase") not in TERMINAL

    @kopf.daemon(*BENCHMARKS, id="drive", when=is_active, cancellation_timeout=5, backoff=5, registry=registry)
    async def drive(body: kopf.Body, uid: str, stopped: kopf.DaemonStopped, logger: kopf.Logger, **kwargs: Any) -> None:
        indexes = Indexes(*(kwargs[name] for name in CHILDREN))
        await Daemon(operator, body, uid, indexes, kwargs["benchmarks"], logger).run(stopped)


@dataclass
class Daemon:
    """Drives one Benchmark from its first sight to its end."""

    operator: Operator
    body: kopf.Body
    uid: str
    indexes: Indexes
    benchmarks: kopf.Index[str, slim.Summary]
    logger: Any
    written: Json = field(default_factory=dict)
    """our own last write, which may not have come back over the watch yet"""
    foreign: str = ""
    refusal: Refusal | None = None
    failures: int = 0
    stale: int = 0

    async def run(self, stopped: kopf.DaemonStopped) -> None:
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
        target = seen.subject.spec.target
        hosts = addresses(target.hosts, seen.subject.namespace) if target else frozenset[str]()
        queue = turn(self.uid, self._queue(), self.operator.settings.max_active, hosts)
        children = replace(seen.children, foreign=self.foreign)
        seen = replace(seen, turn=queue, children=children, refusal=self.refusal)
        if not woken and seen.status.step:
            seen = await self._confirmed(seen)
        seen, todo = await self._decide(seen)
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
        reserved = self.operator.reserved
        if after.admitted_time and not before.admitted_time:
            reserved.add(self.uid)
        try:
            self.written = await self._cluster.say(benchmark, after)
        except ApiError:
            if not before.admitted_time and self.uid in reserved:
                reserved.discard(self.uid)
                self.operator.wake_everyone()  # who looked meanwhile saw the place taken
            raise
        if not after.admitted_time:
            reserved.discard(self.uid)
        if after.step != before.step:
            self.foreign, self.refusal = "", None
        self._tell(before, after)

    def _tell(self, before: BenchmarkStatus, after: BenchmarkStatus) -> None:
        if after.failing and not before.failing:
            kopf.event(self.body, type="Warning", reason=after.reason, message=after.message[:1000])
        checked = condition(after, "TargetChecked")
        if checked and checked != condition(before, "TargetChecked"):
            kopf.event(self.body, type="Normal", reason="TargetChecked", message=checked.message[:1000])
        for kept in (
            c for c in after.conditions if c.type == KEPT and not any(b.type == KEPT for b in before.conditions)
        ):
            kopf.event(self.body, type="Normal", reason=KEPT, message=kept.message[:1000])
        if after.phase != before.phase:
            bad = after.phase == "Failed"
            text = f"{after.reason}: {after.message}"[:1000] if bad else after.progress
            kopf.event(self.body, type="Warning" if bad else "Normal", reason=str(after.phase), message=text)
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

    def _queue(self) -> list[Waiting]:
        reserved, vanished = self.operator.reserved, self.operator.vanished
        return [
            summary.waiting(reserved=uid in reserved)
            for uid, summaries in self.benchmarks.items()
            if uid not in vanished
            for summary in summaries
        ]

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
        assert self.operator.cluster is not None  # noqa: S101 - kopf runs daemons after startup
        return self.operator.cluster


def _post(about: Any, kind: str, reason: str, message: str) -> None:
    kopf.event(kopf.Body(about), type=kind, reason=reason, message=message[:1000])


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


async def _sleep(waker: asyncio.Event, stopped: kopf.DaemonStopped, seconds: float) -> bool:
    """Wait that long or for an event; return whether there was one."""
    waits = [asyncio.ensure_future(waker.wait()), asyncio.ensure_future(stopped.wait())]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return waker.is_set()
