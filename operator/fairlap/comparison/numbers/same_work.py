"""Whether two variants' races ran the same tasks, and tell their numbers in the same units. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from fairlap.comparison.numbers.race_numbers import OF_A_FAILED_REQUEST, Number, Raced
from fairlap_race.contract.some_of import some_of

_MOST_NAMED = 10
Sides = tuple[Sequence[Raced], Sequence[Raced]]
"""the races of the baseline and those of the contender"""


def tasks_of_one_side(sides: Sides, names: tuple[str, str]) -> Iterator[str]:
    """Yield a sentence for a side without any task, else for the tasks that all races of one side ran and no other.

    What single races lack is no reason to judge nothing: a mean is without it.
    """
    ran = [[dict.fromkeys(race.tasks) for race in races] for races in sides]
    empty = [name for name, races in zip(names, ran, strict=True) if not any(races)]
    for name in empty:
        yield (
            f"{name} has no task at all in its results (op_metrics of race.json): "
            "give races of which Rally reports a task (include-in-reporting)"
        )
    if empty:
        return
    for clause in raced_alone(ran, names):
        yield f"{clause}: give both the same track, challenge, and included and excluded tasks"


def raced_alone(ran: Sequence[Sequence[Collection[str]]], names: Sequence[str]) -> Iterator[str]:
    """Yield a clause for each of two sides with the tasks that all races of it ran, and none of the other one.

    `ran`: of both sides, the tasks of each race.
    """
    for name, ours, theirs in zip(names, ran, reversed(ran), strict=True):
        in_all = [task for task in ours[0] if all(task in race for race in ours)] if ours else []
        if alone := [task for task in in_all if not any(task in race for race in theirs)]:
            yield f"{some_of(alone, _MOST_NAMED)} {'were' if len(alone) > 1 else 'was'} raced by {name} alone"


def units_of(sides: Sides, number: Number) -> list[str]:
    """Return the units in which the races tell a number, the baseline's first; a race that tells none fits all."""
    found: list[str] = []
    for races in sides:
        told = [unit for race in races if (unit := race.units.get(number))]
        # Where a race tells what a failed request is counted in, the others of its variant know better.
        found += [unit for unit in told if unit != OF_A_FAILED_REQUEST] or told
    return list(dict.fromkeys(found))


def told_apart(units: Mapping[Number, Collection[str]]) -> Iterator[str]:
    """Yield a sentence for the numbers that are told in several units, together where these are the same."""
    together: dict[str, list[str]] = {}
    for number, told in units.items():
        together.setdefault(" and ".join(told), []).append(str(number))
    for told_in, numbers in together.items():
        yield f"not compared, since told in {told_in}: {some_of(numbers, _MOST_NAMED)}; have both tell it in one unit"
