"""What a reader finds: requests, and lines that are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairlap_race.contract.request_lines import LinesError, RequestLine, read_lines


@dataclass(frozen=True)
class Line:
    """A line of a file."""

    number: int
    """1-based"""
    text: str


@dataclass(frozen=True)
class Skipped:
    """A line that no request was made of, and why; the words fit behind "lines:"."""

    line: int
    why: str


def accepted(line: int, request: RequestLine) -> Iterator[RequestLine | Skipped]:
    """Yield the request, or why a replay would refuse it."""
    try:
        yield from read_lines([f"{request.to_line()}\n".encode()], "")
    except (LinesError, ValueError, RecursionError) as error:
        why = str(error).partition(": ")[2] if isinstance(error, LinesError) else str(error)
        yield Skipped(line, why.partition(";")[0])
