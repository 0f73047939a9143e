"""What is known of a race over HTTP, part by part, and the record that can be made of it at any moment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairlap_race.contract.recorded.http_record import HttpHost, HttpRecord, RequestHits
from fairlap_race.contract.recorded.kept_samples import KeptSamples
from fairlap_race.contract.recorded.record import LoadGeneratorHost, Record, Task, timestamp
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.request_files.probe import ProbeRecord
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.http.requests import ReadyRequests
from fairlap_race.runner.parts import KnownParts


@dataclass(frozen=True)
class HttpParts(KnownParts):
    """What is known of a race over HTTP."""

    host: LoadGeneratorHost | None = None
    k6_version: str | None = None
    requests: ReadyRequests | None = None
    schedule: TrackRecord | None = None
    """the loads, as a track's schedule is told"""
    hosts: tuple[HttpHost, ...] = ()
    """the system under test before the race"""
    exit_code: int | None = None
    """of the last k6"""
    first_at: float | None = None
    """when the first request was sent, in seconds since 1970"""
    tasks: tuple[Task, ...] = ()
    probes: tuple[ProbeRecord, ...] = ()
    hits: RequestHits | None = None
    sample_file: KeptSamples | None = None
    canary_before: Canary | None = None
    """how fast this machine is, which stands beside the record"""
    canary_after: Canary | None = None


def assemble_http(base: Record, parts: HttpParts) -> Record:
    """Return the record `base` with all that is known in it. Pure."""
    record = replace(base, http=_http_record(parts), sample_file=parts.sample_file)
    if parts.host:
        record = replace(record, environment=replace(record.environment, load_generator=parts.host))
    if parts.schedule:
        record = replace(record, track=parts.schedule)
    if parts.first_at is not None:
        record = replace(record, first_request_at=timestamp(parts.first_at))
    if parts.probes:
        record = replace(record, probes=parts.probes)
    return replace(record, tasks=parts.tasks)


def _http_record(parts: HttpParts) -> HttpRecord:
    return HttpRecord(
        k6_version=parts.k6_version,
        exit_code=parts.exit_code,
        requests=parts.requests.lines if parts.requests else None,
        distinct=parts.requests.distinct if parts.requests else None,
        hosts=parts.hosts,
        hits=parts.hits,
    )
