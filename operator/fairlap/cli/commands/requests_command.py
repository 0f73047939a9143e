"""`fairlap requests`: writes a file of requests, and says which lines it made none of."""

from __future__ import annotations

import os
import shutil
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fairlap.cli.edge.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.edge.printable import one_line, print_text
from fairlap_race.contract.request_files.request_lines import MOST_BYTES, MOST_LINES, RequestLine

if TYPE_CHECKING:
    from fairlap.requests.found import Doubt, InputLine, Skipped

Reader = Callable[[Iterable["InputLine"]], Iterator["RequestLine | Skipped | Doubt"]]
MOST_LINE_BYTES = 16 << 20
"""Of a line that is read: an answer may have many hits."""
STANDARD_INPUT = "-"
_TOO_LONG = f"longer than {MOST_LINE_BYTES >> 20} MiB"
_EMPTY = "empty"


class _LineCounts:
    """Counts what was written and what was left out."""

    def __init__(self) -> None:
        self.written = 0
        self.bytes = 0
        self.lines = 0
        self.full = False
        self.skipped: dict[str, tuple[int, str]] = {}
        """by why: how many lines, and where the first is"""
        self.doubted: dict[str, tuple[int, str]] = {}
        """likewise of the requests that were written"""
        self._files: list[tuple[int, str]] = []

    def begin(self, name: str) -> None:
        """Take the lines that come as those of this file."""
        self._files.append((self.lines, name))

    def skip(self, why: str, line: int) -> None:
        """Count a line that no request is made of; lines are numbered on through all files."""
        self._count(self.skipped, why, line)

    def doubt(self, why: str, line: int) -> None:
        """Count a request that was perhaps another one."""
        self._count(self.doubted, why, line)

    def _count(self, counts: dict[str, tuple[int, str]], why: str, line: int) -> None:
        before, name = self._files[bisect_right(self._files, line - 1, key=lambda it: it[0]) - 1]
        number, first = counts.get(why, (0, f"{name} line {line - before}"))
        counts[why] = number + 1, first

    def room(self, size: int) -> bool:
        """Return whether a line of `size` bytes still fits, and count it when it does."""
        self.full = self.full or self.written >= MOST_LINES or self.bytes + size > MOST_BYTES
        if not self.full:
            self.written, self.bytes = self.written + 1, self.bytes + size
        return not self.full


def make_requests(files: Sequence[str], read: Reader, output: str | None, most: int | None = None) -> int:
    """Write the requests that `read` finds in `files` (- is standard input) together, at most `most`, to `output`.

    Raises UsageError for a file that cannot be read or written, CliError when there is no request in them.
    """
    counts = _LineCounts()
    with _opened(output) as out:
        _copy(read(_lines_of_all(files, counts)), out, counts, min(most or MOST_LINES, MOST_LINES))
        if not counts.written:
            _print_counts(counts, None, most)
            raise CliError(f"there is no request in {', '.join(files)}, so there is nothing to write")
    _print_counts(counts, output, most)
    return SUCCEEDED


def _copy(
    found: Iterator[RequestLine | Skipped | Doubt], out: Callable[[str], None], counts: _LineCounts, most: int
) -> None:
    from fairlap.requests.found import Skipped  # noqa: PLC0415

    for each in found:
        if isinstance(each, Skipped):
            counts.skip(each.why, each.line)
        elif not isinstance(each, RequestLine):
            counts.doubt(each.why, each.line)
        elif counts.written >= most or not counts.room(len((line := each.to_line()).encode()) + 1):
            return
        else:
            out(line)


@contextmanager
def _read(name: str) -> Iterator[BinaryIO]:
    if name == STANDARD_INPUT:
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file


def _print_line(text: str) -> None:
    if not print_text(text):
        raise BrokenPipeError  # of a log that goes on for ever nobody reads the rest


@contextmanager
def _opened(output: str | None) -> Iterator[Callable[[str], None]]:
    """Yield what writes a line to the file `output`, or to standard output; without an error in the end it is there."""
    if output is None:
        yield _print_line
        return
    target = Path(output).resolve()
    # It may be one of the files that are read. What is no file, as /dev/stdout, cannot be renamed to.
    beside = not target.exists() or target.is_file()
    path = target.with_name(f".{target.name}.{os.getpid()}.part") if beside else target
    try:
        try:
            with path.open("w", encoding="utf-8", newline="\n") as file:
                yield lambda line: file.writelines((line, "\n"))
            if beside:
                if target.exists():
                    shutil.copymode(target, path)
                path.replace(target)
        finally:
            if beside:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from error


def _lines_of_all(files: Sequence[str], counts: _LineCounts) -> Iterator[InputLine]:
    """Yield the lines of all files. Raises UsageError for one that cannot be read."""
    for name in files:
        counts.begin(name)
        try:
            with _read(name) as source:
                yield from _lines_of(source, counts)
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror}") from error


def _lines_of(source: BinaryIO, counts: _LineCounts) -> Iterator[InputLine]:
    """Yield the lines as texts; of one that is too long nothing is kept in memory."""
    from fairlap.requests.found import InputLine  # noqa: PLC0415

    encoding = "utf-8-sig"
    while line := source.readline(MOST_LINE_BYTES + 1):
        counts.lines += 1
        if len(line) > MOST_LINE_BYTES:
            counts.skip(_TOO_LONG, counts.lines)
            while line and not line.endswith(b"\n"):
                line = source.readline(MOST_LINE_BYTES)
        elif text := line.decode(encoding, "replace").strip():
            yield InputLine(counts.lines, text)
        else:
            counts.skip(_EMPTY, counts.lines)
        encoding = "utf-8"


def _print_counts(counts: _LineCounts, output: str | None, most: int | None) -> None:
    where = f" to {output}" if output else ""
    print_text(f"{counts.written:,} requests{where} from {counts.lines:,} lines", sys.stderr)
    for why, (number, first) in counts.skipped.items():
        print_text(f"  left out, {number:,}: {one_line(why)} (the first: {one_line(first)})", sys.stderr)
    for why, (number, first) in counts.doubted.items():
        print_text(
            f"  written, but not for sure, {number:,}: {one_line(why)} (the first: {one_line(first)})", sys.stderr
        )
    if counts.full:
        print_text(
            f"  a file of requests has {MOST_LINES:,} lines and {MOST_BYTES >> 20} MiB at most; no more", sys.stderr
        )
    elif most is not None and counts.written >= most:
        print_text(f"  as many as were asked for: {most:,}", sys.stderr)
