"""What a race over HTTP is made of before k6 begins, and that its record always fits."""

import random
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HostAnswers, HttpAnswers, HttpHost, RequestHits
from fairlap_race.contract.recorded.kept_samples import KeptSamples
from fairlap_race.contract.recorded.record import MAX_RECORD_BYTES, Counts, LoadGeneratorHost, Record, Task, timestamp
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.request_files.probe import ProbeRecord
from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, RequestsSource
from fairlap_race.contract.specification.sweep import SweepSpec, steps_of
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.http.health import UnhealthyError
from fairlap_race.http.k6 import K6Files
from fairlap_race.http.requests import ReadyRequests
from fairlap_race.runner import race_frame
from fairlap_race.runner.over_http import http_race
from fairlap_race.runner.over_http.http_parts import HttpParts, assemble_http
from fairlap_race.runner.over_http.http_race import (
    HttpConnected,
    HttpPrepared,
    HttpRace,
    connect_http,
    planned,
    prepare_http,
    send_loads,
)
from fairlap_race.runner.over_http.k6_run import Ground
from fairlap_race.runner.parts import Connected, FailedError
from fairlap_race.runner.race_frame import RaceFrame
from fairlap_race.runner.telling import bounds
from fairlap_race.runner.watching.cost import Cost
from fairlap_race.runner.watching.machine_watcher import MachineWatcher

LOADS = (HttpLoad("c1", 30, 1, None, 5), HttpLoad("c2", 30, 2, None, 5))
HTTP = HttpSpec(LOADS)
SPEC = RaceSpec(Mode.RACE, "ns", "r", "id", http=HTTP, requests=RequestsSource(path=Path("/none")), hosts=("h:1",))


def test_a_smoke_race_is_the_first_load_for_a_moment():
    assert planned(HTTP, Mode.RACE) == LOADS
    assert planned(HTTP, Mode.SMOKE) == (HttpLoad("c1", 2.0, 1, None, 0.0),)


