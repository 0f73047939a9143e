"""A Benchmark that this operator cannot read has failed, and says why."""

from world import START, is_true

from fairlap.api.status import BenchmarkStatus, Step
from fairlap.plan.conditions import stamp
from fairlap.plan.transition import PROGRESS_LENGTH
from fairlap.plan.unreadable import unreadable


def test_what_cannot_be_read_has_failed() -> None:
    step = Step(name="race-1", stage="Running", since=stamp(START))
    status = unreadable(BenchmarkStatus(phase="Racing", step=step), "spec.future is not known " + "x" * 200, START)
    assert (status.phase, status.reason, status.step) == ("Failed", "InvalidSpec", None)
    assert "spec.future is not known" in status.message
    assert len(status.progress) == PROGRESS_LENGTH and status.completion_time == stamp(START)
    assert is_true(status, "Failed") and not is_true(status, "Complete") and not is_true(status, "Accepted")
    assert {c.type for c in status.conditions} == {"Failed", "Complete", "Accepted"}
