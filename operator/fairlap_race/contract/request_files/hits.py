"""How many hits an answer tells, where a pointer says that it does. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairlap_race.contract.request_files.probe import PointerError, find_number, find_value
from fairlap_race.contract.request_files.sent_request import Sent

RELATION, LOWER_BOUND = "relation", "gte"
"""Beside the number Elasticsearch says whether it counted all, or stopped at 10,000."""
TIMED_OUT, SHARDS, FAILED = "timed_out", "_shards", "failed"
"""Above it says that it stopped at a timeout, and how many shards did not answer: HTTP 200 in either case."""
_ALL = re.compile(r'allow_partial_search_results"?\s*[=:]\s*"?false')
"""In a path, or in a header of a multi-search: all shards must answer."""


def find_hits(answer: Any, pointer: str) -> int:
    """Return the number of hits that the JSON pointer finds in an answer.

    Raises PointerError, also for a lower bound and for a part: two searches that find at least 10,000 each, or that did
    not ask every shard, are not known to find the same.
    """
    number = find_number(answer, pointer)
    if number != int(number) or number < 0:
        raise PointerError(f"{pointer} finds a number that is no count")
    if part := _part(answer, pointer):
        raise PointerError(f"{pointer} counts a part of the hits alone: {part}")
    about = find_value(answer, pointer.rpartition("/")[0])
    if isinstance(about, Mapping) and about.get(RELATION) == LOWER_BOUND:
        raise PointerError(
            f'{pointer} is a lower bound ({RELATION} {LOWER_BOUND}), and no count: write "track_total_hits": true into '
            "the body of the request, or track_total_hits=true into its path"
        )
    return int(number)


def may_be_part(answer: Any, pointer: str, request: Sent) -> bool:
    """Return whether Elasticsearch may answer such a request in part: not each shard must take it.

    `answer` is a whole one. Too much to do makes single shards refuse a search, and the rest is HTTP 200.
    """
    _, path, body, _ = request
    searched = any({SHARDS, TIMED_OUT} <= it.keys() for it in _above(answer, pointer))
    return searched and _ALL.search(f"{path}\n{body or ''}") is None


def _above(answer: Any, pointer: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects that the number of a pointer is in, from the answer itself on."""
    levels = pointer.split("/")[:-1]
    for depth in range(1, len(levels) + 1):
        about = find_value(answer, "/".join(levels[:depth]))
        if isinstance(about, Mapping):
            yield about


def _part(answer: Any, pointer: str) -> str:
    """Return why a search did not count all, with what to write, by any level above its number; "" where it did."""
    for about in _above(answer, pointer):
        if about.get(TIMED_OUT) is True:
            return f"the search stopped at a timeout ({TIMED_OUT}); write a longer timeout into the request, or none"
        shards = about.get(SHARDS)
        failed = shards.get(FAILED) if isinstance(shards, Mapping) else None
        if isinstance(failed, int) and failed > 0:
            return (
                f"shards failed ({SHARDS}.{FAILED}); send the request by hand, read why in {SHARDS}.failures of its "
                "answer, and write one that each shard answers"
            )
    return ""
