"""Every broken track is told by its reason, its file and line, and a cure; a good one is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esbench_race.check import check
from esbench_race.spec import parse_spec

TRACKS = Path(__file__).parents[1] / "fixtures" / "broken_tracks"


@pytest.mark.parametrize("name", sorted(path.name for path in TRACKS.iterdir()))
def test_broken_track(name: str, tmp_path: Path) -> None:
    expected = json.loads((TRACKS / name / "expected.json").read_text(encoding="utf-8"))
    spec = {
        "format": 1,
        "mode": "check",
        "namespace": "default",
        "record": "record",
        "raceId": "race",
        "hosts": ["localhost:9200"],
        "track": {"path": str(TRACKS / name)},
        **expected["spec"],
    }

    record = check(parse_spec(json.dumps(spec)), tmp_path)

    reason = record.outcome.reason
    assert (reason.value if reason else None) == expected["reason"], record.outcome.message
    for text in expected["message"]:
        assert text in record.outcome.message
    if expected["line"] is not None:
        assert record.outcome.message.startswith(f"{expected['file']} line {expected['line']}: ")
    elif expected["file"] is not None:
        assert record.outcome.message.startswith(f"{expected['file']} line ")
