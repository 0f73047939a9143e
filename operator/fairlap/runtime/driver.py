"""The thin layer between kopf and the decisions. The only file that imports kopf.

For each active Benchmark one daemon looks, plans, writes and acts; it sleeps until one of the Benchmark's children
changes, its own deadline comes, or five minutes are over.
"""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import kopf

from fairlap.api.base import Json
from fairlap.api.names import GROUP, MANAGED_BY, MANAGER, PART_LABEL, PART_RECORD, PLURAL, VERSION
from fairlap.api.status import TERMINAL
from fairlap.kube.api_server import ApiServer
from fairlap.kube.repeat import repeat
from fairlap.machines.prometheus import Prometheus
from fairlap.queue.summary import summarize
from fairlap.runtime.daemon import Daemon
from fairlap.runtime.look import ChildIndexes
from fairlap.runtime.ownerless import remove_ownerless
from fairlap.runtime.project import drop_numbers, drop_record, owner_uid, project_child
from fairlap.runtime.state import Operator
from fairlap.runtime.vanished import look_for_vanished

BENCHMARKS = (GROUP, VERSION, PLURAL)
CHILDREN: dict[str, tuple[str, ...]] = {
    "elasticsearches": ("elasticsearch.k8s.elastic.co", "v1", "elasticsearches"),
    "jobs": ("batch", "v1", "jobs"),
    "config_maps": ("v1", "configmaps"),
    "pods": ("v1", "pods"),
    "endpoint_slices": ("discovery.k8s.io", "v1", "endpointslices"),
}
OWNED = {MANAGED_BY: MANAGER}


async def run_handlers(operator: Operator, ready: asyncio.Event) -> None:
    """Let kopf watch and call until `operator.stop` or a signal ends it; `ready` is set once it has begun.

    Raises what ended one of kopf's tasks.
    """
    namespaces = operator.settings.namespaces
    await kopf.operator(
        registry=build_registry(operator),
        standalone=True,
        clusterwide=not namespaces,
        namespaces=namespaces,
        ready_flag=ready,
        stop_flag=operator.stop,
    )


def configure_logging() -> None:
    """Log one JSON object a line, without what is of no use."""
    kopf.configure(log_format=kopf.LogFormat.JSON, log_refkey="k8s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_WithoutHandlerNoise())


class _WithoutHandlerNoise(logging.Filter):
    """kopf reports the success of every event handler; that would be most of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.levelno <= logging.INFO and "succeeded" in record.getMessage())


def build_registry(operator: Operator) -> kopf.OperatorRegistry:
    """Return kopf's handlers, bound to one operator."""
    registry = kopf.OperatorRegistry()
    _register_lifecycle(registry, operator)
    _register_children(registry, operator)
    _register_benchmarks(registry, operator)
    return registry


def _register_lifecycle(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    async def sweep() -> None:
        await remove_ownerless(operator.connection(), operator.settings.namespaces)

    async def resync() -> None:
        await look_for_vanished(operator.connection(), operator.places, operator.settings.namespaces)

    @kopf.on.startup(registry=registry)
    async def connect(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)
        operator.api_server = operator.api_server or await ApiServer.connect()
        if operator.settings.prometheus.url:
            operator.prometheus = Prometheus(operator.settings.prometheus)
        every = operator.settings
        operator.background += [
            repeat(every.resync_seconds, resync, "vanished Benchmarks were not looked for"),
            repeat(every.sweep_seconds, sweep, "claims without a cluster were not looked for"),
        ]

    @kopf.on.cleanup(registry=registry)
    async def disconnect(**_: Any) -> None:
        for task in operator.background:
            task.cancel()
        await operator.chores.stop()
        await operator.events.flush(3.0)
        operator.stop.set()  # else kopf waits 5 s for its own task that waits for this

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
    settings.watching.chunk_size = 500
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 360
    settings.watching.reconnect_backoff = 1.0
    settings.posting.enabled = False  # events.py sends ours, and says so when one was not taken
    settings.execution.default_backoff = 5
    settings.background.cancellation_polling = 5
    # Else a daemon whose last write comes back as an event before the answer is cancelled, and tells nobody of the end.
    settings.background.instant_exit_timeout = 10
    ours, plurals = f"{MANAGED_BY}={MANAGER}", {child[-1] for child in CHILDREN.values()}
    settings.watching.label_selectors[lambda resource: resource.plural in plurals - {"configmaps"}] = ours
    # Records are large, written once, and read by name when a race is over: no start lists them, no watch carries them.
    settings.watching.label_selectors[lambda resource: resource.plural == "configmaps"] = (
        f"{ours},{PART_LABEL}!={PART_RECORD}"
    )


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
        uid = owner_uid(body)
        return {uid: project_child(resource.plural, body)} if uid else None

    async def changed(body: kopf.Body, **_: Any) -> None:
        operator.wakers.wake(owner_uid(body) or "")

    for name, resource in CHILDREN.items():
        kopf.index(*resource, labels=OWNED, id=name, param=resource[-1], registry=registry)(index)
        kopf.on.event(*resource, labels=OWNED, id=f"{name}_changed", registry=registry)(changed)


def _register_benchmarks(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    @kopf.index(*BENCHMARKS, id="benchmarks", registry=registry)
    async def observe(body: kopf.Body, **_: Any) -> None:
        # An index, since kopf calls it for every Benchmark before any handler: nobody gets a place in a queue that is
        # known in part. A coroutine, since kopf calls others in threads, and alarms may be set in this one only.
        operator.places.observe(summarize(body))
        drop_numbers(body)

    @kopf.on.event(*BENCHMARKS, id="benchmark_changed", registry=registry)
    async def changed(uid: str, body: kopf.Body, event: kopf.RawEvent, status: kopf.Status, **kwargs: Any) -> None:
        operator.elasticsearches = kwargs["elasticsearches"]
        if event["type"] == "DELETED":
            operator.places.remove(uid)
            operator.chores.forget(uid)
        else:
            operator.chores.look(body)
        if event["type"] == "DELETED" or status.get("phase") in TERMINAL:
            operator.wakers.drop(uid)
            drop_record(event["object"])
        else:
            operator.wakers.waker(uid).set()

    def is_active(status: kopf.Status, **_: Any) -> bool:
        return status.get("phase") not in TERMINAL

    @kopf.daemon(*BENCHMARKS, id="drive", when=is_active, cancellation_timeout=5, backoff=5, registry=registry)
    async def drive(body: kopf.Body, uid: str, stopped: kopf.DaemonStopped, logger: kopf.Logger, **kwargs: Any) -> None:
        indexes = ChildIndexes(*(kwargs[name] for name in CHILDREN))
        await Daemon(operator, body, uid, indexes, logger).run(stopped)
