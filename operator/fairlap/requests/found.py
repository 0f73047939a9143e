"""What a reader finds: requests, and lines that are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairlap_race.contract.request_lines import LinesError, RequestLine, read_lines


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


def accepted(line: int, request: RequestLine, *, writes: bool = False) -> Iterator[RequestLine | Skipped]:
    """Yield the request, or why a replay would refuse it; with `writes` it may do more than read, for all one knows."""
    try:
        yield from read_lines([f"{request.to_line()}\n".encode()], "", writes=writes)
    except LinesError as error:
        yield Skipped(line, str(error).partition(": ")[2].partition(";")[0])
    except UnicodeEncodeError:
        yield Skipped(line, "half of a character, which JSON can write and no text can have")
    except (ValueError, RecursionError) as error:
        yield Skipped(line, str(error))
