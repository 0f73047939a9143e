"""One race over HTTP from its specification to its record: hosts, requests, then k6 for one load after the other.

Each step returns what those after it take. What the record says of it is handed to the race's frame as it comes, in
case the next thing cannot be had.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import RequestHits
from fairlap_race.contract.recorded.record import KEY_LOG, Progress, Record, Task, timestamp
from fairlap_race.contract.recorded.track_record import TrackRecord, TrackTask
from fairlap_race.contract.some_of import some_of
from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import REQUIRE_TASKS, Mode, RaceSpec, RequestsSource
from fairlap_race.contract.watched_machines.resources import MachineTable
from fairlap_race.http.health import PATIENCE, look_at_hosts, open_access
from fairlap_race.http.k6 import K6Files, k6_version
from fairlap_race.http.load_answers import TASK_TYPE, LoadAnswers
from fairlap_race.http.requests import ReadyRequests, make_ready
from fairlap_race.rally.schedule import judge_lateness, with_lateness
from fairlap_race.runner.connect import connect
from fairlap_race.runner.keep_samples import SampleKeeper, refuse_unwritable
from fairlap_race.runner.over_http.http_parts import HttpParts, assemble_http
from fairlap_race.runner.over_http.http_search import LoadSearch
from fairlap_race.runner.over_http.k6_run import Ground, K6Run
from fairlap_race.runner.over_http.request_hits import Ask, asker, check_hits, read_hits
from fairlap_race.runner.parts import Connected, FailedError, ending_race
from fairlap_race.runner.probes import ProbeReader, probe_reader
from fairlap_race.runner.race_frame import RaceFrame, texts_of
from fairlap_race.runner.watching.cost import Cost
from fairlap_race.runner.watching.host import look_at_machine
from fairlap_race.runner.watching.load_series import judge_tasks, with_loads
from fairlap_race.runner.watching.machine_watcher import MachineWatcher
from fairlap_race.runner.watching.race_clock import RaceClock

SMOKE_SECONDS = 2.0
ALONE = "over HTTP the load generator's machine alone is watched: nothing is known of those behind the hosts"
_LISTED = 10


@dataclass(frozen=True)
class HttpConnected:
    """The way to the hosts, and what k6 may use for it."""

    connection: Connected
    may_use: float
    """CPUs of this container, or of the machine when it has no limit"""


@dataclass(frozen=True)
class HttpPrepared:
    """What is sent, and who asks the hosts for what they tell of it."""

    requests: ReadyRequests
    schedule: TrackRecord
    """the loads, as a track's schedule is told"""
    probes: ProbeReader
    ask: Ask


class HttpRace:
    """A race in the making."""

    def __init__(self, spec: RaceSpec, work: Path, publish: Callable[[Progress], None], stop: threading.Event) -> None:
        """Take note of when it began."""
        if spec.http is None:
            raise ValueError("the specification is not that of a race over HTTP")
        self.frame = RaceFrame(spec, stop, HttpParts(), assemble_http)
        limit = time.monotonic() + spec.timeout_seconds
        clock = RaceClock()
        cost = Cost(by_process=False, clock=clock)
        self._ground = Ground(spec, spec.http, K6Files(work), cost, publish, stop, limit, clock)
        self._watcher = MachineWatcher(clock=clock)

    def run(self) -> Record:
        """Run the step and return its record, whatever happened."""
        it, sending = self._ground, None
        it.publish(Progress(at=timestamp(time.time()), stage="preparing"))
        with self.frame.keeping_failure():
            connected = connect_http(it, self.frame)
            prepared = prepare_http(it, self.frame, connected)
            if it.spec.mode is not Mode.CHECK:
                sending = connected
                self._send_watched(connected, prepared)
        record = self.frame.record
        return self.frame.finished(record if sending is None else with_cost(record, it.cost, sending.may_use))

    def artifacts(self) -> dict[str, str]:
        """Return the compressed files for the record's ConfigMap, in base64, by key."""
        return self.frame.artifacts({KEY_LOG: self._ground.files.output})

    def texts(self) -> dict[str, str]:
        """Return what else goes into the record's ConfigMap as text, by key: what happened to this machine."""
        spec, parts = self._ground.spec, self.frame.parts
        if spec.mode is not Mode.RACE or not parts.tasks:
            return {}
        watch = replace(self._watcher.watched(parts.tasks), before=parts.canary_before, after=parts.canary_after)
        return texts_of(MachineTable(race_id=spec.race_id, watch=watch, remarks=(ALONE,)))

    def _send_watched(self, connected: HttpConnected, prepared: HttpPrepared) -> None:
        """Send the load; of a race that is measured, watch this machine meanwhile, and see how fast it is around it."""
        it, frame = self._ground, self.frame
        it.clock.begin()
        if it.spec.mode is not Mode.RACE:
            send_loads(it, frame, prepared, self._watcher)
            return
        frame.keep(HttpParts(canary_before=frame.canary(it.files.work, connected.may_use)))
        self._watcher.start()
        try:
            send_loads(it, frame, prepared, self._watcher)
        finally:
            self._watcher.stop()
        frame.keep(HttpParts(canary_after=frame.canary(it.files.work, connected.may_use)))


