"""The last step of a race: what Rally left behind, how it ended, and what Elasticsearch is afterwards."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairlap_race.contract.rally_releases import is_too_old
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Outcome, Task, timestamp
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.contract.specification.sweep import SweepSpec
from fairlap_race.elasticsearch import evidence
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.rally import classify, race_json, samples, schedule
from fairlap_race.rally.config import Files
from fairlap_race.rally.inside.down_sampling import read_kept
from fairlap_race.rally.inside.prolonged_warmup import read_prolonged
from fairlap_race.rally.inside.search_rates import as_it_ran, read_search, unneeded
from fairlap_race.rally.inside.taking_turns import read_taken
from fairlap_race.rally.live_files import SAMPLES
from fairlap_race.runner.guest import Site
from fairlap_race.runner.keep_samples import read_samples
from fairlap_race.runner.parts import Numbers
from fairlap_race.runner.supervise import Ended
from fairlap_race.runner.watching.load_series import judge_tasks, with_loads
from fairlap_race.track import settings_passed
from fairlap_race.track.child import read_json, read_text
from fairlap_race.track.load import TrackDescription

LOG = logging.getLogger(__name__)
EVIDENCE_PATIENCE = 180.0
"""Seconds: a node that was killed is back by then on a busy machine, too, and only then can its restart be told."""
LATE_EVIDENCE = 60.0
"""Seconds after the race's own deadline: the operator expects the record two minutes after it."""


@dataclass(frozen=True)
class Versions:
    """What raced against what."""

    elasticsearch: str | None = None
    rally: str | None = None


def read_numbers(
    spec: RaceSpec,
    files: Files,
    ended: Ended,
    description: TrackDescription,
    versions: Versions,
    scrub: Callable[[str], str],
) -> Numbers:
    """Return what Rally wrote into `files`, joined with every sample, and the outcome that follows from it."""
    output = read_text(files.output)
    race = read_json(files.race_json(spec.race_id))
    tallies, sample_file = read_samples(files.live / SAMPLES, spec, ended.clock_offset)
    kept, prolonged, taken = read_kept(files.live), read_prolonged(files.live), read_taken(files.live)
    first = min((it.first_wallclock for it in tallies), default=None)
    raced = race_json.tasks(race, tallies, description.tasks, taken)
    tasks = with_loads(raced, ended.load, ended.may_use)
    outcome, load = judge_ending(ended, output, race, versions), ended.load_generator
    if ended.exit_code == 0:  # only a race that ended by itself tells whether its load generator kept up
        load = schedule.judge_lateness(judge_tasks(load, tasks), tasks)
        tasks = schedule.with_lateness(tasks)
    return Numbers(
        outcome=replace(outcome, message=scrub(outcome.message)),
        first_request_at=None if first is None else timestamp(first),
        tasks=tuple(
            replace(
                with_kept(task, kept),
                first_error=task.first_error and scrub(task.first_error),
                extended_warmup=prolonged.get(task.task),
            )
            for task in tasks
        ),
        samples_dropped=classify.dropped_samples(read_text(files.log)),
        load_generator=load,
        sample_file=sample_file,
        left_to_rally=description.left_to_rally,
        warnings=classify.warnings(output),
    )


def without_unneeded(
    planned: SweepSpec | None, live: Path, track: TrackRecord, numbers: Numbers
) -> tuple[TrackRecord, Numbers]:
    """Return both without what a search, as it ran in `live`, had no need of: it could have taken more steps."""
    if planned is None or planned.search is None:
        return track, numbers
    ran = read_search(live, planned)
    without = unneeded(planned, ran)
    warnings = classify.without_warnings_on(without, numbers.warnings)
    measured = tuple(task for task in numbers.tasks if task.task not in without)
    return as_it_ran(track, planned, ran), replace(numbers, tasks=measured, warnings=warnings)


def with_kept(task: Task, kept: Mapping[str, int]) -> Task:
    """Return the task with its percentiles' support by the requests that were `kept` of each task; empty for all."""
    if not kept:
        return task
    number = kept.get(task.task, 0)
    return replace(task, support=samples.support(number), times_kept=number)


def judge_ending(ended: Ended, output: str, race: Mapping[str, Any] | None, versions: Versions) -> Outcome:
    """Return the outcome of a race by how Rally ended, what it printed (`output`) and its race.json. Pure."""
    finished = ended.exit_code == 0 and race_json.is_complete(race)
    if ended.outcome.reason is not None and not finished:
        died = ended.outcome.reason is Reason.LOAD_GENERATOR_DIED
        reason = Reason.LOAD_GENERATOR_OUT_OF_MEMORY if died and ended.oom_killed else ended.outcome.reason
        return Outcome(reason, ended.outcome.message)
    if finished:
        return Outcome()
    words = classify.error_words(output)
    if ended.exit_code == 130:
        return Outcome(Reason.RACE_ABORTED, "Rally was interrupted")
    if not words and ended.exit_code is not None and ended.exit_code < 0:
        reason = Reason.LOAD_GENERATOR_OUT_OF_MEMORY if ended.oom_killed else Reason.LOAD_GENERATOR_DIED
        return Outcome(reason, f"Rally's main process was ended by signal {-ended.exit_code}")
    words = words or f"Rally ended with exit code {ended.exit_code} and no results; it printed: {output[-800:]}"
    reason = classify.classify_race(words, ended.oom_killed)
    version, rally = versions.elasticsearch, versions.rally
    if reason is Reason.UNSUPPORTED_PRODUCT and is_too_old(version, rally):
        # Rally takes an Elasticsearch older than it knows for something else, and says so.
        message = f"Elasticsearch {version} is too old for Rally {rally}; Rally said: {words}"
        return Outcome(Reason.CLIENT_TOO_NEW, message)
    return Outcome(reason, words)


def look_after(
    client: ElasticsearchClient,
    spec: RaceSpec,
    before: evidence.Before,
    site: Site | None,
    track: TrackRecord,
    limit: float,
    stop: threading.Event,
) -> evidence.After | None:
    """Return what Elasticsearch is after the race; on a cluster that exists already only what is the race's own.

    Asked until `limit` (of the monotonic clock), which leaves time for a node's restart; None without an answer then.
    """
    asked = tuple(settings_passed.asked(spec.index))
    is_of_the_race = site.is_of_the_track if site else evidence.owned_by(track)
    while True:
        try:
            found = evidence.after(client, before, asked, is_of_the_race)
        except ElasticsearchError as error:
            LOG.warning("Elasticsearch could not be asked after the race: %s", error)
            if time.monotonic() > limit or stop.wait(2.0):
                return None
        else:
            break
    if site is None:
        return found
    of_indices = (name for index in found.indices for name in (index.default_pipeline, index.final_pipeline) if name)
    pipelines = site.of_the_race(found.pipelines, (*track.pipelines, *of_indices))
    return replace(found, pipelines=pipelines, totals=site.counted(found.totals))


def evidence_limit(now: float, deadline: float) -> float:
    """Return until when Elasticsearch is asked after a race that ended `now` (seconds, both of one clock)."""
    return min(now + EVIDENCE_PATIENCE, deadline + LATE_EVIDENCE)
