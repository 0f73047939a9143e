"""A request of a file as it goes over the wire. Pure."""

from __future__ import annotations

import json
from typing import Any

from fairlap_race.contract.request_files.request_lines import RequestLine

JSON, JSON_LINES, TEXT = "application/json", "application/x-ndjson", "text/plain; charset=utf-8"
Sent = tuple[str, str, "str | None", "str | None"]
"""Method, path, body and content type."""
_NOT_IN_A_PATH = str.maketrans({each: f"%{ord(each):02X}" for each in '"<>\\^`{|}'})
"""Where k6 finds one of these as it is, it encodes the whole path anew, and a %2F beside it becomes a slash."""


def as_sent(line: RequestLine) -> Sent:
    """Return a request as it goes over the wire: a list is a JSON text a line, a text stays as it is, with its type."""
    body, path = line.body, _encoded(line.path)
    if body is None:
        return line.method, path, None, None
    if isinstance(body, str):
        return line.method, path, body, _type_of(path, body)
    if isinstance(body, list):
        return line.method, path, "".join(f"{_text(item)}\n" for item in body), JSON_LINES
    return line.method, path, _text(body), JSON


def _encoded(path: str) -> str:
    before, mark, query = path.partition("?")
    return f"{before.translate(_NOT_IN_A_PATH)}{mark}{query}"


def _type_of(path: str, text: str) -> str:
    if path.partition("?")[0].rstrip("/").endswith(("/_bulk", "/_msearch", "/_msearch/template")):
        return JSON_LINES
    try:
        return JSON if isinstance(json.loads(text), (dict, list)) else TEXT
    except (ValueError, RecursionError):
        return TEXT


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
