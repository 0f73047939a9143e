"""`fairlap requests`: writes a file of requests, and says which lines it made none of."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fairlap.cli.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.printable import one_line, print_text
from fairlap_race.contract.request_lines import MOST_BYTES, MOST_LINES, RequestLine

if TYPE_CHECKING:
    from fairlap.requests.found import InputLine, Skipped

Reader = Callable[[Iterable["InputLine"]], Iterator["RequestLine | Skipped"]]
MOST_LINE_BYTES = 16 << 20
"""Of a line that is read: an answer may have many hits."""
STANDARD_INPUT = "-"
_TOO_LONG = f"longer than {MOST_LINE_BYTES >> 20} MiB"
_EMPTY = "empty"


class _Told:
    """Counts what was written and what was left out."""

    def __init__(self) -> None:
        self.written = 0
        self.bytes = 0
        self.lines = 0
        self.full = False
        self.skipped: dict[str, tuple[int, str]] = {}
        """by why: how many lines, and where the first is"""

    def skip(self, why: str, name: str, line: int) -> None:
        number, first = self.skipped.get(why, (0, f"{name} line {line}"))
        self.skipped[why] = number + 1, first

    def room(self, size: int) -> bool:
        """Return whether a line of `size` bytes still fits, and count it when it does."""
        self.full = self.full or self.written >= MOST_LINES or self.bytes + size > MOST_BYTES
        if not self.full:
            self.written, self.bytes = self.written + 1, self.bytes + size
        return not self.full


def make_requests(files: Sequence[str], read: Reader, output: str | None, most: int | None = None) -> int:
    """Write the requests that `read` finds in `files` (- is standard input), at most `most`, to `output`.

    Raises UsageError for a file that cannot be read or written, CliError when there is no request in them.
    """
    told = _Told()
    with _opened(output) as out:
        for name in files:
            _copy(name, read, out, told, min(most or MOST_LINES, MOST_LINES))
        if not told.written:
            _print_counts(told, None, most)
            raise CliError(f"there is no request in {', '.join(files)}, so there is nothing to write")
    _print_counts(told, output, most)
    return SUCCEEDED


def _copy(name: str, read: Reader, out: Callable[[str], None], told: _Told, most: int) -> None:
    try:
        with _read(name) as source:
            for found in read(_lines(source, name, told)):
                if not isinstance(found, RequestLine):
                    told.skip(found.why, name, found.line)
                    continue
                if told.written >= most:
                    return
                line = found.to_line()
                if not told.room(len(line.encode()) + 1):
                    return
                out(line)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from error


@contextmanager
def _read(name: str) -> Iterator[BinaryIO]:
    if name == STANDARD_INPUT:
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file


@contextmanager
def _opened(output: str | None) -> Iterator[Callable[[str], None]]:
    """Yield what writes a line to the file `output`, or to standard output; without an error in the end it is there."""
    if output is None:
        yield print_text
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


def _lines(source: BinaryIO, name: str, told: _Told) -> Iterator[InputLine]:
    """Yield the lines as texts; of one that is too long nothing is kept in memory."""
    from fairlap.requests.found import InputLine  # noqa: PLC0415

    number = 0
    while line := source.readline(MOST_LINE_BYTES + 1):
        number += 1
        told.lines += 1
        if len(line) > MOST_LINE_BYTES:
            told.skip(_TOO_LONG, name, number)
            while line and not line.endswith(b"\n"):
                line = source.readline(MOST_LINE_BYTES)
            continue
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", "replace").strip()
        if text:
            yield InputLine(number, text)
        else:
            told.skip(_EMPTY, name, number)


def _print_counts(told: _Told, output: str | None, most: int | None) -> None:
    where = f" to {output}" if output else ""
    print_text(f"{told.written:,} requests{where} from {told.lines:,} lines", sys.stderr)
    for why, (number, first) in told.skipped.items():
        print_text(f"  left out, {number:,}: {one_line(why)} (the first: {one_line(first)})", sys.stderr)
    if told.full:
        print_text(
            f"  a file of requests has {MOST_LINES:,} lines and {MOST_BYTES >> 20} MiB at most; no more", sys.stderr
        )
    elif most is not None and told.written >= most:
        print_text(f"  as many as were asked for: {most:,}", sys.stderr)
