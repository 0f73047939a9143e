"""The curve of a sweep over its races, with what it says and what it refuses to say; and as drnbench writes it."""

from __future__ import annotations

import csv
import io
import random
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from searched_races import searching_race
from statuses import benchmark, succeeded

from fairlap.api.status import Results
from fairlap.api.sweep_spec import Objective
from fairlap.api.sweep_status import SweepResult
from fairlap.cli.edge.exits import UsageError
from fairlap.cli.tables import sweep_report
from fairlap.cli.tables.sweep_picture import picture
from fairlap.results.aggregate import remarks
from fairlap.results.capacity_found import capacity_result
from fairlap.results.sweep_curve import sweep_result
from fairlap_race.contract.recorded.http_record import HttpAnswers, HttpHost, HttpRecord
from fairlap_race.contract.recorded.record import Counts, EnvironmentRecord, RallyNumbers, Record, Task
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.sweep import SweepSpec, steps_of
from fairlap_race.contract.watched_machines.resources import LOAD_GENERATOR, Machine, MachineTable, TaskUsage, Usage

CLIENTS = (1, 2, 4, 8, 16, 32, 64)


def law(clients: float) -> float:
    return 100 * clients / (1 + 0.05 * (clients - 1) + 0.0008 * clients * (clients - 1))


def task(name: str, clients: int, rate: float, **changes: Any) -> Task:
    millis = 1000 * clients / rate
    times = {"p50": millis * 0.9, "p99": millis * 2, "p100": millis * 3, "mean": millis}
    found: dict[str, Any] = {
        "unit": "ops/s",
        "clients": clients,
        "rate": rate,
        "samples": Counts(0, round(rate * 30)),
        "duration_seconds": 30.0,
        "fastest_millis": millis / 2,
        "support": {"p50": 1000, "p99": 20},
        "rally": RallyNumbers(service_time_millis=times, latency_millis=times),
        "load": TaskLoad(cpu_share=0.5),
    }
    return Task(name, **{**found, **changes})


def race(pace: float = 1.0, saturated: tuple[int, ...] = (), order: str = "ascending") -> Record:
    steps = steps_of("search", CLIENTS, [], order)
    tasks = [
        task(
            step.name,
            step.clients or 0,
            pace * law(step.clients or 0) * (0.9 if step.direction == "down" else 1.0),
            load=TaskLoad(cpu_share=0.9, saturated=step.clients in saturated),
        )
        for step in steps
    ]
    swept = SweepSpec(task="search", steps=steps, order=order)
    return Record(tasks=tuple(tasks), track=TrackRecord(sweep=swept), environment=EnvironmentRecord(version="8.11.0"))


def curve(*races: Record, objective: Objective | None = None) -> SweepResult:
    found = sweep_result(races, objective)
    assert found is not None
    return found


def test_a_race_without_a_sweep_has_no_curve() -> None:
    assert sweep_result([Record()]) is None and sweep_result([]) is None


@pytest.mark.parametrize(
    ("written", "told"),
    [("50.5ms", "50.5 ms"), ("0.05s", "50 ms"), ("50123.456us", "50.123456 ms"), ("50ms", "50 ms")],
)
def test_an_objective_is_told_as_it_was_written(written: str, told: str) -> None:
    found = curve(race(), race(), objective=Objective(p99=written))
    assert f"ops/s below {told} at p99 (between" in found.sentences[0]


