"""What is planned to be asked between the steps of a race."""

import threading
from pathlib import Path
from typing import Any

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.track_record import TrackTask
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec
from fairlap_race.errors import TrackError
from fairlap_race.rally.config import Files
from fairlap_race.runner.by_rally import request_looks
from fairlap_race.track.load import Request, TrackDescription

SPEC = RaceSpec(Mode.RACE, "ns", "bm-race-1", "race")
SOURCE = "its parameter source gave no answer"


def plan(folder: Path, *tasks: TrackTask) -> Any:
    about = TrackDescription(tasks=tasks)
    return request_looks.plan_looks(SPEC, Files(folder), about, Request(), threading.Event())


def test_parameter_sources_that_never_end_leave_no_search_unnamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: Any) -> None:
        raise TrackError(Reason.TRACK_INVALID, "too late")

    monkeypatch.setattr(request_looks, "ask_about_track", late)
    kinds = ("search", "raw-request", "composite", "esql", "of-the-track", "bulk", "refresh")
    found = plan(tmp_path, *(TrackTask(kind, type=kind, reported=kind != "refresh") for kind in kinds))
    assert found.not_looked_at == dict.fromkeys(kinds[:5], SOURCE)
    assert (found.search_tasks, found.bulk_tasks) == (("search",), ("bulk",))
    assert plan(tmp_path, TrackTask("clear", type="raw-request")).not_looked_at == {}, "it has no number"


def test_a_track_that_certainly_does_not_search_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_looks, "ask_about_track", pytest.fail)
    plan(tmp_path, *(TrackTask(kind, type=kind, reported=True) for kind in ("bulk", "force-merge", "sleep")))
