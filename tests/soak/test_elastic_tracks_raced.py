"""No track of Elastic's own repository is refused, and none passes unmeasured: each is raced, in Rally's test mode.

FAIRLAP_RALLY_TRACKS names a checkout of them, of the branch for the Elasticsearch here, else nothing is raced; their
documents are made to their mappings (mapped_documents.py). FAIRLAP_RALLY_ELASTICSEARCH=7.17.29 races against that one,
which has modules that 8.6.1 lacks here (percolator, scaled_float). FAIRLAP_RALLY_CHALLENGES=all races every challenge
instead of each track's default. What the Elasticsearch here lacks is left out or skipped, and the words say what. The
table of what was seen is .soak/elastic-tracks.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.race.runner import PYTHON, ROOT, Race, Ran, Runner, asked, rally_turn
from tests.race.server import VERSION, Elasticsearch
from tests.race.test_sources import Files
from tests.race.tracks import Json

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.codec import decode
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.track.child import ask_child
from fairlap_race.track.load import Request

from .mapped_documents import lines
from .track_needs import TrackNeeds

HOME = Path(os.environ.get("FAIRLAP_RALLY_TRACKS") or os.devnull)
TRACKS = sorted(path.parent for path in HOME.rglob("track.json")) if HOME.is_dir() else []
BUILTIN = sorted(path.parent for path in (ROOT / "tracks").glob("*/generate.py"))
EVERY_CHALLENGE = os.environ.get("FAIRLAP_RALLY_CHALLENGES") == "all"
ELASTICSEARCH = os.environ.get("FAIRLAP_RALLY_ELASTICSEARCH") or VERSION
TABLE = ROOT / ".soak/elastic-tracks.md"
STAND_INS = {
    r'"type"\s*:\s*"scaled_float"\s*,\s*"scaling_factor"\s*:\s*[0-9.]+': '"type": "double"',
    r'"scaling_factor"\s*:\s*[0-9.]+\s*,\s*"type"\s*:\s*"scaled_float"': '"type": "double"',
    r'"type"\s*:\s*"(match_only_text|pattern_text)"': '"type": "text"',
    r'"type"\s*:\s*"geo_shape"': '"type": "geo_point"',
    r'"type"\s*:\s*"wildcard"': '"type": "keyword"',
    r'"analyzer"\s*:\s*"english"': '"analyzer": "standard"',
}
"""Types and analyzers of modules that 8.6.1 lacks here, and what a mapping has instead."""
OF_MODULES_7 = ("scal", "match_only")
HAS_MODULES = ELASTICSEARCH.startswith("7.")
OFFERED = {*(["percolator"] if HAS_MODULES else []), *(["processors"] if ELASTICSEARCH != VERSION else [])}
"""What an Elasticsearch of another version has here, beside the modules."""
LACKING = {
    r"Cannot find \[([^\]{}]+)\]\. Please disable offline mode": "its own code would download",
    r"No processor type exists with name \[(\w+)\]": "it lacks the processor",
    r"No handler for type \[(\w+)\]|no handler found for uri \[([^\]?]+)": "it lacks",
    r"Unknown aggregation type \[(\w+)\]|Incorrect HTTP method for uri \[([^\]?]+)": "it lacks",
    r"script_lang not supported \[(\w+)\]": "it lacks",
    r"[Uu]nknown (?:query|tokenizer|filter|analyzer|type|key)[^\[]*\[(\w+)\]|\[(\w+)\] query malformed": "it lacks",
}
"""How the Elasticsearch here says that it lacks something; the groups name it."""


REQUESTS_FAILED = (
    Reason.CORPUS_MISSING,
    Reason.REQUEST_ERRORS,
    Reason.ERROR_RATE,
    Reason.RALLY_FAILED,
    Reason.TRACK_INVALID,
)


@dataclass
class Told:
    """One line of the table."""

    track: str
    challenge: str
    verdict: str
    measured: str = ""
    why: str = ""
    remarks: str = ""

    def keep(self) -> None:
        """Add it to the table."""
        TABLE.parent.mkdir(exist_ok=True)
        with TABLE.open("a", encoding="utf-8") as table:
            cells = (self.track, self.challenge, self.verdict, self.measured, self.why, self.remarks)
            table.write(f"| {' | '.join(cell.replace('|', '/').replace(chr(10), ' ') for cell in cells)} |\n")


@pytest.fixture(scope="session")
def own_loopback() -> None:
    """Leave the machine's network as it is: no other Rally runs meanwhile (`rally_turn`)."""


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Elasticsearch]:
    """A running Elasticsearch of the version that is asked for."""
    (folder / "server").mkdir()
    server = Elasticsearch(folder / "server", version=ELASTICSEARCH)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture
