"""A Benchmark that cannot go on has failed, says why, and keeps what is known of it."""

import json

import pytest
from comparison_world import seen as comparison_seen
from pydantic import ValidationError
from tests.fixtures.message_form import looks_like
from world import START, is_true, spec

from fairlap.api.base import Json
from fairlap.api.comparison_status import ComparisonStatus
from fairlap.api.condition_types import ComparisonReason
from fairlap.api.names import COMPARISON_KIND
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import condition, stamp
from fairlap.plan.comparison.verdict_reached import fail
from fairlap.plan.transition import PROGRESS_LENGTH
from fairlap.plan.unforeseen import Ending, internal_error, last_word, left_behind, pause_after, unreadable
from fairlap_race.contract.reasons import Reason

STORED: Json = {
    "phase": "Racing",
    "observedGeneration": 3,
    "step": {"name": "race-2", "stage": "Running", "since": stamp(START)},
    "races": [{"name": "race-1", "id": "a", "valid": True}],
    "environment": {"version": "9.0.0"},
    "conditions": [
        {"type": kind, "status": "True", "reason": "Ok", "lastTransitionTime": "2025-01-01T00:00:00Z"}
        for kind in ("Accepted", "ClusterReady")
    ],
}


def test_what_cannot_be_read_has_failed() -> None:
    with pytest.raises(ValidationError) as caught:
        BenchmarkSpec.model_validate({**spec().to_json(), "future": "x" * 5000})
    status = BenchmarkStatus.model_validate(last_word(STORED, unreadable(caught.value), START))
    assert (status.phase, status.reason, status.step) == ("Failed", "InvalidSpec", None)
    cure = "which is older than the CustomResourceDefinition: upgrade the operator, or leave it out"
    assert status.message == f"spec.future: not known to this version of the operator, {cure}"
    assert len(status.progress) == PROGRESS_LENGTH and status.completion_time == stamp(START)
    assert is_true(status, "Failed") and not is_true(status, "Complete") and not is_true(status, "Accepted")


def test_a_value_that_cannot_be_read_is_told_by_its_field_in_one_line() -> None:
    with pytest.raises(ValidationError) as caught:
        BenchmarkSpec.model_validate(
            {"race": {"resources": {"limits": {"cpu": -1}}}, "elasticsearch": {"version": "9.0.0"}}
        )
    ending = unreadable(caught.value)
    lead = "the specification cannot be read by this version of the operator: spec.race.resources.limits.cpu: "
    assert ending.reason == Reason.INVALID_SPEC and ending.message.startswith(f"{lead}String should match pattern")
    assert len(ending.message.splitlines()) == 1


def test_what_is_known_is_kept() -> None:
    ending = internal_error(OverflowError("date value out of range"))
    said = last_word(STORED, ending, START)
    status = BenchmarkStatus.model_validate(said)
    assert (status.phase, status.reason) == ("Failed", "InternalError")
    assert status.message == "the operator cannot go on with this Benchmark: OverflowError: date value out of range"
    assert looks_like(Reason.INTERNAL_ERROR.example, status.message)
    assert said["races"] == STORED["races"] and said["environment"] == STORED["environment"] and "step" not in said
    assert is_true(status, "Failed") and is_true(status, "Accepted")
    assert not is_true(status, "Complete") and not is_true(status, "ClusterReady")
    failed = condition(status, "Failed")
    assert failed and failed.observed_generation == 3 and Reason.INTERNAL_ERROR.cure in failed.message


@pytest.mark.parametrize(
    ("left", "error", "words"),
    [
        ([], None, ""),
        (["Elasticsearch c", "Pod c-0"], None, "; still there: Elasticsearch c, Pod c-0"),
        ([], ValueError("403: no\nsecond line"), "; not all that it has could be removed: 403: no"),
        (["Pod c-0"] * 500, None, "; still there: Pod c-0, "),
    ],
)
def test_what_could_not_be_removed_is_named(left: list[str], error: Exception | None, words: str) -> None:
    ending = left_behind(Ending(Reason.INTERNAL_ERROR, "m"), left, error)
    assert ending.reason == Reason.INTERNAL_ERROR and ending.message.startswith(f"m{words}")
    assert len(ending.message) < 400 and "second line" not in ending.message


