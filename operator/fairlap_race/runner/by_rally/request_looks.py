"""What is asked of Elasticsearch between the steps of a race: planned before Rally starts, read when it has ended."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from fairlap_race.contract.codec import decode, encode
from fairlap_race.contract.recorded.request_evidence import NO_SEARCHES, SEARCHES, RequestEvidence
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.errors import TrackError
from fairlap_race.rally.config import Files, user_name
from fairlap_race.rally.inside.step_looks import FOUND, PLAN, LookPlan, read_found
from fairlap_race.track.ask import ask_about_track
from fairlap_race.track.child import read_json
from fairlap_race.track.load import Request, TrackDescription
from fairlap_race.track.searches import SearchesOfTrack, matters

LOG = logging.getLogger(__name__)
PATIENCE = 60.0
"""Seconds for the parameter sources of all searches, which are the track's own code."""


def plan_looks(
    spec: RaceSpec, files: Files, about: TrackDescription, request: Request, stop: threading.Event
) -> LookPlan:
    """Return what to ask between the steps of the track of `request`, and write it where Rally's process reads it.

    Raises StoppedError. A parameter source that fails or never ends leaves its search out, and nothing else.
    """
    plan = LookPlan(
        hosts=spec.hosts,
        user=user_name(spec),
        password_file=spec.password_file,
        api_key_file=spec.api_key_file,
        certificate_file=spec.certificate_file,
        certificate_key_file=spec.certificate_key_file,
        ca_file=spec.ca_file,
        tls=spec.tls,
        search_tasks=tuple(task.name for task in about.tasks if task.type in SEARCHES),
        bulk_tasks=tuple(task.name for task in about.tasks if task.type == "bulk"),
        before=spec.test_mode,
    )
    uncertain = [task.name for task in about.tasks if matters(task.type or "", reported=task.reported)]
    if any(task.type not in NO_SEARCHES for task in about.tasks):
        found = _searches(replace(request, params=about.params), files, uncertain, stop)
        plan = replace(plan, searches=found.searches, not_looked_at=found.unknown)
    files.live.mkdir(parents=True, exist_ok=True)
    path = files.live / PLAN
    path.touch(mode=0o600)
    path.write_text(json.dumps(encode(plan)), encoding="utf-8")
    return plan


def _searches(request: Request, files: Files, tasks: Iterable[str], stop: threading.Event) -> SearchesOfTrack:
    try:
        answer = ask_about_track("fairlap_race.track.searches", request, files, PATIENCE, stop)
    except TrackError as error:
        LOG.warning("the searches of the track are not known: %s", error.message)
        why = "its parameter source gave no answer"
        unknown: Mapping[str, str] = dict.fromkeys(tasks, why)
        return SearchesOfTrack(unknown=unknown)
    return decode(SearchesOfTrack, answer)


def read_looks(files: Files) -> RequestEvidence | None:
    """Return what was found between the steps; None when nothing was planned."""
    plan = read_json(files.live / PLAN)
    if plan is None:
        return None
    try:
        with (files.live / FOUND).open(encoding="utf-8", errors="replace") as lines:
            return read_found(lines, decode(LookPlan, plan))
    except FileNotFoundError:
        return read_found((), decode(LookPlan, plan))
