"""What can be read from the text of a track's files alone; pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')
_QUOTED = re.compile(r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'")
_NAMES = {"name", "operation", "operation-type", "description", "comment"}
"""Members whose texts name or describe and use nothing."""


def duplicate_keys(text: str) -> list[tuple[int, str]]:
    """Return offset and name of each member of a JSON object in `text` that stands there a second time.

    JSON parsers keep the last one without a word.
    """
    found: list[tuple[int, str]] = []
    objects: list[set[str] | None] = []
    last: re.Match[str] | None = None
    for token in _TOKEN.finditer(text):
        kind = token[0][0]
        if kind in "{[":
            objects.append(set() if kind == "{" else None)
        elif kind in "}]" and objects:
            objects.pop()
        elif kind == ":" and last and objects and objects[-1] is not None:
            key = json.loads(last[0], strict=False)
            if key in objects[-1]:
                found.append((last.start(), key))
            objects[-1].add(key)
        last = token if kind == '"' else None
    return found


def windows_line(data: bytes) -> int | None:
    """Return the number of the first line of `data` that ends with CR LF, None when there is none."""
    at = data.find(b"\r\n")
    return None if at < 0 else 1 + data.count(b"\n", 0, at)


def text_counts(value: Any) -> Counter[str]:
    """Return how often each text stands in the JSON `value`, but for names, descriptions and a pipeline's own id."""
    return Counter(_texts(value))


def quoted(source: str) -> Counter[str]:
    """Return how often each text stands in quotes in the program `source`."""
    return Counter(one or two for one, two in _QUOTED.findall(source))


def texts_with(value: Any, mark: str, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield path and text of each text in the JSON `value` that has `mark` in it."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts_with(item, mark, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts_with(item, mark, (*path, number))
    elif isinstance(value, str) and mark in value:
        yield path, value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        own = str(value.get("operation-type")) in ("put-pipeline", "delete-pipeline")
        for key, item in value.items():
            if not (isinstance(item, str) and (key in _NAMES or (own and key == "id"))):
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