def test_the_smallest_last_word_needs_nothing_that_was_known() -> None:
    said = last_word({}, internal_error(ValueError("x" * 10_000)), START)
    assert len(json.dumps(said)) < 4000
    assert BenchmarkStatus.model_validate(said).phase == "Failed"


@pytest.mark.parametrize("conditions", ["text", [{"type": 1}], [None], {}])
def test_conditions_that_cannot_be_read_are_left_behind(conditions: object) -> None:
    said = last_word({"conditions": conditions}, internal_error(KeyError("a")), START)
    assert {found["type"] for found in said["conditions"]} == {"Complete", "Failed"}


def test_what_had_failed_already_is_still_told() -> None:
    stored = {"failing": True, "reason": "ErrorRate", "message": "7 of 9 failed"}
    said = last_word(stored, Ending(Reason.INTERNAL_ERROR, "m"), START)
    assert said["message"] == "m; before that ErrorRate: 7 of 9 failed" and "failing" not in said


def test_a_comparison_that_ends_at_once_says_so_in_each_of_its_conditions() -> None:
    """As one that fails by a decision does: who waits for GatePassed is not left waiting."""
    times = {"admittedTime": stamp(START), "queuedTime": stamp(START)}
    racing = {"type": "Compared", "status": "False", "reason": "Racing", "lastTransitionTime": stamp(START)}
    stored = {"phase": "Racing", "block": {"number": 1}, "blocks": [{"number": 1}], **times, "conditions": [racing]}
    ending = internal_error(KeyError("a"), COMPARISON_KIND)
    status = ComparisonStatus.model_validate(last_word(stored, ending, START, COMPARISON_KIND))
    decided = fail(comparison_seen(), ComparisonStatus(), ComparisonReason.INTERNAL_ERROR, "it cannot go on")
    expected = {(each.type, each.holds, each.reason) for each in decided.observed}
    assert {(each.type, each.status == "True", each.reason) for each in status.conditions} == expected
    assert ("GatePassed", False, "InternalError") in expected and ("Failed", True, "InternalError") in expected
    assert (status.block, status.admitted_time, status.queued_time) == (None, None, None) and status.blocks
    failed = condition(status, "Failed")
    assert failed and Reason.INTERNAL_ERROR.cure in failed.message
    assert status.message == "the operator cannot go on with this Comparison: KeyError: 'a'"


def invalid() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        BenchmarkStatus.model_validate({"races": [{"name": "r", "id": "secret", "valid": "no, a secret"}]})
    return caught.value


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OverflowError("date value out of range"), "OverflowError: date value out of range"),
        (KeyError("uid"), "KeyError: 'uid'"),
        (RecursionError(), "RecursionError"),
        (ValueError("first\nTraceback: second"), "ValueError: first"),
        (ValueError("at https://me:pass@host/x"), "ValueError: at https://…@host/x"),
        (ValueError("a\x1b[31mb\x00"), "ValueError: a [31mb"),
        (invalid(), "ValidationError: races.0.valid: Input should be a valid boolean, unable to interpret input"),
        (ValueError("y" * 10_000), f"ValueError: {'y' * 299}…"),
    ],
)
def test_one_line_says_what_happened(error: Exception, words: str) -> None:
    assert internal_error(error).message == f"the operator cannot go on with this Benchmark: {words}"


def test_it_is_tried_three_times_within_a_minute() -> None:
    pauses = [pause_after(errors) for errors in (1, 2, 3, 4)]
    assert pauses[2:] == [None, None]
    assert 0 < sum(pause for pause in pauses if pause) <= 60
