"""From a Benchmark, the indexes and the API server to what a decision may look at."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from fairlap.api.base import Json
from fairlap.api.names import is_race
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus, Step
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.kube.index import UidIndex
from fairlap.machines.complete import complete_table
from fairlap.machines.prometheus import Prometheus
from fairlap.plan.basis.seen import BenchmarkLook, Children, LogOf, Seen, Subject
from fairlap.plan.basis.steps import config_map_key, is_preparation
from fairlap.queue.turn import Turn
from fairlap.runtime.beside.last_word import count_unforeseen
from fairlap.runtime.objects.ownership import (
    is_controlled_by,
    is_endpoint_of,
    is_of_job,
    is_pod_of,
    objects_of,
    step_of,
    uid_of,
)
from fairlap.runtime.objects.reads import (
    HasRoom,
    nothing_to_wait_for,
    read_checker,
    read_children,
    read_config_map_keys,
    read_evictions,
    read_log_tail,
    read_machines,
    read_noise,
    read_records,
    read_warnings,
    recorded_steps,
)
from fairlap.settings import Settings
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.watched_machines.resources import MachineTable

log = logging.getLogger(__name__)


class ChildIndexes(NamedTuple):
    """The children of all Benchmarks, by the owner's uid."""

    elasticsearches: UidIndex
    jobs: UidIndex
    config_maps: UidIndex
    pods: UidIndex
    endpoint_slices: UidIndex


def build_seen(benchmark: Mapping[str, Any], indexes: ChildIndexes, settings: Settings, now: datetime) -> Seen:
    """Return what `plan` may look at, before anything was fetched.

    Raises pydantic.ValidationError when the spec is not one that this version of the operator can read.
    """
    meta = benchmark["metadata"]
    subject = Subject(
        name=meta["name"],
        namespace=meta["namespace"],
        uid=meta["uid"],
        generation=meta["generation"],
        spec=BenchmarkSpec.model_validate(benchmark["spec"]),
    )
    status = BenchmarkStatus.model_validate(benchmark.get("status") or {})
    return Seen(
        subject=subject,
        status=status,
        settings=settings,
        now=now,
        turn=Turn(may_go=False),
        children=select_children(subject, status.step, indexes) if status.step else Children(),
    )


def select_children(subject: Subject, step: Step, indexes: ChildIndexes) -> Children:
    """Return the objects of one step, those alone that are of this Benchmark by owner and namespace."""

    def of_step(index: UidIndex) -> list[Json]:
        found = objects_of(index, subject.namespace, subject.uid)
        return [thing for thing in found if step_of(thing) == step.name]

    job = _first(of_step(indexes.jobs))
    job_uid = step.job_uid or uid_of(job)

    def may_be_its_own(config_map: Json) -> bool:
        own = is_controlled_by(config_map, subject)
        return own or is_of_job(config_map, subject, step.name, job_uid)

    told = _first([found for found in of_step(indexes.config_maps) if may_be_its_own(found)])
    slices = [found for found in of_step(indexes.endpoint_slices) if is_endpoint_of(found, subject, step.name)]
    return Children(
        elasticsearch=_first(of_step(indexes.elasticsearches)),
        job=job,
        progress=told["progress"] if told else None,
        pods=[pod for pod in of_step(indexes.pods) if is_pod_of(pod, subject, step.name, job_uid)],
        ready_endpoints=sum(s["ready"] for s in slices),
    )


async def look_at(
    what: BenchmarkLook,
    seen: Seen,
    api_server: ApiServer,
    prometheus: Prometheus | None,
    has_room: HasRoom = nothing_to_wait_for,
) -> Seen:
    """Return what is seen with what a plan has asked for, read from the API server. Raises ApiError.

    `has_room` returns when there is room for a large record.
    """
    namespace = seen.subject.namespace
    if isinstance(what, LogOf):
        text = await read_log_tail(api_server, namespace, what)
        return replace(seen, logs={**seen.logs, what: text})
    match what:
        case "track":
            needed = config_map_key(seen.subject.spec.race)
            keys = await read_config_map_keys(api_server, namespace, needed.name if needed else "")
            return replace(seen, track_keys=keys)
        case "machines":
            return replace(seen, machines=await read_machines(api_server))
        case "checker":
            name = seen.subject.spec.checked_by or ""
            return replace(seen, checker=await read_checker(api_server, namespace, name))
        case "children":
            return replace(seen, confirmed=True, children=await read_children(api_server, seen))
        case "evictions":
            return replace(seen, evictions=await read_evictions(api_server, seen))
        case "warnings":
            return replace(seen, warnings=await read_warnings(api_server, seen))
        case "records":
            return await _with_records(seen, api_server, prometheus, has_room)


async def _with_records(seen: Seen, api_server: ApiServer, prometheus: Prometheus | None, has_room: HasRoom) -> Seen:
    steps = recorded_steps(seen.status)
    written = await read_records(api_server, seen.subject, steps, has_room)
    records = {step: found.record for step, found in written.items()}
    tables = {step: found.machines for step, found in written.items()}
    now, record = steps[-1], records[steps[-1]]
    if seen.status.step is not None and not is_preparation(now) and record is not None:
        tables[now] = await _with_figures(seen, now, tables[now], record, api_server, prometheus)
    noise = await read_noise(api_server, seen.subject.namespace) if is_race(now) and record is not None else seen.noise
    return replace(seen, records=records, resources=tables, noise=noise)


async def _with_figures(
    seen: Seen,
    step: str,
    table: MachineTable | None,
    record: Record,
    api_server: ApiServer,
    prometheus: Prometheus | None,
) -> MachineTable:
    """Return the completed table of a step; nothing that is wrong with figures of machines fails a race."""
    try:
        return await complete_table(api_server, prometheus, seen, step, table, record)
    except ApiError:
        raise
    except Exception as error:
        count_unforeseen("machines")
        log.exception("%s/%s, %s: the table was not completed", seen.subject.namespace, seen.subject.name, step)
        table = table or MachineTable(race_id=record.race_id)
        said = f"the operator could not complete the table: {type(error).__name__}"
        return replace(table, remarks=(*table.remarks, said))


def _first(things: list[Json]) -> Json | None:
    return things[0] if things else None
