"""The first look at an existing cluster: what the check of the track found stays known, whatever comes next."""

import threading
from pathlib import Path

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Outcome, Record, TargetReport, Touch
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, TargetSpec
from fairlap_race.rally.config import Files
from fairlap_race.runner.by_rally import race
from fairlap_race.runner.by_rally.race import RaceRunner
from fairlap_race.runner.parts import FailedError

CHECKED = Record(
    mode="check", race_id="id", track=TrackRecord(name="t"), target=TargetReport(touches=(Touch("index", "logs"),))
)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (FailedError(Reason.TLS_UNTRUSTED, "no"), Outcome(Reason.TLS_UNTRUSTED, "no")),
        (KeyError("odd"), Outcome(Reason.RALLY_FAILED, "the runner failed: KeyError: 'odd'")),
    ],
)
def test_what_the_check_found_is_kept_when_the_cluster_cannot_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, outcome: Outcome
) -> None:
    def breaks(_: object) -> None:
        raise error

    monkeypatch.setattr(race, "reach_elasticsearch", breaks)
    spec = RaceSpec(Mode.CHECK, "ns", "r", "id", Path("/t"), target=TargetSpec())
    found = RaceRunner(spec, Files(tmp_path), lambda _: None, threading.Event()).survey(CHECKED)
    assert found.outcome == outcome and found.finished_at
    assert found.track == CHECKED.track and found.target == CHECKED.target
