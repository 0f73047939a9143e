"""The thin layer between kopf and the decisions. No other file has handlers of kopf's.

Each watched namespace has a kopf of its own, so that one that cannot be read stops no other. An event of an active
Benchmark begins the task that looks, plans, writes and acts for it, or hands it the newest body. kopf's own daemons are
not used: they force a finalizer on what they work for.
"""

import asyncio
import logging
import signal
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import kopf

from fairlap.api.base import Json
from fairlap.api.kinds import CONFIG_MAP, ELASTICSEARCH, ENDPOINT_SLICE, JOB, POD
from fairlap.api.names import (
    COMPARISON_KIND,
    COMPARISON_PLURAL,
    GROUP,
    KIND,
    MANAGED_BY,
    MANAGER,
    PART_LABEL,
    PART_RECORD,
    PLURAL,
    VERSION,
)
from fairlap.api.phases import is_over
from fairlap.api.small_metadata import OWN_FINALIZER
from fairlap.kube.api_server import ApiServer
from fairlap.kube.backoff import doubled
from fairlap.kube.repeat import repeat
from fairlap.machines.prometheus import Prometheus
from fairlap.queue.summary import summarize, summarize_comparison
from fairlap.runtime.beside.ownerless import remove_ownerless
from fairlap.runtime.beside.slow_deletions import is_collected
from fairlap.runtime.loop.state import Operator
from fairlap.runtime.objects.crd_check import check_crd
from fairlap.runtime.objects.ownership import indexed_under
from fairlap.runtime.objects.project import (
    cut_spec,
    drop_comparison,
    drop_numbers,
    drop_record,
    drop_unread,
    project_child,
    set_spec_aside,
)
from fairlap.runtime.reconcilers.benchmark_reconciler import BenchmarkReconciler
from fairlap.runtime.reconcilers.comparison_deciders import DECIDERS
from fairlap.runtime.reconcilers.comparison_reconciler import ComparisonReconciler
from fairlap.runtime.reconcilers.look import ChildIndexes
from fairlap.runtime.watches.quick_toggles import use_quick_toggles
from fairlap.runtime.watches.resync import find_gone_clusters, hold_beside_lists
from fairlap.runtime.watches.small_pages import use_small_pages

BENCHMARKS = (GROUP, VERSION, PLURAL)
COMPARISONS = (GROUP, VERSION, COMPARISON_PLURAL)
CHILDREN: dict[str, tuple[str, ...]] = {
    "elasticsearches": ELASTICSEARCH[1:],
    "jobs": JOB[1:],
    "config_maps": CONFIG_MAP[1:],
    "pods": POD[1:],
    "endpoint_slices": ENDPOINT_SLICE[1:],
}
OWNED = {MANAGED_BY: MANAGER}
_WRITE_SECONDS: Final = 10.0
"""how long the end waits for the answers to what is being written"""


async def run_handlers(operator: Operator) -> None:
    """Work until `operator.stop` is set. Raises what nobody expected of the work on all namespaces."""
    use_quick_toggles()
    use_small_pages()
    operator.api_server = operator.api_server or await ApiServer.connect()
    if operator.settings.prometheus.url:
        operator.prometheus = Prometheus(operator.settings.prometheus)
    looking = asyncio.create_task(operator.namespaces.look_after_all(lambda n: _follow(operator, n)))
    stopping = asyncio.create_task(operator.stop.wait())
    tasks = [*_repeated(operator), looking, stopping]
    try:
        await asyncio.wait([looking, stopping], return_when=asyncio.FIRST_COMPLETED)
        if looking.done():
            looking.result()
    finally:
        await operator.object_tasks.stop(_WRITE_SECONDS)  # before all else: a write may be on its way
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await operator.chores.stop()
        await operator.generations.stop()
        await operator.slow_deletions.stop()
        await operator.deleted_races.stop()
        await operator.events.flush(3.0)


