"""`fairlap track check`: what is wrong with a track, found by Rally's own loader and the rules of the race image."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairlap_race
from fairlap.cli.edge import rally_python
from fairlap.cli.edge.builtin import builtin_tracks
from fairlap.cli.edge.exits import FAILED, SUCCEEDED, CliError, UsageError
from fairlap.cli.edge.printable import print_text
from fairlap_race.contract.codec import decode
from fairlap_race.contract.reasons import Reason
from fairlap_race.errors import TrackError
from fairlap_race.track.check.finding import REVIEW, REVIEW_SECONDS, Finding, finding
from fairlap_race.track.child import ChildError, ask_child
from fairlap_race.track.load import TRACK_FILE, Request, TrackDescription
from fairlap_race.track.prepare import prepare


@dataclass(frozen=True)
class Checked:
    """One track and what was found in it."""

    path: str
    """as the user wrote it"""
    answer: TrackDescription
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]

    def finding_lines(self) -> list[str]:
        """Return a line for each finding: file:line: rule: sentence; a warning says that it is one."""
        found = [(each, "") for each in self.errors] + [(each, " (warning)") for each in self.warnings]
        found.sort(key=lambda pair: (pair[0].file is None, pair[0].file or "", pair[0].line or 0))
        return [f"{self._place(each)}: {each.rule}{level}: {each.sentence}" for each, level in found]

    def _place(self, found: Finding) -> str:
        file = str(Path(self.path) / found.file) if found.file else self.path
        return f"{file}:{found.line}" if found.line else file

    def to_json(self) -> dict[str, Any]:
        """Return the track and its findings as JSON data."""
        levels = [("error", each) for each in self.errors] + [("warning", each) for each in self.warnings]
        return {
            "path": self.path,
            "name": self.answer.name,
            "challenges": list(self.answer.challenges),
            "parameters": list(self.answer.exposed_params),
            "findings": [
                {
                    "level": level,
                    "rule": each.rule,
                    "reason": each.reason.value if each.reason else None,
                    "file": each.file,
                    "line": each.line,
                    "sentence": each.sentence,
                }
                for level, each in levels
            ],
        }


def check_tracks(
    paths: Sequence[str], params: Mapping[str, Any], challenge: str | None, test_mode: bool, output: str
) -> int:
    """Check the tracks and print what was found; return 1 when a track has an error. Raises CliError."""
    for path in paths:
        _directory(path)  # before Rally is installed, which takes a minute
    python = rally_python.python_with_rally(lambda text: print_text(text, sys.stderr))
    checked = []
    for path in paths:
        one = check_track(python, path, params, challenge, test_mode)
        checked.append(one)
        if output == "text":
            for line in one.finding_lines():
                print_text(line)
            print_text(_summary(one), sys.stderr)
    if output == "json":
        tracks = [one.to_json() for one in checked]
        print_text(json.dumps({"rally": rally_python.VERSION, "tracks": tracks}, indent=2, ensure_ascii=False))
    return FAILED if any(one.errors for one in checked) else SUCCEEDED


def check_track(
    python: Path, path: str, params: Mapping[str, Any], challenge: str | None, test_mode: bool = False
) -> Checked:
    """Return what is found in the track at `path` (a directory, its track.json, or the name of a builtin track)."""
    directory, builtin = _directory(path)
    shown = str(directory) if Path(path).name == TRACK_FILE else path
    with tempfile.TemporaryDirectory(prefix="fairlap-") as scratch:
        work = Path(scratch)
        try:
            if builtin:
                directory = prepare(directory, work, params, builtin=True)
        except TrackError as error:
            return Checked(shown, TrackDescription(), (finding(error.reason, error.message),), ())
        if not (directory / TRACK_FILE).is_file():
            there = ", ".join(sorted(each.name for each in directory.iterdir())[:20]) or "nothing"
            what = finding(Reason.TRACK_NOT_FOUND, f"{TRACK_FILE} is missing; the track has: {there}")
            return Checked(shown, TrackDescription(), (what,), ())
        request = Request(
            track_path=str(directory.resolve()),
            challenge=challenge,
            params=params,
            test_mode=test_mode,
            downloads=True,
            every_challenge=challenge is None,
        )
        data = _review(python, request, work)
    errors, warnings = (tuple(decode(Finding, each) for each in data[key]) for key in ("errors", "warnings"))
    return Checked(shown, decode(TrackDescription, data["answer"]), errors, warnings)


def _directory(path: str) -> tuple[Path, bool]:
    known = builtin_tracks()
    directory = Path(path)
    if not directory.exists():
        if path in known:
            return known[path], True
        raise UsageError(f"{path}: no such directory, and no builtin track ({', '.join(known) or 'there is none'})")
    if directory.is_file():
        if directory.name != TRACK_FILE:
            raise UsageError(f"{path}: name the track's directory or its {TRACK_FILE}")
        directory = directory.parent
    return directory, directory.resolve() in {each.resolve() for each in known.values()}


def _review(python: Path, request: Request, work: Path) -> dict[str, Any]:
    # A directory of its own leads to the runner's code and to nothing else of this installation.
    library, temporary = work / "lib", work / "tmp"
    for each in (library, temporary):
        each.mkdir()
    (library / "fairlap_race").symlink_to(Path(fairlap_race.__file__).resolve().parent)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {
        "PYTHONPATH": str(library),
        "PYTHONDONTWRITEBYTECODE": "1",
        "RALLY_HOME": str(work),
        "TMPDIR": str(temporary),
    }
    try:
        return ask_child(REVIEW, request, work, environment, REVIEW_SECONDS, python=str(python))
    except ChildError as error:
        words = f": {error.output.splitlines()[-1]}" if error.output else ""
        raise CliError(f"{request.track_path}: {error}{words}") from None


def _summary(checked: Checked) -> str:
    errors, warnings = len(checked.errors), len(checked.warnings)
    counts = (
        f"{errors or 'no'} error{'' if errors == 1 else 's'}, {warnings or 'no'} warning{'' if warnings == 1 else 's'}"
    )
    return f"{checked.path}: {counts} (checked with Rally {rally_python.VERSION})"
