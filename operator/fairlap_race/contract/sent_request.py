"""A request of a file as it goes over the wire. Pure."""

from __future__ import annotations

import json
from typing import Any

from fairlap_race.contract.request_lines import RequestLine

JSON, JSON_LINES, TEXT = "application/json", "application/x-ndjson", "text/plain; charset=utf-8"
Sent = tuple[str, str, "str | None", "str | None"]
"""Method, path, body and content type."""


def as_sent(line: RequestLine) -> Sent:
    """Return a request as it goes over the wire: a list is a JSON text a line, a text stays as it is, with its type."""
    body = line.body
    if body is None:
        return line.method, line.path, None, None
    if isinstance(body, str):
        return line.method, line.path, body, _type_of(line.path, body)
    if isinstance(body, list):
        return line.method, line.path, "".join(f"{_text(item)}\n" for item in body), JSON_LINES
    return line.method, line.path, _text(body), JSON


def _type_of(path: str, text: str) -> str:
    if path.partition("?")[0].rstrip("/").endswith(("/_bulk", "/_msearch", "/_msearch/template")):
        return JSON_LINES
    try:
        return JSON if isinstance(json.loads(text), (dict, list)) else TEXT
    except (ValueError, RecursionError):
        return TEXT


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
