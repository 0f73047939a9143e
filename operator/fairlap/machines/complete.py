"""Completes the table of a race with what only the operator can find out: Prometheus' series, volumes, mounts.

Nothing here fails a race: what cannot be had is said in the table.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from fairlap.api.base import Json
from fairlap.api.node_resources import node_resources
from fairlap.api.quantity import parse_quantity
from fairlap.api.spec import Resources as Limits
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.kube.backoff import doubled
from fairlap.machines.prometheus import Prometheus, PrometheusError
from fairlap.manifests.elasticsearch import DATA_VOLUME, MOUNTS_CONTAINER
from fairlap.plan.basis.seen import Seen
from fairlap.plan.basis.steps import object_name
from fairlap.plan.explain.trouble import elasticsearch_pods, load_generators
from fairlap.results import cadvisor
from fairlap.results.machine_facts import facts_of
from fairlap.results.storage import Provisioned, is_bound, with_claim, with_mount
from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.recorded.task_spans import TaskSpan, clock_was_set, race_span, task_spans
from fairlap_race.contract.watched_machines.resources import (
    ELASTICSEARCH,
    KEY_RESOURCES,
    LOAD_GENERATOR,
    PROMETHEUS,
    Machine,
    MachineTable,
    Volume,
    merged,
)
from fairlap_race.contract.watched_machines.series import Span

LOG = logging.getLogger(__name__)
# The last scrape of a race comes up to an interval after its end, and takes a moment to be there; a rarer one is waited
# for as long as its samples are asked for.
SETTLE_SECONDS = 10.0
# All questions of one race together.
PATIENCE_SECONDS = 120.0
CLOCK_WAS_SET = (
    "Prometheus was not asked: the load generator's clock was set during the race, so that nobody knows which of its "
    "figures are of which task"
)
# A kubelet that died never answers for its logs, and a race that is over holds its place until it was asked.
RETRY_SECONDS = 60.0
# Not there, not ours to read, or not to be had in this way: asking again gives the same answer.
_REFUSED = (400, 403, 404)
_MOUNTS_LOG = {"container": MOUNTS_CONTAINER, "limitBytes": str(256 * 1024)}
Told = TypeVar("Told")


async def complete_table(
    api_server: ApiServer,
    prometheus: Prometheus | None,
    seen: Seen,
    step: str,
    table: MachineTable | None,
    record: Record,
) -> MachineTable:
    """Return the table of a step with Prometheus' numbers and the evidence of its volumes, kept in its record.

    A table that was completed before is returned as it is. Raises ApiError when the API server does not answer.
    """
    if table is not None and table.completed:
        return table
    table = table or MachineTable(race_id=record.race_id, remarks=("the runner left no table of its own",))
    if prometheus is not None:
        table = await _with_prometheus(prometheus, seen, table, record)
    if seen.subject.spec.elasticsearch is not None:
        logs: dict[str, str] = {}
        volumes = await _volumes(api_server, seen, table.volumes, logs)
        resources = node_resources(seen.subject.spec.elasticsearch, seen.status.node_processors)
        machines = tuple(
            with_facts(with_limits(machine, resources), logs.get(machine.name)) for machine in table.machines
        )
        table = replace(table, machines=machines, volumes=volumes)
    own = record.environment.load_generator.settings
    machines = tuple(replace(it, settings=own) if it.role == LOAD_GENERATOR else it for it in table.machines)
    table = replace(table, machines=machines, completed=True)
    try:
        kept = {"binaryData": packed({KEY_RESOURCES: table.to_json()})}
        await api_server.patch("ConfigMap", seen.subject.namespace, object_name(seen.subject.name, step), kept)
    except ApiError as error:
        if not error.final:
            raise
        table = replace(table, remarks=(*table.remarks, f"the completed table could not be kept: {error.message}"))
    return table


def with_limits(machine: Machine, resources: Limits) -> Machine:
    """Return an Elasticsearch node with the limits that its pod was given, where it could not tell them itself."""
    if machine.role != ELASTICSEARCH:
        return machine
    cpu, memory = resources.limits.cpu, resources.limits.memory
    return replace(
        machine,
        cpu_limit=machine.cpu_limit or (float(parse_quantity(cpu)) if cpu else None),
        memory_limit_bytes=machine.memory_limit_bytes or (float(parse_quantity(memory)) if memory else None),
    )


def with_facts(machine: Machine, log: str | None) -> Machine:
    """Return an Elasticsearch node with what the kernel says of its machine in the log of its mounts."""
    if machine.role != ELASTICSEARCH or log is None:
        return machine
    found = facts_of(log)
    return replace(
        machine,
        cpu_model=found.cpu_model,
        machine_memory_bytes=found.memory_bytes,
        numa_nodes=found.numa_nodes,
        cpus=found.cpus,
        cpu_numa_nodes=found.cpu_numa_nodes,
        processors=found.processors,
        settings=found.settings,
    )


async def _with_prometheus(prometheus: Prometheus, seen: Seen, table: MachineTable, record: Record) -> MachineTable:
    race, tasks = race_span(record.tasks), task_spans(record.tasks)
    pods = [str(pod["metadata"]["name"]) for pod in seen.children.pods]
    if race is None or not pods:
        return table
    if clock_was_set(record.tasks):
        return replace(table, remarks=(*table.remarks, CLOCK_WAS_SET))
    await asyncio.sleep(min(SETTLE_SECONDS, max(0.0, race.end + SETTLE_SECONDS - time.time())))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = [machine for pod in pods for machine in await _of_pod(prometheus, seen, pod, race, tasks)]
    except (PrometheusError, cadvisor.AnswerError, TimeoutError) as error:
        why = f"Prometheus at {prometheus.url} could not be used ({error or 'it took too long'})"
        LOG.warning("%s", why)
        return replace(
            table, remarks=(*table.remarks, f"{why}: its columns are those of the other sources, or missing")
        )
    return with_series(table, found, seen, prometheus.url)


async def _of_pod(prometheus: Prometheus, seen: Seen, pod: str, race: Span, tasks: Sequence[TaskSpan]) -> list[Machine]:
    # One pod after the other, so that never more than one pod's samples are in memory.
    collected = await _collected(prometheus, seen, pod, race)
    later = race.end + cadvisor.MARGIN_SECONDS - time.time()
    ends = collected.until(pod) if collected.containers.get(pod) == ELASTICSEARCH else race.end
    if later > 0 and ends < race.end:  # else the end is in no total; a load generator ends with the race
        await asyncio.sleep(min(later, cadvisor.MARGIN_SECONDS))  # the race's clock may be ahead of ours
        collected = await _collected(prometheus, seen, pod, race)
    return cadvisor.machines(collected, race, tasks)


async def _collected(prometheus: Prometheus, seen: Seen, pod: str, race: Span) -> cadvisor.Collected:
    collected = cadvisor.Collected()
    for chunk in cadvisor.chunks(race):
        text = cadvisor.query(seen.subject.namespace, pod, seen.settings.prometheus.labels, chunk.seconds)
        collected.add(await prometheus.query(text, chunk.end))
    return collected


def with_series(table: MachineTable, found: Sequence[Machine], seen: Seen, url: str) -> MachineTable:
    """Return the table with each group of columns that Prometheus has (`found`) taken from there."""
    by_name = {machine.name: machine for machine in found}
    remarks = list(table.remarks)
    wanted = [*elasticsearch_pods(seen.children.pods), *load_generators(seen.children.pods)]
    if lacking := sorted({str(pod["metadata"]["name"]) for pod in wanted} - set(by_name)):
        remarks.append(
            f"Prometheus at {url} has no cAdvisor series of {', '.join(lacking)} "
            f"(labels namespace={seen.subject.namespace}, pod, container): is the kubelets' /metrics/cadvisor scraped?"
        )
    machines = [
        merged(machine, by_name.pop(machine.name), PROMETHEUS) if machine.name in by_name else machine
        for machine in table.machines
    ]
    return replace(table, machines=(*machines, *by_name.values()), remarks=tuple(remarks))


async def _volumes(
    api_server: ApiServer, seen: Seen, told: Sequence[Volume], logs: dict[str, str]
) -> tuple[Volume, ...]:
    """Return the evidence of each node's volume, and put what its kernel said into `logs`, by the node's name."""
    pods = [str(pod["metadata"]["name"]) for pod in elasticsearch_pods(seen.children.pods)]
    by_node = {volume.node: volume for volume in told}
    until = time.monotonic() + RETRY_SECONDS
    # At once, so that a node that does not answer takes no time of the others.
    found = [_volume(api_server, seen, by_node.get(pod, Volume(node=pod)), logs, until) for pod in pods]
    return tuple(await asyncio.gather(*found))


async def _volume(api_server: ApiServer, seen: Seen, volume: Volume, logs: dict[str, str], until: float) -> Volume:
    namespace, wanted = seen.subject.namespace, seen.subject.spec.elasticsearch
    try:
        text = await _patiently(lambda: api_server.read_log(namespace, volume.node, _MOUNTS_LOG), until)
        logs[volume.node], volume = text, with_mount(volume, text)
    except ApiError as error:
        volume = with_mount(volume, None, error.message)
    if wanted is None or wanted.storage.size is None:
        return replace(volume, kind="emptyDir")
    return with_claim(volume, await _provisioned(api_server, namespace, f"{DATA_VOLUME}-{volume.node}", until))


async def _provisioned(api_server: ApiServer, namespace: str, claim_name: str, until: float) -> Provisioned:
    remarks: list[str] = []

    async def read(kind: str, name: str, inside: str = "") -> Json | None:
        if not name:
            return None
        try:
            return await _patiently(lambda: api_server.read(kind, inside, name), until)
        except ApiError as error:
            remarks.append(f"{kind} {name} could not be read: {error.message}")
            return None

    claim = await read("PersistentVolumeClaim", claim_name, namespace) or {}
    spec = claim.get("spec") or {}
    volume = await read("PersistentVolume", name := str(spec.get("volumeName") or ""))
    if volume is None:
        return Provisioned(claim, remarks=tuple(remarks))
    # Whoever writes a claim may name anybody's volume, and any class; what is bound to it was not chosen by its writer.
    if not is_bound(claim, volume):
        return Provisioned({**claim, "spec": {}}, remarks=(f"PersistentVolume {name} is not bound to this claim",))
    storage_class = await read("StorageClass", str(spec.get("storageClassName") or ""))
    return Provisioned(claim, volume, storage_class, tuple(remarks))


async def _patiently(read: Callable[[], Awaitable[Told]], until: float) -> Told:
    """Return what is read, tried again until a moment of time.monotonic, and at least once. Raises ApiError.

    Whether the API server is away as a whole need not be told here: then the table cannot be kept either.
    """
    tries = 0
    while True:
        pause = doubled(1.0, tries, 15.0)
        try:
            return await read()
        except ApiError as error:
            if error.status in _REFUSED or time.monotonic() + pause > until:
                raise
        await asyncio.sleep(pause)
        tries += 1
