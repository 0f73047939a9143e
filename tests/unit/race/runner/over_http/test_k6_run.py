"""When a load is given up: no sooner than it may have nothing to tell."""

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec
from fairlap_race.http.k6 import K6Files
from fairlap_race.http.load_answers import LoadAnswers
from fairlap_race.runner.over_http import k6_run
from fairlap_race.runner.over_http.k6_run import SLACK_SECONDS, Ground, K6Run
from fairlap_race.runner.watching.cost import Cost

LOAD = HttpLoad("c1", 30.0, 1)
SPEC = RaceSpec(Mode.RACE, "ns", "r", "id", hosts=("one:1",), stall_seconds=900.0)


@pytest.mark.parametrize(
    ("rate", "timeout", "patience"),
    [
        (None, 60.0, 900.0),
        (None, 999.0, 999.0 + SLACK_SECONDS),
        (0.001, 60.0, 1060.0 + SLACK_SECONDS),
        (10.0, 60.0, 900.0),
    ],
)
def test_a_load_that_may_be_silent_for_so_long_is_not_given_up_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: float | None, timeout: float, patience: float
) -> None:
    asked: list[float] = []

    def watchdog(_now: float, stall: float, _timeout: float) -> Any:
        asked.append(stall)

    monkeypatch.setattr(k6_run, "Watchdog", watchdog)
    monkeypatch.setattr(k6_run.process, "kill_all", lambda _: None)
    load = replace(LOAD, rate=rate)
    planned = replace(LOAD, rate=0.5)  # what a search makes of it follows from the loads before
    ground = Ground(
        SPEC, HttpSpec((planned,), timeout_seconds=timeout), K6Files(tmp_path), Cost(), lambda _: None,
        threading.Event(), 0.0,
    )  # fmt: skip
    ended: Any = SimpleNamespace(pid=1, poll=lambda: 0)
    K6Run(ground, LoadAnswers(load, ("one:1",)), 1, 1)._watch(ended, SimpleNamespace())  # type: ignore[arg-type]
    assert asked == [patience]
