"""The thin layer between kopf and the decisions. The only file that imports kopf.

For each active Benchmark one daemon looks, plans, says and does; it sleeps until one of the Benchmark's children
changes, its own deadline comes, or five minutes are over.
"""

from collections.abc import Iterator
from typing import Any

import kopf

from fairlap.api.base import Json
from fairlap.api.names import GROUP, MANAGED_BY, MANAGER, PLURAL, VERSION
from fairlap.api.status import TERMINAL
from fairlap.kube.cluster import Cluster
from fairlap.kube.repeat import again
from fairlap.machines.prometheus import Prometheus
from fairlap.queue import summary
from fairlap.runtime.daemon import Daemon
from fairlap.runtime.look import Indexes
from fairlap.runtime.ownerless import remove_ownerless
from fairlap.runtime.state import Operator

BENCHMARKS = (GROUP, VERSION, PLURAL)
CHILDREN: dict[str, tuple[str, ...]] = {
    "elasticsearches": ("elasticsearch.k8s.elastic.co", "v1", "elasticsearches"),
    "jobs": ("batch", "v1", "jobs"),
    "config_maps": ("v1", "configmaps"),
    "pods": ("v1", "pods"),
    "endpoint_slices": ("discovery.k8s.io", "v1", "endpointslices"),
}
OURS = {MANAGED_BY: MANAGER}


def registry_for(operator: Operator) -> kopf.OperatorRegistry:
    """Return kopf's handlers, bound to one operator."""
    registry = kopf.OperatorRegistry()
    _register_lifecycle(registry, operator)
    _register_children(registry, operator)
    _register_benchmarks(registry, operator)
    return registry


def _register_lifecycle(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    async def sweep() -> None:
        await remove_ownerless(operator.connection(), operator.settings.namespaces)

    @kopf.on.startup(registry=registry)
    async def connect(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)
        operator.cluster = operator.cluster or await Cluster.connect()
        if operator.settings.prometheus.url:
            operator.prometheus = Prometheus(operator.settings.prometheus)
        operator.vanished.look_every(operator.settings.resync_seconds)
        operator.sweep = again(operator.settings.sweep_seconds, sweep, "claims without a cluster were not looked for")

    @kopf.on.cleanup(registry=registry)
    async def disconnect(**_: Any) -> None:
        operator.vanished.stop()
        if operator.sweep:
            operator.sweep.cancel()
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
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 360
    settings.watching.reconnect_backoff = 1.0
    settings.posting.enabled = False  # events.py sends ours, and says so when one was not taken
    settings.execution.default_backoff = 5
    settings.background.cancellation_polling = 5
    # Else a daemon whose last write comes back as an event before the answer is cancelled, and tells nobody of the end.
    settings.background.instant_exit_timeout = 10
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
        uid = summary.owner_uid(body)
        return {uid: summary.child(resource.plural, body)} if uid else None

    async def changed(body: kopf.Body, **_: Any) -> None:
        if waker := operator.wakers.get(summary.owner_uid(body) or ""):  # none for a Benchmark that is over
            waker.set()

    for name, resource in CHILDREN.items():
        kopf.index(*resource, labels=OURS, id=name, param=resource[-1], registry=registry)(index)
        kopf.on.event(*resource, labels=OURS, id=f"{name}_changed", registry=registry)(changed)


def _register_benchmarks(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    @kopf.index(*BENCHMARKS, id="benchmarks", registry=registry)
    def benchmarks(body: kopf.Body, **_: Any) -> dict[str, summary.Summary]:
        return {str(body["metadata"]["uid"]): summary.summary(body)}

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
            summary.forget_record(event["object"])
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