def end_by_signal(stop: asyncio.Event) -> None:
    """Let SIGTERM and SIGINT set `stop`."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)


def _repeated(operator: Operator) -> list[asyncio.Task[None]]:
    async def sweep() -> None:
        await remove_ownerless(operator.connection(), operator.namespaces.readable())

    async def resync() -> None:
        connection, listed = operator.connection(), operator.namespaces.readable()
        places, watches = operator.places, operator.watches
        for blind in await hold_beside_lists(connection, places, watches, listed, operator.end):
            operator.namespaces.read_anew(blind)
        clusters = operator.elasticsearches
        operator.gone_clusters = await find_gone_clusters(connection, clusters, listed, operator.gone_clusters)

    async def compare() -> None:
        await check_crd(operator.connection())

    every = operator.settings
    return [
        repeat(every.resync_seconds, compare, "the CustomResourceDefinition was not looked at", at_once=True),
        repeat(every.resync_seconds, resync, "what is there was not held beside what events told"),
        repeat(every.sweep_seconds, sweep, "claims without a cluster were not looked for"),
    ]


async def _follow(operator: Operator, namespace: str) -> None:
    """Let one kopf watch a namespace, or all with "", until cancelled. Raises what ended one of its tasks."""
    settings = kopf.OperatorSettings()
    configure(settings)
    # Not kopf.operator(): in its end it waits for, and cancels, every task that is younger than itself.
    tasks = await kopf.spawn_tasks(
        registry=build_registry(operator, namespace),
        settings=settings,
        standalone=True,
        clusterwide=not namespace,
        namespaces=[namespace] if namespace else [],
    )
    end_by_signal(operator.stop)  # each kopf takes the signals for itself
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
    raise RuntimeError(f"kopf has ended in {namespace or 'the cluster'}")


def configure_logging() -> None:
    """Log one JSON object a line, without what is of no use."""
    kopf.configure(log_format=kopf.LogFormat.JSON, log_refkey="k8s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_WithoutHandlerNoise())


class _WithoutHandlerNoise(logging.Filter):
    """kopf reports the success of every event handler; that would be most of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.levelno <= logging.INFO and "succeeded" in record.getMessage())


def build_registry(operator: Operator, namespace: str) -> kopf.OperatorRegistry:
    """Return kopf's handlers, bound to one operator and one of its namespaces, "" for all."""
    registry = kopf.OperatorRegistry()
    _register_login(registry)
    _register_children(registry, operator)
    _register_benchmarks(registry, operator, namespace)
    _register_comparisons(registry, operator, namespace)
    return registry


def _register_login(registry: kopf.OperatorRegistry) -> None:
    @kopf.on.login(registry=registry)
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)


def configure(settings: kopf.OperatorSettings) -> None:
    """Set kopf up for one replica with namespaced permissions that never gives up on the API server."""
    settings.scanning.disabled = True  # else kopf asks for CRDs and namespaces, which we may not list
    settings.peering.standalone = True
    settings.persistence.finalizer = OWN_FINALIZER  # which kopf takes off
    settings.process.ultimate_exiting_timeout = None  # else the end of one kopf is the end of the process, later
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = Backoffs()
    settings.watching.chunk_size = 25  # anybody may make an object of 1 MB; 5,000 are 200 requests at a start
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 360
    settings.watching.reconnect_backoff = 1.0
    settings.posting.enabled = False  # events.py sends ours, and says so when one was not taken
    settings.execution.default_backoff = 5
    ours, plurals = f"{MANAGED_BY}={MANAGER}", {child[-1] for child in CHILDREN.values()}
    settings.watching.label_selectors[lambda resource: resource.plural in plurals - {CONFIG_MAP.plural}] = ours
    # Records are large, written once, and read by name when a race is over: no start lists them, no watch carries them.
    settings.watching.label_selectors[lambda resource: resource.plural == CONFIG_MAP.plural] = (
        f"{ours},{PART_LABEL}!={PART_RECORD}"
    )


class Backoffs:
    """Waiting times between requests that failed, in seconds: for ever, capped at 30."""

    def __iter__(self) -> Iterator[float]:
        """Yield 1, 2, 4 … 30, 30 …; each loop begins anew."""
        return (doubled(1.0, times, 30.0) for times in count())


