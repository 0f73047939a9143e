"""Finds Jinja2 variables that have no value and render as nothing, which Rally does without a word.

Elasticsearch has templates of its own with the same braces: `"{{user}}"` in an ingest pipeline reaches Elasticsearch
as an empty text unless it is escaped. Needs Jinja2 and Rally.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import jinja2

from fairlap_race.track.check.source_map import Place, Rendered, Templates
from fairlap_race.track.check.text import texts_with

_START, _END = "\ue002", "\ue003"
_MARK = re.compile(f"{_START}([^{_END}]*){_END}")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True)
class EmptyVariable:
    """A variable that left nothing in a text of a template."""

    name: str
    path: tuple[str | int, ...]
    """of the text in the rendered file"""
    place: Place | None


class _MarkedUndefined(jinja2.Undefined):  # type: ignore[misc]
    """Renders as a mark instead of as nothing."""

    def __str__(self) -> str:
        return f"{_START}{self._undefined_name or ''}{_END}"


def empty_variables(templates: Templates, name: str, includes: bool) -> Iterator[EmptyVariable]:
    """Yield the variables without a value in the texts of the file `name`, which must render to JSON."""
    # Rally makes its own Jinja2 environment and takes no option for it.
    telling: Any = functools.partial(jinja2.Environment, undefined=_MarkedUndefined)
    with mock.patch.object(jinja2, "Environment", telling), contextlib.suppress(Exception):
        rendered = templates.render(name, includes)
        # Outside of a text nothing is what was meant, as in a list of optional members.
        text = _blank_outside(rendered.text)
        clean = Rendered(text, *rendered.sources())
        for path, value in texts_with(json.loads(text), _START):
            for variable in dict.fromkeys(_MARK.findall(value)):
                yield EmptyVariable(variable, path, clean.place_of(path))


def _blank_outside(text: str) -> str:
    out, done = [], 0
    for string in _STRING.finditer(text):
        out.append(_MARK.sub(lambda mark: " " * len(mark[0]), text[done : string.start()]))
        out.append(string[0])
        done = string.end()
    out.append(_MARK.sub(lambda mark: " " * len(mark[0]), text[done:]))
    return "".join(out)
