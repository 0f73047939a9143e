"""Which fields of a status may not be lost: those that decisions stand on are marked where they are declared."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class Steers:
    """Marks a field of a status that decisions stand on: without it, and what is below it, going on would be wrong."""


class Steering(NamedTuple):
    """The fields of a status that may not be lost, by their paths: step.name, blocks.races.valid."""

    decided_by: frozenset[str]
    """those that are marked; one of which all was lost, or what it stands in, is lost as well"""
    read_by: frozenset[str]
    """those that what they stand in must have: where that is lost as a whole, the status can be read"""


def steering(model: type[BaseModel]) -> Steering:
    """Return what of a status may not be lost, as its model and those in it say."""
    found = list(_fields(model, ""))
    return Steering(
        decided_by=frozenset(path for path, info in found if any(isinstance(each, Steers) for each in info.metadata)),
        read_by=frozenset(path for path, info in found if info.is_required()),
    )


def _fields(model: type[BaseModel], path: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        inner = f"{path}.{info.alias or name}".lstrip(".")
        yield inner, info
        for each in _models(info.annotation):
            yield from _fields(each, inner)


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a type has in it, as the items of a list and the values of a map."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for each in get_args(kind):
        yield from _models(each)
