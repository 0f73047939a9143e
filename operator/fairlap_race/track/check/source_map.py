"""Finds the file and line of a track that a piece of the rendered track comes from.

Rally renders all templates into one JSON text and names lines of that text, or none at all. Here every line of
every template is marked before it is rendered, so that each character of the result leads back to its line.
Needs Jinja2 and Rally, so it is used in a process that has them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

import jinja2
from esrally.track import loader

from fairlap_race.rally import releases

_MARK = re.compile("\ue000([0-9]+)\ue001")
_BLOCKS = {"if", "for", "macro", "block", "call", "filter", "with"}
_COLLECT = loader.TemplateSource.collect_parts_re


@dataclass(frozen=True)
class Place:
    """A line of a file of the track."""

    file: str
    """relative to the track's directory"""
    line: int
    text: str = ""

    def as_tuple(self) -> tuple[str, int, str]:
        """Return file, line and text."""
        return self.file, self.line, self.text


@dataclass
class Rendered:
    """A rendered template and where its characters come from."""

    text: str
    _offsets: list[int] = field(default_factory=list)
    _places: list[Place] = field(default_factory=list)

    def sources(self) -> tuple[list[int], list[Place]]:
        """Return the offsets at which another source line begins, and those lines."""
        return self._offsets, self._places

    def place(self, offset: int) -> Place | None:
        """Return the source line of the character at `offset`, None when it is not known."""
        at = bisect_right(self._offsets, offset) - 1
        return self._places[at] if at >= 0 else None

    def place_of(self, path: Sequence[str | int]) -> Place | None:
        """Return the source line of the JSON value at `path`, or of its nearest parent that exists."""
        return self.place(json_offset(self.text, path))

    def place_of_text(self, quoted: str) -> Place | None:
        """Return the source line of the last JSON value that is the text `quoted`, None when there is none."""
        found = list(re.finditer(re.escape(json.dumps(quoted)) + r"(?!\s*:)", self.text))
        return self.place(found[-1].start()) if found else None

    def place_of_member(self, key: str, value: str) -> Place | None:
        """Return the source line of the first member `key` with the text `value`, None when there is none."""
        found = re.search(re.escape(json.dumps(key)) + r"\s*:\s*" + re.escape(json.dumps(value)), self.text)
        return self.place(found.start()) if found else None


