"""The process in which a track's own code runs: what it answers, and that nothing of it is left."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, TrackSource
from fairlap_race.errors import StoppedError
from fairlap_race.linux import process
from fairlap_race.track.check.step import check
from fairlap_race.track.child import ChildError, ask_child

ANSWERS = """
import sys, pathlib
from dataclasses import dataclass
from fairlap_race.track.child import answer_parent
@dataclass
class Question:
    a_number: int = 0
print("the track says much")
answer_parent(Question, lambda it: {"twice": 2 * it.a_number, "in": str(pathlib.Path.cwd())})
"""
EXITS = "print('one'); print('why it ended'); raise SystemExit(3)"
CHILDREN = """
import pathlib, subprocess, time
child = subprocess.Popen(["sleep", "60"])
pathlib.Path("pids").write_text(f"{child.pid}")
time.sleep(60)
"""


@dataclass
class Question:
    a_number: int = 0


def ask(folder: Path, code: str, seconds: float = 30, stop: threading.Event | None = None, **how: str) -> object:
    (folder / "child.py").write_text(code)
    return ask_child("child", Question(4), folder, os.environ, seconds, stop, **how)


def test_it_answers(tmp_path: Path) -> None:
    assert ask(tmp_path, ANSWERS) == {"twice": 8, "in": str(tmp_path)}


def test_the_interpreter_may_be_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    assert ask(folder, ANSWERS, python="here/python") == {"twice": 8, "in": str(folder)}


def test_without_an_answer_there_is_what_it_printed(tmp_path: Path) -> None:
    (tmp_path / "child-answer.json").write_text('{"of": "an earlier child"}')
    with pytest.raises(ChildError, match="ended with exit code 3") as caught:
        ask(tmp_path, EXITS)
    assert caught.value.output == "one\nwhy it ended"


@pytest.mark.parametrize("stops", [False, True])
def test_nothing_of_it_is_left(tmp_path: Path, stops: bool) -> None:
    stop = threading.Event()
    waits = threading.Thread(target=lambda: (wait_for(tmp_path / "pids"), stop.set()))
    if stops:
        waits.start()
    with pytest.raises(StoppedError if stops else ChildError):
        ask(tmp_path, CHILDREN, 60 if stops else 2, stop)
    pid, limit = int(wait_for(tmp_path / "pids")), time.monotonic() + 20
    while process.alive(pid):  # a killed process takes a moment to go
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.parametrize("code", [EXITS, ANSWERS])
def test_the_end_of_a_child_is_none_where_all_is_to_stop(tmp_path: Path, code: str, monkeypatch: Any) -> None:
    """On a machine that stalled the child had ended before anybody looked, and its failure was taken for the end."""
    monkeypatch.setattr(subprocess.Popen, "poll", lambda self: self.wait())
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        ask(tmp_path, code, stop=stop)


def wait_for(path: Path) -> str:
    while not (path.exists() and path.read_text()):
        time.sleep(0.01)
    return path.read_text()


def test_a_check_that_is_told_to_stop_stops(tmp_path: Path) -> None:
    track = tmp_path / "mine"
    track.mkdir()
    (track / "track.json").write_text("{}")
    stop = threading.Event()
    stop.set()
    spec = RaceSpec(mode=Mode.CHECK, namespace="n", record="r", race_id="x", track=TrackSource(path=track))
    assert check(spec, tmp_path / "work", stop=stop).outcome.reason is Reason.RACE_ABORTED