def test_an_image_without_k6_is_told_before_anything_is_sent(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    record = HttpRace(SPEC, tmp_path / "work", lambda _: None, threading.Event()).run()
    assert record.outcome.reason is Reason.LOAD_GENERATOR_DIED and "no k6" in record.outcome.message
    assert record.tasks == () and record.http is not None and record.http.k6_version is None


def test_a_task_that_must_be_there_is_a_load(tmp_path):
    spec = replace(SPEC, mode=Mode.CHECK, require_tasks=("c1", "search"))
    record = HttpRace(spec, tmp_path / "work", lambda _: None, threading.Event()).run()
    assert record.outcome.reason is Reason.UNKNOWN_TASK
    assert record.outcome.message == "requireTasks: the race over HTTP has no task search. There are: c1, c2"
    assert record.outcome.field == "requireTasks"


def test_the_task_whose_steps_the_loads_are_is_there_too(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    sweep = SweepSpec("requests", steps=steps_of("requests", [1, 2], [], "ascending"))
    spec = replace(SPEC, mode=Mode.CHECK, sweep=sweep, require_tasks=("requests", "c1"))
    record = HttpRace(spec, tmp_path / "work", lambda _: None, threading.Event()).run()
    assert record.outcome.reason is Reason.LOAD_GENERATOR_DIED, "k6 is looked for when all tasks are there"


@pytest.mark.parametrize(
    ("mode", "fails", "canaries", "told"),
    [(Mode.RACE, False, 2, True), (Mode.RACE, True, 1, True), (Mode.SMOKE, False, 0, False)],
)
def test_what_is_measured_has_the_machine_watched_and_a_canary_around_it(
    tmp_path, monkeypatch, mode, fails, canaries, told
):
    """As a race of Rally's does: what another machine means does not depend on who sends the requests."""
    done = []

    def work(*_):
        done.append(len(race.frame.parts.tasks))
        return Canary("now", 0.01, 0.02, 0.001)

    def send(_it, frame, *_):
        now = time.time()
        moments = {"started_at": timestamp(now - 9), "measured_from": timestamp(now - 8), "ended_at": timestamp(now)}
        frame.keep(HttpParts(tasks=(Task("c1", samples=Counts(0, 9), **moments),)))
        if fails:
            raise FailedError(Reason.LOAD_GENERATOR_DIED, "k6 ended")

    monkeypatch.setattr(race_frame, "do_fixed_work", work)
    race = HttpRace(replace(SPEC, mode=mode), tmp_path / "work", lambda _: None, threading.Event())
    monkeypatch.setattr(http_race, "connect_http", lambda *_: HttpConnected(None, 0.0))
    monkeypatch.setattr(http_race, "prepare_http", lambda *_: None)
    monkeypatch.setattr(http_race, "send_loads", send)
    race.run()
    assert done == [0, 1][:canaries], "one before anything is sent, and one after all of it"
    table = MachineTable.from_json(race.texts().get(KEY_RESOURCES))
    assert (table is not None and table.watch is not None) == told
    if told:
        assert [span.task for span in table.watch.tasks] == ["c1"] and table.race_id == "id"
        assert table.watch.before and bool(table.watch.after) == (not fails)


def test_a_race_that_sent_nothing_has_no_table(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    race = HttpRace(SPEC, tmp_path / "work", lambda _: None, threading.Event())
    race.run()
    assert race.texts() == {}


def test_only_a_race_over_http_is_one(tmp_path):
    with pytest.raises(ValueError, match="not that of a race over HTTP"):
        HttpRace(replace(SPEC, http=None), tmp_path, lambda _: None, threading.Event())


def test_the_most_loads_of_the_most_hosts_fit_into_a_record():
    lots = random.Random(1)
    hosts = [f"host-{number}.name-of-a-namespace.svc:9200" for number in range(100)]
    tasks = tuple(
        Task(
            task=f"c{number}",
            http=HttpAnswers(
                hosts=tuple(HostAnswers(it, *(lots.randrange(1 << 40) for _ in range(3))) for it in hosts)
            ),
        )
        for number in range(200)
    )
    record = bounds.bounded(Record(tasks=tasks))
    assert record.outcome.reason is None and bounds._size(record) <= MAX_RECORD_BYTES
    assert "how each host answered in each task" in record.left_out
    assert Record.from_json(record.to_json()) == record


@pytest.mark.parametrize(("fails", "sent"), [(0, ["c1", "c2"]), (2, ["c1", "c2"]), (1, ["c1"])])
def test_a_race_that_ends_in_a_load_keeps_what_was_sent_until_then(tmp_path, monkeypatch, fails, sent):
    class Run:
        def __init__(self, _, answers, number, of):
            self.answers, self.fails = answers, number == fails

        def to_end(self, _file, _lines):
            self.answers.add("0,0,1700000000000,6000,5,5,200,0,0")
            if self.fails:
                raise FailedError(Reason.RACE_STALLED, "nothing moved")
            return 0

    class Probes:
        def read_before(self):
            pass

        def read_after(self):
            return (ProbeRecord("hits"),)

    monkeypatch.setattr(http_race, "K6Run", Run)
    spec = replace(SPEC, canary_seconds=0.0, http=replace(HTTP, interval_seconds=0))
    race = HttpRace(spec, tmp_path / "work", lambda _: None, threading.Event())
    requests = ReadyRequests(tmp_path / "requests.json", (), 7, 5, "sha256:1")
    prepared = HttpPrepared(requests, TrackRecord(name="requests"), Probes(), None)
    monkeypatch.setattr(http_race, "connect_http", lambda *_: HttpConnected(None, 0.0))
    monkeypatch.setattr(http_race, "prepare_http", lambda *_: prepared)
    record = race.run()
    assert record.outcome.reason is (Reason.RACE_STALLED if fails else None)
    assert [task.task for task in record.tasks] == sent and record.track.name == "requests"
    assert record.first_request_at == "2023-11-14T22:13:20.000Z"
    assert record.http.exit_code == (None if fails == 1 else 0), "of the last k6 that came to its end"
    assert bool(record.probes) is not bool(fails) and record.rally_exited_at
    assert record.rally_exited_at <= record.finished_at


def framed(spec=SPEC):
    return RaceFrame(spec, threading.Event(), HttpParts(), assemble_http)


def ground_of(spec, folder):
    return Ground(spec, spec.http, K6Files(folder / "work"), Cost(), lambda _: None, threading.Event(), 0.0)


@pytest.mark.parametrize("version", [None, "1.0"])
def test_where_the_load_comes_from_is_known_with_and_without_k6(tmp_path, monkeypatch, version):
    connection = Connected(None, secrets=("word",))
    monkeypatch.setattr(http_race, "look_at_machine", lambda: (LoadGeneratorHost(pod_name="p", cores=2), 2, 1.5))
    monkeypatch.setattr(http_race, "connect", lambda _: connection)
    monkeypatch.setattr(http_race, "k6_version", lambda: version)
    frame, found = framed(), None
    with frame.keeping_failure():
        found = connect_http(ground_of(SPEC, tmp_path), frame)
    assert found == (HttpConnected(connection, 1.5) if version else None)
    assert frame.parts == HttpParts(host=LoadGeneratorHost(pod_name="p"), k6_version=version)
    assert frame.secrets == ("word",)


READY = ReadyRequests(Path("/requests.json"), (), 7, 5, "sha256:1")
HOSTS = (HttpHost("h:1", 200),)
NEXT = {"make_ready": "requests", "make_schedule": "schedule", "look_at_hosts": "hosts", "read_before": ""}
"""what is done before the load, one after the other, and what is known then"""


@pytest.mark.parametrize("place", NEXT)
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TrackError(Reason.TRACK_INVALID, "no"), Reason.TRACK_INVALID),
        (UnhealthyError(Reason.CLUSTER_UNREACHABLE, "no"), Reason.CLUSTER_UNREACHABLE),
        (StoppedError(), Reason.RACE_ABORTED),
        (KeyError("no"), Reason.RALLY_FAILED),
    ],
)
def test_what_was_prepared_before_a_failure_is_known(tmp_path, monkeypatch, place, error, reason):
    def does(name, answer):
        def call(*_):
            if name == place:
                raise error
            return answer

        return call

    answers = {"make_ready": READY, "make_schedule": TrackRecord(name="requests"), "look_at_hosts": HOSTS}
    for name, answer in answers.items():
        monkeypatch.setattr(http_race, name, does(name, answer))
    monkeypatch.setattr(http_race, "probe_reader", lambda *_: SimpleNamespace(read_before=does("read_before", None)))
    frame = framed()
    with frame.keeping_failure():
        prepare_http(ground_of(SPEC, tmp_path), frame, HttpConnected(Connected(None), 1.0))
    known = set(list(NEXT.values())[: list(NEXT).index(place)])
    assert {name for name, value in vars(frame.parts).items() if value} == known
    assert frame.record.outcome.reason is reason


