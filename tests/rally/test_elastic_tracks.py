"""No track of Elastic's own repository has an error for us. They are not part of this project:

FAIRLAP_RALLY_TRACKS names a checkout of them, of any commit and with its large files; else nothing is tested here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from fairlap.cli.commands.track_check import check_track

pytestmark = pytest.mark.usefixtures("process_of_its_own")
HOME = os.environ.get("FAIRLAP_RALLY_TRACKS", "")
TRACKS = sorted(path.parent for path in Path(HOME).rglob("track.json")) if HOME else []
BUGS = {"duplicate-key", "variable-without-value", "dependencies"}
"""Warnings that some of them deserve."""
DESERVED = {"elastic/security": "there is no operation type 'raw-bulk'"}
"""Errors that some of them have: in the branch 7.17 nothing registers that type for it, so Rally cannot run it."""


@pytest.mark.skipif(not HOME, reason="FAIRLAP_RALLY_TRACKS names no checkout")
@pytest.mark.parametrize("track", TRACKS, ids=lambda path: str(path.relative_to(HOME)))
def test_no_false_error(track: Path) -> None:
    checked = check_track(Path(sys.executable), str(track), {}, None)

    deserved = DESERVED.get(str(track.relative_to(HOME)))
    strange = [error for error in checked.errors if not deserved or deserved not in error.message]
    assert not strange, checked.finding_lines()
    assert {warning.rule for warning in checked.warnings} <= BUGS, checked.finding_lines()


@pytest.mark.skipif(not HOME, reason="FAIRLAP_RALLY_TRACKS names no checkout")
def test_the_tracks_are_there() -> None:
    assert len(TRACKS) >= 16  # of the oldest branch that is raced here
