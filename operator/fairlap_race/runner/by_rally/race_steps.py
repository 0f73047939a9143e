"""The steps of a race that Rally runs: connect, prepare, run, collect.

Each returns what those after it take. What the record says of it is handed to the race's frame as it comes,
in case the next thing cannot be had.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Progress, Rally, Touch, timestamp
from fairlap_race.contract.recorded.request_evidence import RequestEvidence
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec
from fairlap_race.corpora.corpora import CorporaSource, digest_with
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.evidence import Before, owned_by
from fairlap_race.linux import process
from fairlap_race.rally import classify
from fairlap_race.rally.config import Files, rally_argv, rally_env, write_files
from fairlap_race.rally.inside import prolonged_warmup, store_documents
from fairlap_race.rally.inside.accepted_errors import write_accepted
from fairlap_race.rally.inside.client_addresses import write_addresses
from fairlap_race.rally.inside.launch import POLL_INTERVALS
from fairlap_race.rally.inside.steps_in_the_track import write_sweep
from fairlap_race.rally.releases import rally_version
from fairlap_race.runner.by_rally.harvest import (
    LATE_EVIDENCE,
    Versions,
    evidence_limit,
    look_after,
    read_numbers,
    without_unneeded,
)
from fairlap_race.runner.by_rally.in_turn import RaceInTurn
from fairlap_race.runner.by_rally.request_looks import plan_looks, read_looks
from fairlap_race.runner.by_rally.store_metrics import LONGEST_COPY, refuse_unusable, store_metrics
from fairlap_race.runner.connect import connect, connection_reason, look_before, refuse_impossible
from fairlap_race.runner.guest import Site
from fairlap_race.runner.keep_samples import refuse_unwritable
from fairlap_race.runner.parts import (
    Connected,
    FailedError,
    Host,
    LoadedTrack,
    Numbers,
    Parts,
    Prepared,
    assemble,
    ending_race,
)
from fairlap_race.runner.probes import ProbeReader, probe_reader
from fairlap_race.runner.race_frame import RaceFrame
from fairlap_race.runner.supervise import Ended, Supervisor, Watched
from fairlap_race.runner.telling import bounds
from fairlap_race.runner.telling.telemetry_kept import keep_telemetry
from fairlap_race.runner.watching.cluster_watch import ClusterWatch
from fairlap_race.runner.watching.host import look_at_machine
from fairlap_race.runner.watching.race_clock import RaceClock
from fairlap_race.runner.watching.sampler import MachineSampler, summed_up
from fairlap_race.runner.watching.watchdog import Watchdog
from fairlap_race.track.ask import describe_track, make_request, make_track_record
from fairlap_race.track.load import TrackDescription
from fairlap_race.track.ready import get_ready

LOG = logging.getLogger(__name__)


class RaceGround:
    """What all steps of a race share, and what is open until its end."""

    def __init__(
        self, spec: RaceSpec, files: Files, publish: Callable[[Progress], None], stop: threading.Event
    ) -> None:
        """Begin the time that the race has."""
        self.limit = time.monotonic() + spec.timeout_seconds
        """the race's deadline on the monotonic clock"""
        self.spec, self.files, self.stop, self._publish = spec, files, stop, publish
        self.frame = RaceFrame(spec, stop, Parts(), assemble)
        owner = os.environ.get("POD_NAME", "")
        self.corpora = CorporaSource(spec.corpora, files.work / "corpora", spec.offline, stop, self.preparing, owner)
        self.in_turn = RaceInTurn(spec.turns, stop)
        self.clock = RaceClock()

    def publish(self, progress: Progress) -> None:
        """Let the operator know how far the race is."""
        self._publish(replace(progress, meets_at=self.in_turn.address))

    def preparing(self, words: str, percent: int | None) -> None:
        """Tell what is being done before the race begins. Raises FailedError when its time is over."""
        if time.monotonic() > self.limit:
            raise FailedError(Reason.RACE_TIMEOUT, f"the race was not over at its deadline, while {words}")
        self.publish(Progress(at=timestamp(time.time()), stage="preparing", task=words, percent=percent))


@dataclass(frozen=True)
class Reached:
    """The way to Elasticsearch, and what that was before the race."""

    connection: Connected
    before: Before
    probes: ProbeReader


@dataclass(frozen=True)
class Watching:
    """What looks at a race while it runs."""

    cluster: ClusterWatch
    machines: MachineSampler


