"""What a race of a block measured, from its Benchmark and its record, whatever was written there."""

import base64
import copy
import gzip
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searched_races import searching_race

from fairlap.api.block_record import MOST_NUMBERS, RaceRecord
from fairlap.api.status import MOST_REMARKS, RemarkStatus
from fairlap.comparison.facts.disturbed_race import disturbance
from fairlap.comparison.numbers.benchmark_numbers import race_record, recorded_race
from fairlap.comparison.numbers.race_numbers import Kind, Number
from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.recorded.record import (
    Counts,
    IndexRecord,
    RallyNumbers,
    Record,
    Task,
    Throughput,
    Totals,
    Windows,
)
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.contract.watched_machines.machine_watch import Canary, MachineWatch
from fairlap_race.contract.watched_machines.resources import Machine, MachineTable, TaskUsage, Usage

TIMES = {"p50": 5.0, "p90": 8.0, "p99": 12.0, "p100": 30.0, "mean": 6.0}
TASK = Task(
    task="search", unit="ops/s", samples=Counts(10, 100), target_throughput=50.0, units_done=100.0,
    rally=RallyNumbers(Throughput(mean=49.0, median=48.0), TIMES, {"p50": 6.0, "p90": 9.0, "p99": 20.0}),
    windows=Windows(1.0, 4, 50.0, 49.0, 51.0, (49.0, 51.0)),
)  # fmt: skip
RECORD = Record(
    tasks=(TASK, replace(TASK, task="bulk", target_throughput=None, samples=Counts(0, 400))),
    indices=(IndexRecord("a", documents=900), IndexRecord("b", documents=100)),
    totals=Totals(store_bytes=5_000_000, segments=0),
)
USED = Usage(seconds=2.0, cpu_mean_cores=0.5, memory_peak_bytes=1e9, disk_write_bytes=1e6)
TABLE = MachineTable(
    machines=tuple(
        Machine(name=name, role=role, race=USED, tasks=(TaskUsage("search", None, USED),))
        for name, role in (("es-0", "elasticsearch"), ("es-1", "elasticsearch"), ("load", "load-generator"))
    )
)
BENCHMARK: dict[str, Any] = {
    "metadata": {"name": "up-1a", "uid": "u1"},
    "status": {"phase": "Succeeded", "races": [{"name": "smoke", "valid": True}, {
        "name": "race-1", "valid": True, "seconds": 60.5, "startedAt": "2026-01-01T00:00:00Z",
        "remarks": [{"reason": "ScheduleNotKept", "message": "late"}]}]},
}  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def config_map(record: Record | None = RECORD, table: MachineTable | None = TABLE) -> dict[str, Any]:
    texts = {"record.json": record and record.to_json(), "resources.json": table and table.to_json()}
    return {"binaryData": packed({key: text for key, text in texts.items() if text})}


def values(found: RaceRecord) -> dict[tuple[str, str], float]:
    return {(each.task, each.metric): each.value for each in found.numbers}


def test_what_a_race_measured() -> None:
    found = race_record(
        BENCHMARK, config_map(), "8.11.0", lambda benchmark, record: {"name": benchmark["metadata"]["name"]}
    )
    assert (found.variant, found.benchmark, found.uid, found.valid, found.seconds) == (
        "8.11.0",
        "up-1a",
        "u1",
        True,
        60.5,
    )
    numbers = values(found)
    assert numbers[("search", "throughput")] == 49.0 and numbers[("search", "serviceTimeP99")] == 12.0
    assert numbers[("", "storeBytes")] == 5e6 and numbers[("", "segments")] == 0 and numbers[("", "documents")] == 1000
    assert numbers[("search", "cpuSecondsPerOperation")] == pytest.approx(0.02)
    assert numbers[("", "memoryPeakBytes")] == 2e9 and numbers[("", "diskWriteBytes")] == 2e6
    assert found.facts == {"name": "up-1a"}
    assert found.remarks == [RemarkStatus(reason="ScheduleNotKept", message="late")]
    assert found.service_times[0].points == [(50.0, 5.0), (90.0, 8.0), (99.0, 12.0), (100.0, 30.0)]
    assert found.rates[0].points == [(1.0, 49.0), (3.0, 51.0)]


