"""What Rally leaves behind in these tests goes where pytest tidies up, and its processes are forks where that does."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.rally.forked_child import FORKING, start_server

from fairlap_race.track import child


@pytest.fixture(scope="session", autouse=True)
def fork_server() -> None:
    """Start what forks before the first test: it keeps its socket in the folder for temporary files of that time."""
    start_server()


@pytest.fixture
def process_of_its_own() -> None:
    """For tests whose track is checked by `python -m` itself, as users have it: the others are forks of it."""


@pytest.fixture(autouse=True)
def forked_children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the process that is asked about a track, unless the test has it for its subject."""
    if "process_of_its_own" not in request.fixturenames:
        monkeypatch.setattr(child, "subprocess", FORKING)


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., list[str]]:
    """Return what makes the argument list of a program given as text, for a process of its own.

    Not python -c: with Rally's name among its arguments a race beside it would refuse to begin.
    """

    def argv(text: str, *arguments: str) -> list[str]:
        program = tmp_path / "program.py"
        program.write_text(text, encoding="utf-8")
        return [sys.executable, str(program), *arguments]

    return argv


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files: Rally keeps each track that it has rendered in one."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
