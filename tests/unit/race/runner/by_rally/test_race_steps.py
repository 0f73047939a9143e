"""The steps of a race: a step that fails in its middle keeps what was known until then, and does nothing more."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.cluster_course import ClusterCourse, TaskCaches
from fairlap_race.contract.recorded.record import (
    EnvironmentRecord,
    Fresh,
    LoadGenerator,
    LoadGeneratorHost,
    Node,
    Outcome,
    Progress,
    Rally,
    TargetReport,
    Totals,
    Touch,
)
from fairlap_race.contract.recorded.request_evidence import RequestEvidence
from fairlap_race.contract.recorded.stored_metrics import StoredMetrics
from fairlap_race.contract.recorded.track_record import TrackCorpus, TrackRecord, TrackTask
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.contract.request_files.probe import ProbeRecord
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, TargetSpec, TrackSource
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.contract.watched_machines.resources import MachineTable
from fairlap_race.elasticsearch.client import ElasticsearchClient
from fairlap_race.elasticsearch.evidence import After, Before
from fairlap_race.errors import StoppedError, TrackError
from fairlap_race.rally.config import Files
from fairlap_race.rally.inside.step_looks import LookPlan
from fairlap_race.runner import race_frame
from fairlap_race.runner.by_rally import race_steps
from fairlap_race.runner.by_rally.race_steps import (
    RaceGround,
    Reached,
    Watching,
    collect,
    keep_evidence,
    load_track,
    prepare,
    reach_elasticsearch,
    run_rally,
    visit,
)
from fairlap_race.runner.guest import Load, Searched, Site
from fairlap_race.runner.parts import STOPPED, Connected, FailedError, Host, LoadedTrack, Numbers, Parts, Prepared
from fairlap_race.runner.supervise import Ended
from fairlap_race.runner.telling.telemetry_kept import KeptTelemetry
from fairlap_race.track.load import Request, TrackDescription
from fairlap_race.track.ready import Ready

SPEC = RaceSpec(Mode.RACE, "ns", "r", "id", TrackSource(path=Path("/t")), hosts=("h:1",))
HOST = Host(LoadGeneratorHost(), 1, 1.0, Rally(version="2.13.0"))
BEFORE = Before(EnvironmentRecord(version="9.0.0", nodes=(Node("n"),)), Fresh(), {}, {})
TASKS = (TrackTask("bulk", "bulk", "bulk"),)


def ground(tmp_path: Path, spec: RaceSpec = SPEC, told: list[Progress] | None = None) -> RaceGround:
    return RaceGround(spec, Files(tmp_path), (told if told is not None else []).append, threading.Event())


def test_each_step_tells_where_the_others_meet_and_ends_at_the_deadline(tmp_path: Path) -> None:
    told: list[Progress] = []
    it = ground(tmp_path, told=told)
    it.in_turn.address = "10.0.0.1:7000"
    it.preparing("fetching the track", 3)
    assert [(each.stage, each.task, each.percent, each.meets_at) for each in told] == [
        ("preparing", "fetching the track", 3, "10.0.0.1:7000")
    ]
    it.limit = time.monotonic() - 1
    with pytest.raises(FailedError, match="was not over at its deadline, while fetching") as failed:
        it.preparing("fetching the track", 4)
    assert failed.value.outcome.reason is Reason.RACE_TIMEOUT and len(told) == 1


def test_an_elasticsearch_that_is_refused_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connected(cast(ElasticsearchClient, None), secrets=("word",))
    monkeypatch.setattr(race_steps, "connect", lambda _: connection)
    monkeypatch.setattr(race_steps, "look_before", lambda *_: BEFORE)
    it = ground(tmp_path, replace(SPEC, target=TargetSpec(), hosts=("h:1", "h:2")))
    with pytest.raises(FailedError) as failed:
        reach_elasticsearch(it)
    assert failed.value.outcome.reason is Reason.INVALID_SPEC and "2 addresses" in str(failed.value)
    assert it.frame.parts == Parts(before=BEFORE) and it.frame.secrets == ("word",)


@pytest.mark.parametrize(
    ("about", "fetching", "outcome"),
    [
        ({"error": "odd", "error_type": "Contradiction"}, None, Outcome(Reason.INVALID_SPEC, "odd")),
        ({"tasks": ()}, None, Outcome(Reason.NO_TASKS, "the task filter leaves nothing of the challenge")),
        ({}, TrackError(Reason.CORPUS_MISSING, "no corpus"), Outcome(Reason.CORPUS_MISSING, "no corpus")),
        ({}, StoppedError(), Outcome(Reason.RACE_ABORTED, STOPPED)),
    ],
)
def test_a_track_that_cannot_be_raced_is_known_as_far_as_it_was_loaded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    about: dict[str, Any],
    fetching: Exception | None,
    outcome: Outcome,
) -> None:
    def link(*_: object) -> None:
        if fetching:
            raise fetching

    it = ground(tmp_path)
    monkeypatch.setattr(race_steps, "get_ready", lambda *_: Ready(tmp_path, "sha256:1"))
    description = TrackDescription(**{"name": "t", "tasks": TASKS, **about})
    monkeypatch.setattr(race_steps, "describe_track", lambda *_: description)
    monkeypatch.setattr(it.corpora, "link_all", link)
    with pytest.raises(FailedError) as failed:
        load_track(it, "default")
    assert failed.value.outcome == outcome
    assert it.frame.record.track.name == "t" and it.frame.record.track.digest == "sha256:1"


def test_a_cluster_that_may_not_be_touched_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = TargetReport("c", touches=(Touch("index", "logs", creates=True, existing=("logs",)),))
    client = cast(ElasticsearchClient, None)
    monkeypatch.setattr(Site, "look", staticmethod(lambda _, about, *__: Site(client, about, report, Load())))
    it = ground(tmp_path, replace(SPEC, target=TargetSpec()))
    with pytest.raises(FailedError) as failed:
        visit(it, client, report.touches, ())
    assert failed.value.outcome.reason is Reason.CLUSTER_NOT_FRESH
    assert it.frame.record.target == report and it.frame.record.fresh == Fresh(("logs",))


PROBES, LOOKS = (ProbeRecord("hits"),), RequestEvidence(caches=(TaskCaches("bulk"),))
TELEMETRY, NUMBERS, AFTER = KeptTelemetry("packed"), Numbers(samples_dropped=True), After((), (), (), (), Totals())
SEARCHED, COURSE = TrackRecord(name="as it ran"), ClusterCourse(looks=3)
TABLE, STORED = MachineTable(race_id="id"), StoredMetrics(("m:1",))
NEXT: list[tuple[str, dict[str, object]]] = [
    ("read_after", {"probes": PROBES}),
    ("read_looks", {"requests": LOOKS}),
    ("keep_telemetry", {"telemetry": TELEMETRY}),
    ("read_numbers", {"numbers": NUMBERS}),
    ("without_unneeded", {"track": SEARCHED}),
    ("await_merges", {}),
    ("look_after", {"after": AFTER}),
    ("end", {"course": COURSE, "requests": replace(LOOKS, caches=())}),
    ("do_fixed_work", {}),
    ("summed_up", {"resources": TABLE}),
    ("store_metrics", {"stored": STORED}),
]
"""what is done when Rally has ended, one after the other, and what is known then"""
ASKS = {"read_after", "await_merges", "look_after", "end"}
"""what asks Elasticsearch, which one who was told to stop does not"""


class Collecting:
    """Does what a race does after Rally, until the place named `fails` breaks; `done` are the places that were met."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str = "") -> None:
        self.it, self.done, self.fails = ground(tmp_path), list[str](), fails
        answers: dict[str, object] = {
            **{"read_looks": LOOKS, "keep_telemetry": TELEMETRY, "read_numbers": NUMBERS},
            **{"without_unneeded": (SEARCHED, NUMBERS), "look_after": AFTER, "summed_up": TABLE},
            "store_metrics": STORED,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(race_steps, name, self.place(name, answer))
        monkeypatch.setattr(race_frame, "do_fixed_work", self.place("do_fixed_work", Canary("now", 1.0, 1.0, 1.0)))
        self.probes: Any = SimpleNamespace(read_after=self.place("read_after", PROBES))
        self.cluster: Any = SimpleNamespace(
            await_merges=self.place("await_merges", None), end=self.place("end", COURSE)
        )

    def place(self, name: str, answer: object) -> Callable[..., object]:
        def call(*_: object, **__: object) -> object:
            self.done.append(name)
            if name == self.fails:
                raise ZeroDivisionError(name)
            return answer

        return call

    def collect(self, exit_code: int = 0) -> None:
        track = LoadedTrack(Ready(Path("/t"), "sha256:1"), Request(), TrackDescription(), TrackRecord(name="t"))
        ended = Ended(exit_code, Outcome(), 5.0, None, LoadGenerator(), oom_killed=False)
        reached = Reached(Connected(cast(ElasticsearchClient, None)), BEFORE, self.probes)
        watching = Watching(self.cluster, cast(Any, None))
        collect(self.it, HOST, reached, Prepared(track, None, None), ended, watching)


def test_collecting_keeps_all_in_the_order_in_which_it_disturbs_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    race = Collecting(tmp_path, monkeypatch)
    race.collect()
    assert race.done == [name for name, _ in NEXT]
    known: dict[str, Any] = {key: part for _, parts in NEXT for key, part in parts.items()}
    assert race.it.frame.parts == Parts(**known)


@pytest.mark.parametrize("place", [name for name, _ in NEXT])
def test_what_was_collected_before_a_bug_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    race = Collecting(tmp_path, monkeypatch, place)
    with race.it.frame.keeping_failure():
        race.collect()
    names = [name for name, _ in NEXT]
    until = names.index(place)
    assert race.done == names[: until + 1]
    known: dict[str, Any] = {key: part for _, parts in NEXT[:until] for key, part in parts.items()}
    assert race.it.frame.parts == Parts(**known)
    assert race.it.frame.record.outcome.reason is Reason.RALLY_FAILED


def test_who_was_told_to_stop_collects_what_is_there_and_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    race = Collecting(tmp_path, monkeypatch)
    race.it.stop.set()
    race.collect()
    assert race.done == [name for name, _ in NEXT if name not in ASKS]
    assert race.it.frame.parts.requests == LOOKS and race.it.frame.parts.numbers == NUMBERS


def test_a_race_that_failed_reads_no_probe_and_fills_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    race = Collecting(tmp_path, monkeypatch)
    failed = Numbers(Outcome(Reason.RALLY_FAILED, "odd"))
    monkeypatch.setattr(race_steps, "without_unneeded", lambda *_: (SEARCHED, failed))
    race.collect(exit_code=1)
    assert race.it.frame.parts.numbers == failed
    assert {"read_after", "store_metrics"}.isdisjoint(race.done) and "look_after" in race.done


@pytest.mark.parametrize(("exit_code", "met", "left"), [(0, ["raced"], []), (1, [], [False])])
def test_how_rally_ended_is_known_and_others_need_not_wait_for_a_race_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, met: list[str], left: list[bool]
) -> None:
    done: list[str] = []
    ended = Ended(exit_code, Outcome(), 5.0, None, LoadGenerator(), oom_killed=False)

    def supervised(*_: object) -> Any:
        return SimpleNamespace(watch=lambda _: done.append("watch") or ended)

    def close(finished: bool) -> None:
        ends.append(finished)

    it = ground(tmp_path)
    places: list[str] = []
    ends: list[bool] = []
    monkeypatch.setattr(it.in_turn, "meet", places.append)
    monkeypatch.setattr(it.in_turn, "close", close)
    monkeypatch.setattr(race_steps.process, "start", lambda *_: done.append("start"))
    monkeypatch.setattr(race_steps, "Supervisor", supervised)
    probes: Any = SimpleNamespace(read_before=lambda: done.append("probes"))
    reached = Reached(Connected(cast(ElasticsearchClient, None)), BEFORE, probes)
    track = LoadedTrack(Ready(tmp_path, "sha256:1"), Request(), TrackDescription(), TrackRecord())
    assert run_rally(it, HOST, reached, track) == ended
    assert done == ["probes", "start", "watch"], "what was counted since the first look is nobody's load"
    assert it.frame.parts == Parts(ended=ended) and (places, ends) == (met, left)


