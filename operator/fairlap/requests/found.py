"""What a reader finds: requests, and lines that are none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fairlap_race.contract.request_files.request_lines import LinesError, RequestLine, read_lines
from fairlap_race.contract.untrusted import read_object

Entry = TypeVar("Entry")
_WRAPPERS = ("log", "message", "event.original")
"""Of Docker's files of logs, and of shippers of logs."""
_OF_A_CONTAINER = re.compile(r"\d{4}-\d\d-\d\dT\S+ std(?:out|err) F (.*)", re.DOTALL)
_MOST_CHARACTERS = 4 << 20


@dataclass(frozen=True)
class InputLine:
    """A line of a file."""

    number: int
    """1-based, on through all files that are read"""
    text: str


@dataclass(frozen=True)
class Skipped:
    """A line that no request was made of, and why; the words fit behind "lines:"."""

    line: int
    why: str


@dataclass(frozen=True)
class Doubt:
    """A request that was made of a line, but perhaps not as it was; the words fit behind "requests:"."""

    line: int
    why: str


def unwrapped(text: str) -> str:
    """Return the line of a log that a container's runtime or a shipper of logs has wrapped, or "" where none is."""
    if behind := _OF_A_CONTAINER.fullmatch(text):
        return behind[1].strip()
    data = read_object(text, _MOST_CHARACTERS) if text.lstrip().startswith("{") else None
    found = next((it for name in _WRAPPERS if isinstance(it := member(data or {}, name), str)), "")
    return found.strip()


def read_entry(
    text: str, as_json: Callable[[str], Entry | None], as_text: Callable[[str], Entry | None]
) -> Entry | None:
    """Return what a line of a log tells by the reader of its form, wrapped by another log or not; None for nothing."""
    lines = (text, unwrapped(text))
    return next((it for line in lines if (it := (as_json if line.lstrip()[:1] == "{" else as_text)(line))), None)


def member(data: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Return a member by its name with dots, which shippers of logs write as objects in objects."""
    if name in data:
        return data[name]
    found: Any = data
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return default if found is None else found


def accepted(line: int, request: RequestLine, *, writes: bool = False) -> Iterator[RequestLine | Skipped]:
    """Yield the request, or why a replay would refuse it; with `writes` it may do more than read, for all one knows."""
    try:
        yield from read_lines([f"{request.to_line()}\n".encode()], "", writes=writes)
    except LinesError as error:
        yield Skipped(line, error.what)
    except UnicodeEncodeError:
        yield Skipped(line, "half of a character, which JSON can write and no text can have")
    except (ValueError, RecursionError) as error:
        yield Skipped(line, str(error))