def ran(name: str, began: int, ended: int, measured: int | None = None) -> Task:
    start, first, end = (f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
                         for second in (began, began if measured is None else measured, ended))  # fmt: skip
    return replace(TASK, task=name, started_at=start, measured_from=first, ended_at=end)


@pytest.mark.parametrize(
    ("tasks", "known"),
    [
        ([ran("search", 0, 40), ran("bulk", 40, 60)], {"search", "bulk"}),
        ([ran("search", 0, 100), ran("bulk", 99, 300)], {"search", "bulk"}),
        ([ran("search", 0, 40), ran("bulk", 0, 40)], set()),
        ([ran("bulk", 10, 20), ran("search", 0, 40)], set()),
        ([ran("search", 0, 40), ran("bulk", 30, 60, 45)], {"bulk"}),
        ([ran("search", 0, 40, 20), ran("bulk", 2, 10)], {"search"}),
    ],
)
def test_the_cpu_of_a_task_beside_which_another_ran_is_not_its_own(tasks: list[Task], known: set[str]) -> None:
    used = tuple(TaskUsage(task.task, None, USED) for task in tasks)
    table = MachineTable(machines=(Machine(name="es-0", role="elasticsearch", race=USED, tasks=used),))
    found = race_record(BENCHMARK, config_map(replace(RECORD, tasks=tuple(tasks)), table), "v")
    assert {task for task, metric in values(found) if metric == "cpuSecondsPerOperation"} == known
    assert {each.task for each in found.task_usage} == {"search", "bulk"}, "what a machine shows is told nevertheless"


def test_how_the_machine_was_disturbed_is_known_by_the_reason_of_a_remark() -> None:
    last = {"reason": "MachineDisturbed", "message": "the machine was disturbed: by: two"}
    remarks = [{"reason": "MachineDisturbedMore", "message": "x"}] * (MOST_REMARKS - 1)
    body = copy.deepcopy(BENCHMARK)
    quiet = [{"reason": "", "message": "MachineDisturbed: x"}, {"reason": "NotSettled: MachineDisturbed"}]
    wordless = {"reason": "MachineDisturbed"}
    for remarked, words in (
        (remarks, None), ([*remarks, last], "the machine was disturbed: by: two"), (quiet, None), ([wordless], ""),
    ):  # fmt: skip
        body["status"]["races"][1]["remarks"] = remarked
        assert disturbance(race_record(body, config_map(), "v")) == words


def test_the_canary_is_kept_where_it_ran_before_and_after() -> None:
    before, after = Canary("", 0.01, 0.02, None), Canary("", 0.03, 0.02, 0.001)
    for watch, found in (
        (MachineWatch(before, after), {"cpuSeconds": 0.02, "memorySeconds": 0.02}), (MachineWatch(before), {}),
        (MachineWatch(Canary("", math.inf, -1.0), after), {}), (None, {}),
    ):  # fmt: skip
        kept = race_record(BENCHMARK, config_map(table=replace(TABLE, watch=watch)), "v").canary
        assert kept == pytest.approx(found)


def test_latency_is_only_of_tasks_with_a_rate() -> None:
    found = race_record(BENCHMARK, config_map(), "v")
    assert found.target_throughput == {"search": 50.0}
    assert {task for task, metric in values(found) if metric.startswith("latency")} == {"search"}
    assert [(each.task, each.points) for each in found.latencies] == [
        ("search", [(50.0, 6.0), (90.0, 9.0), (99.0, 20.0)])
    ]
    assert [each.task for each in found.service_times] == ["search", "bulk"]


def test_in_turn_a_task_has_no_latency_and_no_rate_of_its_own() -> None:
    """Both have the time of the others in them, and the rate over time is that of all together."""
    in_turn = replace(TASK, turns=TaskTurns(TASK.task, in_turn=100))
    found = race_record(BENCHMARK, config_map(Record(tasks=(in_turn,))), "v")
    assert {metric for _, metric in values(found)} >= {"serviceTimeP50"} and found.service_times
    assert not [m for _, m in values(found) if m.startswith("latency") or m == "throughput"] and not found.latencies
    assert TASK.windows and TASK.windows.over_time and not found.rates


