"""From a Benchmark and the indexes to what a decision may look at."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from fairlap.api.base import Json
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.seen import Children, Seen, Subject
from fairlap.plan.steps import object_name
from fairlap.queue.summary import step_of
from fairlap.queue.turn import Turn
from fairlap.settings import Settings


class Index(Protocol):
    """A kopf index: for each owner's uid the slim objects that belong to it."""

    def __iter__(self) -> Iterator[str]: ...

    def items(self) -> Iterable[tuple[str, Iterable[Any]]]:
        """Return all keys with their objects."""

    def values(self) -> Iterable[Iterable[Any]]:
        """Return the objects of each key."""

    def get(self, key: str, default: Any = ..., /) -> Any:
        """Return the objects under a key."""


class Indexes(NamedTuple):
    """The children of all Benchmarks, by the owner's uid."""

    elasticsearches: Index
    jobs: Index
    config_maps: Index
    pods: Index
    endpoint_slices: Index


def seen_from(benchmark: Mapping[str, Any], indexes: Indexes, settings: Settings, now: datetime) -> Seen:
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
        children=children_of(subject, step, indexes) if step else Children(),
    )


def children_of(subject: Subject, step: str, indexes: Indexes) -> Children:
    """Return the objects of one step."""

    def of_step(index: Index) -> list[Json]:
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


def _first(things: list[Json]) -> Json | None:
    return things[0] if things else None
