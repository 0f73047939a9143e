"""Errors that a user accepts: each bound by the smallest record beyond it, and whatever is accepted is said."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.message_form import looks_like
from world import good_record, spec

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.failed_bulks import accepted_loss
from fairlap_race.contract.specification.capacity_search import CapacitySearch
from fairlap_race.contract.specification.sweep import SweepSpec, SweepStep

GOOD = good_record()


def allowing(share: float, task: str = "bulk") -> BenchmarkSpec:
    return spec(race={"allow": {"errorRate": {task: share}}})


def failed(
    warmup: int = 0, normal: int = 0, share: float | None = 0.01, of: tuple[int, int] = (100, 1000), **record: Any
) -> rec.Record:
    """A good record of which so many requests failed, where the user accepts a share of them."""
    task = replace(
        GOOD.tasks[0], samples=rec.Counts(*of), errors=rec.Counts(warmup, normal), units_done=990.0,
        first_error="HTTP 429: rejected",
    )  # fmt: skip
    track = replace(GOOD.track, allowed_errors={} if share is None else {"bulk": share})
    return replace(GOOD, tasks=(task,), track=track, **record)


@pytest.mark.parametrize(
    ("record", "asked", "counts"),
    [
        (failed(normal=10), allowing(0.01), True),
        (failed(normal=11), allowing(0.01), False),
        (failed(warmup=11), allowing(0.01), True),
        (failed(warmup=12), allowing(0.01), False),
        (failed(normal=1), allowing(0.01, "search"), False),
        (failed(normal=1), spec(), False),
        (failed(normal=2, of=(100_000, 100)), allowing(0.01), False),
        (failed(mode="smoke", normal=9, of=(0, 10)), allowing(0.001), True),
        (failed(mode="smoke", normal=10, of=(0, 10)), allowing(0.001), False),
    ],
    ids=["exactly", "one more", "of all", "of all, one more", "another task", "nobody accepts", "most of them measured",
         "smoke: some", "smoke: all"],
)  # fmt: skip
def test_no_more_than_was_accepted(record: rec.Record, asked: BenchmarkSpec, counts: bool) -> None:
    violation = first_violation(record, asked)
    assert (violation is None) is counts, violation
    if violation:
        assert violation.reason is Reason.ERROR_RATE and "the first answer: HTTP 429" in violation.message


def test_rallys_own_error_rate_is_held_to_it_too() -> None:
    record = failed(normal=1)
    told = replace(record.tasks[0], rally=replace(record.tasks[0].rally, error_rate=0.02))  # type: ignore[type-var]
    violation = first_violation(replace(record, tasks=(told,)), allowing(0.01))
    assert violation and "race.allow.errorRate accepts 1 %" in violation.message


def test_of_the_requests_that_rally_kept_its_error_rate_says_nothing() -> None:
    record = failed(normal=1, of=(0, 10_000), share=0.001)
    rally = replace(record.tasks[0].rally, error_rate=0.01)  # type: ignore[type-var]
    told = replace(record, tasks=(replace(record.tasks[0], rally=rally, times_kept=100),))
    assert first_violation(told, allowing(0.001)) is None
    assert Reason.ERRORS_ACCEPTED in {it.reason for it in remarks(told, [], "")}
    violation = first_violation(told, allowing(0.00001))
    assert violation and "1 of 10000 requests failed" in violation.message


@given(st.integers(0, 50), st.integers(0, 500), st.floats(0.001, 0.9))
def test_what_is_accepted_is_said(warmup: int, normal: int, share: float) -> None:
    record = failed(warmup, normal, share)
    said = [it for it in remarks(record, [], "") if it.reason is Reason.ERRORS_ACCEPTED]
    assert len(said) == (1 if warmup + normal else 0)
    for remark in said:
        assert looks_like(Reason.ERRORS_ACCEPTED.example.replace("search", "bulk").replace("404", "429"), remark.text)
        assert f"{warmup + normal} of 1100 requests failed ({warmup} of them" in remark.text
    violation = first_violation(record, allowing(share))
    within = normal <= share * 1000 + 1e-6 and warmup + normal <= share * 1100 + 1e-6
    assert (violation is None) is within


def test_of_a_probe_its_objective_is_named_and_not_a_share_that_nobody_wrote() -> None:
    record = failed(normal=30, share=1.0)
    steps = (SweepStep("bulk", target_throughput=100.0, kept=False),)
    sweep = SweepSpec("bulk", steps=steps, search=CapacitySearch(millis=50.0, error_rate=0.01))
    record = replace(record, track=replace(record.track, sweep=sweep))
    (said,) = [it.text for it in remarks(record, [], "") if it.reason is Reason.ERRORS_ACCEPTED]
    assert said == (
        "task bulk: 30 of 1100 requests failed (0 of them in the warm-up), which is 2.73 %, and "
        "race.capacity.objective.errorRate is 1 %; the first answer: HTTP 429: rejected"
    )
    assert accepted_loss(record).words == "30 requests of task bulk failed, which race.capacity accepts"


@pytest.mark.parametrize(("missing", "counts"), [(10, True), (20, True), (21, False), (-1, False)])
def test_documents_of_bulks_that_failed(missing: int, counts: bool) -> None:
    """Ten bulks of one document each: of twice as many at most, for the last one of a file is smaller."""
    there = 1000 - missing
    record = failed(
        normal=10, of=(0, 1000), indices=(replace(GOOD.indices[0], documents=there),),  # type: ignore[index]
        pipelines=(rec.Pipeline("logs", there if missing > 0 else 1000, 1),),
    )  # fmt: skip
    violation = first_violation(record, allowing(0.01))
    assert (violation is None) is counts, violation
    said = [it.text for it in remarks(record, [], "") if it.reason is Reason.DOCUMENTS_NOT_COUNTED]
    expected = f"index logs holds {there} of 1000 documents: 10 requests of task bulk failed, which"
    assert said == ([f"{expected} race.allow.errorRate accepts"] if counts else [])


def test_a_pipeline_that_failed_for_them() -> None:
    record = failed(normal=1, of=(0, 1000), pipelines=(rec.Pipeline("logs", 1000, 1, failed=2),))
    assert first_violation(record, allowing(0.01)) is None
    worse = replace(record, pipelines=(rec.Pipeline("logs", 1000, 1, failed=500),))
    violation = first_violation(worse, allowing(0.01))
    assert violation and violation.reason is Reason.PIPELINE_NOT_APPLIED
