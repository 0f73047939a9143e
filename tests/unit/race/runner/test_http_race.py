"""What a race over HTTP is made of before k6 begins, and that its record always fits."""

import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fairlap_race.contract.http_record import HostAnswers, HttpAnswers
from fairlap_race.contract.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.machine_watch import Canary
from fairlap_race.contract.race_spec import Mode, RaceSpec, RequestsSource
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import MAX_RECORD_BYTES, Counts, Record, Task, timestamp
from fairlap_race.contract.resources import KEY_RESOURCES, MachineTable
from fairlap_race.contract.sweep import SweepSpec, steps_of
from fairlap_race.runner import bounds, http_race
from fairlap_race.runner.http_race import HttpRace, planned
from fairlap_race.runner.parts import FailedError

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
        done.append(len(race.parts.tasks))
        return Canary("now", 0.01, 0.02, 0.001)

    def send(_):
        now = time.time()
        moments = {"started_at": timestamp(now - 9), "measured_from": timestamp(now - 8), "ended_at": timestamp(now)}
        race.parts.tasks.append(Task("c1", samples=Counts(0, 9), **moments))
        if fails:
            raise FailedError(Reason.LOAD_GENERATOR_DIED, "k6 ended")

    monkeypatch.setattr(http_race, "do_fixed_work", work)
    race = HttpRace(replace(SPEC, mode=mode), tmp_path / "work", lambda _: None, threading.Event())
    monkeypatch.setattr(race, "_prepare", lambda: None)
    monkeypatch.setattr(race, "_race", send)
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