def test_a_capacity_with_failures_says_so() -> None:
    """Refusals are fast: of them alone the latency would be a good one."""
    failing = replace(race(), tasks=tuple(replace(it, errors=Counts(0, it.samples.normal // 4)) for it in race().tasks))
    told = curve(failing, failing, objective=Objective(p99="50ms")).sentences[0]
    assert "), while up to 25.00 % of a step's requests failed" in told
    assert "failed" not in curve(race(), race(), objective=Objective(p99="50ms")).sentences[0]


def test_the_time_of_each_client_is_its_own() -> None:
    """With answers of two seconds the gaps at begin and end of a step of thirty are nobody's work."""
    slow = task("search@8", 8, 4.0, samples=Counts(0, 112), duration_seconds=29.75, client_seconds=224.0)
    times = RallyNumbers(service_time_millis={"mean": 2000.0, "p50": 2000.0}, latency_millis={})
    swept = SweepSpec(task="search", steps=steps_of("search", (8,), [], "ascending"))
    of = replace(race(), tasks=(replace(slow, rally=times),), track=TrackRecord(sweep=swept))
    assert curve(of).rows[0].waiting_share == pytest.approx(1.0)
    old = replace(of, tasks=(replace(of.tasks[0], client_seconds=None),))
    assert curve(old).rows[0].waiting_share == pytest.approx(0.941, abs=0.001), "of records before"


def test_a_known_curve_is_told() -> None:
    races = [race(pace) for pace in (0.99, 1.0, 1.01)]
    found = curve(*races, objective=Objective(p99="50ms"))
    assert found.fit is not None and found.fit.rate == pytest.approx(100, rel=0.02)
    assert found.fit.contention == pytest.approx(0.05, abs=0.005) and found.fit.points == 21
    assert found.peak_clients is not None and found.peak_clients.low < 34.5 < found.peak_clients.high
    assert found.capacity is not None and found.capacity_races == 3
    assert found.capacity.low < found.capacity.value < found.capacity.high
    first = found.sentences[0]
    assert first.startswith("8.11.0 carries ") and "ops/s below 50 ms at p99 (95 % interval " in first
    assert f"the knee is at {found.knee_clients:g} clients" in first and "the peak is" in first
    row = found.rows[3]
    assert (row.step, row.clients, row.used, row.saturated_races) == ("search@8", 8, True, 0)
    assert row.throughput is not None and row.throughput.median == pytest.approx(law(8))
    assert row.waiting_share == pytest.approx(1.0, abs=0.01) and row.load_generator_cpu_share == 0.9
    assert row.support == {"p50": 1000, "p99": 20}


def test_steps_that_the_load_generator_could_not_drive_do_not_count() -> None:
    found = curve(race(saturated=(4, 32, 64)))
    assert [row.clients for row in found.rows if not row.used] == [4, 32, 64]
    assert found.fit is None and "there are 4" in found.fit_refused
    assert any("3 of 7 steps do not count" in text for text in found.sentences)


def test_steps_in_which_the_clients_did_not_wait_are_not_fitted() -> None:
    whole = race()

    def with_shorter(*numbers: int) -> Record:
        """Return the race with answers that took four fifths of the clients' time in the steps of `numbers`."""
        shorter = {f"search@{number}" for number in numbers}
        tasks = []
        for it in whole.tasks:
            assert it.rally is not None
            times = {**it.rally.service_time_millis, "mean": 0.8 * it.rally.service_time_millis["mean"]}
            rate = 0.8 * (it.rate or 0.0)
            slow = replace(it, rate=rate, rally=replace(it.rally, service_time_millis=times))
            tasks.append(slow if it.task in shorter else it)
        return replace(whole, tasks=tuple(tasks))

    found = curve(with_shorter(1))
    assert found.fit is not None and found.fit.points == 6 and found.fit.contention == pytest.approx(0.05, abs=0.001)
    assert all(row.used for row in found.rows) and found.rows[0].waiting_share == pytest.approx(0.8, abs=0.01)
    assert any("In 1 of 7 steps the clients waited for answers less than 95 % of their time (80 % in search@1)" in text
               for text in found.sentences)  # fmt: skip
    refused = curve(with_shorter(1, 2))
    assert refused.fit is None and "there are 5" in refused.fit_refused and refused.knee_clients is not None


@pytest.mark.parametrize(
    ("servers", "raced"),
    [
        (["Groonga/14.1"] * 2, "Groonga/14.1 "),
        (["a", "b"], "the target "),
        ([None], "the target "),
        ([], "the target "),
    ],
)
def test_over_http_the_engine_is_called_as_it_calls_itself(servers: list[str | None], raced: str) -> None:
    hosts = tuple(HttpHost(f"h{number}", 200, server) for number, server in enumerate(servers))
    over_http = replace(race(), environment=EnvironmentRecord(), http=HttpRecord(hosts=hosts))
    assert curve(over_http).sentences[0].startswith(raced)
    assert curve(replace(race(), environment=EnvironmentRecord())).sentences[0].startswith("the cluster ")
    found = capacity_result([replace(searching_race(300.0), environment=EnvironmentRecord(), http=over_http.http)])
    assert found is not None and found.sentences[0].startswith(f"{raced}carries")


@pytest.mark.parametrize(
    ("carried", "between", "refused"),
    [
        (250.0, (200.0, 400.0), ""),
        (900.0, None, "kept in every step up to the largest, 800"),
        (50.0, None, "not met even by the smallest step, 100"),
    ],
)
def test_a_rate_whose_requests_were_dropped_is_not_carried(
    carried: float, between: tuple[float, float] | None, refused: str
) -> None:
    steps = steps_of("requests", [], [100, 200, 400, 800], "ascending")
    tasks = []
    for step in steps:
        rate = step.target_throughput or 0.0
        found = task(step.name, 100, min(rate, carried), rally=RallyNumbers(latency_millis={"p99": 20.0}))
        dropped = replace(found, rally=RallyNumbers(), http=HttpAnswers(latency_left_out="requests were not sent"))
        tasks.append(found if rate <= carried else dropped)
    swept = SweepSpec(task="requests", steps=steps, order="ascending")
    told = curve(Record(tasks=tuple(tasks), track=TrackRecord(sweep=swept)), objective=Objective(p99="50ms"))
    assert (told.capacity and (told.capacity.low, told.capacity.high)) == between
    assert refused in told.capacity_refused and bool(refused) == bool(told.capacity_refused)


@pytest.mark.parametrize(
    ("p90", "between", "refused"),
    [(900.0, (law(2), law(4)), ""), (40.0, None, "kept in every step up to the largest, 2")],
)
def test_a_step_that_is_too_slow_for_its_percentile_does_not_keep_the_objective(
    p90: float, between: tuple[float, float] | None, refused: str
) -> None:
    steps = steps_of("search", [1, 2, 4], [], "ascending")
    times = [{"p50": 10.0, "p90": 20.0, "p99": 30.0}] * 2 + [{"p50": 20.0, "p90": p90, "p100": 1000.0}]
    tasks = tuple(
        task(step.name, step.clients or 0, law(step.clients or 0), rally=RallyNumbers(latency_millis=each))
        for step, each in zip(steps, times, strict=True)
    )
    swept = SweepSpec(task="search", steps=steps, order="ascending")
    told = curve(Record(tasks=tasks, track=TrackRecord(sweep=swept)), objective=Objective(p99="50ms"))
    assert (told.capacity and (told.capacity.low, told.capacity.high)) == between
    assert told.capacity is None or told.capacity.value == told.capacity.low, "where between is not known"
    assert refused in told.capacity_refused and bool(refused) == bool(told.capacity_refused)


def test_up_and_down_tells_the_hysteresis() -> None:
    found = curve(race(order="upAndDown"))
    assert found.hysteresis == pytest.approx(-0.1) and len(found.rows) == 14
    assert any("-10.0 %" in text for text in found.sentences)


def test_hysteresis_is_of_steps_that_count() -> None:
    """Here only the load generator's own trouble makes a way down slower than the others."""
    record = race(order="upAndDown", saturated=(32, 64))
    troubled = tuple(
        replace(it, rate=(it.rate or 0) / (2 if it.task == "search@64-down" else 1)) for it in record.tasks
    )
    found = curve(replace(record, tasks=troubled))
    assert found.hysteresis == pytest.approx(-0.1)
    assert curve(race(order="upAndDown", saturated=CLIENTS)).hysteresis is None


def test_rates_have_a_capacity_and_no_law() -> None:
    steps = steps_of("search", [], [10, 20, 40], "ascending")
    tasks = tuple(task(it.name, 1, it.target_throughput or 0, target_throughput=it.target_throughput) for it in steps)
    slow = {"p99": 500.0}
    tasks = (*tasks[:2], task("search@40/s", 1, 40.0, target_throughput=40.0, rally=RallyNumbers(latency_millis=slow)))
    swept = TrackRecord(sweep=SweepSpec(task="search", steps=steps))
    found = curve(Record(tasks=tasks, track=swept), objective=Objective(p99="450ms"))
    assert found.fit_refused and found.knee_clients is None
    assert found.capacity is not None and 20 < found.capacity.value < 40 and found.capacity_races == 0
    assert found.sentences[0].endswith("(between 20 and 40, what the steps 20 and 40 carried)")


def test_a_rate_of_which_all_failed_is_not_carried() -> None:
    steps = steps_of("search", [], [50, 100, 400], "ascending")
    tasks = [
        task(it.name, 1, it.target_throughput or 0, rally=RallyNumbers(latency_millis={"p99": 9.0})) for it in steps
    ]
    tasks[2] = replace(tasks[2], rate=0.0, rally=RallyNumbers(latency_millis={"p99": 1.0}))
    swept = TrackRecord(sweep=SweepSpec(task="search", steps=steps))
    found = curve(Record(tasks=tuple(tasks), track=swept), objective=Objective(p99="50ms"))
    assert found.capacity is not None and (found.capacity.low, found.capacity.high) == (100, 400)
    assert "(between 100 and 400: the step 100 was carried, and 400 was not)" in found.sentences[0]


def test_only_where_it_was_the_bottleneck_the_load_generator_is_called_so() -> None:
    found = curve(race(saturated=(4, 8)))
    assert [row.step for row in found.rows if not row.used] == [f"search@{n}" for n in (4, 8, 16, 32, 64)]
    (said,) = [text for text in found.sentences if "bottleneck" in text]
    assert said == (
        "The load generator was the bottleneck in search@4, search@8: 5 of 7 steps do not count, and with them "
        "search@16, search@32, search@64"
    )
    table = sweep_report.curve(shown(found))
    assert table.count("load generator saturated") == 2 and table.count("not counted beside a saturated step") == 3


def test_a_step_of_one_request_a_client_tells_nothing_of_the_objective() -> None:
    steps = steps_of("search", [], [5, 50, 100], "ascending")
    tasks = [
        task(it.name, 9, it.target_throughput or 0, rally=RallyNumbers(latency_millis={"p99": 9.0})) for it in steps
    ]
    tasks[0], tasks[2] = (
        replace(tasks[0], rate=None),
        replace(tasks[2], rally=RallyNumbers(latency_millis={"p99": 90.0})),
    )
    swept = TrackRecord(sweep=SweepSpec(task="search", steps=steps))
    found = curve(Record(tasks=tuple(tasks), track=swept), objective=Objective(p99="50ms"))
    assert found.capacity is not None and (found.capacity.low, found.capacity.high) == (50, 100)


def test_of_many_races_each_has_probes_in_the_status_and_what_has_no_room_is_told() -> None:
    races = [searching_race(300.0, noise=random.Random(number)) for number in range(40)]
    found = sweep_result(races)
    assert found is not None and {row.race for row in found.rows} == set(range(1, 41)) and len(found.rows) <= 200
    there = sum(len(it.track.sweep.steps) for it in races if it.track.sweep)
    text = f"status.results.sweep.rows has {len(found.rows)} of {there} steps, and {there - len(found.rows)} were left"
    told = [it.text for it in remarks(races[-1], Results(sweep=found), 0, races)]
    assert any(it.startswith(text) for it in told), told
    alone = sweep_result(races[:1])
    assert not [it for it in remarks(races[0], Results(sweep=alone), 0) if "sweep.rows" in it.text]


def test_an_objective_that_is_never_missed_is_said() -> None:
    found = curve(race(), objective=Objective(p99="600s"))
    assert found.capacity is None and "kept in every step up to the largest, 64" in found.capacity_refused
    assert "has no capacity to be told" in found.sentences[0]


def test_the_cpu_of_the_nodes_is_that_of_the_step() -> None:
    def machine(role: str, cores: float) -> Machine:
        return Machine(role=role, tasks=(TaskUsage("search@8", None, Usage(cpu_mean_cores=cores)),))

    table = MachineTable(machines=(machine("elasticsearch", 1.5), machine("elasticsearch", 0.5),
                                   machine(LOAD_GENERATOR, 9)))  # fmt: skip
    found = sweep_result([race()], None, [table])
    assert found is not None
    assert {row.step: row.elasticsearch_cpu_cores for row in found.rows if row.elasticsearch_cpu_cores} == {
        "search@8": 2.0
    }


def shown(found: SweepResult) -> dict[str, Any]:
    status = succeeded("8.11.0").model_copy(update={"results": Results(sweep=found)})
    return benchmark("es-8", status)


def test_drnbench_reads_what_is_written() -> None:
    failing = race()
    some = failing.tasks[0]
    one = task(some.task, 1, some.rate or 0, errors=Counts(0, 30), samples=Counts(0, 3000))
    text = sweep_report.drnbench(shown(curve(Record(tasks=(one, *failing.tasks[1:]), track=failing.track))))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == [
        "n_clients", "total_n_requests", "queries_per_second", "min_elapsed_time", "max_elapsed_time",
        "average_elapsed_time", "0", "200",
    ]  # fmt: skip
    assert [int(row["n_clients"]) for row in rows] == list(CLIENTS)
    assert (float(rows[0]["0"]), float(rows[0]["200"])) == (1.0, 99.0)
    for row in rows:
        assert float(row["queries_per_second"]) == pytest.approx(law(int(row["n_clients"])))
        assert float(row["min_elapsed_time"]) < float(row["average_elapsed_time"]) < float(row["max_elapsed_time"])
        assert float(row["average_elapsed_time"]) == pytest.approx(int(row["n_clients"]) / law(int(row["n_clients"])))


def test_drnbench_has_times_to_the_nanosecond_and_no_longer() -> None:
    whole = shown(curve(race()))
    times = {"min": 0.24, "mean": 1.3768546782328634, "max": 32.229381}
    for row in whole["status"]["results"]["sweep"]["rows"]:
        row["serviceTimeMillis"] = times
    line = sweep_report.drnbench(whole).splitlines()[1]
    assert line.split(",")[3:6] == ["0.00024", "0.032229381", "0.001376855"]


def test_drnbench_has_a_column_for_each_status_over_http() -> None:
    whole = shown(curve(race()))
    shares = {"search@1": {"200": 0.9, "503": 0.1}, "search@2": {"200": 0.5, "0": 0.5}}
    tasks = [{"task": step, "http": {"statusShares": each}} for step, each in shares.items()]
    whole["status"]["results"]["tasks"] = tasks
    rows = list(csv.DictReader(io.StringIO(sweep_report.drnbench(whole))))
    assert list(rows[0])[6:] == ["0", "200", "503"]
    assert [float(rows[0][it]) for it in ("0", "200", "503")] == pytest.approx([0, 90, 10])
    assert [float(rows[1][it]) for it in ("0", "200", "503")] == pytest.approx([50, 50, 0])
    assert [float(rows[2][it]) for it in ("0", "200", "503")] == pytest.approx([0, 100, 0]), "no share was told"


def test_drnbench_has_no_status_of_a_step_whose_shares_had_no_room() -> None:
    whole = shown(curve(race()))
    whole["status"]["environment"] = {"k6Version": "1.8.1"}
    whole["status"]["results"]["tasks"] = [{"task": "search@1", "http": {"statusShares": {"200": 0.9, "429": 0.1}}}]
    rows = list(csv.DictReader(io.StringIO(sweep_report.drnbench(whole))))
    assert [float(rows[0][it]) for it in ("0", "200", "429")] == pytest.approx([0, 90, 10])
    assert [rows[1][it] for it in ("0", "200", "429")] == ["", "", ""]


def test_drnbench_is_of_requests_alone() -> None:
    of_documents = race()
    tasks = tuple(replace(it, unit="docs/s") for it in of_documents.tasks)
    with pytest.raises(UsageError, match="es-8 measured docs/s, and drnbench's CSV is of queries per second"):
        sweep_report.drnbench(shown(curve(replace(of_documents, tasks=tasks))))


SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_has_a_sign_for_each_step_and_number_and_needs_nothing_else() -> None:
    other = shown(curve(race(pace=2.0)))
    other["metadata"]["name"] = "es-9"
    text = picture([shown(curve(race(saturated=(64,)))), other])
    whole = ElementTree.fromstring(text)  # noqa: S314 - our own
    assert whole.tag == f"{SVG}svg" and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    told = [each.text or "" for each in whole.iter(f"{SVG}title")]
    assert sum(each.startswith("es-9, 64: ") for each in told) == 3, "throughput, p50, p99 of the last step"
    words = [each.text for each in whole.iter(f"{SVG}text")]
    assert {"throughput of search (ops/s)", "service time p50 (ms)", "service time p99 (ms)", "clients"} <= {*words}


def test_signs_of_saturated_steps_are_hollow_and_the_way_down_is_not_joined() -> None:
    text = picture([shown(curve(race(saturated=(32, 64), order="upAndDown")))])
    assert text.count("hollow") > 6 and ">hollow: the load generator was the bottleneck<" in text
    assert "1 (downwards)" in text
    upwards = picture([shown(curve(race(saturated=(32, 64))))])
    lines = re.compile(r'd="(M[^"]*)" class="line')
    assert lines.findall(text)[0].count("L") == lines.findall(upwards)[0].count("L")


def test_rates_are_drawn_with_latencies_and_not_beside_clients() -> None:
    steps = steps_of("search", [], [10, 20, 40], "ascending")
    tasks = tuple(task(it.name, 1, it.target_throughput or 0, target_throughput=it.target_throughput) for it in steps)
    rates = shown(curve(Record(tasks=tasks, track=TrackRecord(sweep=SweepSpec(task="search", steps=steps)))))
    assert "latency p99 (ms)" in picture([rates]) and "target throughput" in picture([rates])
    rates["metadata"]["name"] = "rates"
    with pytest.raises(UsageError, match="either clients or rates"):
        picture([rates, shown(curve(race()))])


def test_one_picture_has_one_unit_and_says_of_which_tasks_it_is() -> None:
    one, other = shown(curve(race())), shown(curve(race()))
    other["metadata"]["name"] = "es-9"
    sweep = other["status"]["results"]["sweep"]
    sweep["task"] = "aggregate"
    text = picture([one, other])
    assert ">throughput (ops/s)<" in text and ">es-8: search<" in text and ">es-9: aggregate<" in text
    assert "<title>search, aggregate: es-8, es-9</title>" in text
    sweep["unit"] = "docs/s"
    with pytest.raises(UsageError, match=r"throughput of es-8 is in ops/s, of es-9 in docs/s: .*one unit"):
        picture([one, other])


def test_no_curve_no_picture() -> None:
    with pytest.raises(UsageError, match=r"has no curve: -o svg is for Benchmarks with race\.sweep"):
        picture([benchmark("es-8", succeeded("8.11.0"))])


def test_no_curve_no_csv() -> None:
    with pytest.raises(UsageError, match="has no curve over clients"):
        sweep_report.drnbench(benchmark("es-8", succeeded("8.11.0")))


@pytest.mark.parametrize(("millis", "shown"), [(0.4567, "0.46"), (0.0456, "0.046"), (12.34, "12.3"), (250, "250.0")])
def test_the_table_shows_latencies_below_a_millisecond(millis: float, shown: str) -> None:
    rows = [{"step": "search@1", "latencyMillis": {"p50": millis}, "used": True}]
    held = {"metadata": {"name": "es-8"}, "status": {"results": {"sweep": {"task": "search", "rows": rows}}}}
    assert sweep_report.curve(held).splitlines()[-1].split()[2] == shown


def test_the_table_has_a_line_for_each_step() -> None:
    text = sweep_report.curve(shown(curve(race(saturated=(32, 64)))))
    lines = text.splitlines()
    assert lines[0] == "es-8: search in 7 steps"
    assert any(line.startswith("search@64") and line.endswith("load generator saturated") for line in lines)
    assert sweep_report.curve(benchmark("es-8", succeeded("8.11.0"))) == ""
