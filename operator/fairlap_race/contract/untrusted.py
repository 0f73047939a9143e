"""Reads texts that anybody may have written: a race's own pod may write whatever it likes into its ConfigMap.

Nothing here raises for any text, or takes more memory than a bound allows. Pure.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

MAX_JSON_CHARACTERS = 8 << 20
"""Of one JSON text; a ConfigMap holds 1 MiB, so that only what was compressed comes near."""
MAX_JSON_VALUES = 600_000
"""Of one JSON text. In Python a value takes up to 200 bytes and an empty list three characters, so that 8 MiB would be
300 MB, and the operator has not twice as much."""
MAX_UNPACKED_BYTES = 32 << 20
"""Of one compressed text; the runner packs 4 MiB of a log at most."""
_EARLIEST, _LATEST = 1970, 9998
_LONGEST_TIME = 40
_GZIP = 16 + zlib.MAX_WBITS


def read_object(text: object, most: int = MAX_JSON_CHARACTERS, values: int = MAX_JSON_VALUES) -> dict[str, Any] | None:
    """Return the JSON object in a text, or None when it holds none that can be read.

    That is, too, when the text has more than `most` characters or `values` values, or is nested too deeply.
    """
    if not isinstance(text, str) or len(text) > most or value_count(text) > values:
        return None
    try:
        data = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def value_count(text: str | bytes) -> int:
    """Return how many values a JSON text has at most, without reading it: what is in its texts counts, too."""
    if isinstance(text, bytes):
        return sum(text.count(sign) for sign in (b",", b"[", b"{"))
    return sum(text.count(sign) for sign in (",", "[", "{"))


def has_more_values(data: Any, most: int) -> bool:
    """Return whether JSON data has more than `most` values; goes through it without recursion."""
    count, level = 0, [data] if isinstance(data, Mapping | list) else []
    while level:
        count += sum(map(len, level))
        if count > most:
            return True
        values = (value for each in level for value in (each.values() if isinstance(each, Mapping) else each))
        level = [value for value in values if isinstance(value, Mapping | list)]
    return False


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


def as_number(value: object) -> float | None:
    """Return a number as a float, None for anything else: NaN and what no float can hold, too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


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