def _register_children(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    def index(body: kopf.Body, resource: kopf.Resource, **_: Any) -> dict[str, Json] | None:
        uid = indexed_under(resource.plural, body)
        kept = project_child(resource.plural, body) if uid else {}
        drop_unread(body)
        return {uid: kept} if uid else None

    async def changed(body: kopf.Body, resource: kopf.Resource, **_: Any) -> None:
        uid = indexed_under(resource.plural, body)
        if uid and operator.places.is_known(uid, body["metadata"]["namespace"]):  # else it names another namespace's
            operator.wakers.wake(uid)

    for name, resource in CHILDREN.items():
        kopf.index(*resource, labels=OWNED, id=name, param=resource[-1], registry=registry)(index)
        kopf.on.event(*resource, labels=OWNED, id=f"{name}_changed", registry=registry)(changed)


def _register_benchmarks(registry: kopf.OperatorRegistry, operator: Operator, namespace: str) -> None:
    @kopf.index(*BENCHMARKS, id="benchmarks", registry=registry)
    async def observe(body: kopf.Body, **_: Any) -> None:
        # An index, since kopf calls it for every Benchmark before any handler: nobody gets a place in a queue that is
        # known in part. A coroutine, since kopf calls others in threads, and alarms may be set in this one only.
        operator.watches.show(body["metadata"]["uid"], body["metadata"]["resourceVersion"])
        cut_spec(body)
        operator.places.observe(summarize(body))
        operator.races.observe(body)
        drop_numbers(body)
        set_spec_aside(body)

    @kopf.on.event(*BENCHMARKS, id="benchmark_changed", registry=registry)
    async def changed(uid: str, body: kopf.Body, event: kopf.RawEvent, **kwargs: Any) -> None:
        indexes = ChildIndexes(*(kwargs[name] for name in CHILDREN))
        operator.elasticsearches[namespace] = indexes.elasticsearches
        operator.jobs[namespace], operator.pods[namespace] = indexes.jobs, indexes.pods
        leader = operator.places.leader(uid, body["metadata"]["namespace"])
        if event["type"] == "DELETED":
            if operator.places.delete(uid):
                operator.deleted_races.look_after(body["metadata"]["namespace"], uid)
            operator.watches.forget(uid)
            operator.races.remove(uid)
            operator.chores.forget(uid)
        else:
            operator.chores.look(body)
            operator.generations.look(KIND, body)
        operator.wakers.wake(leader)
        over = event["type"] == "DELETED" or is_over(body)
        if _is_driven(operator, KIND, body, over=over):
            operator.object_tasks.follow(namespace, BenchmarkReconciler(operator, body, uid, indexes, kwargs["logger"]))
        operator.namespaces.indexed(namespace)
        if over:
            operator.wakers.drop(uid)
            drop_record(event["object"])
        else:
            operator.wakers.waker(uid).set()


def _register_comparisons(registry: kopf.OperatorRegistry, operator: Operator, namespace: str) -> None:
    @kopf.index(*COMPARISONS, id="comparisons", registry=registry)
    async def observe_comparison(body: kopf.Body, **_: Any) -> None:
        operator.watches.show(body["metadata"]["uid"], body["metadata"]["resourceVersion"])
        cut_spec(body)
        operator.places.observe(summarize_comparison(body))
        drop_comparison(body)
        set_spec_aside(body)

    @kopf.on.event(*COMPARISONS, id="comparison_changed", registry=registry)
    async def comparison_changed(uid: str, body: kopf.Body, event: kopf.RawEvent, logger: Any, **_: Any) -> None:
        over = event["type"] == "DELETED" or is_over(body)
        if event["type"] == "DELETED":
            operator.places.remove(uid)
            operator.watches.forget(uid)
        else:
            operator.generations.look(COMPARISON_KIND, body)
        if _is_driven(operator, COMPARISON_KIND, body, over=over):
            operator.object_tasks.follow(
                namespace, ComparisonReconciler(operator, body, uid, None, logger, deciders=DECIDERS)
            )
        operator.namespaces.indexed(namespace)
        if over:
            operator.wakers.drop(uid)
        else:
            operator.wakers.waker(uid).set()


def _is_driven(operator: Operator, kind: str, body: kopf.Body, *, over: bool) -> bool:
    """Return whether an object is to be driven, which is `over` or not; end what is done for it where it is not."""
    uid = str(body["metadata"]["uid"])
    if over:
        operator.slow_deletions.forget(uid)
    else:
        operator.slow_deletions.look(kind, body)
    driven = not (over or is_collected(body))
    if not driven:
        operator.object_tasks.end(uid, body["status"] if is_over(body) else None)
    return driven