def test_windows_that_were_left_out_give_no_zero() -> None:
    """A gate finds no number then, and says so; the curve has parts of ten requests or more."""
    left_out = Windows(1.0, 40, over_time=(0.5, 0.5), requests=20, left_out="0.5 requests in a window")
    record = replace(RECORD, tasks=tuple(replace(task, windows=left_out) for task in RECORD.tasks))
    found = race_record(BENCHMARK, config_map(record), "v")
    assert all(each.value > 0 for each in found.numbers if each.metric == "throughput")
    assert found.rates[0].points == [(10.0, 0.5), (30.0, 0.5)]
    empty = Windows(left_out="no full window")
    nothing = replace(RECORD, tasks=tuple(replace(task, windows=empty) for task in RECORD.tasks))
    assert not race_record(BENCHMARK, config_map(nothing), "v").rates


def test_how_many_requests_stand_behind_a_number() -> None:
    found = {(each.task, each.metric): each for each in race_record(BENCHMARK, config_map(), "v").numbers}
    assert found[("search", "serviceTimeP90")].supported and not found[("search", "serviceTimeP99")].supported
    assert found[("bulk", "serviceTimeP99")].supported and found[("bulk", "serviceTimeP99")].requests == 400
    assert found[("search", "throughput")].unit == "ops/s"


@pytest.mark.parametrize(("kept", "supported", "requests"), [(None, True, 12_000), (120, False, 120), (368, True, 368)])
def test_percentiles_stand_on_the_requests_whose_times_were_kept(
    kept: int | None, supported: bool, requests: int
) -> None:
    thinned = replace(TASK, samples=Counts(0, 12_000), times_kept=kept)
    found = {each.metric: each for each in race_record(BENCHMARK, config_map(Record(tasks=(thinned,))), "v").numbers}
    for metric in ("serviceTimeP99", "latencyP99"):
        assert (found[metric].supported, found[metric].requests) == (supported, requests)
    assert found["throughput"].supported and found["throughput"].requests == 12_000


def test_what_a_task_used_is_known_where_all_nodes_tell_it_and_is_no_number_to_compare() -> None:
    """The load generator is no node."""
    search, idle = TaskUsage("search", None, USED), TaskUsage("bulk", None, replace(USED, disk_write_bytes=0.0))
    one, two, load = TABLE.machines
    table = MachineTable(machines=(replace(one, tasks=(search, idle)), replace(two, tasks=(search, idle)), load))
    found = race_record(BENCHMARK, config_map(table=table), "v")
    assert [(each.task, each.metric, each.value) for each in found.task_usage] == [
        ("search", "memoryPeakBytes", 2e9), ("search", "diskWriteBytes", 2e6),
        ("bulk", "memoryPeakBytes", 2e9), ("bulk", "diskWriteBytes", 0.0),
    ]  # fmt: skip
    assert {task for task, metric in values(found) if metric in ("memoryPeakBytes", "diskWriteBytes")} == {""}
    half = replace(table, machines=(one, replace(two, tasks=(idle,)), load))
    assert not race_record(BENCHMARK, config_map(table=half), "v").task_usage


@pytest.mark.parametrize(
    ("told", "in_turn", "sources", "known"),
    [
        (("nodeStats", "nodeStats"), False, {"disk": "nodeStats"}, True),
        (("nodeStats", "nodeStats"), True, {"disk": "nodeStats"}, False),  # what all variants wrote
        (("prometheus", "nodeStats"), True, {"disk": "nodeStats and prometheus"}, False),
        (("prometheus", "prometheus"), True, {"disk": "prometheus"}, True),
        (("", ""), True, {}, False),
    ],
)
def test_what_a_device_wrote_in_turn_is_nobodys_own(
    told: tuple[str, str], in_turn: bool, sources: dict[str, str], known: bool
) -> None:
    one, two, load = TABLE.machines
    task = replace(TASK, turns=TaskTurns(TASK.task, in_turn=100)) if in_turn else TASK
    nodes = [
        replace(node, sources={"disk": source} if source else {}, tasks=(TaskUsage(task.task, None, USED),))
        for node, source in zip((one, two), told, strict=True)
    ]
    table = MachineTable(machines=(*nodes, replace(load, sources={"disk": "cgroup"})))
    found = race_record(BENCHMARK, config_map(Record(tasks=(task,)), table), "v")
    assert {who: told for who, told in found.sources.items() if who != "rate"} == sources
    assert ("rate" in found.sources) is not in_turn
    assert (("", "diskWriteBytes") in values(found)) is known
    assert ("diskWriteBytes" in {each.metric for each in found.task_usage}) is known
    assert ("", "memoryPeakBytes") in values(found), "each container's own"


