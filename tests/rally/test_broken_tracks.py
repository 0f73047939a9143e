"""Every broken track is told by its reason, its file and line, and a cure; a good one is left alone.

The check step of a Benchmark and `fairlap track check` must say the same of each.
"""

from __future__ import annotations

import bz2
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from tests.fixtures.broken_tracks import NAMES, BrokenTrack, Edit, make_track
from tests.fixtures.message_form import looks_like

from fairlap.cli.commands.track_check import Checked, check_track
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.track.check.step import check

MESSAGES: dict[Reason, list[str]] = {}
NAMING_TASKS = {"includeTasks", "requireTasks", "racedAgain", "allowedErrors", "sweep"}


@pytest.mark.parametrize("name", NAMES)
def test_broken_track(name: str, tmp_path: Path) -> None:
    expected = NAMES[name]
    spec = {
        "format": 1,
        "mode": "check",
        "namespace": "default",
        "record": "record",
        "raceId": "race",
        "hosts": ["localhost:9200"],
        "track": {"path": str(make_track(expected, tmp_path / name))},
        **expected.spec,
    }

    record = check(parse_spec(json.dumps(spec)), tmp_path)

    reason = record.outcome.reason
    if reason:
        MESSAGES.setdefault(reason, []).append(record.outcome.message)
    assert (reason.value if reason else None) == expected.reason, record.outcome.message
    for text in expected.message:
        assert text in record.outcome.message
    named = record.outcome.message.partition(": ")[0]
    assert record.outcome.field == named or named not in ("requireTasks", "racedAgain")
    if expected.line is not None:
        assert record.outcome.message.startswith(f"{expected.file} line {expected.line}: ")
    elif expected.file is not None:
        assert record.outcome.message.startswith(f"{expected.file} line ")


def on_the_command_line(expected: BrokenTrack, folder: Path) -> Checked:
    return check_track(
        Path(sys.executable),
        str(make_track(expected, folder)),
        expected.spec.get("params", {}),
        expected.spec.get("challenge"),
        test_mode=expected.spec.get("mode") == "smoke",
    )


# A track by itself has neither filters nor names that must be among its tasks.
@pytest.mark.parametrize(
    "name",
    [name for name in NAMES if not NAMING_TASKS & set(NAMES[name].spec)],
)
def test_the_command_line_says_the_same(name: str, tmp_path: Path) -> None:
    expected = NAMES[name]
    checked = on_the_command_line(expected, tmp_path)

    errors = [(error.reason.value if error.reason else None, error.file, error.line) for error in checked.errors]
    reasons = {reason for reason, _, _ in errors}
    assert reasons == ({expected.reason} if expected.reason else set()), checked.finding_lines()
    if expected.line is not None:
        assert (expected.reason, expected.file, expected.line) in errors
    if expected.reason:
        sentence = " ".join(error.message for error in checked.errors)
        assert all(text in sentence for text in expected.message), sentence
        assert expected.rule is None or checked.errors[0].rule == expected.rule
    assert tuple((each.rule, each.file, each.line) for each in checked.warnings) == expected.warnings


@pytest.mark.usefixtures("process_of_its_own")
def test_lines_name_the_file_as_the_user_wrote_it(tmp_path: Path) -> None:
    checked = on_the_command_line(NAMES["mustache-not-escaped"], tmp_path)

    (line,) = checked.finding_lines()
    assert line.startswith(f"{tmp_path}/track.json:23: mustache-not-escaped: ")
    assert "{% raw %}" in line


def test_all_errors_are_found_at_once(tmp_path: Path) -> None:
    mistakes = (
        Edit("track.json", '"document-count": 5', '"document-count": 6'),
        Edit("track.json", '"operation-type": "search"', '"operation-type": "serach"'),
        Edit("track.json", '"id": "notes",', ""),
    )
    checked = on_the_command_line(BrokenTrack("many", mistakes), tmp_path)

    assert [error.rule for error in checked.errors] == ["parameter-missing", "operation-type", "corpus-count"]


def test_a_corpus_that_will_be_downloaded_need_not_be_there(tmp_path: Path) -> None:
    named = Edit("track.json", '"documents": [', '"base-url": "https://example.org",\n      "documents": [')
    missing = NAMES["corpus-missing"]
    checked = on_the_command_line(BrokenTrack("download", (*missing.edits, named)), tmp_path)

    assert not checked.errors


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_a_damaged_archive_beside_the_track_is_said(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = bytearray(pack(b"".join(b'{"n": %d}\n' % number for number in range(5000))))
    middle = len(packed) // 2
    packed[middle : middle + 64] = b"\xff" * 64
    named = Edit("track.json", '"source-file": "documents.json"', f'"source-file": "documents.json.{ending}"')
    broken = BrokenTrack("damaged", (Edit("documents.json", None, None), named))
    make_track(broken, tmp_path)
    (tmp_path / f"documents.json.{ending}").write_bytes(packed)
    checked = check_track(Path(sys.executable), str(tmp_path), {}, None)

    assert [(error.reason, error.rule) for error in checked.errors] == [(Reason.CORPUS_MISSING, "corpus-unreadable")]


@pytest.mark.usefixtures("process_of_its_own")
def test_packages_that_a_track_asks_for_are_no_error(tmp_path: Path) -> None:
    asks = (
        Edit("track.json", '"version": 2,', '"version": 2,\n  "dependencies": ["nowhere==1"],'),
        Edit("track.py", None, "import nowhere\n\n\ndef register(registry):\n    pass\n"),
    )
    checked = on_the_command_line(BrokenTrack("dependencies", asks), tmp_path)

    assert not checked.errors
    assert [(each.rule, each.file, each.line) for each in checked.warnings] == [("dependencies", "track.json", 3)]


def test_a_builtin_track_is_checked_with_its_generated_corpus() -> None:
    checked = check_track(Path(sys.executable), "log_ingest", {"documents": 1000}, None)

    assert checked.finding_lines() == []
    assert checked.answer.challenges == ("default", "quick", "high-concurrency", "ramp-up")


def test_the_documentation_shows_what_a_user_sees() -> None:
    """Last in this file: one of the messages above is the one in docs/reasons.md."""
    if len(MESSAGES) < 2:
        pytest.skip("only a part of the tracks was checked")
    mine = [reason for reason in Reason if reason.test == "tests/rally/test_broken_tracks.py"]
    for reason in mine:
        found = [message for message in MESSAGES[reason] if looks_like(reason.example, message)]
        assert found, f"{reason.example} is none of {MESSAGES[reason]}"
