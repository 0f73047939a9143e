"""Errors that a user accepts, for real: Rally goes on in the tasks that are named, and in no other."""

from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap_race.contract.reasons import Reason

from .runner import SPEC, Runner
from .tracks import BULK, CREATE, DOCUMENTS, search, write

SOMETIMES = """
class Sometimes:
    infinite = True
    def __init__(self, track, params, **_):
        self.sent = 0
    def partition(self, index, count):
        return self
    def params(self):
        self.sent += 1
        index = "nowhere" if self.sent % 10 == 0 else "t"
        return {"index": index, "body": {"query": {"match_all": {}}}, "request-params": {}}

def register(registry):
    registry.register_param_source("sometimes", Sometimes)
"""
OPTIONS: dict[str, Any] = {"operation": {"param-source": "sometimes"}}


def allowing(**shares: float) -> BenchmarkSpec:
    return BenchmarkSpec.model_validate({**SPEC, "race": {**SPEC["race"], "allow": {"errorRate": shares}}})


@pytest.mark.produces(Reason.ERRORS_ACCEPTED)
def test_a_task_that_may_fail_now_and_then(runner: Runner, tmp_path: Path) -> None:
    documents: list[dict[str, Any]] = [{"n": number, "word": "w"} for number in range(DOCUMENTS)]
    documents[42]["n"] = "no number"
    schedule = (CREATE, BULK, {"operation": "refresh"}, search(seconds=3, **OPTIONS))
    track = write(tmp_path / "t", *schedule, documents=documents, plugin=SOMETIMES)
    ran = runner.run(track, allowedErrors={"search": 0.2, "bulk": 0.2})

    assert first_violation(ran.record, allowing(search=0.2, bulk=0.2)) is None, ran.output[-3000:]
    assert ran.record.track.allowed_errors == {"search": 0.2, "bulk": 0.2}
    said = {it.text.partition(":")[0]: it.text for it in ran.remarks() if it.reason is Reason.ERRORS_ACCEPTED}
    assert set(said) == {"task search", "task bulk"}
    assert looks_like(Reason.ERRORS_ACCEPTED.example, said["task search"]), said
    assert "1 of 10 requests failed" in said["task bulk"]
    found = [it.text for it in remarks(ran.record, [], "") if it.reason is Reason.DOCUMENTS_NOT_COUNTED]
    assert found == [
        f"index t holds {DOCUMENTS - 1} of {DOCUMENTS} documents: 1 requests of task bulk failed, which "
        "race.allow.errorRate accepts"
    ]
    # The same race where fewer are accepted, or in another task.
    for asked in (allowing(search=0.01, bulk=0.2), allowing(bulk=0.2)):
        violation = first_violation(ran.record, asked)
        assert violation and violation.reason is Reason.ERROR_RATE and "task search" in violation.message


@pytest.mark.long
def test_another_task_ends_the_race_at_once(runner: Runner, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, BULK, search(seconds=60, **OPTIONS), plugin=SOMETIMES)
    ran = runner.run(track, allowedErrors={"bulk": 0.2})
    violation = first_violation(ran.record, allowing(bulk=0.2))
    assert violation and violation.reason is not Reason.ERROR_RATE, violation
    assert ran.record.outcome.reason is not None
