"""One race over HTTP from its specification to its record: hosts, requests, then k6 for one load after the other.

What each step finds out is one of the race's parts, of which a record can be made at any moment.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairlap_race.contract.http_record import RequestHits
from fairlap_race.contract.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.machine_watch import Canary
from fairlap_race.contract.race_spec import Mode, RaceSpec, RequestsSource
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import KEY_LOG, Outcome, Progress, Record, timestamp
from fairlap_race.contract.resources import KEY_RESOURCES, MachineTable
from fairlap_race.contract.track_record import TrackRecord, TrackTask
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.http.health import PATIENCE, UnhealthyError, look_at_hosts, open_access
from fairlap_race.http.k6 import K6Files, k6_version
from fairlap_race.http.load_answers import TASK_TYPE, LoadAnswers
from fairlap_race.http.requests import ReadyRequests, make_ready
from fairlap_race.rally.schedule import judge_lateness, with_lateness
from fairlap_race.runner import bounds
from fairlap_race.runner.canary import PIECES, do_fixed_work
from fairlap_race.runner.connect import connect
from fairlap_race.runner.cost import Cost
from fairlap_race.runner.host import look_at_machine
from fairlap_race.runner.http_parts import HttpParts, assemble_http
from fairlap_race.runner.http_search import LoadSearch
from fairlap_race.runner.k6_run import Ground, K6Run
from fairlap_race.runner.keep_samples import SampleKeeper, refuse_unwritable
from fairlap_race.runner.load_series import judge_tasks, with_loads
from fairlap_race.runner.machine_watcher import MachineWatcher
from fairlap_race.runner.parts import STOPPED, FailedError
from fairlap_race.runner.probes import ProbeReader, probe_reader
from fairlap_race.runner.request_hits import Ask, asker, check_hits, read_hits

LOG = logging.getLogger(__name__)
SMOKE_SECONDS = 2.0
ALONE = "over HTTP the load generator's machine alone is watched: nothing is known of those behind the hosts"
_LISTED = 10


@dataclass
class HttpRace:
    """A race in the making. Its parts are kept as they come, so that a record can be made at any moment."""

    spec: RaceSpec
    work: Path
    tell: Callable[[Progress], None]
    stop: threading.Event
    parts: HttpParts = field(default_factory=HttpParts)
    _probes: ProbeReader | None = None
    _ask: Ask | None = None
    _secrets: tuple[str, ...] = ()
    _canaries: tuple[Canary | None, Canary | None] = (None, None)

    def __post_init__(self) -> None:
        """Take note of when it began."""
        if self.spec.http is None:
            raise ValueError("the specification is not that of a race over HTTP")
        self._http: HttpSpec = self.spec.http
        self._base = Record(mode=self.spec.mode, race_id=self.spec.race_id, started_at=timestamp(time.time()))
        self._files = K6Files(self.work)
        self._cost = Cost(by_process=False)
        limit = time.monotonic() + self.spec.timeout_seconds
        self._ground = Ground(self.spec, self._http, self._files, self._cost, self.tell, self.stop, limit)
        self._may_use = 0.0
        self._watcher = MachineWatcher()
        self._search = LoadSearch(self.spec.sweep if self.spec.mode is Mode.RACE else None)

    def run(self) -> Record:
        """Run the step and return its record, whatever happened."""
        self.tell(Progress(at=timestamp(time.time()), stage="preparing"))
        outcome, sent = Outcome(), False
        try:
            requests = self._prepare()
            if self.spec.mode is not Mode.CHECK:
                sent = True
                self._watched_race(requests)
        except FailedError as failure:
            outcome = failure.outcome
        except Exception as error:
            # What was measured before a bug is kept, too.
            LOG.exception("the runner failed")
            outcome = Outcome(Reason.RALLY_FAILED, bounds.bug_words(error))
        outcome = replace(outcome, message=bounds.scrub(outcome.message, self._secrets))
        record = replace(assemble_http(self._base, self.parts), outcome=outcome, finished_at=timestamp(time.time()))
        return bounds.bounded(self._with_loads(record) if sent else record)

    def artifacts(self) -> dict[str, str]:
        """Return the compressed files for the record's ConfigMap, in base64, by key."""
        packed = bounds.packed_tail(self._files.output, self._secrets)
        return {} if packed is None else {KEY_LOG: packed}

    def texts(self) -> dict[str, str]:
        """Return what else goes into the record's ConfigMap as text, by key: what happened to this machine."""
        if self.spec.mode is not Mode.RACE or not self.parts.tasks:
            return {}
        watch = replace(self._watcher.watched(self.parts.tasks), before=self._canaries[0], after=self._canaries[1])
        return {KEY_RESOURCES: MachineTable(race_id=self.spec.race_id, watch=watch, remarks=(ALONE,)).to_json()}

    def _watched_race(self, requests: ReadyRequests) -> None:
        """Send the load; of a race that is measured, watch this machine meanwhile, and see how fast it is around it."""
        if self.spec.mode is not Mode.RACE:
            self._race(requests)
            return
        self._canaries = self._canary(), None
        self._watcher.start()
        try:
            self._race(requests)
        finally:
            self._watcher.stop()
        self._canaries = self._canaries[0], self._canary()

    def _canary(self) -> Canary | None:
        return do_fixed_work(self.work, self._may_use, self.stop, self.spec.canary_seconds / PIECES)

    def _prepare(self) -> ReadyRequests:
        spec, http, parts = self.spec, self._http, self.parts
        self.work.mkdir(parents=True, exist_ok=True)
        about, _, self._may_use = look_at_machine()
        parts.host = replace(about, cores=None)
        _refuse_missing(spec, http)
        refuse_unwritable(spec)
        connected = connect(spec)
        self._secrets = connected.secrets
        parts.k6_version = k6_version()
        if parts.k6_version is None:
            raise FailedError(Reason.LOAD_GENERATOR_DIED, "there is no k6 in the race image; use one that has it")
        try:
            requests = parts.requests = make_ready(http, _source(spec), self.work, self.stop)
            parts.schedule = self._schedule(requests)
            access = open_access(spec, http.headers)
            patience = min(PATIENCE, spec.timeout_seconds)
            parts.hosts = look_at_hosts(spec, http.health, access, self.stop, patience)
            self._probes = probe_reader(spec, connected.client, self.stop)
            self._probes.read_before()
            self._ask = asker(connected.client, http.headers)
            if http.hits and spec.mode is Mode.CHECK:
                check_hits(http.hits, requests.first, spec.hosts, self._ask)
        except (TrackError, UnhealthyError) as error:
            raise FailedError(error.reason, str(error)) from error
        except StoppedError as error:
            raise FailedError(Reason.RACE_ABORTED, STOPPED) from error
        return requests

    def _schedule(self, requests: ReadyRequests) -> TrackRecord:
        """Return what is to run, as a track's schedule is told."""
        loads = planned(self._http, self.spec.mode)
        return TrackRecord(
            name=_source(self.spec).file,
            digest=requests.digest,
            sweep=self.spec.sweep and self.spec.sweep.with_digest(),
            tasks=tuple(TrackTask(it.name, it.name, TASK_TYPE, it.clients, reported=True) for it in loads),
            allowed_errors=dict(self.spec.allowed_errors),
            repository=requests.repository,
            revision=requests.commit,
        )

    def _race(self, requests: ReadyRequests) -> None:
        keeper, loads, parts = SampleKeeper(self.spec), planned(self._http, self.spec.mode), self.parts
        if self._probes:
            self._probes.read_before()  # what was counted since the first look is nobody's load
        try:
            for number, load in enumerate(self._as_rated(loads), start=1):
                if number > 1 and self.stop.wait(self._http.interval_seconds):
                    raise FailedError(Reason.RACE_ABORTED, f"the runner was told to stop before {load.name}")
                answers = LoadAnswers(load, self.spec.hosts, keeper.add if keeper.asked else None)
                run = K6Run(self._ground, answers, number, len(loads))
                self._watcher.look()
                try:
                    parts.exit_code = run.to_end(requests.file, requests.lines)
                finally:
                    self._watcher.look()
                    if answers.sent:
                        parts.tasks.append(answers.task())
                        self._search.judge(load, parts.tasks[-1])
                        parts.first_at = parts.first_at or answers.first_at or time.time()
            if self._probes:
                parts.probes = self._probes.read_after()
            parts.hits = self._read_hits(requests)
        finally:
            parts.sample_file = keeper.finish()
            parts.schedule = parts.schedule and self._search.as_it_ran(parts.schedule)

    def _read_hits(self, requests: ReadyRequests) -> RequestHits | None:
        """Return what each request finds; behind the probes, which count requests. None where nobody asks for it."""
        if not (self._http.hits and self._ask) or self.spec.mode is not Mode.RACE:
            return None
        return read_hits(self._http.hits, requests.first, self.spec.hosts, self._ask, self.stop)

    def _as_rated(self, loads: Sequence[HttpLoad]) -> Iterator[HttpLoad]:
        """Yield each load at its rate, which in a search follows from those before it, until that is over."""
        for load in loads:
            if (rated := self._search.with_rate(load)) is None:
                return
            yield rated

    def _with_loads(self, record: Record) -> Record:
        """Return the record with what the requests cost the load generator."""
        tasks = with_loads(record.tasks, self._cost.series, self._may_use)
        load = judge_tasks(self._cost.result(self._may_use), tasks)
        if record.outcome.reason is None:  # only a race that ended by itself tells whether its load generator kept up
            load, tasks = judge_lateness(load, tasks), with_lateness(tasks)
        return replace(record, tasks=tasks, load_generator=load, rally_exited_at=timestamp(time.time()))


def _refuse_missing(spec: RaceSpec, http: HttpSpec) -> None:
    """Raise FailedError when a task that must be there is no load."""
    names = [load.name for load in http.loads]
    known = {*names, *([spec.sweep.task] if spec.sweep else [])}  # the task whose steps the loads are is there, too
    if missing := [name for name in dict.fromkeys(spec.require_tasks) if name not in known]:
        shown, listed = (", ".join([*of[:_LISTED], *(["…"] if len(of) > _LISTED else [])]) for of in (missing, names))
        text = f"requireTasks: the race over HTTP has no task {shown}. There are: {listed}"
        raise FailedError(Reason.UNKNOWN_TASK, text)


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
