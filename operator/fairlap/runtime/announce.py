"""Which events a new status is worth: what `kubectl describe` shows of a Benchmark's way."""

from collections.abc import Iterator
from typing import NamedTuple

from fairlap.api.status import BenchmarkStatus
from fairlap.plan.conditions import condition
from fairlap.plan.keep import KEPT


class Announcement(NamedTuple):
    """An event about a Benchmark; `kind` is Normal or Warning."""

    kind: str
    reason: str
    message: str


def announcements(before: BenchmarkStatus, after: BenchmarkStatus) -> Iterator[Announcement]:
    """Yield what users are told when `after` has been written in place of `before`."""
    if after.failing and not before.failing:
        yield Announcement("Warning", after.reason, after.message)
    checked = condition(after, "TargetChecked")
    if checked and checked != condition(before, "TargetChecked"):
        yield Announcement("Normal", "TargetChecked", checked.message)
    kept = condition(after, KEPT)
    if kept and not condition(before, KEPT):
        yield Announcement("Normal", KEPT, kept.message)
    if after.phase != before.phase:
        yield Announcement("Warning" if after.phase == "Failed" else "Normal", str(after.phase), phase_words(after))


def phase_words(status: BenchmarkStatus) -> str:
    """Return a sentence about the phase that a Benchmark is in now."""
    return f"{status.reason}: {status.message}" if status.phase == "Failed" else status.progress
