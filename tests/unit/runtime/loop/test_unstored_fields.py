"""What is not stored is tried again ever more rarely, and does not keep the rest from being said."""

from typing import Any

import pytest

from fairlap.api.status import BenchmarkStatus, Step
from fairlap.runtime.loop.unstored_fields import UnstoredFields
from fairlap.runtime.objects.writes import status_json

SAID = BenchmarkStatus(phase="Racing", step=Step(name="race-1", stage="Running", since="2026-01-01T00:00:00Z"))
STARTED = SAID.model_copy(update={"step": SAID.step.model_copy(update={"job_started": True})})  # type: ignore[union-attr]
FURTHER = STARTED.model_copy(update={"progress": "further"})


def stored(status: BenchmarkStatus) -> dict[str, Any]:
    """What an API server keeps whose schema does not know step.jobStarted."""
    kept = status_json(status)
    kept["step"].pop("jobStarted", None)
    return kept


def test_pauses_double_and_what_is_stored_is_said_at_once() -> None:
    skew, now, pauses = UnstoredFields(), 1000.0, []
    assert skew.differs(SAID, STARTED, now), "nothing is known to be lost yet"
    for known in range(9):
        assert skew.note(STARTED, stored(STARTED), now) is (known == 0)
        assert not skew.differs(SAID, STARTED, now + 1) and skew.differs(SAID, FURTHER, now + 1)
        pauses.append(skew.again_at - now)
        assert not skew.note(FURTHER, stored(FURTHER), now + 1), "what is said meanwhile postpones nothing"
        now = skew.again_at
        assert skew.differs(SAID, STARTED, now)
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert not skew.misleads


def test_a_definition_that_was_mended_is_noticed() -> None:
    skew = UnstoredFields()
    assert skew.fields is None
    skew.note(STARTED, stored(STARTED), 1000.0)
    skew.note(SAID, stored(SAID), 1001.0)
    assert skew.fields == {"step.jobStarted"}, "a write without the field proves nothing"
    skew.note(STARTED, status_json(STARTED), 1005.0)
    assert skew.fields == frozenset()


@pytest.mark.parametrize(("lost", "misleads"), [("phase", True), ("step", True), ("progress", False)])
def test_what_decisions_stand_on(lost: str, misleads: bool) -> None:
    skew = UnstoredFields()
    skew.note(FURTHER, {key: value for key, value in status_json(FURTHER).items() if key != lost}, 1000.0)
    assert skew.misleads is misleads


def test_half_a_character_is_no_difference() -> None:
    half = SAID.model_copy(update={"progress": "a\ud800b"})
    kept = BenchmarkStatus.model_validate(status_json(half))
    assert kept.progress == "a?b" and not UnstoredFields().differs(kept, half, 1000.0)
