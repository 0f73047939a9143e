"""Frozen dataclasses to and from JSON: camelCase keys, and three ways to read.

`decode` tolerates what is missing or odd, because a record may come from another version; `decode_bounded` also keeps
no more of it than a status can hold, because anybody may have written it; `decode_strictly` tolerates nothing, because
what is asked for may not be half understood. Fields may be numbers, texts, StrEnums, paths, such
dataclasses, tuples of one type, mappings with texts as keys, a union of these with None, or Any.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from fairlap_race.contract.untrusted import characters

T = TypeVar("T")


class DecodeError(ValueError):
    """JSON data is not what it should be; the message begins with the path of the value, as in `index.shards: …`."""


def camel(name: str) -> str:
    """Return the JSON key of a snake_case field name."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def encode(value: Any) -> Any:
    """Return `value` (dataclass, mapping, sequence, path, scalar) as plain JSON data.

    A float that is not finite becomes null, because JSON has no spelling for it.
    """
    kind = type(value)
    if value is None or kind in _AS_IT_IS:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(kind):
        return {key: encode(getattr(value, name)) for key, name in _keys_and_names(kind)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, str | Path):
        return str(value)
    if isinstance(value, Sequence):
        return [encode(item) for item in value]
    return value


def compact_json(value: Any) -> str:
    """Return `value`, as `encode` takes it, as JSON text for an environment variable of a pod.

    Other letters than ASCII's stay as they are: escaped, they would be up to four times as long. A dollar is escaped,
    since Kubernetes replaces $(NAME) and makes one of two; in JSON it is nowhere but in texts.
    """
    text = json.dumps(encode(value), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8").replace("$", "\\u0024")


_AS_IT_IS = frozenset({str, int, bool})


@cache
def _keys_and_names(cls: Any) -> tuple[tuple[str, str], ...]:
    """Return the JSON key and the name of each field of a dataclass."""
    return tuple((camel(field.name), field.name) for field in dataclasses.fields(cls))


def decode(cls: type[T], data: Any) -> T:
    """Return a `cls`, whose fields all have defaults, read from JSON data.

    A missing, null or wrongly typed field keeps its default and an unknown key is ignored, so that a record
    written by another version of the runner can still be read. Never raises for any JSON value.
    """
    return typing.cast(T, _Reader(strict=False).dataclass(cls, data if isinstance(data, Mapping) else {}, ""))


@dataclasses.dataclass(frozen=True)
class Bounds:
    """How much is kept of what anybody may have written."""

    text: int = 4096
    """characters of a text"""
    items: int = 10_000
    """entries of a list or mapping"""
    depth: int = 20
    """levels of a value without a type"""
    free: int = 100_000
    """values in all that has no type, together: in Python one takes up to 200 bytes"""
    texts: int = 4 << 20
    """characters of all texts together: in Python each takes up to 4 bytes; a whole record of the runner has no more"""
    number: int = 1 << 53
    """a number is smaller than this: JSON's readers agree on all of these, and sums of thousands are still numbers"""


class Cut(typing.NamedTuple):
    """A list or mapping of which entries were left out, or a text that was left out whole."""

    path: str
    entries: int
    """how many it has"""
    kept: int
    unit: str = "entries"

    def __str__(self) -> str:
        """Return what was left out, in words."""
        return f"{self.path} has {self.entries} {self.unit}, and {self.kept} are read"


def decode_bounded(cls: type[T], data: Any, bounds: Bounds | None = None) -> tuple[T, tuple[Cut, ...]]:
    """Return a `cls` read as by `decode`, but of bounded size, and what was left out of lists and texts.

    Longer texts are cut, deeper values become None, and what is no character or too large a number is none.
    """
    reader = _Reader(strict=False, bounds=bounds or Bounds())
    found = reader.dataclass(cls, data if isinstance(data, Mapping) else {}, "")
    return typing.cast(T, found), tuple(reader.cut)


def decode_strictly(cls: type[T], data: Any) -> T:
    """Return a `cls` read from JSON data.

    Raises DecodeError for an unknown key, a missing value that has no default, and a value of a wrong type.
    """
    return typing.cast(T, _Reader(strict=True).value(cls, data, ""))


@cache
def _fields_and_hints(cls: Any) -> tuple[dict[str, dataclasses.Field[Any]], dict[str, Any]]:
    """Return the fields of a dataclass by their JSON keys, and their types by their names."""
    return {camel(field.name): field for field in dataclasses.fields(cls)}, typing.get_type_hints(cls)


@cache
def _form(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return which form of value a type hint is (None: a scalar), and its parts; a record has as many as values."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return Any, ()
    if origin in (typing.Union, types.UnionType):
        return typing.Union, parts
    if dataclasses.is_dataclass(hint):
        return dataclasses.dataclass, ()
    if origin is tuple:
        return tuple, parts
    if origin is not None and issubclass(origin, Mapping):
        return Mapping, parts
    return None, ()


class _Reader:
    """Reads values by their type hints; `at` is the path of the value in the JSON data, for messages."""

    def __init__(self, *, strict: bool, bounds: Bounds | None = None) -> None:
        self._strict = strict
        self._bounds = bounds
        self._free_left = bounds.free if bounds else 0
        self._texts_left = bounds.texts if bounds else 0
        self._left_out = False
        self.cut: list[Cut] = []

    def dataclass(self, cls: Any, data: Mapping[str, Any], at: str) -> Any:
        fields, hints = _fields_and_hints(cls)
        values: dict[str, Any] = {}
        if self._strict:
            self._check_keys(fields, data, at)
        for key, field in fields.items():
            if key not in data:
                continue
            try:
                values[field.name] = self.value(hints[field.name], data[key], _below(at, key))
            except DecodeError:
                if self._strict:
                    raise
        return cls(**values)

    def _check_keys(self, fields: Mapping[str, dataclasses.Field[Any]], data: Mapping[str, Any], at: str) -> None:
        for key in data:
            if key not in fields:
                raise DecodeError(f"{_below(at, key)}: unknown field; there are: {', '.join(fields)}")
        for key, field in fields.items():
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if required and key not in data:
                raise DecodeError(f"{_below(at, key)}: is missing")

    def value(self, hint: Any, data: Any, at: str) -> Any:
        form, parts = _form(hint)
        if form is Any:
            return data if self._bounds is None else self._free(data, self._bounds.depth, at)
        if form is typing.Union:
            return self._union(parts, data, at)
        if form is dataclasses.dataclass:
            return self.dataclass(hint, _mapping(data, at), at)
        if form is tuple:
            return self._items(parts[0], data, at)
        if form is Mapping:
            return self._mapping(parts[1], data, at)
        return _scalar(hint, self._within(data, at), at)

    def _free(self, data: Any, depth: int, at: str) -> Any:
        """Return a value without a type, `depth` levels of it."""
        if isinstance(data, list | Mapping) and (depth == 0 or not self._is_room(data, at)):
            return None
        if isinstance(data, list):
            return [self._free(item, depth - 1, at) for item in self._first(data, at)]
        if isinstance(data, Mapping):
            return {key: self._free(item, depth - 1, at) for key, item in self._pairs(data, at)}
        return self._within(data, at)

    def _within(self, data: Any, at: str) -> Any:
        bounds = self._bounds
        if bounds is None:
            return data
        if isinstance(data, str):
            return self._characters(data, bounds, at)
        if isinstance(data, int | float) and not isinstance(data, bool) and not abs(data) < bounds.number:
            return None
        return data

    def _characters(self, text: str, bounds: Bounds, at: str) -> str:
        """Return the characters of a text that are kept: none once all texts together have too many."""
        kept = characters(text, bounds.text)
        self._texts_left -= len(kept)
        if self._texts_left >= 0:
            return kept
        self._leave_out(at, len(text), "characters")
        return ""

    def _is_room(self, data: list[Any] | Mapping[str, Any], at: str) -> bool:
        """Take as many of the values that may be free as these are; return whether there are so many."""
        if self._bounds is None:
            return True
        self._free_left -= len(data)
        if self._free_left < 0:
            self._leave_out(at, len(data), "entries")
        return self._free_left >= 0

    def _leave_out(self, at: str, size: int, unit: str) -> None:
        if not self._left_out:  # said once
            self.cut.append(Cut(at, size, 0, unit))
        self._left_out = True

    def _first(self, data: list[Any], at: str) -> list[Any]:
        if self._bounds is None or len(data) <= self._bounds.items:
            return data
        self.cut.append(Cut(at, len(data), self._bounds.items))
        return data[: self._bounds.items]

    def _pairs(self, data: Mapping[str, Any], at: str) -> typing.Iterable[tuple[str, Any]]:
        bounds = self._bounds
        if bounds is None:
            return data.items()
        if len(data) > bounds.items:
            self.cut.append(Cut(at, len(data), bounds.items))
        first = itertools.islice(data.items(), bounds.items)
        return [(self._characters(key, bounds, at), item) for key, item in first]

    def _union(self, options: tuple[Any, ...], data: Any, at: str) -> Any:
        if data is None and type(None) in options:
            return None
        error = DecodeError(f"{at}: must be null")
        for option in options:
            if option is type(None):
                continue
            try:
                return self.value(option, data, at)
            except DecodeError as failed:
                error = failed
        raise error

    def _items(self, hint: Any, data: Any, at: str) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise DecodeError(f"{at}: must be a list")
        return tuple(value for _, value in self._each(hint, enumerate(self._first(data, at)), f"{at}[{{}}]"))

    def _mapping(self, hint: Any, data: Any, at: str) -> dict[str, Any]:
        return dict(self._each(hint, self._pairs(_mapping(data, at), at), _below(at, "{}")))

    def _each(self, hint: Any, items: typing.Iterable[tuple[Any, Any]], at: str) -> typing.Iterator[tuple[Any, Any]]:
        for key, item in items:
            try:
                yield key, self.value(hint, item, at.replace("{}", str(key)))
            except DecodeError:
                if self._strict:
                    raise


def _below(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _mapping(data: Any, at: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise DecodeError(f"{at}: must be an object" if at else "it is not a JSON object")
    return data


def _scalar(hint: Any, data: Any, at: str) -> Any:
    if issubclass(hint, str | Path):
        return _text(hint, data, at)
    if hint is bool:
        if not isinstance(data, bool):
            raise DecodeError(f"{at}: must be true or false")
        return data
    whole = hint is int
    if isinstance(data, int | float) and not isinstance(data, bool):
        # What is too large for a float is no measure of anything.
        if whole and (isinstance(data, int) or data.is_integer()):
            return int(data)
        if not whole and abs(data) < _LARGEST:
            return float(data)
    raise DecodeError(f"{at}: must be a {'whole ' if whole else ''}number")


_LARGEST = 1 << 1023
"""Any whole number below this has a float."""


def _text(hint: Any, data: Any, at: str) -> Any:
    if not isinstance(data, str):
        raise DecodeError(f"{at}: must be a text")
    if issubclass(hint, Path) and not data:
        raise DecodeError(f"{at}: must not be empty")
    try:
        return hint(data)
    except ValueError:
        known = ", ".join(str(member.value) for member in hint) if issubclass(hint, Enum) else hint.__name__
        raise DecodeError(f"{at}: must be one of {known}, not {data!r}") from None
