"""What Rally leaves behind in these tests goes where pytest tidies up."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files: Rally keeps each track that it has rendered in one."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