def empty(elasticsearch: Elasticsearch) -> Iterator[Elasticsearch]:
    """The Elasticsearch, without the templates of an earlier track, too."""
    yield elasticsearch
    for path in ("_index_template/*", "_component_template/*", "_template/*"):
        with suppress(AssertionError):
            elasticsearch.ask("DELETE", f"/{path}")


def prepared(track: Path, home: Path, target: Path) -> Path:
    """Return a copy of `track` below `target`, whose mappings the Elasticsearch here can hold.

    What is beside it in `home` comes along: tracks of a common folder use that.
    """
    where = track.relative_to(home)
    top = shutil.copytree(home / where.parts[0], target / where.parts[0], ignore=shutil.ignore_patterns("__pycache__"))
    copy = target / where
    for file in top.rglob("*.json"):
        text = changed = file.read_text(encoding="utf-8")
        for pattern, instead in STAND_INS.items() if len(text) < 5_000_000 else ():
            if HAS_MODULES and any(word in pattern for word in OF_MODULES_7):
                continue
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
    module = "tests.soak.track_needs"
    answer = ask_child(module, request, work, environment, 120, threading.Event(), python=str(PYTHON))
    needed = decode(TrackNeeds, answer)
    return replace(needed, left_out={task: why for task, why in needed.left_out.items() if why not in OFFERED})


def put_documents(track: Path, needed: TrackNeeds) -> None:
    """Make every file of documents that is not there, beside the track as Rally looks for it."""
    for number, file in enumerate(needed.files):
        path = track / file.file
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        made = lines(file.mapping, file.documents, file.target if file.by_line else "", seed=number)
        path.write_text("".join(made), encoding="utf-8")


@contextmanager
def source_of(track: Path, top: Path) -> Iterator[Json]:
    """Yield where the race is to take `track` from: a folder, or a repository when it uses what is beside it."""
    if track == top:
        yield {"path": str(track)}
        return
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(top)]
    for words in ("init -q -b main", "add --force .", "commit -q -m tracks", "update-server-info"):
        subprocess.run([*git, *words.split()], check=True)
    served = Files(top)
    try:
        yield {"git": {"url": f"{served.url}/.git", "revision": "main", "path": str(track.relative_to(top))}}
    finally:
        served.shutdown()
        served.server_close()


def race(runner: Runner, source: Json, needed: TrackNeeds) -> Ran:
    """Race the challenge in test mode, without the tasks that cannot run here."""
    spec: Json = {"mode": "smoke", "track": source, "challenge": needed.challenge}
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
    record, remarks = ran.record, ran.remarks()
    found = first_violation(record, asked(version=ELASTICSEARCH))
    left = sorted({f"without tasks of {why}" for why in needed.left_out.values()})
    told = Told(track, needed.challenge, "counts", measured(record), ", ".join(left))
    told.remarks = "; ".join(sorted({f"{it.reason}: {it.text}"[:240] for it in remarks}))
    if found is not None:
        # Where requests failed, their answers stand whole in Rally's output alone; a missed truth has no excuse.
        lack = lacking(f"{found.message} {ran.output if found.reason in REQUESTS_FAILED else ''}")
        told.verdict = "lacks" if lack else f"{found.reason}"
        told.why = f"{lack or found.message[:400]} {told.why}"
    elif record.track.expected_documents is None and Reason.DOCUMENTS_NOT_COUNTED not in {it.reason for it in remarks}:
        told.verdict = "uncounted, in silence"
    elif unmeasured := unmeasured_tasks(record):
        told.verdict, told.why = "unmeasured", ", ".join(unmeasured)
    return told


