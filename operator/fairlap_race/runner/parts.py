"""What is known of a race, part by part, and the record that can be made of it at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.cluster_course import ClusterCourse
from fairlap_race.contract.recorded.kept_samples import KeptSamples
from fairlap_race.contract.recorded.record import (
    Fresh,
    LoadGenerator,
    LoadGeneratorHost,
    Outcome,
    Rally,
    Record,
    Task,
    timestamp,
)
from fairlap_race.contract.recorded.request_evidence import RequestEvidence
from fairlap_race.contract.recorded.stored_metrics import StoredMetrics
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.request_files.probe import ProbeRecord
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.contract.watched_machines.resources import MachineTable
from fairlap_race.elasticsearch.client import ElasticsearchClient
from fairlap_race.elasticsearch.evidence import After, Before
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.http.health import UnhealthyError
from fairlap_race.runner.guest import Site
from fairlap_race.runner.supervise import Ended
from fairlap_race.runner.telling.telemetry_kept import KeptTelemetry
from fairlap_race.track.load import Request, TrackDescription
from fairlap_race.track.ready import Ready

STOPPED = "the runner was told to stop before the race began"


class FailedError(Exception):
    """The race cannot go on; carries the outcome."""

    def __init__(self, reason: Reason, message: str, field: str = "") -> None:
        super().__init__(message)
        self.outcome = Outcome(reason, message, field)


@contextmanager
def ending_race() -> Iterator[None]:
    """Let what ends the track, the requests or the hosts of a race end the race, as a FailedError."""
    try:
        yield
    except (TrackError, UnhealthyError) as error:
        raise FailedError(error.reason, str(error)) from error
    except StoppedError as error:
        raise FailedError(Reason.RACE_ABORTED, STOPPED) from error


@dataclass(frozen=True)
class Host:
    """Where the load comes from, and the Rally that makes it."""

    about: LoadGeneratorHost
    cores: int
    """number of Rally's worker processes"""
    may_use: float
    """CPUs of this container, or of the machine when it has no limit"""
    rally: Rally


@dataclass(frozen=True)
class Connected:
    """The way to what a race sends to: Elasticsearch, or an engine over HTTP."""

    client: ElasticsearchClient
    password: str | None = None
    api_key: str | None = None
    secrets: tuple[str, ...] = ()
    """texts that may stand in nothing that is published"""


@dataclass(frozen=True)
class LoadedTrack:
    """A track that was loaded as Rally will load it, with its corpora where Rally looks for them."""

    ready: Ready
    request: Request
    """with which it was loaded"""
    description: TrackDescription
    record: TrackRecord


@dataclass(frozen=True)
class Prepared:
    """A race that may begin."""

    track: LoadedTrack
    canary: Canary | None
    """how fast the machine is before it"""
    site: Site | None
    """the existing cluster that it is a guest on; None for one of its own"""


@dataclass(frozen=True)
class Numbers:
    """What Rally left behind, and what it means."""

    outcome: Outcome = field(default_factory=Outcome)
    first_request_at: str | None = None
    tasks: tuple[Task, ...] = ()
    samples_dropped: bool = False
    load_generator: LoadGenerator = field(default_factory=LoadGenerator)
    warnings: tuple[str, ...] = ()
    """Rally's own"""
    sample_file: KeptSamples | None = None
    left_to_rally: str = ""
    """why the files of documents are not known: a warning that is not Rally's"""


@dataclass(frozen=True)
class KnownParts:
    """What is known so far: each part is None, or empty, until its step has found it out."""

    def joined(self, more: Self) -> Self:
        """Return this with what `more` knows; what that does not know stays. Pure."""
        pairs = ((it, getattr(more, it.name)) for it in fields(more))
        found: dict[str, Any] = {it.name: value for it, value in pairs if value != it.default}
        return replace(self, **found)


@dataclass(frozen=True)
class Parts(KnownParts):
    """What is known of a race that Rally runs."""

    host: Host | None = None
    before: Before | None = None
    """Elasticsearch before the race"""
    track: TrackRecord | None = None
    site: Site | None = None
    """only for a cluster that exists already"""
    ended: Ended | None = None
    numbers: Numbers | None = None
    requests: RequestEvidence | None = None
    """what was found between the steps"""
    probes: tuple[ProbeRecord, ...] = ()
    after: After | None = None
    """Elasticsearch after the race"""
    course: ClusterCourse | None = None
    """what happened to it meanwhile"""
    stored: StoredMetrics | None = None
    telemetry: KeptTelemetry | None = None
    resources: MachineTable | None = None
    """what the machines used, which stands beside the record"""


def assemble(base: Record, parts: Parts) -> Record:
    """Return the record `base` with all that is known in it. Pure."""
    record = base
    if host := parts.host:
        environment = replace(record.environment, load_generator=host.about)
        record = replace(record, environment=environment, rally=host.rally)
    if before := parts.before:
        environment = replace(before.environment, load_generator=record.environment.load_generator)
        record = replace(record, environment=environment, fresh=before.fresh)
    if parts.track:
        record = replace(record, track=parts.track)
    if site := parts.site:
        record = replace(record, target=site.report, fresh=Fresh(user_indices=site.occupied))
    record = _with_rally(record, parts)
    if parts.requests:
        record = replace(record, requests=parts.requests)
    if parts.stored:
        record = replace(record, stored_metrics=parts.stored)
    if parts.probes:
        record = replace(record, probes=parts.probes)
    if course := parts.course:
        record = replace(record, course=course)
    if after := parts.after:
        record = replace(
            record,
            indices=after.indices,
            shards=after.shards,
            pipelines=after.pipelines,
            failure_stores=after.failure_stores,
            nodes_restarted=after.nodes_restarted,
            totals=after.totals,
        )
    return record


def _with_rally(record: Record, parts: Parts) -> Record:
    """Return the record with how Rally ended and what it left behind."""
    if ended := parts.ended:
        record = replace(
            record,
            rally_exited_at=timestamp(ended.exited_at),
            rally=replace(record.rally, exit_code=ended.exit_code),
            load_generator=ended.load_generator,
        )
    if numbers := parts.numbers:
        record = replace(
            record,
            outcome=numbers.outcome,
            first_request_at=numbers.first_request_at,
            tasks=numbers.tasks,
            samples_dropped=numbers.samples_dropped,
            load_generator=numbers.load_generator,
            sample_file=numbers.sample_file,
            rally=replace(record.rally, warnings=(*filter(None, [numbers.left_to_rally]), *numbers.warnings)),
        )
    if telemetry := parts.telemetry:
        nothing = tuple(f"the telemetry device {name} collected nothing" for name in telemetry.without)
        record = replace(
            record,
            left_out=(*record.left_out, *telemetry.left_out),
            rally=replace(record.rally, warnings=(*record.rally.warnings, *nothing)),
        )
    return record
