"""Whether the machine of a race was another one meanwhile, from what was remarked on it and on the races beside it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fairlap.api.block_record import RaceRecord
from fairlap.api.status import RemarkStatus
from fairlap.comparison.facts.race_facts import LOAD_FROM
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.canary_margins import (
    DISTURBED_WORDS,
    HASHING,
    READING_MEMORY,
    WRITING,
    Piece,
)

DISTURBED: Final = str(Reason.MACHINE_DISTURBED)
"""reason of the remark, and of a block that is raced again for it"""
_PIECES: Final[Mapping[str, Piece]] = {
    "cpuSeconds": HASHING, "memorySeconds": READING_MEMORY, "diskSeconds": WRITING,
}  # fmt: skip
"""by kind of a race record's canary"""
_PART_OF_IT: Final = ("ran: load generator's cores", "ran: load generator's CPU limit")


def disturbance(race: RaceRecord) -> str | None:
    """Return in a sentence how the machine of a race was disturbed; None where that was not remarked on it."""
    return next((remark.message for remark in race.remarks if remark.reason == DISTURBED), None)


def with_slower_machines(races: Sequence[RaceRecord]) -> list[RaceRecord]:
    """Return the races of a block, those remarked on whose machine was slower than around another race of it.

    What disturbs a machine for the whole of a race is there in both its canaries alike. Those are compared that were
    raced from one machine with the same share of it, and were not disturbed otherwise: the margins are those between
    the canaries of one race.
    """
    quiet = [race for race in races if race.valid and race.canary and disturbance(race) is None]
    slower = {race.benchmark: "; ".join(_slower(race, quiet)) for race in quiet}
    return [_remarked(race, slower.get(race.benchmark, "")) for race in races]


def _remarked(race: RaceRecord, found: str) -> RaceRecord:
    if not found:
        return race
    remark = RemarkStatus(reason=DISTURBED, message=f"{DISTURBED_WORDS}{found}")
    # In front: what is beyond the room for remarks is cut from the end.
    return race.model_copy(update={"remarks": [remark, *race.remarks]})


def _slower(race: RaceRecord, others: Sequence[RaceRecord]) -> Iterator[str]:
    """Yield each piece of work that took longer around a race than around the one in which it was fastest."""
    place = _place(race)
    beside = [it for it in others if place is not None and _place(it) == place]
    for kind, piece in _PIECES.items():
        own = race.canary.get(kind, 0.0)
        times = [(it.canary[kind], it.variant) for it in beside if it.canary.get(kind, 0.0) > 0]
        least, variant = min(times, default=(own, ""))
        if own > least and piece.differ(least, own):
            took = f"{1000 * own:.3g} ms around this race and {1000 * least:.3g} ms around that of {variant}"
            yield f"the same work, {piece.words}, took {took} in its block"


def _place(race: RaceRecord) -> tuple[str, ...] | None:
    """Return the machine that the load came from, and which part of it; None where that is not known."""
    machine = race.facts.get(LOAD_FROM)
    return (machine, *(race.facts.get(path, "") for path in _PART_OF_IT)) if machine else None
