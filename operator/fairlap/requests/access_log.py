"""Requests from the access log of a proxy before Elasticsearch: common and combined format, or JSON lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from fairlap.requests.found import InputLine, Skipped, accepted, member, read_entry
from fairlap_race.contract.request_files.request_lines import RequestLine
from fairlap_race.contract.untrusted import read_object

NO_ENTRY = "no entry of an access log"
BODY_UNKNOWN = "a search without q or source: its body, if it had one, is not in the log"
NO_BODY = "not a GET: an access log does not have the body"
FAILED = "answered by an error, or sent elsewhere"
OTHER = "another path than was asked for"
OF_A_MOMENT = "it reads on in a search of that moment: a scroll, a point in time, an asynchronous search"
_MOST_CHARACTERS = 1 << 20
_NOT_MODIFIED = 304
_QUOTED = re.compile(r'"(?P<method>[A-Z]{3,10}) (?P<target>\S+)(?: HTTP/[\d.]+)?" (?P<status>\d{3})\b')
_REQUEST = re.compile(r"(?P<method>[A-Z]{3,10}) (?P<target>\S+)(?: HTTP/[\d.]+)?")
_ESCAPED = {'"': '"', "\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|(["\\bfnrtv]))')
_ADDRESS = re.compile(r"https?://[^/?#]*", re.I)
_SEARCH = re.compile(r"/_(?:search|count|msearch)(?:/template)?/?(?:\?|$)")
_OF_A_MOMENT = re.compile(r"/_(?:search/scroll|async_search|search/point_in_time|pit)(?:[/?]|$)|[?&]scroll(?:_id)?=")
_SAYS_WHAT = re.compile(r"[?&](?:q|source)=[^&]")
_METHODS = (
    "method", "request_method", "http_method", "verb", "RequestMethod", "request.method", "http.request.method",
)  # fmt: skip
_TARGETS = ("request_uri", "uri", "path", "url", "target", "RequestPath", "request.uri", "url.original", "url.path")
"""Of nginx, Apache, Envoy, Traefik and Caddy, and of the Elastic Common Schema."""
_QUERIES = ("args", "query_string", "query", "url.query")
"""Of nginx ($args, $query_string) and Apache (%q, with its question mark), beside a path without one."""
_STATUSES = ("status", "status_code", "response", "response_code", "DownstreamStatus", "http.response.status_code")


class _LoggedRequest(NamedTuple):
    method: str
    target: str
    status: int


def from_access_log(
    lines: Iterable[InputLine], strip: str = "", match: str = "", without_body: bool = False
) -> Iterator[RequestLine | Skipped]:
    """Yield the GETs that were answered, and can be sent again, in their order.

    `strip`: the beginning of paths that the proxy takes away; `match`: a text that paths must have in them;
    `without_body`: searches that say nothing in their path are kept, as they would find everything.
    """
    for line in lines:
        entry = read_entry(line.text, _from_json, _from_text)
        if entry is None:
            yield Skipped(line.number, NO_ENTRY)
        elif entry.method != "GET":
            yield Skipped(line.number, NO_BODY)
        elif entry.status >= 300 and entry.status != _NOT_MODIFIED:
            yield Skipped(line.number, FAILED)
        elif match not in (path := _path(entry.target, strip)):
            yield Skipped(line.number, OTHER)
        elif _OF_A_MOMENT.search(path):
            yield Skipped(line.number, OF_A_MOMENT)
        elif not without_body and _SEARCH.search(path) and not _SAYS_WHAT.search(path):
            # A GET may have a body: without it the search would be another one, of everything.
            yield Skipped(line.number, BODY_UNKNOWN)
        else:
            yield from accepted(line.number, RequestLine("GET", path))


def _path(target: str, strip: str) -> str:
    path, prefix = _ADDRESS.sub("", target, count=1).partition("#")[0], strip.rstrip("/")
    if path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/", "?"):
        path = path[len(prefix) :]
    # nginx writes what is not printable as \xE9, Apache also " as \"; what is encoded already stays.
    path = _ESCAPE.sub(_percent, path if path.startswith("/") else f"/{path}")
    return quote(path, safe="".join(map(chr, range(0x21, 0x7F))))


def _percent(escape: re.Match[str]) -> str:
    return f"%{escape[1]}" if escape[1] else f"%{ord(_ESCAPED[escape[2]]):02X}"


def _from_text(text: str) -> _LoggedRequest | None:
    found = _QUOTED.search(text)
    return _LoggedRequest(found["method"], found["target"], int(found["status"])) if found else None


def _from_json(text: str) -> _LoggedRequest | None:
    data = read_object(text, _MOST_CHARACTERS)
    if data is None:
        return None
    status, request = _first(data, _STATUSES), data.get("request")
    whole = _REQUEST.fullmatch(request) if isinstance(request, str) else None
    method, target = (whole["method"], whole["target"]) if whole else (_first(data, _METHODS), _first(data, _TARGETS))
    if not target and isinstance(request, str) and request.startswith("/"):  # as Logstash's patterns name it
        target = request
    if not (method and target and re.fullmatch(r"\d{3}", status)):
        return None
    query = _first(data, _QUERIES)
    if query.strip("?-") and "?" not in target:
        target = f"{target}?{query.removeprefix('?')}"
    return _LoggedRequest(method.upper(), target, int(status))


def _first(data: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first member that is a text or a number, as a text; "" without any."""
    found = (member(data, name) for name in names)
    return next((str(it) for it in found if isinstance(it, str | int)), "")