class Templates:
    """The templates of one track."""

    def __init__(self, track: Path, params: Mapping[str, Any]) -> None:
        self.track = track
        self.params = dict(params)
        self._places: list[Place] = []

    def render(self, name: str, includes: bool) -> Rendered:
        """Render the file `name` as Rally does and keep track of its lines.

        `includes` says whether Rally lets this template include others: it does for track.json only. Raises what
        Jinja2 raises.
        """
        text = (self.track / name).read_text(encoding="utf-8")
        flavor = releases.known_options(loader.default_internal_template_vars, build_flavor="default")
        internal = loader.default_internal_template_vars(glob_helper=self._glob, **flavor)

        def rendered(mark: bool) -> str:
            source = self._collected(text, name, self.track, mark)
            files = jinja2.FunctionLoader(lambda file: self._include(file, mark)) if includes else None
            return str(loader.render_template(source, self.params, internal, loader=files))

        try:
            return self._unmarked(rendered(mark=True))
        except Exception:
            return Rendered(rendered(mark=False))

    def source_lines(self, name: str) -> list[Place]:
        """Return the source line of each line of the file `name` after Rally put the collected parts into it."""
        found: list[Place] = []
        best: tuple[int, Place] | None = None
        for text, file, first in self._pieces((self.track / name).read_text(encoding="utf-8"), name, self.track):
            for number, part in enumerate(text.split("\n")):
                if number:
                    found.append(best[1] if best else Place(file, first))
                    best = None
                weight = len(part.strip())
                if best is None or weight > best[0]:
                    best = (weight, Place(file, first + number, part.strip()))
        return [*found, best[1]] if best else found

    def files(self, name: str) -> list[str]:
        """Return the file `name` and all that it collects with rally.collect, relative to the track."""
        pieces = self._pieces((self.track / name).read_text(encoding="utf-8"), name, self.track)
        return list(dict.fromkeys(file for _, file, _ in pieces))

    def unmatched(self, name: str) -> tuple[str, Place] | None:
        """Return the first pattern of a rally.collect in the file `name` that no file matches, and where it is."""
        for file in self.files(name):
            text = (self.track / file).read_text(encoding="utf-8")
            for match in _COLLECT.finditer(text):
                if not self._parts(match[1], (self.track / file).parent):
                    line = 1 + text.count("\n", 0, match.start())
                    return match[1], Place(file, line, text.split("\n")[line - 1].strip())
        return None

    def _glob(self, pattern: str) -> list[str]:
        return [path.relative_to(self.track).as_posix() for path in sorted(self.track.glob(pattern))]

    def _include(self, name: str, mark: bool) -> str | None:
        path = self.track / name
        if not path.is_file():
            return None
        text = path.read_text(encoding="utf-8")
        return self._marked(text, name) if mark else text

    def _parts(self, pattern: str, base: Path) -> list[tuple[str, str, Path]]:
        paths = sorted(filter(Path.is_file, base.glob(pattern)))
        parent = (base / pattern).parent
        return [(p.read_text(encoding="utf-8"), p.relative_to(self.track).as_posix(), parent) for p in paths]

    def _collected(self, text: str, file: str, base: Path, mark: bool) -> str:
        def parts(match: re.Match[str]) -> str:
            return ",\n".join(self._collected(*part, mark) for part in self._parts(match[1], base))

        return str(_COLLECT.sub(parts, self._marked(text, file) if mark else text))

    def _pieces(self, text: str, file: str, base: Path) -> list[tuple[str, str, int]]:
        found, done = [], 0
        for match in _COLLECT.finditer(text):
            found.append((text[done : match.start()], file, 1 + text.count("\n", 0, done)))
            for number, part in enumerate(self._parts(match[1], base)):
                if number:
                    found.append((",\n", file, 1 + text.count("\n", 0, match.start())))
                found += self._pieces(*part)
            done = match.end()
        return [*found, (text[done:], file, 1 + text.count("\n", 0, done))]

    def _marked(self, text: str, file: str) -> str:
        lines = text.split("\n")
        out = []
        # Only text outside of Jinja2's braces is marked, so that expressions stay as they are.
        for first, kind, value in jinja2.Environment().lex(text):  # noqa: S701 - JSON, not HTML
            if kind != "data":
                out.append(value)
                continue
            for number, part in enumerate(value.split("\n")):
                line = min(first + number, len(lines))
                out.append(("\n" if number else "") + self._mark(Place(file, line, lines[line - 1].strip())) + part)
            # Keeps a brace at the end of the text apart from Jinja2's next brace, where white space was stripped.
            out.append(self._mark(Place(file, line, lines[line - 1].strip())))
        return "".join(out)

    def _mark(self, place: Place) -> str:
        self._places.append(place)
        return f"\ue000{len(self._places) - 1}\ue001"

    def _unmarked(self, marked: str) -> Rendered:
        clean, offsets, places = [], [], []
        done = length = 0
        for match in _MARK.finditer(marked):
            clean.append(marked[done : match.start()])
            length += match.start() - done
            done = match.end()
            offsets.append(length)
            places.append(self._places[int(match[1])])
        clean.append(marked[done:])
        return Rendered("".join(clean), offsets, places)


def unclosed_line(environment: jinja2.Environment, text: str) -> int | None:
    """Return the line of the innermost block of the template `text` that is never closed, None when there is none.

    Jinja2 itself names the last line of the file.
    """
    open_blocks: list[tuple[str, int]] = []
    begun = False
    for line, kind, value in environment.lex(text):
        if kind == "block_begin":
            begun = True
        elif begun and kind == "name":
            begun = False
            if open_blocks and value == f"end{open_blocks[-1][0]}":
                open_blocks.pop()
            elif value in _BLOCKS:
                open_blocks.append((value, line))
    return open_blocks[-1][1] if open_blocks else None


def json_offset(text: str, path: Sequence[str | int]) -> int:
    """Return where in the JSON `text` the value at `path` is: its key, for a member of an object.

    When the path ends before its last part, where its last existing part is.
    """
    at = found = _skip(text, 0)
    for part in path:
        step = _member(text, at, part) if isinstance(part, str) else _item(text, at, part)
        if step is None:
            return found
        found, at = step
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _after_value(text: str, at: int) -> int:
    return _skip(text, json.JSONDecoder().raw_decode(text, at)[1])


def _member(text: str, at: int, name: str) -> tuple[int, int] | None:
    if text[at] != "{":
        return None
    found = None
    at = _skip(text, at + 1)
    while text[at] == '"':
        key_at = at
        key, at = scanstring(text, at + 1, True)
        at = _skip(text, _skip(text, at) + 1)
        if key == name:
            # The last one of equal keys is the one that counts.
            found = (key_at, at)
        at = _after_value(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _item(text: str, at: int, number: int) -> tuple[int, int] | None:
    if text[at] != "[":
        return None
    at = _skip(text, at + 1)
    for _ in range(number):
        if text[at] == "]":
            return None
        at = _after_value(text, at)
        if text[at] != ",":
            return None
        at = _skip(text, at + 1)
    return at, at
