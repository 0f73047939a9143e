"""The installed Rally is the one whose waits between two steps are changed; any other is refused."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally import version

from fairlap_race.rally.inside import next_step_at_once

# In a process of its own, since it changes Rally.
INSTALLED = """
from pathlib import Path
from esrally.driver import driver
from fairlap_race.rally.inside import launch
launch.install(Path({folder!r}))
print(driver.Worker.receiveMsg_WatchMessage.__module__, driver.DriverActor.receiveMsg_StepKept.__module__)
"""


def test_workers_are_told_by_what_races_start(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    argv = script(INSTALLED.format(folder=str(tmp_path)))
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["fairlap_race.rally.inside.next_step_at_once"] * 2


def test_a_release_that_nobody_has_read_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Rally 2\.99\.0 has other code between two steps than expected"):
        next_step_at_once.install("2.99.0", 0.1)


def test_the_same_release_with_other_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    release = version.version().split(" ")[0]
    others = tuple(replace(each, step_code="0123456789abcdef") for each in next_step_at_once.RELEASES)
    monkeypatch.setattr(next_step_at_once, "RELEASES", others)
    with pytest.raises(RuntimeError, match=r"Worker, DriverActor, move_to_next_task, BenchmarkActor.*0123456789abcdef"):
        next_step_at_once.install(release, 0.1)
