"""The times of requests in Rally's metrics store, in a seventh of the memory: what many have alike is kept once.

Rally's store in memory has a dictionary of some 15 entries for each of the three times of each request
(esrally/metrics.py: MetricsStore._put_metric), first in its driver, and in its race control until the race is over.
Here each is an object of what is its own. It reads like that dictionary: whatever Rally asks is answered alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

TIMES = frozenset({"latency", "service_time", "processing_time"})
_AT, _SINCE, _VALUE, _META = _OWN = ("@timestamp", "relative-time", "value", "meta")
_TOLD_BY = ("name", "task", "operation", "operation-type", "sample-type", "unit")
"""What tells the documents apart that have all else alike."""


class LeanDocument(Mapping[str, Any]):
    """One time of one request; it cannot be changed."""

    __slots__ = ("_alike", "_at", "_meta", "_names", "_since", "_value")

    def __init__(
        self, alike: dict[str, Any], at: Any, since: Any, value: Any, names: tuple[str, ...], meta: tuple[Any, ...]
    ) -> None:
        self._alike, self._at, self._since, self._value, self._names, self._meta = alike, at, since, value, names, meta

    def __getitem__(self, key: str) -> Any:
        if key == _VALUE:
            return self._value
        if key in self._alike:
            return self._alike[key]
        if key == _META:
            return dict(zip(self._names, self._meta, strict=True))
        if key == _AT:
            return self._at
        if key == _SINCE:
            return self._since
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        yield from _OWN
        yield from self._alike

    def __len__(self) -> int:
        return len(_OWN) + len(self._alike)

    def __reduce__(self) -> tuple[Any, ...]:
        return LeanDocument, (self._alike, self._at, self._since, self._value, self._names, self._meta)

    def shared(self, share: Shared) -> LeanDocument:
        """Return this document with what `share` has of it already."""
        return LeanDocument(
            share.alike(self._alike), self._at, self._since, self._value, share.names(self._names),
            share.values(self._meta),
        )  # fmt: skip


class Shared:
    """What documents have alike, each of it once."""

    def __init__(self) -> None:
        self._alike: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._last: tuple[Any, ...] = ()

    def lean(self, document: Any) -> Any:
        """Return one of Rally's documents in the memory that it needs; one that is no time of a request as it is."""
        if isinstance(document, LeanDocument):
            return document.shared(self)
        if document.get("name") not in TIMES or not document.keys() >= {*_OWN}:
            return document
        meta = document[_META]
        alike = self.alike({key: value for key, value in document.items() if key not in _OWN})
        names, values = self.names(tuple(meta)), self.values(tuple(meta.values()))
        return LeanDocument(alike, document[_AT], document[_SINCE], document[_VALUE], names, values)

    def alike(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return what equals `found` and is here already, else `found`, which is here from now on."""
        key = tuple(str(found.get(name)) for name in _TOLD_BY)
        known = self._alike.get(key)
        if known == found:
            return known
        self._alike[key] = found
        return found

    def names(self, found: tuple[str, ...]) -> tuple[str, ...]:
        """Return the same names as they are here already."""
        return self._names.setdefault(found, found)

    def values(self, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the same values: the three times of a request follow each other and have theirs alike."""
        # Not by ==, to which 1, 1.0 and True are one.
        if len(found) != len(self._last) or not all(map(_is_same, found, self._last)):
            self._last = tuple(sys.intern(it) if type(it) is str else it for it in found)
        return self._last


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and one == other)


def install(store: Any) -> None:
    """Let Rally's class of metrics stores in memory keep lean documents."""
    shared = Shared()
    kept: Callable[[Any, Any], None] = store._add

    def add(self: Any, document: Any) -> None:
        kept(self, shared.lean(document))

    store._add = add
