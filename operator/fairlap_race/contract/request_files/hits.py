"""How many hits an answer tells, where a pointer says that it does. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlap_race.contract.request_files.probe import PointerError, find_number, find_value

RELATION, LOWER_BOUND = "relation", "gte"
"""Beside the number Elasticsearch says whether it counted all, or stopped at 10,000."""


def find_hits(answer: Any, pointer: str) -> int:
    """Return the number of hits that the JSON pointer finds in an answer. Raises PointerError, also for a lower bound.

    Two searches that find at least 10,000 each are not known to find the same.
    """
    number = find_number(answer, pointer)
    if number != int(number) or number < 0:
        raise PointerError(f"{pointer} finds a number that is no count")
    about = find_value(answer, pointer.rpartition("/")[0])
    if isinstance(about, Mapping) and about.get(RELATION) == LOWER_BOUND:
        raise PointerError(
            f'{pointer} is a lower bound ({RELATION} {LOWER_BOUND}), and no count: write "track_total_hits": true into '
            "the body of the request, or track_total_hits=true into its path"
        )
    return int(number)
