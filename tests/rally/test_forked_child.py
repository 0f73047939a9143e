"""The forks that check tracks for these tests stand in the way of no race."""

from multiprocessing import forkserver
from pathlib import Path

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from tests.rally.forked_child import start_server


def test_a_race_may_start_beside_the_forks() -> None:
    """Rally ends where another Python process has its package's name in the command line."""
    start_server()
    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    assert "esrally" not in Path(f"/proc/{server}/cmdline").read_text()
