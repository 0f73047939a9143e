"""Which Rally speaks to which Elasticsearch: one race image a line."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line of Rally: the exact version that a race image has, and the Elasticsearch it is for."""

    name: str
    rally: str
    oldest: tuple[int, int, int]
    """the oldest Elasticsearch that this Rally speaks to (esrally/min-es-version.txt of that version)"""


MAIN = Line("2.13", "2.13.0", (6, 8, 0))
OLDER = (Line("2.3", "2.3.1", (6, 0, 0)),)
"""Used only for an Elasticsearch that every newer line refuses."""
LINES = (MAIN, *OLDER)


def line_for(version: str | None) -> Line | None:
    """Return the newest line that speaks to an Elasticsearch of that version; None when there is none.

    A version that cannot be read is taken for a new one.
    """
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    if found is None:
        return MAIN
    number = (int(found[1]), int(found[2]), int(found[3]))
    return next((line for line in LINES if number >= line.oldest), None)