def take_place(it: RaceGround) -> Host:
    """Return where the load will come from: this container. Raises FailedError where its results could not be kept."""
    about, cores, may_use = look_at_machine(it.spec.cores)
    host = Host(about, cores, may_use, Rally(version=rally_version(), poll_intervals=dict(POLL_INTERVALS)))
    it.frame.keep(Parts(host=host))
    refuse_unwritable(it.spec)
    refuse_unusable(it.spec)
    return host


def reach_elasticsearch(it: RaceGround) -> Reached:
    """Return the way to Elasticsearch, and what it is before anything is changed. Raises FailedError."""
    connection = connect(it.spec)
    it.frame.secrets = connection.secrets
    before = look_before(connection.client, it.spec, it.stop)
    it.frame.keep(Parts(before=before))
    refuse_impossible(it.spec, before)
    probes = probe_reader(it.spec, connection.client, it.stop)
    probes.read_before()  # what cannot be read is refused before documents are fetched for hours
    return Reached(connection, before, probes)


def prepare(it: RaceGround, host: Host, reached: Reached) -> Prepared:
    """Return the race with its track where Rally looks for it, and its files written. Raises FailedError, SpecError."""
    connection = reached.connection
    track = load_track(it, reached.before.environment.build_flavor or "default")
    about = track.description
    it.in_turn.await_others(lambda: it.preparing("waiting for the races that it takes turns with", None))
    canary = it.in_turn.one_by_one("canary-before", lambda: it.frame.canary(it.files.work, host.may_use))
    site = visit(it, connection.client, about.touches, about.unforeseen)
    write_files(it.spec, it.files, about.params, connection.password, host.cores, connection.api_key)
    with ending_race():
        plan = plan_looks(it.spec, it.files, about, track.request, it.stop)
    if site:
        site.look_for_searched(plan.searches, in_part=bool(plan.not_looked_at))
    return Prepared(track, canary, site)


def load_track(it: RaceGround, flavor: str) -> LoadedTrack:
    """Return the track, loaded as Rally will load it, with its corpora where Rally looks for them.

    `flavor`: the kind of build that Elasticsearch says it is. Raises FailedError.
    """
    spec, cache = it.spec, it.files.data_cache
    with ending_race():
        found = get_ready(spec, it.files.work, it.corpora, it.preparing, it.stop)
        request = make_request(spec, found, cache, flavor)
        about = describe_track(request, it.files, it.stop)
        record = make_track_record(about, found, spec)
        it.frame.keep(Parts(track=record))
        refuse_track(about)
        it.corpora.link_all(about.corpora, found.path, cache, spec.test_mode)
    used = tuple(it.corpora.used)
    record = replace(record, digest=digest_with(found.digest, used, found.known), corpora=used)
    it.frame.keep(Parts(track=record))
    return LoadedTrack(found, request, about, record)


def refuse_track(about: TrackDescription) -> None:
    """Raise FailedError for a track that cannot be loaded, or of which nothing is to be raced."""
    if about.error is not None:
        contradiction = about.error_type == "Contradiction"
        reason = Reason.INVALID_SPEC if contradiction else classify.classify_track(about.error)
        raise FailedError(reason, about.error)
    if not about.tasks:
        raise FailedError(Reason.NO_TASKS, "the task filter leaves nothing of the challenge")


def visit(
    it: RaceGround, client: ElasticsearchClient, planned: tuple[Touch, ...], unforeseen: tuple[str, ...]
) -> Site | None:
    """Return the existing cluster that the race is a guest on, or None for one of its own. Raises FailedError."""
    if it.spec.target is None:
        return None
    try:
        site = Site.look(client, it.spec.target, planned, unforeseen)
    except ElasticsearchError as error:
        raise FailedError(connection_reason(error), str(error)) from error
    it.frame.keep(Parts(site=site))
    if site.objection:
        raise FailedError(Reason.CLUSTER_NOT_FRESH, site.objection)
    return site


def begin_watching(it: RaceGround, host: Host, client: ElasticsearchClient) -> Watching:
    """Return what looks at the race from now on, when all that Rally's processes read of it is written."""
    spec, live = it.spec, it.files.live
    it.clock.begin()
    cluster = ClusterWatch(client, it.clock)
    cluster.begin()
    write_addresses(live, cluster.addresses())
    it.in_turn.write(live)
    write_accepted(live, tuple(spec.allowed_errors))
    if spec.metrics_store and spec.mode is Mode.RACE:
        store_documents.want(live)
    if spec.most_warmup_seconds is not None:
        prolonged_warmup.allow(live, spec.most_warmup_seconds)
    write_sweep(live, spec.sweep, spec.challenge)
    machines = MachineSampler(client, live, host.about.pod_name, also=cluster.look, clock=it.clock)
    machines.start()
    return Watching(cluster, machines)