def test_a_track_that_can_be_raced_is_known_with_its_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it, corpus = ground(tmp_path), TrackCorpus("logs")
    monkeypatch.setattr(race_steps, "get_ready", lambda *_: Ready(tmp_path, "sha256:1"))
    monkeypatch.setattr(race_steps, "describe_track", lambda *_: TrackDescription(name="t", tasks=TASKS))
    monkeypatch.setattr(it.corpora, "link_all", lambda *_: it.corpora.used.append(corpus))
    track = load_track(it, "serverless")
    assert track.request.build_flavor == "serverless" and track.record == it.frame.record.track
    assert track.record.corpora == (corpus,) and track.record.digest != "sha256:1"


LOADED = LoadedTrack(Ready(Path("/t"), "sha256:1"), Request(), TrackDescription(), TrackRecord(name="t"))


@pytest.mark.parametrize("unknown", [{}, {"sql": "no sql is sent once more"}])
def test_a_guest_looks_before_the_race_where_its_searches_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unknown: dict[str, str]
) -> None:
    it, told = ground(tmp_path), list[tuple[object, bool]]()
    searches = (PlannedSearch("find", index="logs"),)
    site = SimpleNamespace(look_for_searched=lambda which, in_part: told.append((which, in_part)))
    answers: dict[str, object] = {"load_track": LOADED, "visit": site, "write_files": None}
    answers["plan_looks"] = LookPlan(searches=searches, not_looked_at=unknown)
    for name, answer in answers.items():
        monkeypatch.setattr(race_steps, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(it.in_turn, "await_others", lambda _: None)
    monkeypatch.setattr(it.in_turn, "one_by_one", lambda *_: None)
    reached = Reached(Connected(cast(ElasticsearchClient, None)), BEFORE, cast(Any, None))
    assert prepare(it, HOST, reached).site == cast(Any, site)
    assert told == [(searches, bool(unknown))]


def test_what_became_of_the_searched_indices_is_told_and_their_merges_are_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, asked = cast(ElasticsearchClient, None), list[tuple[str, bool]]()
    site = Site(client, TargetSpec(), TargetReport(), Load(), Searched(frozenset({"logs"})))
    monkeypatch.setattr(race_steps, "look_after", lambda *_: AFTER)
    cluster: Any = SimpleNamespace(
        await_merges=lambda of, *_: asked.append(("merges", of("logs"))),
        end=lambda of, *_: asked.append(("course", of("logs"))) or COURSE,
    )
    reached = Reached(Connected(client), BEFORE, cast(Any, None))
    keep_evidence(ground(tmp_path), reached, Prepared(LOADED, None, site), cluster, NUMBERS, LOOKS)
    assert asked == [("merges", False), ("course", True)]
