"""One race from its specification to its record."""

from __future__ import annotations

import base64
import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlap_race.contract.race_spec import RaceSpec, SpecError
from fairlap_race.contract.rally_releases import is_too_old
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import (
    KEY_LOG,
    KEY_RACE,
    Fresh,
    LoadGeneratorHost,
    Outcome,
    Progress,
    Rally,
    Record,
    TargetReport,
    Touch,
    timestamp,
)
from fairlap_race.contract.resources import KEY_RESOURCES, MachineTable
from fairlap_race.contract.secrets import read_secret
from fairlap_race.corpora.corpora import CorporaSource, digest_with
from fairlap_race.elasticsearch import evidence
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.linux import cgroup, process
from fairlap_race.rally import classify, race_json, samples, schedule
from fairlap_race.rally.config import Files, rally_argv, rally_env, user_name, write_files
from fairlap_race.rally.launch import POLL_INTERVALS
from fairlap_race.rally.live_files import SAMPLES
from fairlap_race.rally.releases import rally_version
from fairlap_race.runner import bounds
from fairlap_race.runner import guest as target
from fairlap_race.runner.sampler import MachineSampler, summed_up
from fairlap_race.runner.supervise import Ended, Supervisor
from fairlap_race.runner.watchdog import Watchdog
from fairlap_race.track import settings_passed
from fairlap_race.track.ask import describe_track, make_request, make_track_record
from fairlap_race.track.child import read_json, read_text
from fairlap_race.track.load import TrackDescription
from fairlap_race.track.ready import get_ready

LOG = logging.getLogger(__name__)
CONNECT_PATIENCE = 60.0
"""Seconds: Elasticsearch's service can answer a little later than ECK says that it is ready."""
EVIDENCE_PATIENCE = 180.0
"""Seconds: a node that was killed is back by then on a busy machine, too, and only then can its restart be told."""
LATE_EVIDENCE = 60.0
"""Seconds after the race's own deadline: the operator expects the record two minutes after it."""