def test_what_the_machines_did_may_be_unknown() -> None:
    found = race_record(BENCHMARK, config_map(table=None), "v")
    numbers = values(found)
    assert not found.task_usage
    assert ("", "memoryPeakBytes") not in numbers and ("search", "cpuSecondsPerOperation") not in numbers


@pytest.mark.parametrize("without", [None, {}, {"binaryData": {}}, {"binaryData": {"record.json.gz": "!"}}])
def test_a_race_without_its_record_does_not_count(without: dict[str, Any] | None) -> None:
    found = race_record(BENCHMARK, without, "v")
    assert not found.valid and found.reason == "RecordMissing" and not found.numbers


def test_a_race_that_failed_keeps_its_reason_and_its_numbers() -> None:
    status = {"phase": "Failed", "reason": "RaceFailed", "races": [
        {"name": "race-1", "valid": False, "reason": "OutOfMemory", "message": "killed"}]}  # fmt: skip
    found = race_record(BENCHMARK | {"status": status}, config_map(), "v")
    assert (found.valid, found.reason, found.message) == (False, "OutOfMemory", "killed") and found.numbers
    gone = race_record({"status": {"phase": "Failed", "reason": "ClusterNotReady", "message": "x"}}, None, "v")
    assert (gone.valid, gone.reason) == (False, "ClusterNotReady")


@given(ANYTHING, ANYTHING, ANYTHING)
def test_forged_records_are_read_without_harm(one: Any, two: Any, three: Any) -> None:
    task = {"task": "t", "rally": {"throughput": one, "serviceTimeMillis": two, "latencyMillis": {"p50": three}},
            "samples": one, "windows": {"overTime": two, "seconds": three, "count": one}, "targetThroughput": three,
            "unitsDone": one}  # fmt: skip
    forged = {"format": 1, "tasks": [task, one], "totals": {"storeBytes": two}, "indices": three}
    texts = {
        "record.json": forged,
        "resources.json": {"format": 1, "machines": [one, {"role": "elasticsearch", "race": two}]},
    }
    data = {f"{key}.gz": base64.b64encode(gzip.compress(json.dumps(it).encode())).decode() for key, it in texts.items()}
    found = race_record(
        {"metadata": one, "status": {"races": [two, {"name": "race-1", "seconds": three}]}}, {"binaryData": data}, "v"
    )
    assert RaceRecord.model_validate_json(found.model_dump_json(by_alias=True)) == found
    assert all(0 <= each.value < float("inf") for each in found.numbers)


def test_of_a_search_the_capacity_is_compared_and_no_probe() -> None:
    found = race_record(BENCHMARK, config_map(searching_race(300.0)), "8.11.0")
    assert {task for task, _ in values(found)} <= {"", "search", "bulk"} and found.target_throughput == {}
    (capacity,) = [each for each in found.numbers if each.metric == "capacity"]
    assert capacity.task == "search" and capacity.value == pytest.approx(300.0, rel=0.03) and capacity.unit == "ops/s"


@pytest.mark.parametrize(
    "record", [searching_race(50.0), searching_race(5000.0), searching_race(300.0, saturated_from=290.0)]
)
def test_a_bound_is_no_capacity_to_compare(record: Record) -> None:
    found = race_record(BENCHMARK, config_map(record), "8.11.0")
    assert ("search", "capacity") not in values(found) and found.no_capacity
    assert RaceRecord.model_validate_json(found.model_dump_json(by_alias=True)) == found


def test_the_record_of_a_block_says_why_a_race_has_no_capacity() -> None:
    told = [
        race_record(BENCHMARK, config_map(it), "v").no_capacity for it in (searching_race(50.0), searching_race(300.0))
    ]
    assert told == ["the objective is not kept at the lowest rate", ""]


