"""Races that take turns, request by request, so that a machine's moments meet all of them alike.

Bulej et al. 2020, *Duet Benchmarking*. One of the races keeps the table at which the others sit down; each client of
each task has a seat there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TURNS_PORT = 9330
"""where the table is, in the pod of the race that keeps it"""
LEAST_IN_TURN = 0.95
"""share of a task's requests that were sent in turn, below which its race is no part of a duet"""
KINDS = FREE, PLANNED = "free", "planned"
"""How a task's requests are sent: as soon as the last one is answered, or at moments."""
MOST_RACES = 13
"""of a block: all variants that there may be, and the baseline against itself"""
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[0-9.]{7,15}):[0-9]{1,5}")
LONGEST_ADDRESS = 60
_LONGEST_WAIT = 2 * 86_400


@dataclass(frozen=True)
class TurnsSpec:
    """With whom a race takes turns."""

    block: str
    """what all of them call the table: who says something else is not let in"""
    races: int
    number: int
    """from 0, which keeps the table; in this order one request of each is sent, where requests are not planned"""
    at: str = ""
    """where the table is, ADDRESS:PORT; empty for the race that keeps it"""
    others_seconds: float = 1200.0
    """how long a race that is ready waits for the others, whose clusters may be built later"""


@dataclass(frozen=True)
class TaskTurns:
    """How the requests of one task were sent, warm-up included."""

    task: str = ""
    in_turn: int = 0
    """while all the other races had a client at the same task"""
    alone: int = 0
    """when some of them were over with it, or gone"""

    @property
    def share(self) -> float:
        """Share of the requests that were sent in turn, 0 to 1; 1 without any request."""
        return self.in_turn / (self.in_turn + self.alone) if self.in_turn + self.alone else 1.0


def order_of_round(races: int, number: int) -> list[int]:
    """Return in which order the races send their planned requests in that round, from 0: abbabaab for two of them.

    All are due at one moment, and who goes second finds a machine that is awake: each place falls to each race alike.
    """
    shift = number // 2 % races
    order = [*range(shift, races), *range(shift)]
    return order[::-1] if number % 2 else order


def is_address(text: str) -> bool:
    """Return whether a text is an address and a port, as the race that keeps the table says them."""
    return len(text) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(text) is not None


def address_of(ip: str) -> str:
    """Return where the table is in the pod of that IP address."""
    return f"[{ip}]:{TURNS_PORT}" if ":" in ip else f"{ip}:{TURNS_PORT}"


def find_wrong_turns(spec: TurnsSpec) -> Iterator[str]:
    """Yield a sentence for each value that is out of its bounds."""
    if not 2 <= spec.races <= MOST_RACES:
        yield f"turns.races: must be 2 to {MOST_RACES}"
    if not 0 <= spec.number < spec.races:
        yield f"turns.number: must be 0 to {spec.races - 1}"
    if not spec.block or any(each.isspace() for each in spec.block):
        yield "turns.block: must be a word"
    if bool(spec.at) != (spec.number > 0):
        yield "turns.at: all races but number 0, which keeps the table, need it"
    if not 1 <= spec.others_seconds <= _LONGEST_WAIT:
        yield f"turns.others_seconds: must be 1 to {_LONGEST_WAIT}"
    if spec.at and not is_address(spec.at):
        yield f"turns.at: {spec.at!r} is no ADDRESS:PORT"
