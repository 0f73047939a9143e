"""How many documents bulks may have lost whose failure the user accepts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from fairlap_race.contract.recorded.record import Record, Task


@dataclass(frozen=True)
class AcceptedLoss:
    """What failed bulks explain."""

    words: str = ""
    """which failed, and who accepts it; empty when none did"""
    at_most: int | None = 0
    """documents in them; None when that is not known"""

    def explains(self, missing: int) -> bool:
        """Tell whether so many documents may be missing because of them."""
        return bool(self.words) and (self.at_most is None or 0 < missing <= self.at_most)


def accepted_loss(record: Record) -> AcceptedLoss:
    """Return what the bulks that failed may have lost, where race.allow.errorRate or race.capacity accepts it."""
    bulks = [it for it in record.tasks if it.type == "bulk" and it.task in record.track.allowed_errors and _failed(it)]
    if not bulks:
        return AcceptedLoss()
    bounds = [_documents(task) for task in bulks]
    words = ", ".join(f"{_failed(task)} requests of task {task.task}" for task in bulks[:5])
    known = None if None in bounds else sum(bound or 0 for bound in bounds)
    probes = record.probe_names
    field = "race.capacity" if any(task.task in probes for task in bulks) else "race.allow.errorRate"
    return AcceptedLoss(f"{words} failed, which {field} accepts", known)


def _failed(task: Task) -> int:
    return task.errors.warmup + task.errors.normal


def _documents(task: Task) -> int | None:
    """Return how many documents the failed bulks of a task held at most, by those of the others; None if not known.

    Bulks of a task are of one size but for the last one of each file, so one is hardly more than twice their mean.
    """
    good = task.samples.normal - task.errors.normal
    if good <= 0 or not task.units_done:
        return None
    return ceil(2 * task.units_done / good) * _failed(task)
