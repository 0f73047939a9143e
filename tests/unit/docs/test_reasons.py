"""The closed list is complete: each reason has its texts, and a test that produces it for real."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.broken_tracks import BROKEN_TRACKS
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.reasons import Reason

ROOT = Path(__file__).resolve().parents[3]
SUITES = ("tests/api", "tests/e2e", "tests/race")
TRACKS = "tests/rally/test_broken_tracks.py"


@pytest.fixture(scope="module")
def produced(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Which reasons the tests of each file produce; nothing is run for it."""
    told = tmp_path_factory.mktemp("produces") / "produces.json"
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "tests.produces_plugin", *SUITES]
    environment = {**os.environ, "PRODUCES_FILE": str(told), "PYTHONPATH": f"{ROOT}:{ROOT}/operator"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    found = {name: set(reasons) for name, reasons in json.loads(told.read_text()).items()}
    # Rally's own environment collects these; each of its tests is a row that says what it must produce.
    found[TRACKS] = {track.reason for track in BROKEN_TRACKS if track.reason}
    return found


def test_every_reason_is_produced_by_the_test_it_names(produced: dict[str, set[str]]) -> None:
    without = [f"{reason}: {reason.test}" for reason in Reason if reason not in produced[reason.test]]
    assert not without, without


def test_no_test_speaks_of_another_reason(produced: dict[str, set[str]]) -> None:
    assert set().union(*produced.values()) <= {str(reason) for reason in Reason}


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_explained(reason: Reason) -> None:
    for text in (reason.cause, reason.cure, reason.recognized):
        assert text[0].isupper() and text.endswith("."), text
        assert text.count(". ") == 0, f"one sentence: {text}"
    assert reason.example.strip("… "), "a user sees more than nothing"
    assert re.fullmatch(r"[A-Z][A-Za-z]{2,62}", reason), "fit for a condition's reason"


def test_only_remarks_leave_a_race_valid() -> None:
    """Which reasons are remarks follows from the code that gives them: tests/unit/results/test_remarks.py."""
    kept = {reason for reason in Reason if reason.remark}
    assert kept > {Reason.LOAD_GENERATOR_SHARED, Reason.LOAD_GENERATOR_SATURATED, Reason.SCHEDULE_NOT_KEPT}


def test_the_closed_list_is_read_by_its_words() -> None:
    for reason in Reason:
        assert Reason(str(reason)) is reason
        assert reason.value == reason == f"{reason}"


@pytest.mark.parametrize(
    ("example", "message", "fits"),
    [
        ("7 of 40 failed", "1234 of 5 failed", True),
        ("reached 71 %", "reached 9.5 %", True),
        ("pod …-0 was evicted: …", "pod x-race-1-0 was evicted: because", True),
        ("pod …-0 was evicted: …", "pod x-race-1-0 was removed: because", False),
        ("a (b) [c]", "a (b) [c]", True),
        ("a (b) [c]", "a b c", False),
        ("one two", "one\n  two", True),
    ],
)
def test_messages_are_compared_with_their_examples(example: str, message: str, fits: bool) -> None:
    assert looks_like(example, message) is fits


@given(st.text(st.characters(codec="utf-8", exclude_characters="…")))
def test_a_message_looks_like_itself(text: str) -> None:
    assert looks_like(text, text)
