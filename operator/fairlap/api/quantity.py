"""Kubernetes quantities, Elasticsearch heap sizes and durations: text to numbers."""

import re
from datetime import timedelta

_UNITS = {
    "": 1, "m": 1e-3, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
}  # fmt: skip
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"
HEAP = r"^[1-9][0-9]*[mg]$"
DURATION = r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"


def parse_quantity(text: str) -> float:
    """Return the number a Kubernetes quantity stands for (bytes, or cores); raises ValueError if it is none."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)", text)
    if not found or found[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a quantity: write for example 500m, 2 or 4Gi")
    return float(found[1]) * _UNITS[found[2]]


def parse_heap(text: str) -> int:
    """Return the bytes of a JVM heap size such as 512m or 4g; raises ValueError if it is none."""
    if not re.fullmatch(HEAP, text):
        raise ValueError(f"{text!r} is not a heap size: write for example 512m or 4g")
    return int(text[:-1]) * (2**20 if text.endswith("m") else 2**30)


def parse_duration(text: str) -> timedelta:
    """Return the time a duration such as 90s, 15m or 1h30m stands for; raises ValueError if it is none."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    if not text or not found:
        raise ValueError(f"{text!r} is not a duration: write for example 90s, 15m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)
