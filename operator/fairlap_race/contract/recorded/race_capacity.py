"""What the search for the capacity found in one race, by its record. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fairlap_race.contract.recorded.record import Record, Task
from fairlap_race.contract.recorded.schedule_record import BUSY
from fairlap_race.contract.specification.capacity_search import (
    CapacityFound,
    CapacitySearch,
    End,
    RateProbe,
    is_sound,
    what_is_found,
)
from fairlap_race.contract.specification.sweep import SweepSpec

BOTTLENECK = "LoadGeneratorBottleneck"
RATE_UNIT = "ops/s"
"""Of a rate that is asked for: a request is one, however many documents or pages a task counts in it."""

_NO_ANSWER: Final[Mapping[str, str]] = {
    End.NEVER_KEPT: "the objective is not kept at the lowest rate",
    End.NEVER_BROKEN: "the objective is still kept at the highest rate",
    BOTTLENECK: "the load generator was the bottleneck",
}


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
    left_out: int = 0
    """probes that tell nothing of the cluster, because the load generator was the bottleneck in them"""
    busy_clients: int | None = None
    """how many sent, where all were busy in half of the probes that broke or more, and the service time alone kept the
    objective"""

    @property
    def answer(self) -> float | None:
        """The capacity; None where all that is known is a bound, as of an interval that reaches beyond the rates."""
        bounded = self.low is not None and self.high is not None
        return self.rate if self.end in (End.FOUND, End.WIDE) and bounded else None

    @property
    def why_no_answer(self) -> str:
        """Why all that is known is a bound, in words; "" where there is an answer."""
        if self.answer is not None or self.end in _NO_ANSWER:
            return _NO_ANSWER.get(self.end, "")
        if self.rate is None:
            return "no probe was recorded"
        open_ends = ((self.low, "below the lowest rate"), (self.high, "above the highest rate"))
        return f"the interval reaches {' and '.join(words for end, words in open_ends if end is None)}"


def race_capacity(record: Record) -> RaceCapacity | None:
    """Return what the race found; None where nothing was looked for, or what cannot have been.

    What broke while the load generator was the bottleneck tells nothing of the cluster: it is left out, and is the
    answer where too little else bounds the capacity.
    """
    swept = record.track.sweep
    if swept is None or swept.search is None or not is_sound(swept.search, swept.probes):
        return None
    saturated = saturated_probes(record)
    broken = frozenset(it.name for it in swept.steps if it.kept is False)
    found, lost, is_answer = _believed(swept, swept.search, broken, saturated)
    return RaceCapacity(
        swept.task,
        found.end if is_answer else BOTTLENECK,
        found.rate,
        found.low,
        found.high,
        len(swept.probes),
        _unit(record),
        len(lost),
        _busy_clients(record, swept.search, broken - saturated),
    )


def _believed(
    swept: SweepSpec, search: CapacitySearch, broken: frozenset[str], saturated: frozenset[str]
) -> tuple[CapacityFound, frozenset[str], bool]:
    """Return what is found without the probes that tell nothing, these, and whether that is the cluster's answer."""
    lost = broken & saturated
    counted = _probes_without(swept, lost)
    if not counted:
        return CapacityFound(End.WIDE), lost, not lost
    found = what_is_found(search, counted)
    if not lost or found.end is not End.WIDE:
        return found, lost, not lost or found.end is not End.NEVER_BROKEN
    if 2 * len(lost) >= len(broken):
        return found, lost, False
    # Among noise those that kept it go, too: without the broken ones alone the capacity would seem higher than it is.
    found = what_is_found(search, _probes_without(swept, saturated))
    bounded = found.low is not None and found.high is not None
    return found, saturated, bounded and found.end in (End.WIDE, End.FOUND)


def _probes_without(swept: SweepSpec, names: frozenset[str]) -> tuple[RateProbe, ...]:
    return SweepSpec(steps=tuple(it for it in swept.steps if it.name not in names)).probes


def saturated_probes(record: Record) -> frozenset[str]:
    """Return the probes in which the load generator was the bottleneck."""
    names = record.probe_names
    return frozenset(it.task for it in record.tasks if it.task in names and it.load and it.load.saturated)


def _busy_clients(record: Record, search: CapacitySearch, broken: frozenset[str]) -> int | None:
    tasks = [task for task in record.tasks if task.task in broken]
    short = [task for task in tasks if _lacks_clients(task, search)]
    return max(task.clients or 0 for task in short) if short and 2 * len(short) >= len(broken) else None


def _lacks_clients(task: Task, search: CapacitySearch) -> bool:
    """Tell whether requests of a probe waited for a client, or found none, and were answered in time."""
    service = task.rally.service_time_millis.get(search.percentile) if task.rally else None
    failed = task.errors.normal > search.error_rate * task.samples.normal
    busy = (task.client_busy_share or 0.0) > BUSY or bool(task.http and task.http.latency_left_out)
    return busy and not failed and service is not None and service <= search.millis


def _unit(record: Record) -> str:
    names = record.probe_names
    return RATE_UNIT if any(task.task in names for task in record.tasks) else ""