def unmeasured_tasks(record: Record) -> list[str]:
    """Return the tasks that Rally reports and that have no sample after their warm-up."""
    numbers = {task.task for task in record.tasks if task.samples.normal}
    return [task.name for task in record.track.tasks if task.reported and task.name not in numbers]


def measured(record: Record) -> str:
    """Return how much the race measured and indexed."""
    tasks = sum(task.reported for task in record.track.tasks) - len(unmeasured_tasks(record))
    documents = sum(index.documents or 0 for index in record.indices or ())
    return f"{tasks} tasks, {documents} documents"


def challenges_of(track: Path, work: Path) -> list[str | None]:
    """Return the challenges to race, the default (None) first."""
    if not EVERY_CHALLENGE:
        return [None]
    first = needs_of(track, work, None)
    return [None, *(name for name in first.challenges if name != first.challenge)]


def told_of(track: Path, home: Path, runner: Runner, empty: Elasticsearch, work: Path) -> list[Told]:
    """Race the challenges of `track`, of those in `home`, and return what the operator says of each."""
    name, told = str(track.relative_to(home)), []
    for number, challenge in enumerate(challenges_of(track, work / "asked")):
        copy = prepared(track, home, work / str(number))
        needed = needs_of(copy, work / f"needs{number}", challenge)
        if needed.error:
            told.append(Told(name, challenge or "", "lacks", why=f"Rally cannot load it here: {needed.error[:300]}"))
        elif len(needed.left_out) == needed.tasks or not needed.files:
            told.append(Told(name, needed.challenge, "lacks", why="no documents or no task that can run here"))
        else:
            put_documents(copy, needed)
            empty.reset()
            with source_of(copy, work / str(number) / Path(name).parts[0]) as source:
                told.append(judged(name, needed, race(runner, source, needed)))
        told[-1].keep()
    return told


def is_good(told: list[Told]) -> None:
    """Fail when a race was refused, or passed unmeasured; skip when this Elasticsearch lacks something in each."""
    refused = [it for it in told if it.verdict not in ("counts", "lacks")]
    assert not refused, refused
    if all(it.verdict == "lacks" for it in told):
        pytest.skip("; ".join(f"{it.challenge or 'default'}: {it.why}" for it in told))


def name_of(track: Path) -> str:
    """Return a test's name of its own for each track, for its texts, and for each way to race it."""
    texts = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(track.rglob("*.json"))))
    home = HOME if track in TRACKS else ROOT / "tracks"
    return f"{track.relative_to(home)}-{ELASTICSEARCH}{'-all' if EVERY_CHALLENGE else ''}-{texts.hexdigest()[:8]}"


@pytest.mark.skipif(not TRACKS, reason="FAIRLAP_RALLY_TRACKS names no checkout of github.com/elastic/rally-tracks")
@pytest.mark.parametrize("track", TRACKS, ids=name_of)
def test_a_public_track_is_measured_and_not_refused(
    track: Path, runner: Runner, empty: Elasticsearch, tmp_path: Path
) -> None:
    """Every race counts, with numbers of each task that it reports; or the words say what this Elasticsearch lacks."""
    is_good(told_of(track, HOME, runner, empty, tmp_path))


@pytest.mark.skipif(not TRACKS, reason="FAIRLAP_RALLY_TRACKS names no checkout of github.com/elastic/rally-tracks")
@pytest.mark.parametrize("track", BUILTIN, ids=name_of)
def test_a_builtin_track_is_measured_and_not_refused(
    track: Path, runner: Runner, empty: Elasticsearch, tmp_path: Path
) -> None:
    """The same for those that come with the race image, with the documents of their own generators."""
    generated = shutil.copytree(track, tmp_path / "tracks" / track.name)
    subprocess.run([str(PYTHON), str(generated / "generate.py"), "--output", str(generated)], check=True)
    is_good(told_of(generated, tmp_path / "tracks", runner, empty, tmp_path))
