"""The lines of a file of requests: a path, or a JSON object with method, path and body. Pure.

The race image reads them strictly, before anything is measured; the command line writes them.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 128 << 20
"""Of a whole file: the load generator holds it in memory."""
MOST_LINES = 1_000_000
MOST_LINE_BYTES = 1 << 20
_METHODS = ("GET", "POST", "PUT", "DELETE")
_MEMBERS = ("method", "path", "body")
_PATH = re.compile(r"/(?!/)(?:[!\"$&->@-~]|%[0-9A-Fa-f]{2})*(?:\?[!\"$-~]*)?")
"""A # would begin what no client sends, and k6 takes no % in a path that does not begin the code of a character."""
_SHOWN = 80
_BOM = b"\xef\xbb\xbf"
_READING_ENDS = (
    *("/_search", "/_msearch", "/_count", "/_explain", "/_validate/query", "/_search/template", "/_msearch/template"),
    "/_search/scroll",
    *("/_mget", "/_field_caps", "/_termvectors", "/_mtermvectors", "/_rank_eval", "/_terms_enum", "/_knn_search"),
    *("/_eql/search", "/_query", "/_sql", "/_render/template", "/_analyze"),
)
_WITH_ID = re.compile(r"/[^/]+/(_explain|_termvectors)/[^/]+")
_ORDINARY = re.compile(r"/[^/]+/(_doc|_create|_update|_bulk)(/.*)?|/_bulk")


class LinesError(ValueError):
    """A file of requests cannot be replayed; a sentence that names the line, what is wrong and what to write."""

    def __init__(self, where: str, what: str, cure: str = "") -> None:
        super().__init__(f"{where}: {what}; {cure}" if cure else f"{where}: {what}")
        self.what = what


class _TwiceError(Exception):
    """An object of JSON has a member twice; no ValueError, since it is JSON, of which readers take different ones."""


@dataclass(frozen=True)
class RequestLine:
    """A request."""

    method: str
    path: str
    """with the query, if it has one; percent-encoded"""
    body: Any = None
    """an object; a list is one JSON text a line, as for a multi-search; a text is sent as it is"""

    @property
    def reads(self) -> bool:
        """Whether it leaves everything as it is."""
        path = self.path.partition("?")[0].rstrip("/")
        if self.method == "GET":
            return True
        # An id may look like the name of something else.
        return self.method == "POST" and not _ORDINARY.fullmatch(path) and (
            path.endswith(_READING_ENDS) or bool(_WITH_ID.fullmatch(path))
        )  # fmt: skip

    def to_line(self) -> str:
        """Return the line that is read as this request, without its end."""
        found = {"method": self.method, "path": self.path, **({} if self.body is None else {"body": self.body})}
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def is_path(text: str) -> bool:
    """Return whether a text is a path, perhaps with a query, that is sent as it is written."""
    return _PATH.fullmatch(text) is not None


def read_lines(
    lines: Iterable[bytes], name: str, *, writes: bool = False, over_http: bool = False
) -> Iterator[RequestLine]:
    """Yield the requests of a file's lines, which end as they stand in the file called `name`.

    With `writes` they may do more than read. `over_http`: k6 sends them to any server, so nothing is known of what they
    do, and a HEAD is a request like any other. Raises LinesError at the first line that is not as it must be.
    """
    size, empty, number = 0, 0, 0
    for number, line in enumerate(lines, start=1):
        size += len(line)
        where = f"{name} line {number}"
        if number > MOST_LINES or size > MOST_BYTES:
            holder = "k6" if over_http else "each process of Rally"
            most = f"{MOST_LINES:,} lines and {MOST_BYTES >> 20} MiB"
            what = f"a file of requests has at most {most}, since {holder} holds it in memory"
            raise LinesError(where, what, "leave some out")
        if number == 1 and line.startswith(_BOM):
            raise LinesError(where, "the file begins with a byte order mark", "save it as UTF-8 without one")
        if line.endswith(b"\r\n"):
            raise LinesError(where, "the line ends with CR LF, as Windows writes it", "save the file with LF")
        text = line.rstrip(b"\n")
        if not text:
            empty = empty or number
            continue
        if empty:
            raise LinesError(
                f"{name} line {empty}", "the line is empty", "write a path or a JSON object, or leave it out"
            )
        yield _request(text, where, writes, over_http)
    if number == 0 or empty == 1:
        raise LinesError(name, "the file is empty", "write a request in each line: a path, or a JSON object with path")


