"""Frozen dataclasses to and from JSON: camelCase keys, and reading that tolerates what is missing or odd."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def camel(name: str) -> str:
    """Return the JSON key of a snake_case field name."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def encode(value: Any) -> Any:
    """Return `value` (dataclass, mapping, sequence, scalar) as plain JSON data.

    A float that is not finite becomes null, because JSON has no spelling for it.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {camel(f.name): encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Sequence):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def decode(cls: type[T], data: Any) -> T:
    """Return a `cls` read from JSON data.

    A missing, null or wrongly typed field keeps its default and an unknown key is ignored, so that a record
    written by another version of the runner can still be read. Never raises for any JSON value.
    """
    return typing.cast(T, _dataclass(cls, data if isinstance(data, Mapping) else {}))


class _UnusableError(Exception):
    """A JSON value does not have the type of its field."""


def _dataclass(cls: Any, data: Mapping[str, Any]) -> Any:
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        key = camel(field.name)
        if key not in data:
            continue
        try:
            values[field.name] = _value(hints[field.name], data[key])
        except _UnusableError:
            continue
    return cls(**values)


def _value(hint: Any, data: Any) -> Any:
    origin = typing.get_origin(hint)
    if hint is Any:
        return data
    if origin in (typing.Union, types.UnionType):
        return _union(typing.get_args(hint), data)
    if dataclasses.is_dataclass(hint):
        if not isinstance(data, Mapping):
            raise _UnusableError
        return _dataclass(hint, data)
    if origin is tuple:
        return _items(typing.get_args(hint)[0], data)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(typing.get_args(hint)[1], data)
    return _scalar(hint, data)


def _union(options: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in options:
        return None
    for option in options:
        if option is type(None):
            continue
        try:
            return _value(option, data)
        except _UnusableError:
            continue
    raise _UnusableError


def _items(hint: Any, data: Any) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise _UnusableError
    found = []
    for item in data:
        try:
            found.append(_value(hint, item))
        except _UnusableError:
            continue
    return tuple(found)


def _mapping(hint: Any, data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise _UnusableError
    found = {}
    for key, item in data.items():
        try:
            found[str(key)] = _value(hint, item)
        except _UnusableError:
            continue
    return found


def _scalar(hint: Any, data: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, str):
        if not isinstance(data, str):
            raise _UnusableError
        try:
            return hint(data)
        except ValueError:
            raise _UnusableError from None
    if hint is bool:
        if not isinstance(data, bool):
            raise _UnusableError
        return data
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise _UnusableError
    if hint is float:
        return float(data)
    if hint is int and float(data).is_integer():
        return int(data)
    raise _UnusableError
