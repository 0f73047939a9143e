"""What is remarked on a race although it counts: typed facts, and how many of them a status has room for."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from fairlap.api.base import LONGEST_TEXT, Api
from fairlap.api.status import MOST_REMARKS, RemarkStatus
from fairlap_race.contract.reasons import Reason

T = TypeVar("T", bound=Api | str)
_ROOM = 8000
"""Characters of all remarks on a race, more or less: a status of 50 races must fit into the API server's database."""
_SHORTEST = 190


def first_that_fit(things: Iterable[T], characters: int) -> list[T]:
    """Return the first of some parts of a status, as many as have `characters` in JSON together."""
    kept, left = [], characters
    for thing in things:
        left -= len(thing) if isinstance(thing, str) else len(thing.model_dump_json())
        if left < 0:
            break
        kept.append(thing)
    return kept


class RaceRemark(NamedTuple):
    """What a reader must know of a race."""

    reason: Reason
    """one of those that are remarks"""
    text: str


def fit_remarks(remarks: Sequence[RaceRemark], room: int = MOST_REMARKS) -> list[RemarkStatus]:
    """Return the remarks as the status has them: `room` of them at most, in their order, one of each reason at least.

    The last one of a reason says how many more of it were left out. `room` must not be less than there are reasons.
    """
    first = {remark.reason: position for position, remark in reversed(list(enumerate(remarks)))}
    firsts = set(first.values())
    rest = [position for position in range(len(remarks)) if position not in firsts]
    kept = sorted([*first.values(), *rest[: max(room - len(first), 0)]])
    left_out = Counter(remark.reason for remark in remarks) - Counter(remarks[position].reason for position in kept)
    last = {remarks[position].reason: position for position in kept}
    longest = max(_SHORTEST, min(LONGEST_TEXT, _ROOM // max(1, len(kept))))
    return [
        _status(remarks[position], longest, left_out[remarks[position].reason] if position in last.values() else 0)
        for position in kept
    ]


def _status(remark: RaceRemark, longest: int, left_out: int) -> RemarkStatus:
    more = f"; and {left_out} more of this reason" if left_out else ""
    return RemarkStatus(reason=str(remark.reason), message=f"{remark.text[: longest - len(more)]}{more}")
