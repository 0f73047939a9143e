"""Reading Elasticsearch's answers, in which anything may be missing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def dig(data: Any, *path: str) -> Any:
    """Return the value at `path` in nested mappings, or None."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def in_mapping(data: Any) -> Iterable[Any]:
    """Return the values of a mapping, none of anything else."""
    return data.values() if isinstance(data, Mapping) else ()


def in_list(data: Any) -> Iterable[Any]:
    """Return the items of a list, none of anything else."""
    return data if isinstance(data, list) else ()


def whole_number(value: Any) -> int | None:
    """Return a whole number, which many APIs write as a text; None for anything else, a negative number too."""
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() else None
