"""What is asked about a track before a race, and what the record says of the answer."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlap_race.contract.codec import decode
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.document_plan import ExpectedByUser
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec
from fairlap_race.errors import TrackError
from fairlap_race.linux import process
from fairlap_race.rally.config import Files, rally_env
from fairlap_race.track.child import ChildError, ask_child
from fairlap_race.track.load import Request, TrackDescription
from fairlap_race.track.ready import Ready
from fairlap_race.track.services import services_used

DESCRIBE_PATIENCE = 300.0
_OUTPUT_CHARACTERS = 800


def make_request(spec: RaceSpec, track: Ready, data_cache: Path, flavor: str = "default") -> Request:
    """Return what to ask about `track`: of `track.load` or `track.check.review`.

    `data_cache` is Rally's own directory for corpora, `flavor` the kind of build that Elasticsearch says it is.
    """
    return Request(
        track_path=str(track.path),
        challenge=spec.challenge,
        params=spec.params,
        include_tasks=spec.include_tasks,
        exclude_tasks=spec.exclude_tasks,
        require_tasks=spec.require_tasks,
        raced_again=spec.raced_again,
        allowed_tasks=tuple(spec.allowed_errors),
        sweep=spec.sweep,
        expands=spec.mode is not Mode.CHECK,
        test_mode=spec.test_mode,
        index=spec.index,
        touches=spec.target is not None,
        build_flavor=flavor,
        data_cache=str(data_cache),
        downloads=True,
        replayed_writes=track.writes,
        generated=spec.track.builtin is not None and spec.requests is None,
    )


def make_track_record(answer: TrackDescription, found: Ready, spec: RaceSpec) -> TrackRecord:
    """Return what the record says of a track that came from `found`; what the answer lacks is as the spec has it."""
    return TrackRecord(
        name=answer.name or found.path.name,
        challenge=answer.challenge or spec.challenge,
        challenges=answer.challenges,
        digest=found.digest,
        params=answer.params or dict(spec.params),
        exposed_params=answer.exposed_params,
        tasks=answer.tasks,
        sweep=spec.sweep.with_digest() if spec.sweep else None,
        expected_documents=answer.expected_documents,
        documents=replace(answer.documents, stated=spec.expect or ExpectedByUser()),
        pipelines=answer.pipelines,
        pipeline_documents=answer.pipeline_documents,
        passed_as=answer.passed_as,
        allowed_errors=spec.allowed_errors,
        services=services_used(found.path.parent),
        repository=found.repository,
        revision=found.revision,
    )


def describe_track(request: Request, files: Files, stop: threading.Event) -> TrackDescription:
    """Return the answer of `fairlap_race.track.load`, run in a process of its own.

    Raises TrackError when it crashes or takes longer than 300 s, and StoppedError when `stop` is set meanwhile.
    """
    return decode(TrackDescription, ask_about_track("fairlap_race.track.load", request, files, DESCRIBE_PATIENCE, stop))


def ask_about_track(
    module: str, request: Request, files: Files, seconds: float, stop: threading.Event
) -> dict[str, Any]:
    """Return the JSON object with which `module` answers `request`. Raises TrackError and StoppedError."""
    files.temporary.mkdir(parents=True, exist_ok=True)
    environment = rally_env(files, os.environ)
    try:
        return ask_child(module, request, files.work, environment, seconds, stop, kill=process.kill_all)
    except ChildError as error:
        printed = f": {error.output[-_OUTPUT_CHARACTERS:]}" if error.output else ""
        raise TrackError(Reason.TRACK_INVALID, f"{error}{printed}") from error
