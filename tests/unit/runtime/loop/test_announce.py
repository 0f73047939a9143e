"""Which events a new status is worth."""

import pytest

from fairlap.api.comparison_status import Block, ComparisonStatus, ContenderStatus, RaceOfBlock, VariantStatus
from fairlap.api.status import BenchmarkStatus, Condition
from fairlap.runtime.loop.announce import announcements, comparison_announcements


def condition(kind: str, message: str = "words") -> Condition:
    return Condition(type=kind, status="True", reason=kind, message=message, last_transition_time="2026")


QUEUED = BenchmarkStatus(phase="Queued", progress="waiting for 1")
RACING = BenchmarkStatus(phase="Racing", progress="race 1/1")
FAILING = BenchmarkStatus(phase="Racing", progress="race 1/1", failing=True, reason="JobLost", message="gone")
KEPT = RACING.model_copy(update={"conditions": [condition("ClusterKept")]})
CHECKED = RACING.model_copy(update={"conditions": [condition("ClusterKept", "new"), condition("TargetChecked")]})
AGAIN = RACING.model_copy(update={"conditions": [condition("ClusterKept"), condition("TargetChecked", "new")]})
LACKING = QUEUED.model_copy(update={"lacking_memory": "too much"})
FAILED = BenchmarkStatus(phase="Failed", progress="gone", failing=True, reason="JobLost", message="gone")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (QUEUED, QUEUED.model_copy(update={"progress": "waiting for 2"}), []),
        (QUEUED, RACING, [("Normal", "Racing", "race 1/1")]),
        (RACING, FAILING, [("Warning", "JobLost", "gone")]),
        (FAILING, FAILED, [("Warning", "Failed", "JobLost: gone")]),
        (RACING, KEPT, [("Normal", "ClusterKept", "words")]),
        (KEPT, CHECKED, [("Normal", "TargetChecked", "words")]),
        (CHECKED, AGAIN, [("Normal", "TargetChecked", "new")]),
        (AGAIN, AGAIN, []),
        (QUEUED, LACKING, [("Warning", "Unschedulable", "too much")]),
        (LACKING, LACKING, []),
        (LACKING, QUEUED, []),
    ],
)
def test_what_is_told(before: BenchmarkStatus, after: BenchmarkStatus, told: list[tuple[str, str, str]]) -> None:
    assert list(announcements(before, after)) == told


def test_what_is_not_raced_and_what_there_may_be_no_machine_for_is_told_once() -> None:
    odd = ContenderStatus(name="odd", verdict="NotComparable", sentence="not raced: odd differs in 2 variables")
    variants = [VariantStatus(name="8.11.0", letter="a")]
    begun = ComparisonStatus(phase="Pending", variants=variants, contenders=[odd], findings=["variant b: too much"])
    assert list(comparison_announcements(ComparisonStatus(phase="Pending"), begun)) == [
        ("Warning", "NotComparable", "not raced: odd differs in 2 variables"),
        ("Warning", "Unschedulable", "variant b: too much"),
    ]
    assert not list(comparison_announcements(begun, begun.model_copy(update={"progress": "on"})))


def test_why_a_block_does_not_count_is_told_in_a_sentence_also_where_no_race_says_it() -> None:
    race = RaceOfBlock(variant="a", benchmark="b", valid=False, reason="OutOfMemory", message="killed")
    blocks = [
        Block(number=1, valid=False, reason="OutOfMemory", races=[race]),
        Block(number=2, valid=False, reason="RecordLost"),
    ]
    told = comparison_announcements(ComparisonStatus(), ComparisonStatus(blocks=blocks))
    assert [each.message for each in told] == [
        "block 1 does not count: OutOfMemory: killed",
        "block 2 does not count: RecordLost: The block's numbers could not be kept, or somebody deleted them.",
    ]
