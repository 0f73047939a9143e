"""Reads texts that anybody may have written: a race's own pod may write whatever it likes into its ConfigMap.

Nothing here raises for any text, or takes more memory than a bound allows. Pure.
"""

from __future__ import annotations

import base64
import json
import zlib
from datetime import datetime
from typing import Any

MAX_JSON_CHARACTERS = 8 << 20
"""Of one JSON text; a ConfigMap holds 1 MiB, so that only what was compressed comes near."""
MAX_UNPACKED_BYTES = 32 << 20
"""Of one compressed text; the runner packs 4 MiB of a log at most."""
_EARLIEST, _LATEST = 1970, 9998
_LONGEST_TIME = 40
_GZIP = 16 + zlib.MAX_WBITS


def read_object(text: object, most: int = MAX_JSON_CHARACTERS) -> dict[str, Any] | None:
    """Return the JSON object in a text, or None when it holds none, has more than `most` or is nested too deeply."""
    if not isinstance(text, str) or len(text) > most:
        return None
    try:
        data = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _no_number(_: str) -> None:
    """NaN and Infinity are no JSON, but Python reads them."""


def characters(text: str, most: int) -> str:
    """Return the first `most` characters of a text; JSON can write half a character, which no other text has: a "?"."""
    return text[:most].encode("utf-8", "replace").decode("utf-8")


def unpacked(packed: str, most: int = MAX_UNPACKED_BYTES) -> bytes | None:
    """Return what a text in base64 holds compressed by gzip; None when it cannot be read, or has more than `most`."""
    try:
        content = base64.b64decode(packed, validate=True)
    except ValueError:
        return None
    return decompressed(content, most)


def decompressed(content: bytes, most: int = MAX_UNPACKED_BYTES) -> bytes | None:
    """Return what bytes hold compressed by gzip; None when they cannot be read, or hold more than `most`."""
    reader = zlib.decompressobj(_GZIP)
    try:
        found = reader.decompress(content, most + 1)
    except zlib.error:
        return None
    return found if reader.eof and len(found) <= most else None


def parse_time(text: object) -> datetime | None:
    """Return an ISO-8601 time that says its zone and lies within the years of clocks, else None."""
    if not isinstance(text, str) or len(text) > _LONGEST_TIME:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None and _EARLIEST <= found.year <= _LATEST else None


def time_text(text: object) -> str | None:
    """Return the text of a time as it is, or None when `parse_time` cannot read it."""
    return str(text) if parse_time(text) is not None else None