def connect_http(it: Ground, frame: RaceFrame[HttpParts]) -> HttpConnected:
    """Return the way to the hosts, which are not asked yet. Raises FailedError where no load can be sent from here."""
    it.files.work.mkdir(parents=True, exist_ok=True)
    about, _, may_use = look_at_machine()
    frame.keep(HttpParts(host=replace(about, cores=None)))
    _refuse_missing(it.spec, it.http)
    refuse_unwritable(it.spec)
    connection = connect(it.spec)
    frame.secrets = connection.secrets
    version = k6_version()
    if version is None:
        raise FailedError(Reason.LOAD_GENERATOR_DIED, "there is no k6 in the race image; use one that has it")
    frame.keep(HttpParts(k6_version=version))
    return HttpConnected(connection, may_use)


def prepare_http(it: Ground, frame: RaceFrame[HttpParts], connected: HttpConnected) -> HttpPrepared:
    """Return the requests, when the hosts are healthy and tell what they are asked for. Raises FailedError."""
    spec, http, client = it.spec, it.http, connected.connection.client
    with ending_race():
        requests = make_ready(http, _source(spec), it.files.work, it.stop)
        frame.keep(HttpParts(requests=requests))
        schedule = make_schedule(spec, http, requests)
        frame.keep(HttpParts(schedule=schedule))
        access, patience = open_access(spec, http.headers), min(PATIENCE, spec.timeout_seconds)
        frame.keep(HttpParts(hosts=look_at_hosts(spec, http.health, access, it.stop, patience)))
        probes = probe_reader(spec, client, it.stop)
        probes.read_before()
        ask = asker(client, http.headers, http.timeout_seconds)
        if http.hits and spec.mode is Mode.CHECK:
            check_hits(http.hits, requests.first, spec.hosts, ask, it.stop, it.limit)
    return HttpPrepared(requests, schedule, probes, ask)


def make_schedule(spec: RaceSpec, http: HttpSpec, requests: ReadyRequests) -> TrackRecord:
    """Return what is to run, as a track's schedule is told."""
    return TrackRecord(
        name=_source(spec).file,
        digest=requests.digest,
        sweep=spec.sweep and spec.sweep.with_digest(),
        tasks=tuple(
            TrackTask(load.name, load.name, TASK_TYPE, load.clients, reported=True) for load in planned(http, spec.mode)
        ),
        allowed_errors=dict(spec.allowed_errors),
        repository=requests.repository,
        revision=requests.commit,
    )