def test_what_is_asked_after_the_load_and_kept_of_it_is_known(tmp_path, monkeypatch):
    kept, hits = KeptSamples(rows=2), RequestHits("/hits", (3,))
    keeper = SimpleNamespace(asked=False, finish=lambda: kept)
    monkeypatch.setattr(http_race, "SampleKeeper", lambda _: keeper)
    asked = []
    monkeypatch.setattr(http_race, "read_hits", lambda *how: asked.append(how) or hits)
    monkeypatch.setattr(http_race, "K6Run", lambda *_: SimpleNamespace(to_end=lambda *_: 0))
    probes = SimpleNamespace(read_before=lambda: None, read_after=lambda: (ProbeRecord("hits"),))
    frame, spec = framed(), replace(SPEC, http=replace(HTTP, hits="/hits", interval_seconds=0))
    prepared = HttpPrepared(READY, TrackRecord(name="requests"), probes, None)
    ground = ground_of(spec, tmp_path)
    send_loads(ground, frame, prepared, MachineWatcher(read=dict))
    assert asked[0][-2:] == (ground.stop, ground.limit), "not beyond the race's own deadline"
    assert frame.parts == HttpParts(
        exit_code=0, probes=(ProbeRecord("hits"),), hits=hits, sample_file=kept, schedule=TrackRecord(name="requests")
    )
