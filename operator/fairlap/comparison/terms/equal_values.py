"""Values of a Benchmark's spec that are written in two ways and mean the same: 2Gi and 2048Mi. Pure."""

import re
from typing import Any, Final

from fairlap.api.quantity import parse_heap, parse_quantity

_QUANTITIES: Final = re.compile(
    r"(elasticsearch|race)\.resources\.(requests|limits)\.(cpu|memory)"
    r"|elasticsearch\.storage\.(size|ephemeral\.sizeLimit)|race\.corpora\.maxSize"
)
_HEAP: Final = re.compile(r"elasticsearch\.heap|ran: (each node's )?JVM flag -Xm[sx]")
_HOSTS: Final = re.compile(r"target\.hosts(\[\d+\])?")


def comparable(path: str, value: Any) -> Any:
    """Return the value at a dotted path of a spec, or of a fact, as it is compared: bytes or cores, else itself.

    An address is compared in small letters and without a slash at its end.
    """
    if _HOSTS.fullmatch(path):
        return [_address(each) for each in value] if isinstance(value, list) else _address(value)
    try:
        if _HEAP.fullmatch(path):
            return parse_heap(value)
        return parse_quantity(str(value)) if _QUANTITIES.fullmatch(path) and value is not None else value
    except (TypeError, ValueError):  # it will be refused, in its own words
        return value


def _address(value: Any) -> Any:
    return value.rstrip("/").lower() if isinstance(value, str) else value
