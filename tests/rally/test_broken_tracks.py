"""Every broken track is told by its reason, its file and line, and a cure; a good one is left alone.

The check step of a Benchmark and `fairlap track check` must say the same of each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from fairlap.cli.track_check import Checked, check_track
from fairlap_docs.message_form import looks_like
from fairlap_race.contract.race_spec import parse_spec
from fairlap_race.contract.reasons import Reason
from fairlap_race.track.check.step import check

MESSAGES: dict[Reason, list[str]] = {}
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
    if reason:
        MESSAGES.setdefault(reason, []).append(record.outcome.message)
    assert (reason.value if reason else None) == expected["reason"], record.outcome.message
    for text in expected["message"]:
        assert text in record.outcome.message
    if expected["line"] is not None:
        assert record.outcome.message.startswith(f"{expected['file']} line {expected['line']}: ")
    elif expected["file"] is not None:
        assert record.outcome.message.startswith(f"{expected['file']} line ")


def on_the_command_line(name: str) -> tuple[Checked, dict[str, Any]]:
    expected = json.loads((TRACKS / name / "expected.json").read_text(encoding="utf-8"))
    spec = expected["spec"]
    checked = check_track(
        Path(sys.executable),
        str(TRACKS / name),
        spec.get("params", {}),
        spec.get("challenge"),
        test_mode=spec.get("mode") == "smoke",
    )
    return checked, expected


@pytest.mark.parametrize("name", sorted(path.name for path in TRACKS.iterdir() if path.name != "no-task-left"))
def test_the_command_line_says_the_same(name: str) -> None:
    checked, expected = on_the_command_line(name)

    errors = [(error.reason.value if error.reason else None, error.file, error.line) for error in checked.errors]
    assert {reason for reason, _, _ in errors} == ({expected["reason"]} if expected["reason"] else set()), (
        checked.lines()
    )
    if expected["line"] is not None:
        assert (expected["reason"], expected["file"], expected["line"]) in errors
    if expected["reason"]:
        sentence = " ".join(error.message for error in checked.errors)
        assert all(text in sentence for text in expected["message"]), sentence
        assert "rule" not in expected or checked.errors[0].rule == expected["rule"]
    warned = [{"rule": each.rule, "file": each.file, "line": each.line} for each in checked.warnings]
    assert warned == expected.get("warnings", [])


def test_lines_name_the_file_as_the_user_wrote_it() -> None:
    checked, _ = on_the_command_line("mustache-not-escaped")

    (line,) = checked.lines()
    assert line.startswith(f"{TRACKS / 'mustache-not-escaped'}/track.json:23: mustache-not-escaped: ")
    assert "{% raw %}" in line


def test_all_errors_are_found_at_once(tmp_path: Path) -> None:
    for path in (TRACKS / "good").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "track.json").read_text()
    text = text.replace('"document-count": 5', '"document-count": 6').replace('"type": "search"', '"type": "serach"')
    text = text.replace('"operation-type": "search"', '"operation-type": "serach"').replace('"id": "notes",', "")
    (tmp_path / "track.json").write_text(text)

    checked = check_track(Path(sys.executable), str(tmp_path), {}, None)

    assert [error.rule for error in checked.errors] == ["parameter-missing", "operation-type", "corpus-count"]


def test_a_corpus_that_will_be_downloaded_need_not_be_there(tmp_path: Path) -> None:
    for path in (TRACKS / "corpus-missing").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "track.json").read_text()
    text = text.replace('"documents": [', '"base-url": "https://example.org",\n      "documents": [')
    (tmp_path / "track.json").write_text(text)

    checked = check_track(Path(sys.executable), str(tmp_path), {}, None)

    assert not checked.errors


def test_packages_that_a_track_asks_for_are_no_error(tmp_path: Path) -> None:
    for path in (TRACKS / "good").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "track.json").read_text()
    (tmp_path / "track.json").write_text(
        text.replace('"version": 2,', '"version": 2,\n  "dependencies": ["nowhere==1"],')
    )
    (tmp_path / "track.py").write_text("import nowhere\n\n\ndef register(registry):\n    pass\n")

    checked = check_track(Path(sys.executable), str(tmp_path), {}, None)

    assert not checked.errors
    assert [(each.rule, each.file, each.line) for each in checked.warnings] == [("dependencies", "track.json", 3)]


def test_a_builtin_track_is_checked_with_its_generated_corpus() -> None:
    checked = check_track(Path(sys.executable), "log_ingest", {"documents": 1000}, None)

    assert checked.lines() == []
    assert checked.answer.challenges == ("default", "high-concurrency", "ramp-up")


def test_the_documentation_shows_what_a_user_sees() -> None:
    """Last in this file: one of the messages above is the one in docs/reasons.md."""
    if len(MESSAGES) < 2:
        pytest.skip("only a part of the tracks was checked")
    mine = [reason for reason in Reason if reason.test == "tests/rally/test_broken_tracks.py"]
    for reason in mine:
        found = [message for message in MESSAGES[reason] if looks_like(reason.example, message)]
        assert found, f"{reason.example} is none of {MESSAGES[reason]}"
