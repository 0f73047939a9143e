"""The queue: who may hold a cluster now, so that two Benchmarks never disturb each other's numbers."""

from collections.abc import Iterable
from typing import NamedTuple


class Waiting(NamedTuple):
    """A Benchmark as the queue sees it."""

    uid: str
    name: str
    """namespace/name"""
    created: str
    """creationTimestamp, ISO-8601 in UTC"""
    admitted: bool
    """holds a place"""
    queued: bool
    """is waiting for a place"""


class Turn(NamedTuple):
    """Whether a Benchmark may go on, and if not, who is before it."""

    mine: bool
    ahead: int = 0
    behind: str = ""


def turn(uid: str, benchmarks: Iterable[Waiting], places: int) -> Turn:
    """Return the turn of the Benchmark `uid`: first come, first served, `places` at once.

    A Benchmark that already holds a place keeps it. `benchmarks` need not contain `uid` itself.
    """
    everyone = sorted(benchmarks, key=lambda b: (b.created, b.name))
    holders = [b for b in everyone if b.admitted]
    if any(b.uid == uid for b in holders):
        return Turn(mine=True)
    earlier: list[Waiting] = []
    for candidate in everyone:
        if candidate.uid == uid:
            break
        if candidate.queued and not candidate.admitted:
            earlier.append(candidate)
    before = holders + earlier
    if len(before) < places:
        return Turn(mine=True)
    return Turn(mine=False, ahead=len(before) - places + 1, behind=before[-1].name)
