"""Conditions on the races come from typed remarks: from all of them, not from what the status has room for."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import START, cluster, good_record, is_true, job, pod, progress, seen, spec

from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus, Step, TargetStatus
from fairlap.plan.basis.conditions import condition, stamp
from fairlap.plan.basis.seen import Children
from fairlap.plan.benchmark import plan
from fairlap.plan.verdict.collect import judge_without_record
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.specification.document_plan import DocumentPlan, UncountedTask, WhyUncounted
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch, WatchedSpan
from fairlap_race.contract.watched_machines.resources import MachineTable

LOAD_GENERATOR = rec.EnvironmentRecord().load_generator
BUILTIN = {"track": {"builtin": "log_ingest"}}


def late(count: int) -> tuple[rec.Task, ...]:
    return tuple(
        replace(good_record().tasks[0], task=f"late-{number}", target_throughput=100.0, schedule_share=0.5)
        for number in range(count)
    )


def with_tasks(count: int = 0, host: str = "", **changes: Any) -> rec.Record:
    good = good_record()
    environment = replace(good.environment, load_generator=replace(LOAD_GENERATOR, node_name=host))
    return replace(good, tasks=(*good.tasks, *late(count)), environment=environment, **changes)


def judged(
    record: rec.Record,
    step: str = "race-1",
    before: BenchmarkStatus | None = None,
    of: BenchmarkSpec | None = None,
    watch: MachineWatch | None = None,
    there: dict[str, Any] | None = None,
    with_table: bool = True,
    **changes: Any,
) -> BenchmarkStatus:
    """Return the status after a race with this record; Elasticsearch ran on n1; `there`: children that are others."""
    status = before or plan(seen(of=of)).status
    at = Step(name=step, stage="Running", since=stamp(START), job_uid="job-1")
    around: dict[str, Any] = {"elasticsearch": cluster(), "job": job(), "pods": [pod("es-0", node="n1")]}
    if status.target:
        around |= {"elasticsearch": None, "pods": []}
    children = Children(**{**around, "progress": progress("done"), **(there or {})})
    now = seen(status.model_copy(update={"step": at}), of, children=children, **changes)
    table = MachineTable(watch=watch) if with_table else None
    return plan(replace(now, records={step: record}, resources={step: table})).status


def told(status: BenchmarkStatus, kind: str) -> tuple[str, str]:
    found = condition(status, kind)
    assert found is not None
    return found.status, found.reason


@pytest.mark.parametrize(("kind", "found"), [("bulk", True), ("sleep", False)])
def test_what_disturbed_a_pause_is_no_disturbed_machine(kind: str, found: bool) -> None:
    good = good_record()
    ran = replace(good.tasks[0], task="between", type=kind)
    record = replace(good, tasks=(*good.tasks, ran), first_request_at=rec.timestamp(START.timestamp()))
    stolen = WatchedSpan("between", 30.0, steal_share=0.3)
    remarks = judged(record, watch=MachineWatch(tasks=(stolen,))).races[0].remarks
    said = "".join(it.message for it in remarks if it.reason == "MachineDisturbed")
    assert ("hypervisor" in said) is found


@pytest.mark.parametrize("with_table", [True, False], ids=["no watch", "no table"])
def test_where_no_machine_was_watched_none_is_called_disturbed(with_table: bool) -> None:
    record = replace(good_record(), first_request_at=rec.timestamp(START.timestamp()))
    remarks = judged(record, with_table=with_table).races[0].remarks
    assert "MachineDisturbed" not in {it.reason for it in remarks}


DROPPED, KEPT = "the page cache was dropped on n1", "the page cache was not dropped on n1: no"


@pytest.mark.parametrize(
    ("outcome", "sentence", "remarked"),
    [
        ("dropped", DROPPED, False),
        ("kept", KEPT, True),
        ("kept", DROPPED, True),
        ("dropped", "no page was left", False),
        ("", DROPPED, False),
    ],
    ids=["dropped", "kept", "kept in other words", "dropped in other words", "by an operator that noted no outcome"],
)
def test_whether_the_page_cache_was_kept_is_not_read_from_the_sentence(
    outcome: str, sentence: str, remarked: bool
) -> None:
    noted = {"fairlap.dev/page-cache": sentence} | ({"fairlap.dev/page-cache-outcome": outcome} if outcome else {})
    ran = job()
    ran["metadata"]["annotations"] = noted
    record = replace(good_record(), first_request_at=rec.timestamp(START.timestamp()))
    (race,) = judged(record, there={"job": ran}).races
    assert race.page_cache == sentence
    assert [it.message for it in race.remarks if it.reason == "PageCacheKept"] == ([sentence] if remarked else [])


ON_A_TARGET = BenchmarkSpec.model_validate({"target": {"hosts": ["http://old:9200"]}, "race": BUILTIN})
ITS_STATUS = BenchmarkStatus(phase="Racing", target=TargetStatus(rally="2.13"), version="9.0.0")


@pytest.mark.parametrize(
    ("busy_cores", "kept_on", "load_from", "words"),
    [
        (2.6, ("n1",), "n1", "beside Rally and Elasticsearch something else used 1.0 cores of it in task bulk"),
        (2.0, ("n1",), "n1", ""),
        (1.6, ("n2",), "n1", "beside Rally something else used 1.1 cores of it in task bulk"),
        (2.6, (), "n1", ""),
        (2.6, ("n1", "n2"), "n1", ""),
    ],
    ids=["a burning core", "idle clusters", "a burning core apart", "unknown target", "some of its nodes"],
)
def test_a_burning_core_beside_a_kept_cluster_is_named(
    busy_cores: float, kept_on: tuple[str, ...], load_from: str, words: str
) -> None:
    used = WatchedSpan("bulk", 30.0, processors=4.0, busy_cores=busy_cores, own_cores=0.5, elasticsearch_cores=1.1)
    record = with_tasks(host=load_from, first_request_at=rec.timestamp(START.timestamp()))
    status = judged(record, before=ITS_STATUS, of=ON_A_TARGET, watch=MachineWatch(tasks=(used,)), kept_on=kept_on)
    assert status.races[0].valid and status.races[0].elasticsearch_on == list(kept_on)
    said = "".join(it.message for it in status.races[0].remarks if it.reason == "MachineDisturbed")
    assert words in said and bool(words) == bool(said)
    assert is_true(status, "LoadGeneratorShared") == (load_from in kept_on)


def test_a_disk_that_is_busy_while_a_kept_cluster_only_reads_is_named() -> None:
    good = good_record()
    searched = replace(good.tasks[0], task="search", type="search")
    environment = replace(good.environment, load_generator=replace(LOAD_GENERATOR, node_name="n1"))
    began = rec.timestamp(START.timestamp())
    record = replace(good, tasks=(*good.tasks, searched), environment=environment, first_request_at=began)
    used = WatchedSpan("search", 30.0, io_waiting_share=0.5, data_written_bytes=3e9)
    status = judged(record, before=ITS_STATUS, of=ON_A_TARGET, watch=MachineWatch(tasks=(used,)), kept_on=("n1",))
    (said,) = (it.message for it in status.races[0].remarks if it.reason == "MachineDisturbed")
    assert "something waited for its disk 50 % of task search" in said


def test_of_a_race_without_a_record_the_machines_of_its_kept_cluster_are_known() -> None:
    step = Step(name="race-1", stage="Running", since=stamp(START), job_uid="job-1")
    now = seen(ITS_STATUS.model_copy(update={"step": step}), ON_A_TARGET, kept_on=("n1",))
    status, _ = judge_without_record(now, step, Reason.RECORD_MISSING, "gone")
    assert status.races[0].elasticsearch_on == ["n1"]


def test_twenty_late_tasks_hide_no_shared_machine() -> None:
    status = judged(with_tasks(20, host="n1"))
    assert told(status, "ScheduleNotKept") == ("True", "ScheduleNotKept")
    assert told(status, "LoadGeneratorShared") == ("True", "LoadGeneratorShared")
    assert "LoadGeneratorShared" in [remark.reason for remark in status.races[0].remarks]
    found = condition(status, "ScheduleNotKept")
    assert found and "late-0" in found.message and "late-19" in found.message, "the whole list, before any cut"


def test_a_load_generator_that_was_throttled_only_is_not_saturated() -> None:
    load = rec.LoadGenerator(4.0, 9.0, 0.2, throttled_periods=7, throttled_seconds=0.2)
    status = judged(with_tasks(load_generator=load))
    assert told(status, "LoadGeneratorSaturated") == ("False", "NotRemarked")
    assert [remark.reason for remark in status.races[0].remarks] == ["LoadGeneratorThrottled"]


def test_settings_of_an_index_that_the_schedule_deleted_are_neither_verified_nor_wrong() -> None:
    good = good_record()
    gone = DocumentPlan(uncounted=(UncountedTask("drop-it", "logs", WhyUncounted.DELETED, 1000),))
    passed = {"index.number_of_shards": "number_of_shards"}
    track = replace(good.track, expected_documents={}, documents=gone, passed_as=passed)
    status = judged(replace(good, track=track, indices=()), of=spec(elasticsearch={"index": {"shards": 1}}))
    assert status.races[0].valid and condition(status, "SettingsVerified") is None
    assert "SettingsPartlyVerified" in [remark.reason for remark in status.races[0].remarks]


def test_a_task_with_the_words_of_another_remark_is_no_such_remark() -> None:
    """Names and warnings are the track's and Rally's own words."""
    warnings = ("it shared the machine with us", "10 % of its target throughput 5")
    status = judged(replace(with_tasks(), rally=rec.Rally(version="2.13.0", exit_code=0, warnings=warnings)))
    assert [remark.reason for remark in status.races[0].remarks] == ["RallyWarning"] * 2
    for kind in ("LoadGeneratorShared", "LoadGeneratorSaturated", "ScheduleNotKept"):
        assert told(status, kind) == ("False", "NotRemarked")


@given(st.integers(0, 60), st.booleans(), st.booleans(), st.booleans())
def test_conditions_and_remarks_say_the_same(count: int, shared: bool, saturated: bool, throttled: bool) -> None:
    load = rec.LoadGenerator(saturated=saturated, why="busy", throttled_periods=3 if throttled else 0)
    status = judged(with_tasks(count, host="n1" if shared else "n2", load_generator=load))
    assert is_true(status, "ScheduleNotKept") == (count > 0)
    assert is_true(status, "LoadGeneratorShared") == shared
    assert is_true(status, "LoadGeneratorSaturated") == saturated
    kinds = {remark.reason for remark in status.races[0].remarks}
    for kind in ("ScheduleNotKept", "LoadGeneratorShared", "LoadGeneratorSaturated"):
        assert (kind in kinds) == is_true(status, kind)


@pytest.mark.parametrize("first", ["smoke", "race-1"])
def test_what_was_remarked_on_an_earlier_race_stays_in_the_condition(first: str) -> None:
    before = judged(with_tasks(25, host="n1"), first)
    status = judged(with_tasks(host="n2"), "race-2", before)
    for kind in ("LoadGeneratorShared", "ScheduleNotKept"):
        found = condition(status, kind)
        assert found and found.status == "True" and found.message.startswith(f"{first}: ")


def test_a_hundred_and_one_pipelines_leave_the_last_one_out() -> None:
    pipelines = tuple(rec.Pipeline(f"p{number}", 1, 1) for number in range(101))
    track = replace(good_record().track, pipelines=(), pipeline_documents={})
    status = judged(replace(good_record(), pipelines=pipelines, track=track))
    assert status.races_done == "1/1" and status.results is not None
    assert [it.name for it in status.results.ingest_pipelines] == [f"p{number}" for number in range(100)]
    (remark,) = status.races[0].remarks[:1]
    sentence = (
        "status.results.ingestPipelines has 100 of 101 ingest pipelines, and 1 were left out: the record has them"
    )
    assert (remark.reason, remark.message) == ("RecordCut", sentence)


def test_results_without_the_record_of_an_earlier_race_say_so() -> None:
    """It was removed meanwhile, or was left out because all of them are too large together."""
    wanted = spec(repetitions=2, smokeTest=False)
    first = judged(good_record(), of=wanted)
    status = judged(good_record(), "race-2", first, wanted)
    assert status.races_done == "2/2" and status.results and status.results.tasks[0].throughput
    assert status.results.tasks[0].throughput.races == 1
    (remark,) = (it for it in status.races[1].remarks if it.reason == "RecordCut")
    assert remark.message == (
        "the results are those of 1 of 2 valid races: the records of race-1 cannot be read, or are too large together"
    )
    assert not [it for it in first.races[0].remarks if it.reason == "RecordCut"]


def test_two_thousand_tasks_with_long_names_fit_into_a_status() -> None:
    bulk = good_record().tasks[0]
    names = [f"{number}-{'x' * 4000}" for number in range(2000)]
    tasks = (bulk, *(replace(bulk, task=name, operation=name, unit=name) for name in names))
    flags = tuple(f"-X{number}{'y' * 4000}" for number in range(200))
    nodes = (replace(good_record().environment.nodes[0], jvm_arguments=flags),)
    environment = replace(good_record().environment, nodes=nodes)
    indices = (*(good_record().indices or ()), *(rec.IndexRecord(f"{n}{'z' * 4000}") for n in range(100)))
    record = replace(good_record(), tasks=tasks, environment=environment, indices=indices, race_id="r" * 4096)
    status = judged(replace(record, rally=replace(record.rally, warnings=("w" * 4096,) * 30)))
    assert status.races_done == "1/1"
    assert len(status.model_dump_json(by_alias=True)) < 700_000
    said = [remark.message for remark in status.races[0].remarks if remark.reason == "RecordCut"]
    assert any(text.startswith("status.results.tasks has ") and " of 2001 tasks" in text for text in said), said
    assert any("indices" in text for text in said), said


@pytest.mark.parametrize("started", ["x", "0000-01-01T00:00:00Z", "2026-01-01T00:00:00", 7])
def test_a_time_that_is_none_is_left_out(started: object) -> None:
    data = json.loads(good_record().to_json())
    record = rec.Record.from_json(json.dumps({**data, "startedAt": started}))
    assert record is not None
    (race,) = judged(record).races
    assert race.valid and race.started_at is race.seconds is None


def test_a_clock_that_was_set_back_tells_no_duration() -> None:
    record = replace(good_record(), started_at="2026-01-01T12:00:00.000Z", finished_at="2026-01-01T11:10:00.000Z")
    (race,) = judged(record).races
    assert race.valid and race.started_at and race.seconds is None
