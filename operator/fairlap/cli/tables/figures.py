"""Numbers as people read them; pure, standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fairlap.wording.numerals import NOTHING, number


def figure(found: Mapping[str, Any] | None, digits: int = 0, divisor: float = 1) -> str:
    """Return the median over the races with the smallest and largest, as "median (min–max)"."""
    if not found:
        return NOTHING
    values = (found.get(key) for key in ("median", "min", "max"))
    middle, low, high = (number(None if value is None else value / divisor, digits) for value in values)
    return middle if found.get("races") == 1 else f"{middle} ({low}–{high})"


def short_digest(image: str) -> str:
    """Return the first 12 hex digits of an image's digest, or the text as it is when it has none."""
    found = re.findall(r"sha256:([0-9a-f]{12})", image)
    return f"sha256:{found[-1]}" if found else image


def name_in_words(key: str) -> str:
    """Return a camelCase name as words: "diskReadBytes" as "disk read bytes"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).lower()