def send_loads(it: Ground, frame: RaceFrame[HttpParts], prepared: HttpPrepared, watcher: MachineWatcher) -> None:
    """Send one load after the other, and keep what each measured, and what the hosts tell after all of them.

    Raises FailedError where one could not be sent to its end.
    """
    keeper, loads = SampleKeeper(it.spec), planned(it.http, it.spec.mode)
    search = LoadSearch(it.spec.sweep if it.spec.mode is Mode.RACE else None)
    prepared.probes.read_before()  # what was counted since the first look is nobody's load
    try:
        for number, load in enumerate(_as_rated(loads, search), start=1):
            if number > 1 and it.stop.wait(it.http.interval_seconds):
                raise FailedError(Reason.RACE_ABORTED, f"the runner was told to stop before {load.name}")
            answers = LoadAnswers(
                load, it.spec.hosts, keeper.add if keeper.asked else None, it.clock.set_by, it.clock.now
            )
            run = K6Run(it, answers, number, len(loads))
            watcher.look()
            try:
                frame.keep(HttpParts(exit_code=run.to_end(prepared.requests.file, prepared.requests.lines)))
            finally:
                watcher.look()
                if (beyond := answers.longest_wait) is not None:
                    keeper.forget_waits(load.name, beyond)
                if answers.sent:
                    search.judge(load, _kept_task(frame, answers))
        frame.keep(HttpParts(probes=prepared.probes.read_after()))
        frame.keep(HttpParts(hits=_hits_of(it, prepared)))
    finally:
        frame.keep(HttpParts(sample_file=keeper.finish()))
        frame.keep(HttpParts(schedule=search.as_it_ran(prepared.schedule)))


def _kept_task(frame: RaceFrame[HttpParts], answers: LoadAnswers) -> Task:
    """Return what a load measured, which is kept."""
    task, known = answers.task(), frame.parts
    first_at = known.first_at or answers.first_at or time.time()
    frame.keep(HttpParts(tasks=(*known.tasks, task), first_at=first_at))
    return task


def _hits_of(it: Ground, prepared: HttpPrepared) -> RequestHits | None:
    """Return what each request finds; behind the probes, which count requests. None where nobody asks for it."""
    if not it.http.hits or it.spec.mode is not Mode.RACE:
        return None
    return read_hits(it.http.hits, prepared.requests.every_line(), it.spec.hosts, prepared.ask, it.stop, it.limit)


def _as_rated(loads: Sequence[HttpLoad], search: LoadSearch) -> Iterator[HttpLoad]:
    """Yield each load at its rate, which in a search follows from those before it, until that is over."""
    for load in loads:
        if (rated := search.with_rate(load)) is None:
            return
        yield rated


def with_cost(record: Record, cost: Cost, may_use: float) -> Record:
    """Return the record with what the requests cost the load generator, which `may_use` so many CPUs."""
    tasks = with_loads(record.tasks, cost.series, may_use)
    load = judge_tasks(cost.result(may_use), tasks)
    if record.outcome.reason is None:  # only a race that ended by itself tells whether its load generator kept up
        load, tasks = judge_lateness(load, tasks), with_lateness(tasks)
    return replace(record, tasks=tasks, load_generator=load, rally_exited_at=timestamp(time.time()))


def _refuse_missing(spec: RaceSpec, http: HttpSpec) -> None:
    """Raise FailedError when a task that must be there is no load."""
    names = [load.name for load in http.loads]
    known = {*names, *([spec.sweep.task] if spec.sweep else [])}  # the task whose steps the loads are is there, too
    if missing := [name for name in dict.fromkeys(spec.require_tasks) if name not in known]:
        shown = some_of(missing, _LISTED)
        text = f"{REQUIRE_TASKS}: the race over HTTP has no task {shown}. There are: {some_of(names, _LISTED)}"
        raise FailedError(Reason.UNKNOWN_TASK, text, REQUIRE_TASKS)


def _source(spec: RaceSpec) -> RequestsSource:
    if spec.requests is None:
        raise FailedError(Reason.INVALID_SPEC, "requests: a race over HTTP needs them")
    return spec.requests


def planned(http: HttpSpec, mode: Mode) -> tuple[HttpLoad, ...]:
    """Return the loads of a step: of a smoke race the first for two seconds, which proves that everything works."""
    if mode is not Mode.SMOKE:
        return http.loads
    first = http.loads[0]
    return (replace(first, seconds=min(SMOKE_SECONDS, first.seconds), warmup_seconds=0.0),)
