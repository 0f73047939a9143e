"""Which events a new status is worth: what `kubectl describe` shows of a Benchmark's way."""

from collections.abc import Iterator
from typing import NamedTuple

from fairlap.api.comparison_status import PREPARATION, ComparisonStatus
from fairlap.api.status import BenchmarkStatus
from fairlap.comparison.terms.block_reason import sentence_of
from fairlap.plan.basis.conditions import condition
from fairlap.plan.comparison.block_words import why_void
from fairlap.plan.lifetimes.keep import KEPT
from fairlap_race.contract.reasons import Reason


class Announcement(NamedTuple):
    """An event about a Benchmark or a Comparison; `kind` is Normal or Warning."""

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
    if after.lacking_memory and after.lacking_memory != before.lacking_memory:
        yield Announcement("Warning", str(Reason.UNSCHEDULABLE), after.lacking_memory)
    if after.phase != before.phase:
        yield Announcement("Warning" if after.phase == "Failed" else "Normal", str(after.phase), phase_words(after))


def phase_words(status: BenchmarkStatus) -> str:
    """Return a sentence about the phase that a Benchmark is in now."""
    return f"{status.reason}: {status.message}" if status.phase == "Failed" else status.progress


def comparison_announcements(before: ComparisonStatus, after: ComparisonStatus) -> Iterator[Announcement]:
    """Yield what users are told when `after` has been written as a Comparison's status in place of `before`."""
    if after.variants and not before.variants:
        for each in after.contenders:
            yield Announcement("Warning", each.verdict, each.sentence)
        for text in after.findings:
            yield Announcement("Warning", str(Reason.UNSCHEDULABLE), text)
    for block in after.blocks[len(before.blocks) :]:
        if block.valid is False:
            again = f"block {block.number} does not count: {block.reason}"
            race = why_void(block)
            told = race.message if race and race.message else sentence_of(block.reason)
            why = f"{again}: {told}" if told else again
            yield Announcement("Warning", "BlockInvalid", why)
        elif block.number > PREPARATION:
            yield Announcement("Normal", "BlockValid", f"block {block.number} counts: {after.blocks_done}")
    if after.phase != before.phase:
        kind = "Warning" if after.phase == "Failed" else "Normal"
        yield Announcement(kind, str(after.phase), comparison_words(after))


def comparison_words(status: ComparisonStatus) -> str:
    """Return a sentence about the phase that a Comparison is in now."""
    if status.phase == "Failed":
        return f"{status.reason}: {status.message}"
    return f"{status.verdict}: {status.progress}" if status.verdict and status.completion_time else status.progress
