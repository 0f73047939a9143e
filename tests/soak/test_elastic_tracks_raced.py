"""No track of Elastic's own repository is refused, and none passes unmeasured: each is raced, in Rally's test mode.

FAIRLAP_RALLY_TRACKS names a checkout of them, of the branch for the Elasticsearch here, else nothing is raced; their
documents are made to their mappings (mapped_documents.py). FAIRLAP_RALLY_CHALLENGES=all races every challenge instead of
each track's default. What the Elasticsearch of tests/race lacks is left out or skipped, and the words say what. The
table of what was seen is .soak/elastic-tracks.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.race.conftest import account, elasticsearch, folder, runner, server  # noqa: F401 - its fixtures serve here
from tests.race.runner import PYTHON, ROOT, Race, Ran, Runner, asked, rally_turn
from tests.race.server import Elasticsearch

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.codec import decode
from fairlap_race.track.child import ask_child
from fairlap_race.track.load import Request

from .mapped_documents import lines
from .track_needs import TrackNeeds

HOME = Path(os.environ.get("FAIRLAP_RALLY_TRACKS") or os.devnull)
TRACKS = sorted(path.parent for path in HOME.rglob("track.json")) if HOME.is_dir() else []
EVERY_CHALLENGE = os.environ.get("FAIRLAP_RALLY_CHALLENGES") == "all"
TABLE = ROOT / ".soak/elastic-tracks.md"
STAND_INS = {
    r'"type"\s*:\s*"scaled_float"\s*,\s*"scaling_factor"\s*:\s*[0-9.]+': '"type": "double"',
    r'"scaling_factor"\s*:\s*[0-9.]+\s*,\s*"type"\s*:\s*"scaled_float"': '"type": "double"',
    r'"type"\s*:\s*"(match_only_text|pattern_text)"': '"type": "text"',
    r'"type"\s*:\s*"wildcard"': '"type": "keyword"',
    r'"analyzer"\s*:\s*"english"': '"analyzer": "standard"',
}
"""Types and analyzers of modules that the Elasticsearch here lacks, and what a mapping has instead."""
LACKING = {
    r"No handler for type \[(\w+)\]|no handler found for uri \[([^\]?]+)": "the stand-in lacks",
    r"script_lang not supported \[(\w+)\]": "it lacks",
    r"[Uu]nknown (?:query|tokenizer|filter|analyzer|type|key)[^\[]*\[(\w+)\]|\[(\w+)\] query malformed": "it lacks",
}
"""How the Elasticsearch here says that it lacks something; the groups name it."""


@dataclass
class Told:
    """One line of the table."""

    track: str
    challenge: str
    verdict: str
    why: str = ""
    remarks: str = ""

    def keep(self) -> None:
        """Add it to the table."""
        TABLE.parent.mkdir(exist_ok=True)
        with TABLE.open("a", encoding="utf-8") as table:
            cells = (self.track, self.challenge, self.verdict, self.why, self.remarks)
            table.write(f"| {' | '.join(cell.replace('|', '/').replace(chr(10), ' ') for cell in cells)} |\n")


@pytest.fixture(scope="session")
def own_loopback() -> None:
    """Leave the machine's network as it is: no other Rally runs meanwhile (`rally_turn`)."""


@pytest.fixture
def empty(elasticsearch: Elasticsearch) -> Iterator[Elasticsearch]:  # noqa: F811
    """The Elasticsearch, without the templates of an earlier track, too."""
    yield elasticsearch
    for path in ("_index_template/*", "_component_template/*", "_template/*"):
        with suppress(AssertionError):
            elasticsearch.ask("DELETE", f"/{path}")


def prepared(track: Path, target: Path) -> Path:
    """Return a copy of `track` below `target` whose mappings the Elasticsearch here can hold."""
    copy = shutil.copytree(track, target / track.name, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    for file in copy.rglob("*.json"):
        text = changed = file.read_text(encoding="utf-8")
        for pattern, instead in STAND_INS.items() if len(text) < 5_000_000 else ():
            changed = re.sub(pattern, instead, changed)
        if changed != text:
            file.write_text(changed, encoding="utf-8")
    return copy


def needs_of(track: Path, work: Path, challenge: str | None) -> TrackNeeds:
    """Return what the track needs, asked of Rally in a process of its own."""
    work.mkdir(exist_ok=True)
    (work / "cache").mkdir(exist_ok=True)
    path = os.pathsep.join((str(ROOT / "operator"), str(ROOT)))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "HOME": str(work)}
    request = Request(str(track), challenge, test_mode=True, data_cache=str(work / "cache"), downloads=True)
    answer = ask_child(
        "tests.soak.track_needs", request, work, environment, 120, threading.Event(), python=str(PYTHON)
    )
    return decode(TrackNeeds, answer)