def _request(line: bytes, where: str, writes: bool, over_http: bool) -> RequestLine:
    if len(line) > MOST_LINE_BYTES:
        raise LinesError(where, f"the line has {len(line):,} bytes", f"a request may have {MOST_LINE_BYTES:,}")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LinesError(where, f"the line is not UTF-8 text: {error.reason}", "save the file as UTF-8") from None
    found = RequestLine("GET", text) if text.startswith("/") else _from_json(text, where)
    if not is_path(found.path):
        cure = (
            "write one that begins with one slash, as /shop/_search?q=shoes, with all but printable ASCII "
            "percent-encoded, and # as %23, % as %25"
        )
        raise LinesError(where, f"{_shown(found.path)} is no path", cure)
    if found.method == "HEAD" and not over_http:
        raise LinesError(where, "Rally takes a HEAD that is answered by 404 as a success", "write GET")
    methods = (*_METHODS, "HEAD", "PATCH", "OPTIONS") if over_http else _METHODS
    if found.method not in methods:
        raise LinesError(where, f"the method {_shown(found.method)} is none of {', '.join(methods)}", "write one")
    if not (found.reads or writes or over_http):
        cure = "leave it out, or write race.params.allow_writes: true"
        raise LinesError(where, f"{found.method} {_shown(found.path)} does more than read", cure)
    return found


def _from_json(text: str, where: str) -> RequestLine:
    try:
        data = json.loads(text, parse_constant=_no_number, parse_float=_float, object_pairs_hook=_object)
    except RecursionError:
        raise LinesError(where, "the JSON is nested too deeply") from None
    except _TwiceError as error:
        raise LinesError(where, f"an object has the member {_shown(str(error))} twice", "write it once") from None
    except ValueError as error:
        what = f"{_shown(text)} is neither a path, which begins with a slash, nor JSON: {_error_text(error)}"
        raise LinesError(where, what) from None
    if not isinstance(data, Mapping):
        raise LinesError(where, f"{_shown(text)} is not a JSON object", 'write {"path": "/shop/_search", "body": …}')
    if "\\ud" in text.lower() and not _can_be_sent(data):
        raise LinesError(where, "a text has half of a character (\\ud800 to \\udfff)", "write both halves")
    if unknown := [str(key) for key in data if key not in _MEMBERS]:
        known = ", ".join(_MEMBERS)
        raise LinesError(where, f"there is no member {_shown(unknown[0])}", f"a request has {known}; leave it out")
    path, body = data.get("path"), data.get("body")
    if not isinstance(path, str):
        raise LinesError(where, "the object has no path", 'write "path": "/shop/_search"')
    method = data.get("method", "GET" if body is None else "POST")
    if not isinstance(method, str):
        raise LinesError(where, 'the method must be a text, as "GET"')
    if body is not None and not isinstance(body, Mapping | list | str):
        raise LinesError(where, "the body must be an object, a list with an item for each of its lines, or a text")
    return RequestLine(method.upper(), path, body)


def _can_be_sent(data: Any) -> bool:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise _TwiceError(next(name for name, number in names.items() if number > 1))
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _float(text: str) -> float:
    if math.isinf(found := float(text)):
        raise ValueError(f"the number {_shown(text)} is too large, and would be sent as Infinity")
    return found


def _error_text(error: ValueError) -> str:
    return str(getattr(error, "msg", None) or error)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
