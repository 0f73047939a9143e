"""`fairlap requests same-hits`: of files for several engines the lines that find as much everywhere."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fairlap.cli.edge.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.edge.printable import one_line, print_text
from fairlap_race.contract.address_secrets import holds_credentials, shown
from fairlap_race.contract.request_files.hits import find_hits
from fairlap_race.contract.request_files.probe import PointerError, is_pointer
from fairlap_race.contract.request_files.request_lines import LinesError, RequestLine, read_lines
from fairlap_race.contract.request_files.sent_request import as_sent

_SECONDS = 30.0
_MOST_SHOWN = 60
_MOST_BYTES = 1 << 24


class Engine(NamedTuple):
    """An engine, the file of requests in its words, and where an answer of it tells how many hits there are."""

    file: str
    url: str
    pointer: str


def same_hits(engines: Sequence[Engine], folder: str, most: int | None) -> int:
    """Ask every engine for each line of its file, and write those lines that find as much everywhere to `folder`.

    The files keep their names; what is left out is listed with its hits. Raises UsageError for what cannot be read or
    written, CliError where an engine does not answer or nothing is left.
    """
    targets = [Path(folder) / Path(engine.file).name for engine in engines]
    _refuse_sources(engines, targets, folder)
    files = [_read(engine) for engine in engines]
    if len({len(lines) for lines in files}) > 1:
        counts = ", ".join(f"{engine.file} has {len(lines)}" for engine, lines in zip(engines, files, strict=True))
        raise UsageError(f"line by line the files must ask for the same, and {counts} lines")
    kept: list[int] = []
    left_out: list[str] = []
    for place, lines in enumerate(zip(*files, strict=True)):
        hits = [_hits(engine, line, place + 1) for engine, line in zip(engines, lines, strict=True)]
        if len(set(hits)) == 1:
            kept.append(place)
        else:
            told = ", ".join(f"{engine.file} {number}" for engine, number in zip(engines, hits, strict=True))
            left_out.append(f"line {place + 1}: {told}: {one_line(lines[0].to_line())[:_MOST_SHOWN]}")
        if len(kept) == most:
            break
    for text in left_out:
        print_text(f"  left out, {text}", sys.stderr)
    if not kept:
        raise CliError("no line finds as much in every engine: nothing is left that could be compared")
    for target, found in zip(targets, files, strict=True):
        _write(target, [found[place] for place in kept])
    print_text(f"{len(kept)} lines to {folder}, {len(left_out)} left out", sys.stderr)
    return SUCCEEDED


def _refuse_sources(engines: Sequence[Engine], targets: Sequence[Path], folder: str) -> None:
    """Raise UsageError where a file that is read would be replaced by what is left of it, also through a link."""
    for target in targets:
        for engine in engines:
            if _is_same(target, Path(engine.file)):
                raise UsageError(
                    f"-o {folder} has {engine.file}, which is read, and the lines left out would be lost: write "
                    "another folder, for example same"
                )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def _read(engine: Engine) -> list[RequestLine]:
    named = shown(engine.url, "an address")
    if holds_credentials(engine.url):  # before it is split, whose error may quote it
        raise UsageError(f"{named}: write http://HOST:PORT or https://HOST:PORT, without a user")
    try:
        parts = urlsplit(engine.url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{named}: {error}; write http://HOST:PORT or https://HOST:PORT") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{named}: write http://HOST:PORT or https://HOST:PORT, without a user")
    if not is_pointer(engine.pointer):
        raise UsageError(f"{engine.pointer} is no JSON pointer to the number of hits: write one as /hits/total/value")
    try:
        with Path(engine.file).open("rb") as lines:
            return list(read_lines(lines, engine.file, over_http=True))
    except OSError as error:
        raise UsageError(f"{engine.file}: {error.strerror}") from error
    except LinesError as error:
        raise UsageError(str(error)) from error


def _hits(engine: Engine, line: RequestLine, number: int) -> int:
    where = f"{engine.file} line {number} at {engine.url}"
    try:
        return find_hits(_ask(engine.url, line), engine.pointer)
    except urllib.error.HTTPError as error:
        raise CliError(f"{where}: HTTP {error.code}") from error
    except PointerError as error:
        raise CliError(f"{where}: {error}") from error
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise CliError(f"{where}: {one_line(str(error) or type(error).__name__)}") from error


def _ask(url: str, line: RequestLine) -> Any:
    method, path, body, kind = as_sent(line)
    headers = {"Accept": "application/json", **({"Content-Type": kind} if kind else {})}
    data = None if body is None else body.encode()
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        url.rstrip("/") + path, data=data, headers=headers, method=method
    )
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        return json.loads(answer.read(_MOST_BYTES))


def _write(path: Path, lines: Sequence[RequestLine]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line.to_line()}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
