"""What the operator reads from the API server about Benchmarks, in the words of the domain."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.kinds import ELASTICSEARCH, ENDPOINT_SLICE, JOB, POD
from fairlap.api.names import COMPARISON_KIND, KIND, NOISE_CONFIG_MAP, STEP_LABEL, UID_LABEL
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.basis.conditions import moment
from fairlap.plan.basis.node_processors import MachineCapacity, capacity_of
from fairlap.plan.basis.seen import Checker, Children, LogOf, Seen, Subject, Warned
from fairlap.plan.basis.steps import CHECK, object_name
from fairlap.plan.explain.log_lines import telling_lines
from fairlap.plan.explain.warned import event_time, newest_first, told_of, warning_of, words_of
from fairlap.plan.newer_crd import unknown_fields, without_defaults
from fairlap.runtime.objects.crd_check import newer_defaults
from fairlap.runtime.objects.ownership import is_controlled_by, is_endpoint_of, is_pod_of, owner_uid, uid_of
from fairlap.runtime.objects.project import bounded_copy, cut_spec, project_child
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_RECORD, Record
from fairlap_race.contract.untrusted import MAX_JSON_VALUES, value_count
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable

log = logging.getLogger(__name__)
MOST_VALUES_TOGETHER: Final = MAX_JSON_VALUES * 3 // 2
"""of all records of a Benchmark that are held at once, in JSON: its races' pods may have written anything"""
LARGE_VALUES: Final = 50_000
"""from which on records are large: one of `log_ingest` has a thousand"""
CHARACTERS_OF_A_VALUE: Final = 16
"""that count as one, as many as a real record has: Python may hold each at 4 bytes, so that 55 MiB are held together"""
_LOG_LINES: Final = 200
_LOG_BYTES: Final = 2500


HasRoom = Callable[[], Awaitable[None]]


async def nothing_to_wait_for() -> None:
    """Return at once, for who is alone."""


async def queued_versions(api_server: ApiServer, namespaces: Iterable[str]) -> dict[str, str]:
    """Return the resourceVersions of all Benchmarks and Comparisons in some namespaces, or the cluster, by uid.

    Raises ApiError; a cluster that does not have Comparisons (yet) has none.
    """
    spaces, found = tuple(namespaces), dict[str, str]()
    for kind in (KIND, COMPARISON_KIND):
        try:
            found |= await api_server.list_versions(kind, spaces)
        except ApiError as error:
            if kind == KIND or error.status != 404:
                raise
    return found


async def list_children(api_server: ApiServer, kind: str, namespace: str, uid: str) -> list[Json]:
    """Return the objects of a kind that a Benchmark owns itself, with their metadata alone. Raises ApiError."""
    labelled = await api_server.list_metadata(kind, [namespace], {"labelSelector": f"{UID_LABEL}={uid}"})
    return [each for each in labelled if owner_uid(each) == uid]


async def list_owned(api_server: ApiServer, kind: str, namespaces: Iterable[str]) -> list[Json]:
    """Return all objects of a kind that belong to any Benchmark, with their metadata alone. Raises ApiError."""
    return await api_server.list_metadata(kind, namespaces, {"labelSelector": UID_LABEL})


async def read_config_map_keys(api_server: ApiServer, namespace: str, name: str) -> frozenset[str]:
    """Return the keys of a ConfigMap, none when it does not exist. Raises ApiError."""
    found = await api_server.find("ConfigMap", namespace, name) or {}
    return frozenset({**(found.get("data") or {}), **(found.get("binaryData") or {})})


def recorded_steps(status: BenchmarkStatus) -> tuple[str, ...]:
    """Return the steps whose records may be there: the races before the current step, and last that one itself."""
    current = status.step.name if status.step else CHECK
    return (*(race.name for race in status.races if race.valid and race.name != current), current)


async def find_run(api_server: ApiServer, kind: str, namespace: str, name: str) -> Json | None:
    """Return a Benchmark or a Comparison, None when there is none. Raises ApiError.

    Of a spec that has more values than any that is accepted, a part is left out: several may be read at once.
    """
    found = await api_server.find(kind, namespace, name)
    if found is not None:
        cut_spec(found)
    return found


async def read_checker(api_server: ApiServer, namespace: str, name: str) -> Checker:
    """Return the Benchmark of that name, without a spec when there is none or it cannot be read. Raises ApiError."""
    there = bounded_copy(await find_run(api_server, KIND, namespace, name) or {})
    try:
        return _checker(there)
    except ValidationError as error:
        if not unknown_fields(error):
            return Checker()
    newer = await newer_defaults(api_server, KIND)
    try:
        return _checker({**there, "spec": without_defaults(there.get("spec"), newer)})
    except ValidationError:
        return Checker()


def _checker(benchmark: Json) -> Checker:
    spec = BenchmarkSpec.model_validate(benchmark.get("spec"))
    return Checker(spec, BenchmarkStatus.model_validate(benchmark.get("status") or {}))


class Written(NamedTuple):
    """What a step has left: None where there is nothing, or nothing that can be read."""

    record: Record | None = None
    machines: MachineTable | None = None