def run_rally(it: RaceGround, host: Host, reached: Reached, track: LoadedTrack) -> Ended:
    """Run Rally and return how it ended. Raises FailedError when a probe cannot be read before it."""
    spec, files, about = it.spec, it.files, track.description
    reached.probes.read_before()  # what was counted since the first look is nobody's load
    offline = spec.offline or not about.own_code
    argv = rally_argv(spec, files, track.ready.path, host.rally.version, offline=offline)
    LOG.info("starting Rally: %s", argv)
    now = time.monotonic()
    watchdog = Watchdog(now, spec.stall_seconds, max(1.0, it.limit - now))
    running = process.start(argv, rally_env(files, os.environ), files.work, files.output)
    watched = Watched(frozenset(about.sleeps), spec.target is not None, lambda: it.in_turn.left, it.clock)
    client = reached.connection.client
    ended = Supervisor(running, files.live, client, watchdog, it.publish, it.stop, watched).watch(host.may_use)
    LOG.info("Rally ended: exit code %s", ended.exit_code)
    if ended.exit_code == 0:
        it.in_turn.meet("raced")  # what is asked of Elasticsearch now would disturb those that still race
    else:
        it.in_turn.close(finished=False)  # nobody waits at a task for requests that will not come
    it.frame.keep(Parts(ended=ended))
    return ended


def collect(it: RaceGround, host: Host, reached: Reached, prepared: Prepared, ended: Ended, watching: Watching) -> None:
    """Keep what Rally measured, and all else that tells what it means."""
    if ended.exit_code == 0 and not it.stop.is_set():
        # Before anything else is asked of the system under test.
        it.frame.keep(Parts(probes=reached.probes.read_after()))
    requests = read_looks(it.files)
    it.frame.keep(Parts(requests=requests))
    versions = Versions(reached.before.environment.version, host.rally.version)
    numbers = read_left_behind(it, prepared.track, ended, versions)
    if not it.stop.is_set():
        keep_evidence(it, reached, prepared, watching.cluster, numbers, requests)
    after = it.in_turn.one_by_one("canary-after", lambda: it.frame.canary(it.files.work, host.may_use))
    canaries, ask = (prepared.canary, after), not it.stop.is_set()
    it.frame.keep(Parts(resources=summed_up(watching.machines, it.frame.record, ask=ask, canaries=canaries)))
    if numbers.outcome.reason is None:
        until = min(time.monotonic() + LONGEST_COPY, it.limit + LATE_EVIDENCE)
        it.frame.keep(Parts(stored=store_metrics(it.spec, it.files.live, until, it.stop)))


def read_left_behind(it: RaceGround, track: LoadedTrack, ended: Ended, versions: Versions) -> Numbers:
    """Return what Rally measured, without what a search had no need of; its telemetry is kept, too."""
    secrets = it.frame.secrets
    it.frame.keep(Parts(telemetry=keep_telemetry(it.files.live, it.spec.telemetry, secrets)))
    numbers = read_numbers(
        it.spec, it.files, ended, track.description, versions, lambda text: bounds.scrub(text, secrets)
    )
    it.frame.keep(Parts(numbers=numbers))
    record, numbers = without_unneeded(it.spec.sweep, it.files.live, track.record, numbers)
    it.frame.keep(Parts(track=record, numbers=numbers))
    return numbers


def keep_evidence(
    it: RaceGround,
    reached: Reached,
    prepared: Prepared,
    watch: ClusterWatch,
    numbers: Numbers,
    requests: RequestEvidence | None,
) -> None:
    """Keep what Elasticsearch is after the race, and what happened to it meanwhile."""
    limit = evidence_limit(time.monotonic(), it.limit)
    site, track = prepared.site, prepared.track.record
    watch.await_merges(site.is_of_the_track if site else owned_by(track), limit, it.stop)
    after = look_after(reached.connection.client, it.spec, reached.before, site, track, limit, it.stop)
    it.frame.keep(Parts(after=after))
    is_of_the_race = site.is_of_the_race if site else owned_by(track)
    course = watch.end(is_of_the_race, numbers.tasks, requests.caches if requests else ())
    it.frame.keep(Parts(course=course, requests=requests and replace(requests, caches=())))