def put_documents(track: Path, needed: TrackNeeds) -> None:
    """Make every file of documents that is not there, beside the track as Rally looks for it."""
    for number, file in enumerate(needed.files):
        path = track / file.file
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        made = lines(file.mapping, file.documents, file.target if file.by_line else "", seed=number)
        path.write_text("".join(made), encoding="utf-8")


def race(runner: Runner, track: Path, needed: TrackNeeds) -> Ran:  # noqa: F811
    """Race the challenge in test mode, without the tasks that cannot run here."""
    spec: dict[str, Any] = {"mode": "smoke", "track": {"path": str(track)}, "challenge": needed.challenge}
    if needed.left_out:
        spec["excludeTasks"] = sorted(needed.left_out)
    if "number_of_replicas" in needed.exposed:
        spec["params"] = {"number_of_replicas": 0}
    with rally_turn(alone=True):
        running = Race(runner.folder, {**runner.defaults, "stallSeconds": 120, "offline": True, **spec})
        try:
            return running.result(900)
        finally:
            running.end()


def lacking(text: str) -> str:
    """Return what the Elasticsearch here lacks, by its own answer in `text`; "" when it says no such thing."""
    for pattern, words in LACKING.items():
        if found := re.search(pattern, text):
            return f"{words} {next(filter(None, found.groups()), 'it')}"
    return ""


def judged(track: str, needed: TrackNeeds, ran: Ran) -> Told:
    """Return what the operator says of the race."""
    record = ran.record
    spec = asked()
    found = first_violation(record, spec)
    remarks = "; ".join(sorted({f"{it.reason}: {it.text}"[:240] for it in ran.remarks()}))
    left = sorted({f"without tasks of {why}" for why in needed.left_out.values()})
    told = Told(track, needed.challenge, "counts", ", ".join(left), remarks)
    if found is not None:
        lack = lacking(f"{found.message} {ran.output}")
        told.verdict, told.why = f"{found.reason}", f"{lack or found.message[:400]} {told.why}"
        told.verdict = "lacks" if lack else told.verdict
    return told


def challenges_of(track: Path, work: Path) -> list[str | None]:
    """Return the challenges to race, the default (None) first."""
    if not EVERY_CHALLENGE:
        return [None]
    first = needs_of(track, work, None)
    return [None, *(name for name in first.challenges if name != first.challenge)]


@pytest.mark.skipif(not TRACKS, reason="FAIRLAP_RALLY_TRACKS names no checkout of github.com/elastic/rally-tracks")
@pytest.mark.parametrize("track", TRACKS, ids=lambda path: str(path.relative_to(HOME)))
def test_a_public_track_is_measured_and_not_refused(
    track: Path, runner: Runner, empty: Elasticsearch, tmp_path: Path  # noqa: F811
) -> None:
    """Every race counts, with numbers of each task that it reports; or the words say what this Elasticsearch lacks."""
    name, told = str(track.relative_to(HOME)), []
    for number, challenge in enumerate(challenges_of(track, tmp_path / "asked")):
        copy = prepared(track, tmp_path / str(number))
        needed = needs_of(copy, tmp_path / f"needs{number}", challenge)
        if needed.error:
            told.append(Told(name, challenge or "", "lacks", f"Rally cannot load it here: {needed.error[:300]}"))
        elif len(needed.left_out) == needed.tasks or not needed.files:
            told.append(Told(name, needed.challenge, "lacks", "no documents or no task that can run here"))
        else:
            put_documents(copy, needed)
            empty.reset()
            told.append(judged(name, needed, race(runner, copy, needed)))
        told[-1].keep()
        print(json.dumps(vars(told[-1])))

    refused = [it for it in told if it.verdict not in ("counts", "lacks")]
    assert not refused, refused
    if all(it.verdict == "lacks" for it in told):
        pytest.skip("; ".join(f"{it.challenge or 'default'}: {it.why}" for it in told))
