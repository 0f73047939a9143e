"""What the search for the capacity found in one race, by its record. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fairlap_race.contract.capacity_search import End, what_is_found
from fairlap_race.contract.record import Record
from fairlap_race.contract.sweep import SweepSpec

BOTTLENECK = "LoadGeneratorBottleneck"


@dataclass(frozen=True)
class RaceCapacity:
    """What one race found."""

    task: str
    """in whose place the probes stood"""
    end: str
    """one of `End`, or BOTTLENECK"""
    rate: float | None = None
    low: float | None = None
    """None: below the lowest rate that was asked for"""
    high: float | None = None
    """None: above the highest one"""
    probes: int = 0
    unit: str = ""
    """of the rates; "" where no probe was measured"""

    @property
    def answer(self) -> float | None:
        """The capacity; None where all that is known is a bound."""
        return self.rate if self.end in (End.FOUND, End.WIDE) else None


def race_capacity(record: Record) -> RaceCapacity | None:
    """Return what the race found; None where nothing was looked for.

    What broke while the load generator was the bottleneck tells nothing of the cluster.
    """
    swept = record.track.sweep
    if swept is None or swept.search is None:
        return None
    saturated = saturated_probes(record)
    fair = SweepSpec(steps=tuple(it for it in swept.steps if it.kept or it.name not in saturated)).probes
    left_out, number, unit = len(swept.probes) > len(fair), len(swept.probes), _unit(record)
    if not fair:
        return RaceCapacity(swept.task, BOTTLENECK if left_out else End.WIDE, probes=number, unit=unit)
    found = what_is_found(swept.search, fair)
    end = BOTTLENECK if left_out and found.end in (End.WIDE, End.NEVER_BROKEN) else found.end
    return RaceCapacity(swept.task, end, found.rate, found.low, found.high, number, unit)


def saturated_probes(record: Record) -> frozenset[str]:
    """Return the probes in which the load generator was the bottleneck."""
    names = record.probe_names
    return frozenset(it.task for it in record.tasks if it.task in names and it.load and it.load.saturated)


def _unit(record: Record) -> str:
    names = record.probe_names
    return next((task.unit for task in record.tasks if task.task in names and task.unit), "")
