"""From a Benchmark, the indexes and the API server to what a decision may look at."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from fairlap.api.base import Json
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.kube.api_server import ApiServer
from fairlap.kube.index import UidIndex
from fairlap.machines.complete import complete_table
from fairlap.machines.prometheus import Prometheus
from fairlap.plan.seen import Children, LogOf, Look, Seen, Subject
from fairlap.plan.steps import is_preparation, object_name
from fairlap.queue.turn import Turn
from fairlap.runtime.project import step_of
from fairlap.runtime.reads import (
    read_children,
    read_config_map_keys,
    read_evictions,
    read_log_tail,
    read_records,
    read_warnings,
    recorded_steps,
)
from fairlap.settings import Settings


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
    step = status.step.name if status.step else ""
    return Seen(
        subject=subject,
        status=status,
        settings=settings,
        now=now,
        turn=Turn(mine=False),
        children=select_children(subject, step, indexes) if step else Children(),
    )


def select_children(subject: Subject, step: str, indexes: ChildIndexes) -> Children:
    """Return the objects of one step."""

    def of_step(index: UidIndex) -> list[Json]:
        found: Collection[Json] = index.get(subject.uid, ())
        return [thing for thing in found if step_of(thing) == step]

    name = object_name(subject.name, step)
    record = _first(of_step(indexes.config_maps))
    slices = [s for s in of_step(indexes.endpoint_slices) if s["service"] == f"{name}-es-http"]
    return Children(
        elasticsearch=_first(of_step(indexes.elasticsearches)),
        job=_first(of_step(indexes.jobs)),
        progress=record["progress"] if record else None,
        pods=of_step(indexes.pods),
        ready_endpoints=sum(s["ready"] for s in slices),
    )


async def look_at(what: Look, seen: Seen, api_server: ApiServer, prometheus: Prometheus | None) -> Seen:
    """Return what is seen with what a plan has asked for, read from the API server. Raises ApiError."""
    namespace = seen.subject.namespace
    if isinstance(what, LogOf):
        text = await read_log_tail(api_server, namespace, what)
        return replace(seen, logs={**seen.logs, what: text})
    match what:
        case "track":
            config_map = seen.subject.spec.race.track.config_map
            keys = await read_config_map_keys(api_server, namespace, config_map.name if config_map else "")
            return replace(seen, track_keys=keys)
        case "children":
            return replace(seen, confirmed=True, children=await read_children(api_server, seen))
        case "evictions":
            return replace(seen, evictions=await read_evictions(api_server, seen))
        case "warnings":
            return replace(seen, warnings=await read_warnings(api_server, seen))
        case "records":
            return await _with_records(seen, api_server, prometheus)


async def _with_records(seen: Seen, api_server: ApiServer, prometheus: Prometheus | None) -> Seen:
    steps = recorded_steps(seen.status)
    written = await read_records(api_server, seen.subject, steps)
    records = {step: found.record for step, found in written.items()}
    tables = {step: found.machines for step, found in written.items()}
    now, record = steps[-1], records[steps[-1]]
    if seen.status.step is not None and not is_preparation(now) and record is not None:
        tables[now] = await complete_table(api_server, prometheus, seen, now, tables[now], record)
    return replace(seen, records=records, resources=tables)


def _first(things: list[Json]) -> Json | None:
    return things[0] if things else None
