"""The check before any cluster is built: the track is rendered and loaded as Rally does it, and errors are named."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

from fairlap_race.contract.codec import decode
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Outcome, Rally, Record, TargetReport, timestamp
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.corpora.corpora import CorporaSource
from fairlap_race.corpora.need import ShowProgress
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.rally.config import Files
from fairlap_race.rally.releases import rally_version
from fairlap_race.track.ask import ask_about_track, make_request, make_track_record
from fairlap_race.track.check.finding import REVIEW, REVIEW_SECONDS, Finding
from fairlap_race.track.load import Request, TrackDescription
from fairlap_race.track.ready import BUILTIN_TRACKS, get_ready


def check(
    spec: RaceSpec,
    work: Path,
    show_progress: ShowProgress = lambda *_: None,
    stop: threading.Event | None = None,
    builtin_tracks: Path = BUILTIN_TRACKS,
) -> Record:
    """Return the record of the check of `spec`'s track; `work` is a writable directory.

    The record's outcome has a reason when the track cannot be raced, with a message that names the file and line
    where that is known. The track part holds whatever could be found out.
    """
    started = time.time()
    track, outcome, planned = TrackRecord(params=dict(spec.params)), Outcome(), None
    stop = stop or threading.Event()
    corpora = CorporaSource(
        spec.corpora, work / "corpora", spec.offline, stop, show_progress, os.environ.get("POD_NAME", "")
    )
    try:
        found = get_ready(spec, work, corpora, show_progress, stop, builtin_tracks)
        track = replace(track, digest=found.digest, repository=found.repository, revision=found.revision)
        answer, finding = _diagnose(make_request(spec, found, Files(work).data_cache), work, stop)
        track = make_track_record(answer, found, spec)
        if spec.target is not None:
            planned = TargetReport(touches=answer.touches, unforeseen=answer.unforeseen)
        if finding is not None:
            outcome = Outcome(finding.reason or Reason.TRACK_INVALID, finding.message, finding.field)
        else:
            corpora.look(answer.corpora, found.path)
    except TrackError as error:
        outcome = Outcome(error.reason, error.message)
    except StoppedError:
        outcome = Outcome(Reason.RACE_ABORTED, "the runner was told to stop")
    finally:
        corpora.close()
    return Record(
        mode=spec.mode.value,
        race_id=spec.race_id,
        started_at=timestamp(started),
        finished_at=timestamp(time.time()),
        outcome=outcome,
        rally=Rally(version=rally_version()),
        track=track,
        target=planned,
    )


def _diagnose(request: Request, work: Path, stop: threading.Event) -> tuple[TrackDescription, Finding | None]:
    data = ask_about_track(REVIEW, request, Files(work), REVIEW_SECONDS, stop)
    errors = data.get("errors") or []
    first = decode(Finding, errors[0]) if errors else None
    if first is not None and len(errors) > 1:
        more = f"({len(errors) - 1} more; `fairlap track check` shows all.)"
        first = replace(first, message=f"{first.message} {more}")
    return decode(TrackDescription, data.get("answer")), first
