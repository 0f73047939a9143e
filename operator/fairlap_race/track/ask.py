"""Asks `fairlap_race.track.load` about a track, in a process of its own, because that runs the track's own code."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from fairlap_race.contract.codec import decode, encode
from fairlap_race.contract.race_spec import RaceSpec
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.track_record import TrackRecord
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.linux import process
from fairlap_race.rally.config import Files, rally_env
from fairlap_race.track.load import Request, TrackDescription
from fairlap_race.track.ready import Ready

DESCRIBE_PATIENCE = 300.0


def request_of(spec: RaceSpec, track: Path, data_cache: Path, flavor: str = "default") -> Request:
    """Return what to ask about the track in the directory `track`: of `fairlap_race.track.load` or `track_review`.

    `data_cache` is Rally's own directory for corpora, `flavor` the kind of build that Elasticsearch says it is.
    """
    return Request(
        track_path=str(track),
        challenge=spec.challenge,
        params=spec.params,
        include_tasks=spec.include_tasks,
        exclude_tasks=spec.exclude_tasks,
        test_mode=spec.test_mode,
        index=spec.index,
        touches=spec.target is not None,
        build_flavor=flavor,
        data_cache=str(data_cache),
        downloads=True,
    )


def track_of(answer: TrackDescription, found: Ready, spec: RaceSpec) -> TrackRecord:
    """Return what the record says of a track that came from `found`; what the answer lacks is as the spec has it."""
    return TrackRecord(
        name=answer.name or found.path.name,
        challenge=answer.challenge or spec.challenge,
        challenges=answer.challenges,
        digest=found.digest,
        params=answer.params or dict(spec.params),
        exposed_params=answer.exposed_params,
        tasks=answer.tasks,
        expected_documents=answer.expected_documents,
        pipelines=answer.pipelines,
        pipeline_documents=answer.pipeline_documents,
        passed_as=answer.passed_as,
        repository=found.repository,
        revision=found.revision,
    )


def ask_describe(request: Request, files: Files, stop: threading.Event) -> TrackDescription:
    """Return the answer of `fairlap_race.track.load`, run in a process of its own.

    Raises TrackError when it crashes or takes longer than 300 s, and StoppedError when `stop` is set meanwhile.
    """
    for directory in (files.config, files.temporary):
        directory.mkdir(parents=True, exist_ok=True)
    asked, answered, printed = (files.config / name for name in ("describe.json", "described.json", "describe.out"))
    asked.write_text(json.dumps(encode(request)), encoding="utf-8")
    answered.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "fairlap_race.track.load", str(asked), str(answered)]
    env = rally_env(files, os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), env.get("PYTHONPATH"))))
    running = process.start(argv, env, files.work, printed)
    limit = time.monotonic() + DESCRIBE_PATIENCE
    while running.poll() is None:
        if stop.wait(0.02) or time.monotonic() > limit:
            process.kill_all(running.pid)
            running.wait(process.KILLED_PATIENCE)
            if stop.is_set():
                raise StoppedError
            raise TrackError(Reason.TRACK_INVALID, f"loading the track took longer than {DESCRIBE_PATIENCE:.0f} s")
    data = read_json(answered)
    if running.returncode != 0 or data is None:
        code, tail = running.returncode, read_text(printed)[-800:]
        raise TrackError(Reason.TRACK_INVALID, f"loading the track ended with exit code {code}: {tail}")
    return decode(TrackDescription, data)


def read_text(path: Path) -> str:
    """Return the text of a file, or an empty text when there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file, or None when there is none or it is not complete."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None