class FailedError(Exception):
    """The race cannot go on; carries the outcome."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.outcome = Outcome(reason, message)


@dataclass
class Race:
    """A race in the making: what is known so far, so that a record can be made at any moment."""

    spec: RaceSpec
    files: Files
    tell: Callable[[Progress], None]
    stop: threading.Event
    record: Record = field(default_factory=Record)
    secrets: tuple[str, ...] = ()
    resources: MachineTable = field(default_factory=MachineTable)

    def __post_init__(self) -> None:
        """Open what the race holds until its end."""
        self._limit = time.monotonic() + self.spec.timeout_seconds
        owner = os.environ.get("POD_NAME", "")
        private = self.files.work / "corpora"
        self._corpora = CorporaSource(self.spec.corpora, private, self.spec.offline, self.stop, self._preparing, owner)

    def run(self) -> Record:
        """Run the race and return its record, whatever happened: what was known before a bug is kept, too."""
        self.record = Record(mode=self.spec.mode, race_id=self.spec.race_id, started_at=timestamp(time.time()))
        self.tell(Progress(at=timestamp(time.time()), stage="preparing"))
        try:
            self._run()
        except FailedError as failure:
            self._fail(failure.outcome)
        except SpecError as error:
            self._fail(Outcome(Reason.INVALID_SPEC, str(error)))
        except Exception as error:
            LOG.exception("the runner failed")
            self._fail(Outcome(Reason.RALLY_FAILED, f"the runner failed: {type(error).__name__}: {error}"))
        finally:
            self._corpora.close()
        return bounds.bounded(replace(self.record, finished_at=timestamp(time.time())))

    def survey(self, checked: Record | None = None) -> Record:
        """Return the record of a first look at an existing cluster, after the track's check if there was one."""
        self.record = checked or Record(
            mode=self.spec.mode, race_id=self.spec.race_id, started_at=timestamp(time.time())
        )
        planned = self.record.target or TargetReport()
        try:
            self._guest(self._before_anything(), planned.touches, planned.unforeseen)
        except FailedError as failure:
            self._fail(failure.outcome)
        return bounds.bounded(replace(self.record, finished_at=timestamp(time.time())))

    def _before_anything(self) -> ElasticsearchClient:
        client = self._connect()[1]
        self._before(client)
        return client

    def artifacts(self) -> dict[str, str]:
        """Return the compressed files for the record's ConfigMap, in base64, by key."""
        found = {}
        for key, path in ((KEY_RACE, self.files.race_json(self.spec.race_id)), (KEY_LOG, self._log())):
            packed = bounds.packed_tail(path, self.secrets)
            if packed is not None:
                found[key] = packed
        return found

    def texts(self) -> dict[str, str]:
        """Return what else goes into the record's ConfigMap as text, by key."""
        return {KEY_RESOURCES: self.resources.to_json()} if self.resources.race_id else {}

    def _log(self) -> Path:
        # Before Rally has a log, what it printed is all there is.
        return self.files.log if self.files.log.exists() else self.files.output

    def _fail(self, outcome: Outcome) -> None:
        self.record = replace(
            self.record, outcome=replace(outcome, message=bounds.scrub(outcome.message, self.secrets))
        )

    def _run(self) -> None:
        limits = cgroup.read_limits()
        cores = self.spec.cores or max(1, int(limits.cpus or os.cpu_count() or 1))
        self._note_host(cores, limits)
        password, client = self._connect()
        start = self._before(client)
        track, answer = self._track(start.environment.build_flavor or "default")
        site = self._guest(client, answer.touches, answer.unforeseen)
        write_files(self.spec, self.files, answer.params, password, cores)
        sampler = MachineSampler(client, self.files.live, self.record.environment.load_generator.pod_name)
        sampler.start()
        try:
            ended = self._race(client, track, cores, limits.cpus or float(os.cpu_count() or 1), answer)
            sampler.stop()
            self._collect(client, start, ended, answer, site)
            self.resources = summed_up(sampler, self.record, ask=not self.stop.is_set())
        finally:
            sampler.stop()
            if site is not None:
                self.record = replace(self.record, target=site.leave(self.record))

    def _guest(
        self, client: ElasticsearchClient, planned: tuple[Touch, ...], unforeseen: tuple[str, ...]
    ) -> target.Site | None:
        """Return the existing cluster that the race is a guest on, or None for one of its own."""
        if self.spec.target is None:
            return None
        try:
            site = target.Site.look(client, self.spec.target, planned, unforeseen)
        except ElasticsearchError as error:
            raise FailedError(connection_reason(error), str(error)) from error
        self.record = replace(self.record, target=site.report, fresh=Fresh(user_indices=site.occupied))
        if site.objection:
            raise FailedError(Reason.CLUSTER_NOT_FRESH, site.objection)
        return site

    def _note_host(self, cores: int, limits: cgroup.Limits) -> None:
        host = LoadGeneratorHost(
            pod_name=os.environ.get("POD_NAME"),
            node_name=os.environ.get("NODE_NAME"),
            cores=cores,
            cpu_limit=limits.cpus,
            memory_limit_bytes=limits.memory_bytes,
            kernel=platform.release(),
            python_version=platform.python_version(),
        )
        rally = Rally(version=rally_version(), poll_intervals=dict(POLL_INTERVALS))
        self.record = replace(
            self.record, environment=replace(self.record.environment, load_generator=host), rally=rally
        )

    def _connect(self) -> tuple[str | None, ElasticsearchClient]:
        spec = self.spec
        if missing := target.missing_secret(spec):
            raise FailedError(Reason.SECRET_MISSING, missing)
        try:
            password = None if spec.password_file is None else read_secret(spec.password_file)
            user = user_name(spec)
        except OSError as error:
            raise FailedError(Reason.AUTHENTICATION_FAILED, f"the password file cannot be read: {error}") from error
        if password:
            basic = base64.b64encode(f"{user}:{password}".encode()).decode()
            self.secrets = (password, json.dumps(password)[1:-1], basic)
        try:
            return password, ElasticsearchClient(spec.hosts, user, spec.password_file, spec.ca_file, spec.tls)
        except OSError as error:
            raise FailedError(Reason.TLS_UNTRUSTED, f"the CA file {spec.ca_file} cannot be used: {error}") from error

    def _before(self, client: ElasticsearchClient) -> evidence.Before:
        limit = time.monotonic() + min(CONNECT_PATIENCE, self.spec.timeout_seconds)
        while True:
            try:
                start = evidence.before(client)
                break
            except ElasticsearchError as error:
                reason = connection_reason(error)
                if reason is not Reason.CLUSTER_UNREACHABLE or time.monotonic() > limit:
                    raise FailedError(reason, str(error)) from error
            if self.stop.wait(1.0):
                raise FailedError(Reason.RACE_ABORTED, "the runner was told to stop before the race began")
        environment = replace(start.environment, load_generator=self.record.environment.load_generator)
        self.record = replace(self.record, environment=environment, fresh=start.fresh)
        nodes = len(environment.nodes)
        if self.spec.target and (
            objection := target.too_many_hosts(self.spec.hosts, nodes)
            or target.too_many_replicas(self.spec.index.replicas, nodes)
        ):
            raise FailedError(Reason.INVALID_SPEC, objection)
        return start

    def _track(self, flavor: str) -> tuple[Path, TrackDescription]:
        spec = self.spec
        with self._told():
            found = get_ready(spec, self.files.work, self._corpora, self._preparing, self.stop)
            track = found.path
            answer = describe_track(make_request(spec, track, self.files.data_cache, flavor), self.files, self.stop)
        self.record = replace(
            self.record,
            track=make_track_record(answer, found, spec),
        )
        if answer.error is not None:
            contradiction = answer.error_type == "Contradiction"
            reason = Reason.INVALID_SPEC if contradiction else classify.classify_track(answer.error)
            raise FailedError(reason, answer.error)
        if not answer.tasks:
            raise FailedError(Reason.NO_TASKS, "the task filter leaves nothing of the challenge")
        with self._told():
            self._corpora.link_all(answer.corpora, track, self.files.data_cache, spec.test_mode)
        used = tuple(self._corpora.used)
        whole = digest_with(found.digest, used, found.known)
        self.record = replace(self.record, track=replace(self.record.track, digest=whole, corpora=used))
        return track, answer

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Make what keeps the track from being ready the end of the race."""
        try:
            yield
        except TrackError as error:
            raise FailedError(error.reason, error.message) from error
        except StoppedError as error:
            raise FailedError(Reason.RACE_ABORTED, "the runner was told to stop before the race began") from error

    def _preparing(self, words: str, percent: int | None) -> None:
        if time.monotonic() > self._limit:
            raise FailedError(Reason.RACE_TIMEOUT, f"the race was not over at its deadline, while {words}")
        self.tell(Progress(at=timestamp(time.time()), stage="preparing", task=words, percent=percent))

    def _race(
        self, client: ElasticsearchClient, track: Path, cores: int, may_use: float, answer: TrackDescription
    ) -> Ended:
        offline = self.spec.offline or not answer.own_code
        argv = rally_argv(self.spec, self.files, track, rally_version(), offline=offline)
        LOG.info("starting Rally: %s", argv)
        env = rally_env(self.files, os.environ)
        now = time.monotonic()
        watchdog = Watchdog(now, self.spec.stall_seconds, max(1.0, self._limit - now))
        running = process.start(argv, env, self.files.work, self.files.output)
        sleeps, guest = frozenset(answer.sleeps), self.spec.target is not None
        supervisor = Supervisor(running, self.files.live, client, watchdog, self.tell, self.stop, sleeps, guest)
        ended = supervisor.watch(min(may_use, os.cpu_count() or 1))
        LOG.info("Rally ended: exit code %s", ended.exit_code)
        self.record = replace(
            self.record,
            rally_exited_at=timestamp(ended.exited_at),
            rally=replace(self.record.rally, exit_code=ended.exit_code),
            load_generator=ended.load_generator,
        )
        return ended

    def _collect(
        self,
        client: ElasticsearchClient,
        start: evidence.Before,
        ended: Ended,
        answer: TrackDescription,
        site: target.Site | None,
    ) -> None:
        output = read_text(self.files.output)
        race = read_json(self.files.race_json(self.spec.race_id))
        try:
            with (self.files.live / SAMPLES).open(encoding="utf-8") as lines:
                tallies = samples.tally(lines)
        except FileNotFoundError:
            tallies = []
        first = min((it.first_wallclock for it in tallies), default=None)
        found = race_json.tasks(race, tallies, answer.tasks)
        # Only a race that ended by itself tells whether its load generator kept up.
        load = schedule.judge_lateness(ended.load_generator, found) if ended.exit_code == 0 else ended.load_generator
        self.record = replace(
            self.record,
            first_request_at=None if first is None else timestamp(first),
            tasks=tuple(
                replace(t, first_error=t.first_error and bounds.scrub(t.first_error, self.secrets)) for t in found
            ),
            samples_dropped=classify.dropped_samples(read_text(self.files.log)),
            load_generator=load,
            rally=replace(
                self.record.rally, warnings=(*filter(None, [answer.left_to_rally]), *classify.warnings(output))
            ),
        )
        self._fail(self._outcome(ended, output, race))
        if self.stop.is_set():
            return
        end = self._after(client, start, site.mine if site else evidence.is_user_index)
        if end is None:
            return
        self.record = replace(
            self.record,
            indices=end.indices,
            shards=end.shards,
            pipelines=site.of_the_race(end.pipelines, answer.pipelines) if site else end.pipelines,
            nodes_restarted=end.nodes_restarted,
            totals=site.counted(end.totals) if site else end.totals,
        )

    def _after(
        self, client: ElasticsearchClient, start: evidence.Before, mine: Callable[[str], bool]
    ) -> evidence.After | None:
        """Return the evidence, or None when Elasticsearch does not answer even after the time a restart takes."""
        limit = evidence_limit(time.monotonic(), self._limit)
        while True:
            try:
                return evidence.after(client, start, tuple(settings_passed.asked(self.spec.index)), mine)
            except ElasticsearchError as error:
                LOG.warning("Elasticsearch could not be asked after the race: %s", error)
                if time.monotonic() > limit or self.stop.wait(2.0):
                    return None

    def _outcome(self, ended: Ended, output: str, race: Mapping[str, Any] | None) -> Outcome:
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
        version = self.record.environment.version
        if reason is Reason.UNSUPPORTED_PRODUCT and is_too_old(version, self.record.rally.version):
            # Rally takes an Elasticsearch older than it knows for something else, and says so.
            rally = self.record.rally.version
            return Outcome(
                Reason.CLIENT_TOO_NEW, f"Elasticsearch {version} is too old for Rally {rally}; Rally said: {words}"
            )
        return Outcome(reason, words)


def evidence_limit(now: float, deadline: float) -> float:
    """Return until when Elasticsearch is asked after a race that ended `now` (seconds, both of one clock)."""
    return min(now + EVIDENCE_PATIENCE, deadline + LATE_EVIDENCE)


def connection_reason(error: ElasticsearchError) -> Reason:
    """Return the reason for an Elasticsearch that does not answer as it should."""
    if error.status in (401, 403):
        return Reason.AUTHENTICATION_FAILED
    if "CERTIFICATE_VERIFY_FAILED" in str(error) or "SSLError" in str(error):
        return Reason.TLS_UNTRUSTED
    return Reason.CLUSTER_UNREACHABLE
