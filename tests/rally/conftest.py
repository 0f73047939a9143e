"""What Rally leaves behind in these tests goes where pytest tidies up."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest


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