async def read_records(
    api_server: ApiServer, subject: Subject, steps: Sequence[str], has_room: HasRoom = nothing_to_wait_for
) -> dict[str, Written]:
    """Return what these steps have left in their records, each read once, by its name; the last step comes first.

    Of the others there is nothing from the one on with which they would take too much memory together. `has_room`
    returns when there is room for large ones. Raises ApiError.
    """
    found, left = dict[str, Written](), MOST_VALUES_TOGETHER
    for step in reversed(steps):
        name = object_name(subject.name, step)
        there = await api_server.find("ConfigMap", subject.namespace, name) if left > 0 else None
        own = there if there is not None and is_controlled_by(there, subject) else None
        left -= sum(weight_of(text_of(own, key) or "") for key in (KEY_RECORD, KEY_RESOURCES))
        large = own is not None and MOST_VALUES_TOGETHER - left > LARGE_VALUES
        if large:
            await has_room()  # who waits holds them packed
        if found and left <= 0:
            own = None
        # Reading a large one takes seconds, which are not only its own.
        found[step] = await asyncio.to_thread(_read, own) if large else _read(own)
    return found


def weight_of(text: str) -> int:
    """Return how many values a JSON text counts as: those that it has at most, or more where it is long."""
    return max(value_count(text), len(text) // CHARACTERS_OF_A_VALUE)


def _read(own: Json | None) -> Written:
    record = Record.from_json(text_of(own, KEY_RECORD))
    return Written(record, MachineTable.from_json(text_of(own, KEY_RESOURCES)))


async def read_noise(api_server: ApiServer, namespace: str) -> Mapping[str, Any] | None:
    """Return the data of what a namespace's Comparisons have shown of noise, {} without any; None if it cannot be had.

    It only says more of the numbers: no race waits for it.
    """
    try:
        there = await api_server.find("ConfigMap", namespace, NOISE_CONFIG_MAP)
    except ApiError as error:
        log.warning("what Comparisons in %s have shown of noise was not read: %s", namespace, error)
        return None
    data = (there or {}).get("data")
    return data if isinstance(data, Mapping) else {}


async def read_machines(api_server: ApiServer) -> list[MachineCapacity]:
    """Return what the machines have for pods; none where their Nodes cannot be read, as without the right to.

    Raises ApiError.
    """
    try:
        return await api_server.list_objects("Node", "", {}, capacity_of)
    except ApiError as error:
        if error.status not in (403, 404):  # another answer may come: all races are to be given the same
            raise
        log.warning("what the machines have for pods was not read: %s", error)
        return []


async def read_children(api_server: ApiServer, seen: Seen) -> Children:
    """Return the current step's children with its cluster, Job, pods and endpoints as the API server has them now.

    Raises ApiError.
    """
    step, subject = seen.status.step, seen.subject
    if step is None:
        return seen.children
    found: dict[str, Json | None] = {}
    for each in (ELASTICSEARCH, JOB):
        there = await api_server.find(each.kind, subject.namespace, object_name(subject.name, step.name))
        found[each.kind] = project_child(each.plural, there) if there and is_controlled_by(there, subject) else None
    query = {"labelSelector": f"{UID_LABEL}={subject.uid},{STEP_LABEL}={step.name}"}
    job_uid = step.job_uid or uid_of(found[JOB.kind])

    def own_pod(pod: Json) -> Json | None:
        return project_child(POD.plural, pod) if is_pod_of(pod, subject, step.name, job_uid) else None

    def own_slice(each: Json) -> Json | None:
        return project_child(ENDPOINT_SLICE.plural, each) if is_endpoint_of(each, subject, step.name) else None

    pods = await api_server.list_objects(POD.kind, subject.namespace, query, own_pod)
    slices = await api_server.list_objects(ENDPOINT_SLICE.kind, subject.namespace, query, own_slice)
    return replace(
        seen.children,
        elasticsearch=found[ELASTICSEARCH.kind],
        job=found[JOB.kind],
        pods=pods,
        ready_endpoints=sum(each["ready"] for each in slices),
    )


async def read_evictions(api_server: ApiServer, seen: Seen) -> dict[str, str]:
    """Return the words of Kubernetes' events about evicted Elasticsearch pods of the current step, by pod.

    Raises ApiError: who asks decides how long to wait for them.
    """
    step, elasticsearch = seen.status.step, seen.children.elasticsearch
    if step is None or elasticsearch is None:
        return {}
    query = {"fieldSelector": "reason=Evicted,involvedObject.kind=Pod"}
    # An earlier Benchmark may have had the same name.
    since = moment(elasticsearch["metadata"]["creationTimestamp"])
    prefix = f"{object_name(seen.subject.name, step.name)}-es-"

    def own(event: Json) -> tuple[str, str] | None:
        name = str(told_of(event).get("name") or "")
        return (name, words_of(event)) if name.startswith(prefix) and event_time(event) >= since else None

    return dict(await api_server.list_objects("Event", seen.subject.namespace, query, own))


async def read_warnings(api_server: ApiServer, seen: Seen) -> tuple[Warned, ...]:
    """Return Kubernetes' warnings about the current step's objects, the newest first; none if they cannot be had.

    They only explain: a deadline that passed must not wait for them.
    """
    query, own = {"fieldSelector": "type=Warning"}, warning_of(seen)
    try:
        found = await api_server.list_objects("Event", seen.subject.namespace, query, own)
    except ApiError as error:
        log.warning("Kubernetes' warnings were not listed: %s", error)
        return ()
    return newest_first(found)


async def read_log_tail(api_server: ApiServer, namespace: str, of: LogOf) -> str:
    """Return the telling lines at the end of a container's log, or why they cannot be had."""
    query = {"container": of.container, "tailLines": str(_LOG_LINES), "previous": str(of.previous).lower()}
    try:
        text = await api_server.read_log(namespace, of.pod, query)
    except ApiError as error:
        return f"(no log: {error.message})"
    return telling_lines(text)[-_LOG_BYTES:]