def test_the_share_of_failed_requests_is_kept_of_the_tasks_that_are_compared() -> None:
    tasks = (replace(TASK, errors=Counts(5, 2)), replace(TASK, task="bulk", errors=Counts(3, 0)))
    found = race_record(BENCHMARK, config_map(replace(RECORD, tasks=tasks)), "v")
    assert found.failed_shares == {"search": 0.02}, "of the measured ones"
    assert RaceRecord.model_validate_json(found.model_dump_json(by_alias=True)) == found
    searching = searching_race(50.0)
    failed = tuple(replace(task, errors=task.samples) for task in searching.tasks)
    probed = race_record(BENCHMARK, config_map(replace(searching, tasks=failed)), "v")
    assert set(probed.failed_shares or ()) == {"bulk"}, "errors of a probe are an answer"
    none = race_record(BENCHMARK, config_map(RECORD), "v")
    assert none.failed_shares == {}, "known, unlike of an operator of before"
    assert race_record(BENCHMARK, None, "v").failed_shares is None
    assert RaceRecord(variant="v", benchmark="b").failed_shares is None


def test_a_race_to_be_put_beside_others_has_the_numbers_of_its_record() -> None:
    """The requests are counted, and what takes turns or is a probe is left out, as in a Comparison."""
    failing = replace(RECORD.tasks[1], rally=replace(TASK.rally or RallyNumbers(), error_rate=0.01))
    record = replace(RECORD, race_id="r1", tasks=(TASK, failing, replace(TASK, task="duet", turns=TaskTurns("duet"))))
    found = recorded_race("up race-1", record, {"ran: version": "9.0.0"})
    assert (found.name, found.identity, found.facts, found.judged) == (
        "up race-1",
        "r1",
        {"ran: version": "9.0.0"},
        True,
    )
    assert found.values[Number("search", Kind.THROUGHPUT)] == 49.0 and found.values[Number("", Kind.STORE)] == 5e6
    assert Number("search", Kind.P99) not in found.supported and Number("bulk", Kind.P99) in found.supported
    assert Number("duet", Kind.P50) in found.values and Number("duet", Kind.THROUGHPUT) not in found.values
    assert found.units[Number("search", Kind.THROUGHPUT)] == "ops/s" and found.error_rates == {"bulk": 0.01}
    assert found.tasks == ("search", "bulk", "duet") and found.rates == {"search": 50.0, "duet": 50.0}
    searched = recorded_race("up race-2", searching_race(300.0), {})
    assert set(searched.values) == {Number("search", Kind.CAPACITY), Number("bulk", Kind.THROUGHPUT)}, "no probe's"
    assert searched.identity == "up race-2"
    unfound = recorded_race("up race-3", searching_race(50.0), {})
    assert searched.tasks == unfound.tasks == ("bulk", "search"), "probes are of one race, and a bound is no absence"


def test_what_decides_is_the_rate_of_the_measured_time() -> None:
    """Rally's is a running average that has begun with the warm-up."""
    mine = replace(TASK, turns=None, rate=116.0)
    record = Record(tasks=(mine,))
    found = race_record(BENCHMARK, config_map(record), "v")
    assert values(found)[(TASK.task, "throughput")] == 116.0 and found.sources["rate"] == "the requests themselves"
    raced = recorded_race("a", record, {})
    number = Number(TASK.task, Kind.THROUGHPUT)
    assert raced.values[number] == 116.0 and raced.sources["rate"] == "the requests themselves"


def test_beside_files_and_of_an_earlier_load_generator_it_is_rallys() -> None:
    of_rally = values(race_record(BENCHMARK, config_map(Record(tasks=(replace(TASK, rate=None),))), "v"))
    told = of_rally[(TASK.task, "throughput")]
    beside = recorded_race("a", Record(tasks=(replace(TASK, rate=9 * told),)), {}, rates_of_rally=True)
    assert beside.values[Number(TASK.task, Kind.THROUGHPUT)] == told
    earlier = recorded_race("a", Record(tasks=(replace(TASK, rate=None),)), {})
    assert beside.sources == earlier.sources == {"rate": "Rally's running average"}


def test_of_more_numbers_than_there_is_room_for_whole_tasks_are_left_out_and_those_of_gates_are_kept() -> None:
    tasks = tuple(replace(TASK, task=f"t{n}", target_throughput=50.0) for n in range(2000))
    found = race_record(BENCHMARK, config_map(Record(tasks=tasks), None), "v", gated={"t1900"})
    numbers = [each.task for each in found.numbers]
    of_one = numbers.count("t0")
    assert len(numbers) <= MOST_NUMBERS and numbers.count("t1900") == of_one > 1
    assert {numbers.count(each) for each in numbers} == {of_one}
    assert found.tasks_left_out == 2000 - len(set(numbers)) > 0
    assert set(found.target_throughput) == set(numbers)
