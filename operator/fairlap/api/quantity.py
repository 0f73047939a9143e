"""Kubernetes quantities, Elasticsearch heap sizes, durations and latencies: text to numbers."""

import math
import re
from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

_UNITS: Mapping[str, int | Fraction] = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": 1,
    "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip
"""Those of a spec are fewer (QUANTITY), but a Node tells what it has in any of Kubernetes'."""
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"
HEAP = r"^[1-9][0-9]*[mg]$"
DURATION = r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
LATENCY = r"^[0-9]{1,7}([.][0-9]{1,3})?(us|ms|s)$"
"""with any digit but 0 in it"""
PATCH = "patch"
"""The context in which a model is read that is merged of parts without a schema."""
_MILLIS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
LONGEST = timedelta(days=366)
"""Of what `parse_duration` returns; each field of the spec has a shorter bound of its own."""


def quantity_text(value: Any, info: ValidationInfo) -> str:
    """Return a quantity of a manifest as text; raises PydanticCustomError for a number with a fraction.

    The API server takes texts and whole numbers (x-kubernetes-int-or-string), but any in a PATCH.
    """
    if not isinstance(value, float) or value.is_integer() or (value > 0 and info.context == PATCH):
        return str(value)
    text = repr(value)
    instead = f'"{text}"' if re.fullmatch(QUANTITY, text) else "for example 500m, 2 or 4Gi"
    if math.isfinite(value) and value > 0 and (thousandths := Fraction(text) * 1000).denominator == 1:
        instead += f" or {thousandths}m"
    words = "{value} is neither a text nor a whole number, and the API server takes nothing else: write {instead}"
    raise PydanticCustomError("quantity", words, {"value": text, "instead": instead})


def parse_quantity(text: str) -> float:
    """Return the number a Kubernetes quantity stands for (bytes, or cores); raises ValueError if it is none."""
    found = re.fullmatch(r"([0-9]{1,40}(?:\.[0-9]{1,40})?)([a-zA-Z]*)", text)
    if not found or found[2] not in _UNITS:
        raise ValueError(f"{text[:40]!r} is not a quantity: write for example 500m, 2 or 4Gi")
    # Exactly, and rounded once: 0.7 and 700m are the same number.
    return float(Fraction(found[1]) * _UNITS[found[2]])


def parse_heap(text: str) -> int:
    """Return the bytes of a JVM heap size such as 512m or 4g; raises ValueError if it is none."""
    if not re.fullmatch(r"[1-9][0-9]{0,39}[mg]", text):
        raise ValueError(f"{text[:40]!r} is not a heap size: write for example 512m or 4g")
    return int(text[:-1]) * (2**20 if text.endswith("m") else 2**30)


def parse_duration(text: str) -> timedelta:
    """Return the time that a duration such as 90s or 1h30m means, LONGEST at most; raises ValueError if it is none.

    An older CustomResourceDefinition lets any duration in: what would be longer than clocks can count is cut.
    """
    found = re.fullmatch(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?", text)
    if not text or not found:
        raise ValueError(f"{text[:40]!r} is not a duration: write for example 90s, 15m or 1h30m")
    # float, since a whole number of more digits than Python reads raises; a year is exact in either.
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return timedelta(seconds=min(3600 * hours + 60 * minutes + seconds, LONGEST.total_seconds()))


def parse_latency(text: str) -> float:
    """Return the milliseconds that a latency such as 500us, 2.5ms or 1s means; raises ValueError if it is none."""
    found = re.fullmatch(r"([0-9]{1,7}(?:[.][0-9]{1,3})?)(us|ms|s)", text)
    if not found or not float(found[1]):
        raise ValueError(f"{text[:40]!r} is not a latency: write for example 500us, 2.5ms or 1s")
    return float(found[1]) * _MILLIS[found[2]]
