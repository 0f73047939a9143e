"""A status that is not stored as it was written: the CustomResourceDefinition is older than the operator.

The API server drops fields that its schema does not know, and says nothing of it. Whoever compares what is to be said
with what is stored would write for ever.
A field is named by its path without numbers or keys of maps: results.tasks.latencyMillis.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from fairlap.api.base import Json
from fairlap.api.comparison_status import ComparisonStatus
from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.status import BenchmarkStatus
from fairlap.api.steering import Steering, steering
from fairlap.plan.basis.conditions import HasConditions, Observation, condition, conditions
from fairlap.plan.schema_fields import fields_beyond
from fairlap.plan.transition import one_line
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_of

STEERING: Final = steering(BenchmarkStatus)
"""what decisions stand on, and what a status cannot be read without: going on without one of these would be wrong"""
COMPARISON_STEERING: Final = steering(ComparisonStatus)
"""the same for a Comparison"""
MOST_FIELDS: Final = 10
"""that a sentence names"""
Status = TypeVar("Status", BenchmarkStatus, ComparisonStatus)


def lost_fields(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of a status that was sent which are not in the one that was stored, or are others there."""
    return frozenset(_lost(sent, stored, ""))


def steers(fields: Iterable[str], steering: Steering = STEERING) -> bool:
    """Return whether decisions stand on one of these fields, or a status cannot be read without it."""
    return any(field in steering.read_by or _is_in_one_of(steering.decided_by, field) for field in fields)


def field_paths(sent: Any, path: str = "") -> frozenset[str]:
    """Return the paths of all fields in a status that was sent, those of maps and lists themselves included."""
    return frozenset(_paths(sent, path))


def without(status: Any, fields: frozenset[str], path: str = "") -> Any:
    """Return a status, as JSON, without these fields."""
    if isinstance(status, Mapping):
        named = {key: (f"{path}.{key}".lstrip("."), value) for key, value in status.items()}
        return {key: without(value, fields, name) for key, (name, value) in named.items() if name not in fields}
    return [without(item, fields, path) for item in status] if isinstance(status, list) else status


def describe(fields: Iterable[str]) -> str:
    """Return the sentence about fields of the status that are not stored."""
    shown = some_of((f"status.{name}" for name in sorted(fields)), MOST_FIELDS)
    return f"the CustomResourceDefinition in the cluster does not know {shown}, so that these are not stored"


def observe(fields: frozenset[str] | None, status: HasConditions) -> Iterator[Observation]:
    """Yield what is to be said of fields that are not stored; None: nothing was written yet."""
    if fields:
        told = f"{describe(fields)}. What to do: {Reason.CRD_OUTDATED.cure}"
        yield Observation(ConditionType.CRD_OUTDATED, True, Reason.CRD_OUTDATED, told)
    elif fields is not None and condition(status, ConditionType.CRD_OUTDATED):
        yield Observation(ConditionType.CRD_OUTDATED, False, ConditionReason.NOT_REMARKED, "")


def say_outdated(status: Status, fields: frozenset[str] | None, now: datetime) -> Status:
    """Return a status that cannot be stored as it is, with what hinders it as its progress and in a condition.

    A pass says it in place of `finish`: it decides nothing, and `fields` are what the last write's answer has shown.
    """
    found = conditions(status, observe(fields, status), now)
    told = one_line(f"{Reason.CRD_OUTDATED}: {describe(fields or ())}")
    return status.model_copy(update={"conditions": found, "progress": told})


def missing_fields(ours: Json, published: Json) -> frozenset[str]:
    """Return the fields of our schema that the published one does not have."""
    return frozenset(path for path, _ in fields_beyond(ours, published))


def _is_in_one_of(marked: Iterable[str], field: str) -> bool:
    """Return whether a field is one that is marked, or has one in it, or is in one."""
    return any(f"{one}.".startswith(f"{field}.") or field.startswith(f"{one}.") for one in marked)


def _lost(sent: Any, stored: Any, path: str) -> Iterator[str]:
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        for key, value in sent.items():
            name = f"{path}.{key}".lstrip(".")
            if value is not None and key not in stored:
                yield name
            elif value is not None:
                yield from _lost(value, stored[key], name)
    elif isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        for one, other in zip(sent, stored, strict=True):
            yield from _lost(one, other, path)
    elif sent != stored:
        yield path


def _paths(sent: Any, path: str) -> Iterator[str]:
    if path:
        yield path
    if isinstance(sent, Mapping):
        for key, value in sent.items():
            yield from _paths(value, f"{path}.{key}".lstrip("."))
    elif isinstance(sent, list):
        for item in sent:
            yield from _paths(item, path)
