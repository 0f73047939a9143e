"""One race from its specification to its record: connect, prepare, run, collect.

Each step returns its part; collecting has several, and keeps each as it comes, in case the next cannot be had.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairlap_race.contract.machine_watch import Canary
from fairlap_race.contract.probe import ProbeRecord
from fairlap_race.contract.race_spec import Mode, RaceSpec, SpecError
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import (
    KEY_LOG,
    KEY_RACE,
    KEY_TELEMETRY,
    Outcome,
    Progress,
    Rally,
    Record,
    TargetReport,
    Touch,
    timestamp,
)
from fairlap_race.contract.resources import KEY_RESOURCES, MachineTable
from fairlap_race.contract.track_record import TrackRecord
from fairlap_race.corpora.corpora import CorporaSource, digest_with
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.evidence import Before, owned_by
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.linux import process
from fairlap_race.rally import classify, store_documents, warm_until
from fairlap_race.rally.accepted_errors import write_accepted
from fairlap_race.rally.config import Files, rally_argv, rally_env, write_files
from fairlap_race.rally.launch import POLL_INTERVALS
from fairlap_race.rally.pinned import write_addresses
from fairlap_race.rally.releases import rally_version
from fairlap_race.rally.searched import as_it_ran, read_search, unneeded
from fairlap_race.rally.swept import write_sweep
from fairlap_race.runner import bounds
from fairlap_race.runner.canary import PIECES, do_fixed_work
from fairlap_race.runner.client_keys import remove_client_keys
from fairlap_race.runner.cluster_watch import ClusterWatch
from fairlap_race.runner.connect import connect, connection_reason, look_before, refuse_impossible
from fairlap_race.runner.guest import Site
from fairlap_race.runner.harvest import LATE_EVIDENCE, Versions, evidence_limit, look_after, read_numbers
from fairlap_race.runner.host import look_at_machine
from fairlap_race.runner.in_turn import RaceInTurn
from fairlap_race.runner.keep_samples import refuse_unwritable
from fairlap_race.runner.parts import STOPPED, Connected, FailedError, Host, Numbers, Parts, Prepared, assemble
from fairlap_race.runner.probes import ProbeReader, probe_reader
from fairlap_race.runner.request_looks import plan_looks, read_looks
from fairlap_race.runner.sampler import MachineSampler, summed_up
from fairlap_race.runner.store_metrics import LONGEST_COPY, refuse_unusable, store_metrics
from fairlap_race.runner.supervise import Ended, Supervisor, Watched
from fairlap_race.runner.telemetry_kept import KeptTelemetry, keep_telemetry
from fairlap_race.runner.watchdog import Watchdog
from fairlap_race.track.ask import describe_track, make_request, make_track_record
from fairlap_race.track.ready import get_ready

LOG = logging.getLogger(__name__)


@dataclass
class RaceRunner:
    """A race in the making. Its parts are kept as they come, so that a record can be made at any moment."""

    spec: RaceSpec
    files: Files
    tell: Callable[[Progress], None]
    stop: threading.Event
    parts: Parts = field(default_factory=Parts)
    failure: Outcome | None = None
    """why the race could not go on"""
    secrets: tuple[str, ...] = ()
    resources: MachineTable = field(default_factory=MachineTable)
    telemetry: KeptTelemetry = field(default_factory=KeptTelemetry)

    def __post_init__(self) -> None:
        """Open what the race holds until its end."""
        self._limit = time.monotonic() + self.spec.timeout_seconds
        self._base = Record(mode=self.spec.mode, race_id=self.spec.race_id, started_at=timestamp(time.time()))
        owner = os.environ.get("POD_NAME", "")
        private = self.files.work / "corpora"
        self._corpora = CorporaSource(self.spec.corpora, private, self.spec.offline, self.stop, self._preparing, owner)
        self._in_turn = RaceInTurn(self.spec.turns, self.stop)

    @property
    def record(self) -> Record:
        """The record of what is known by now."""
        record = assemble(self._base, self.parts)
        record = replace(record, left_out=(*record.left_out, *self.telemetry.left_out))
        nothing = tuple(f"the telemetry device {name} collected nothing" for name in self.telemetry.without)
        record = replace(record, rally=replace(record.rally, warnings=(*record.rally.warnings, *nothing)))
        if self.failure is None:
            return record
        message = bounds.scrub(self.failure.message, self.secrets)
        return replace(record, outcome=replace(self.failure, message=message))

    def run(self) -> Record:
        """Run the race and return its record, whatever happened: what was known before a bug is kept, too."""
        self._tell(Progress(at=timestamp(time.time()), stage="preparing"))
        try:
            with self._keeping_failure():
                self._in_turn.open()
                self._run()
        finally:
            self._in_turn.close(finished=self.record.outcome.reason is None)
            self._corpora.close()
        return self._finished()

    def survey(self, checked: Record | None = None) -> Record:
        """Return the record of a first look at an existing cluster, after the track's check if there was one."""
        self._base = checked or self._base
        planned = self._base.target or TargetReport()
        try:
            connection = connect(self.spec)
            self.secrets = connection.secrets
            self._look_before(connection.client)
            probe_reader(self.spec, connection.client, self.stop).read_before()
            self._visit(connection.client, planned.touches, planned.unforeseen)
        except FailedError as failure:
            self.failure = failure.outcome
        return self._finished()

    def artifacts(self) -> dict[str, str]:
        """Return the compressed files for the record's ConfigMap, in base64, by key."""
        found = {}
        for key, path in ((KEY_RACE, self.files.race_json(self.spec.race_id)), (KEY_LOG, self._log())):
            packed = bounds.packed_tail(path, self.secrets)
            if packed is not None:
                found[key] = packed
        if self.telemetry.packed:
            found[KEY_TELEMETRY] = self.telemetry.packed
        return found

    def texts(self) -> dict[str, str]:
        """Return what else goes into the record's ConfigMap as text, by key."""
        return {KEY_RESOURCES: self.resources.to_json()} if self.resources.race_id else {}

    def _log(self) -> Path:
        # Before Rally has a log, what it printed is all there is.
        return self.files.log if self.files.log.exists() else self.files.output

    def _finished(self) -> Record:
        return bounds.bounded(replace(self.record, finished_at=timestamp(time.time())))

    @contextmanager
    def _keeping_failure(self) -> Iterator[None]:
        """Keep whatever goes wrong as the end of the race."""
        try:
            yield
        except FailedError as failure:
            self.failure = failure.outcome
        except SpecError as error:
            self.failure = Outcome(Reason.INVALID_SPEC, str(error))
        except Exception as error:
            LOG.exception("the runner failed")
            self.failure = Outcome(Reason.RALLY_FAILED, bounds.bug_words(error))

    def _run(self) -> None:
        host = self.parts.host = look_at_host(self.spec)
        refuse_unwritable(self.spec)
        refuse_unusable(self.spec)
        connection = connect(self.spec)
        self.secrets = connection.secrets
        client = connection.client
        before = self._look_before(client)
        probes = probe_reader(self.spec, client, self.stop)
        probes.read_before()  # what cannot be read is refused before documents are fetched for hours
        track = self._prepare(before)
        about = track.description
        self._in_turn.await_others(lambda: self._preparing("waiting for the races that it takes turns with", None))
        canary_before = self._in_turn.one_by_one("canary-before", lambda: self._canary(host))
        site = self._visit(client, about.touches, about.unforeseen)
        write_files(self.spec, self.files, about.params, connection.password, host.cores, connection.api_key)
        self._plan_looks(track, before)
        watch = ClusterWatch(client)
        watch.begin()
        write_addresses(self.files.live, watch.addresses())
        self._in_turn.write(self.files.live)
        write_accepted(self.files.live, tuple(self.spec.allowed_errors))
        if self.spec.metrics_store and self.spec.mode is Mode.RACE:
            store_documents.want(self.files.live)
        if self.spec.most_warmup_seconds is not None:
            warm_until.allow(self.files.live, self.spec.most_warmup_seconds)
        write_sweep(self.files.live, self.spec.sweep, self.spec.challenge)
        sampler = MachineSampler(client, self.files.live, host.about.pod_name, also=watch.look)
        sampler.start()
        try:
            # A failure is known before the guest leaves: it decides whether what the race created stays.
            with self._keeping_failure():
                probes.read_before()
                ended = self.parts.ended = self._race(connection, host, track)
                sampler.stop()
                self.parts.probes = self._read_probes(probes, ended)
                self._collect(client, before, ended, track, watch)
                canaries = (canary_before, self._in_turn.one_by_one("canary-after", lambda: self._canary(host)))
                self.resources = summed_up(sampler, self.record, ask=not self.stop.is_set(), canaries=canaries)
                if self.parts.numbers and self.parts.numbers.outcome.reason is None:
                    until = min(time.monotonic() + LONGEST_COPY, self._limit + LATE_EVIDENCE)
                    self.parts.stored = store_metrics(self.spec, self.files.live, until, self.stop)
        finally:
            sampler.stop()
            keys = remove_client_keys(client, self.files.live)
            if site is not None:
                site.leave(self.record)
                site.report = replace(site.report, left=(*site.report.left, *(f"API key {key}" for key in keys)))
            client.close()

    def _canary(self, host: Host) -> Canary | None:
        """Return how fast the machine is now; None where nothing is measured."""
        if self.spec.mode is not Mode.RACE:
            return None
        return do_fixed_work(self.files.work, host.may_use, self.stop, self.spec.canary_seconds / PIECES)

    def _look_before(self, client: ElasticsearchClient) -> Before:
        before = self.parts.before = look_before(client, self.spec, self.stop)
        refuse_impossible(self.spec, before)
        return before

    def _visit(
        self, client: ElasticsearchClient, planned: tuple[Touch, ...], unforeseen: tuple[str, ...]
    ) -> Site | None:
        """Return the existing cluster that the race is a guest on, or None for one of its own."""
        if self.spec.target is None:
            return None
        try:
            site = self.parts.site = Site.look(client, self.spec.target, planned, unforeseen)
        except ElasticsearchError as error:
            raise FailedError(connection_reason(error), str(error)) from error
        if site.objection:
            raise FailedError(Reason.CLUSTER_NOT_FRESH, site.objection)
        return site

    def _prepare(self, before: Before) -> Prepared:
        """Return the track, loaded as Rally will load it, with its corpora where Rally looks for them."""
        spec, cache = self.spec, self.files.data_cache
        try:
            found = get_ready(spec, self.files.work, self._corpora, self._preparing, self.stop)
            request = make_request(spec, found, cache, before.environment.build_flavor or "default")
            about = describe_track(request, self.files, self.stop)
            record = self.parts.track = make_track_record(about, found, spec)
            if about.error is not None:
                contradiction = about.error_type == "Contradiction"
                reason = Reason.INVALID_SPEC if contradiction else classify.classify_track(about.error)
                raise FailedError(reason, about.error)
            if not about.tasks:
                raise FailedError(Reason.NO_TASKS, "the task filter leaves nothing of the challenge")
            self._corpora.link_all(about.corpora, found.path, cache, spec.test_mode)
        except TrackError as error:
            raise FailedError(error.reason, error.message) from error
        except StoppedError as error:
            raise FailedError(Reason.RACE_ABORTED, STOPPED) from error
        used = tuple(self._corpora.used)
        self.parts.track = replace(record, digest=digest_with(found.digest, used, found.known), corpora=used)
        return Prepared(found, about)

    def _read_probes(self, probes: ProbeReader, ended: Ended) -> tuple[ProbeRecord, ...]:
        """Return what the race made of the probes, before anything else is asked of the system under test."""
        return probes.read_after() if ended.exit_code == 0 and not self.stop.is_set() else ()

    def _without_unneeded(self, track: TrackRecord, numbers: Numbers) -> tuple[TrackRecord, Numbers]:
        """Return both without what a search had no need of: it could have taken more steps than it did."""
        planned = self.spec.sweep
        if planned is None or planned.search is None:
            return track, numbers
        ran = read_search(self.files.live, planned)
        without = unneeded(planned, ran)
        warnings = tuple(text for text in numbers.warnings if not any(f"[{name}]" in text for name in without))
        measured = tuple(task for task in numbers.tasks if task.task not in without)
        return as_it_ran(track, planned, ran), replace(numbers, tasks=measured, warnings=warnings)

    def _plan_looks(self, track: Prepared, before: Before) -> None:
        flavor = before.environment.build_flavor or "default"
        request = make_request(self.spec, track.ready, self.files.data_cache, flavor)
        try:
            plan_looks(self.spec, self.files, track.description, request, self.stop)
        except StoppedError as error:
            raise FailedError(Reason.RACE_ABORTED, STOPPED) from error

    def _preparing(self, words: str, percent: int | None) -> None:
        if time.monotonic() > self._limit:
            raise FailedError(Reason.RACE_TIMEOUT, f"the race was not over at its deadline, while {words}")
        self._tell(Progress(at=timestamp(time.time()), stage="preparing", task=words, percent=percent))

    def _tell(self, progress: Progress) -> None:
        self.tell(replace(progress, meets_at=self._in_turn.address))

    def _race(self, connection: Connected, host: Host, track: Prepared) -> Ended:
        """Run Rally and return how it ended."""
        spec, about = self.spec, track.description
        offline = spec.offline or not about.own_code
        argv = rally_argv(spec, self.files, track.ready.path, host.rally.version, offline=offline)
        LOG.info("starting Rally: %s", argv)
        now = time.monotonic()
        watchdog = Watchdog(now, spec.stall_seconds, max(1.0, self._limit - now))
        running = process.start(argv, rally_env(self.files, os.environ), self.files.work, self.files.output)
        in_turn = self._in_turn
        watched = Watched(frozenset(about.sleeps), spec.target is not None, lambda: in_turn.left)
        supervisor = Supervisor(running, self.files.live, connection.client, watchdog, self._tell, self.stop, watched)
        ended = supervisor.watch(host.may_use)
        LOG.info("Rally ended: exit code %s", ended.exit_code)
        if ended.exit_code == 0:
            in_turn.meet("raced")  # what is asked of Elasticsearch now would disturb those that still race
        else:
            in_turn.close(finished=False)  # nobody waits at a task for requests that will not come
        return ended

    def _collect(
        self, client: ElasticsearchClient, before: Before, ended: Ended, track: Prepared, watch: ClusterWatch
    ) -> None:
        """Note what Rally left behind, and what Elasticsearch is now unless the runner was told to stop."""
        known, about = self.record, track.description
        versions = Versions(known.environment.version, known.rally.version)

        def scrub(text: str) -> str:
            return bounds.scrub(text, self.secrets)

        self.parts.requests = read_looks(self.files)
        self.telemetry = keep_telemetry(self.files.live, self.spec.telemetry, self.secrets)
        numbers = self.parts.numbers = read_numbers(self.spec, self.files, ended, about, versions, scrub)
        self.parts.track, self.parts.numbers = self._without_unneeded(known.track, numbers)
        if self.stop.is_set():
            return
        limit = evidence_limit(time.monotonic(), self._limit)
        site = self.parts.site
        mine = site.mine if site else owned_by(known.track)
        watch.await_merges(mine, limit, self.stop)
        self.parts.after = look_after(client, self.spec, before, site, known.track, limit, self.stop)
        requests = self.parts.requests
        self.parts.course = watch.end(mine, self.parts.numbers.tasks, requests.caches if requests else ())
        self.parts.requests = replace(requests, caches=()) if requests else None


def look_at_host(spec: RaceSpec) -> Host:
    """Return where the load will come from: this container."""
    about, cores, may_use = look_at_machine(spec.cores)
    rally = Rally(version=rally_version(), poll_intervals=dict(POLL_INTERVALS))
    return Host(about, cores, may_use, rally)
