"""Results side by side, from statuses made with the API's own models, so that a renamed field fails here."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statuses import benchmark, fig, succeeded

from fairlap.api.noise_status import Noise, NumberNoise, TaskNoise
from fairlap.api.status import BenchmarkStatus
from fairlap.cli.edge.benchmarks import Benchmark
from fairlap.cli.tables import report, rows
from fairlap.wording import numerals, percentages, sizes

MACHINES = [
    {"name": "es-0", "role": "elasticsearch", "races": 2, "cpuMeanCores": 0.75, "diskReadBytes": 3 * 2**30},
    {"name": "load-generator", "role": "load-generator", "races": 2, "cpuMeanCores": 0.5, "ioWaitingShare": 0.125},
]
TWO = [benchmark("es-8", succeeded("8.11.0")), benchmark("es-9", succeeded("9.0.0", 9000.0), heap="1g")]


def cells(table: str, label: str) -> list[str]:
    line = next(line for line in table.splitlines() if line.startswith(label))
    return [cell.strip() for cell in line[len(label) :].split("  ") if cell.strip()]


@pytest.mark.parametrize(
    ("label", "texts"),
    [
        ("bulk-index: throughput, docs/s", ["13,000 (12,000–14,001)", "9,000"]),
        ("bulk-index: docs/s in 1 s windows", ["13,000 (12,000–14,001)", "9,000"]),
        ("bulk-index: service time p50, ms", ["81.0 (80.0–82.0)"] * 2),
        ("bulk-index: service time p99, ms", ["10 (9–11) [2 requests]"] * 2),
        ("bulk-index: Rally's running average, warm-up included, docs/s", ["13,000 (12,000–14,001)", "9,000"]),
        ("bulk-index: requests measured", ["600", "600"]),
        ("search: ops/s in 1 s windows", ["left out", "left out"]),
        ("bulk-index: settled", ["no, not for 7.5 s"] * 2),
        ("search: settled", ["unknown"] * 2),
        ("bulk-index: error rate", ["0.00 %"] * 2),
        ("search: asked for, ops/s", ["20", "20"]),
        ("search: latency p50, ms", ["0.60 (0.50–0.70)"] * 2),
        ("search: error rate", ["50.00 %"] * 2),
        ("pipeline access-logs: documents", ["100,000", "100,000"]),
        ("pipeline access-logs: time, ms", ["1,000 (900–1,100)"] * 2),
        ("store, MiB", ["4 (3–6)"] * 2),
        ("young collections, ms", ["41"] * 2),
        ("races valid / asked", ["3/3", "3/3"]),
        ("ran: Elasticsearch", ["8.11.0", "9.0.0"]),
        ("ran: build", ["112859b85d50"] * 2),
        ("ran: Java", ["21.0.8 (Eclipse Adoptium)"] * 2),
        ("ran: heap, MiB", ["1,024"] * 2),
        ("ran: indices", ["2 shards, 0 replicas, codec default"] * 2),
        ("ran: image", ["sha256:ab12ab12ab12"] * 2),
    ],
)
def test_table_has_a_row_for_each_quantity(label: str, texts: list[str]) -> None:
    text = report.table(TWO)
    assert text.splitlines()[0].split() == ["es-8", "es-9"]
    assert cells(text, label) == texts


def log_ingest(version: str, *rates: float, errors: float = 0.0) -> dict[str, Any]:
    """A Benchmark with the tasks of the builtin track log_ingest."""
    status = succeeded(version, *rates)
    bulk = status.results.tasks[0].model_copy(update={"error_rate": errors})
    times = {name: fig(5.0, 6.0, 7.0) for name in ("p50", "p90", "p99", "p99.9")}
    searches = [
        bulk.model_copy(update={"task": task, "type": "search", "unit": "ops/s", "service_time_millis": times})
        for task in ("search-request", "search-response", "search-time-range", "requests-per-hour")
    ]
    status.results.tasks[:] = [bulk, *searches]
    return benchmark(f"es-{version}", status)


def test_the_main_figures_are_about_twenty_rows() -> None:
    two = [log_ingest("8.11.0"), log_ingest("9.0.0", 9000.0)]
    text = report.main_table(two)
    head, rule, *lines = text.splitlines()
    assert head.split() == ["es-8.11.0", "es-9.0.0"] and not rule.strip("- ")
    assert 15 <= len(lines) <= 22
    assert cells(text, "bulk-index: throughput, docs/s") == ["13,000 (12,000–14,001)", "9,000"]
    assert cells(text, "search-request: service time p50, ms") == ["6 (5–7)"] * 2
    assert cells(text, "requests-per-hour: service time p99, ms") == ["6 (5–7) [2 requests]"] * 2
    assert cells(text, "error rate, all tasks") == ["0.00 %"] * 2
    assert cells(text, "store, MiB") == ["4 (3–6)"] * 2
    assert cells(text, "races valid / asked") == ["3/3"] * 2
    assert cells(text, "ran: Elasticsearch") == ["8.11.0", "9.0.0"]
    assert not [line for line in lines if "p90" in line or "collections" in line or "ran: Java" in line]
    whole = [line.split() for line in report.table(two).splitlines()]
    assert [line for line in lines if line.split() not in whole] == [line for line in lines if "all tasks" in line]


def test_throughput_is_that_of_the_measured_time_where_it_is_known() -> None:
    known, unknown = log_ingest("8.11.0", 100.0), log_ingest("9.0.0", 100.0)
    known["status"]["results"]["tasks"][0]["overallThroughput"] = {"median": 300, "min": 300, "max": 300, "races": 1}
    del unknown["status"]["results"]["tasks"][0]["overallThroughput"]
    assert cells(report.main_table([known, unknown]), "bulk-index: throughput, docs/s") == ["300", "100"]
    assert "0.33 times" in report.reading([known, unknown])


def test_main_figures_show_the_latency_where_a_rate_was_asked_for() -> None:
    text = report.main_table(TWO)
    assert cells(text, "search: latency p50, ms") == ["0.60 (0.50–0.70)"] * 2
    assert "search: service time" not in text


def test_main_figures_show_errors_by_task_and_what_is_not_the_same() -> None:
    two = [log_ingest("9.0.0"), log_ingest("9.0.0", errors=0.25)]
    two[1]["status"]["environment"] |= {"java": "17", "buildHash": "another"}
    text = report.main_table(two)
    assert cells(text, "bulk-index: error rate") == ["0.00 %", "25.00 %"]
    assert cells(text, "ran: Java") == ["21.0.8 (Eclipse Adoptium)", "17"]
    assert cells(text, "ran: build") == ["112859b85d50", "another"]
    assert "ran: heap" not in text and "all tasks" not in text


@pytest.mark.parametrize("names", [["new"], ["new", "old"]])
def test_main_figures_cope_with_nothing(names: list[str]) -> None:
    assert report.main_table([benchmark(name, None) for name in names]).splitlines()[0].split() == names


def test_a_remark_is_a_text_or_an_object() -> None:
    one = benchmark("es-9", succeeded())
    remark = {"reason": "SharedMachine", "message": "shared a machine"}
    one["status"]["races"][1]["remarks"] = [remark]
    assert report.remarks([one]) == ["es-9, race-1, race-2: shared a machine"]


def remarked(name: str, *messages: str) -> Benchmark:
    one = benchmark(name, succeeded())
    remarks = [{"reason": message.split()[0], "message": message} for message in messages]
    one["status"]["races"] = [{"name": "race-1", "valid": True, "remarks": remarks}]
    return one


def test_of_remarks_of_one_kind_the_first_is_shown_and_the_others_are_counted() -> None:
    five = [remarked(f"es-{n}", "shared machine", f"short for {n} s") for n in range(5)]
    assert report.brief_remarks(five) == [
        "es-0, es-1, es-2 and 2 more: shared machine",
        "es-0: short for 0 s (and 4 more remarks of this kind: --all)",
    ]
    assert report.brief_remarks(five[:2]) == [
        "es-0, es-1: shared machine",
        "es-0: short for 0 s (and 1 more remark of this kind: --all)",
    ]
    assert len(report.remarks(five)) == 10, "with --all each"
    assert report.brief_remarks([]) == []


def test_the_same_codec_with_another_algorithm_is_a_difference() -> None:
    two = [benchmark("es-8", succeeded("8.11.0")), benchmark("es-9", succeeded("9.0.0"))]
    for each, algorithm in zip(two, ("DEFLATE", "ZSTD"), strict=True):
        index = {"name": "logs", "shards": 1, "replicas": 0, "codec": "best_compression", "algorithm": algorithm}
        each["status"]["environment"]["indices"] = [index]
    shown = [f"1 shards, 0 replicas, codec best_compression ({algorithm})" for algorithm in ("DEFLATE", "ZSTD")]
    assert cells(report.table(two), "ran: indices") == shown
    assert "not the same: ran: index logs: algorithm: es-8 DEFLATE, es-9 ZSTD" in report.sentences(two)


def test_machines_are_shown_where_they_are_known() -> None:
    one = benchmark("a", succeeded())
    one["status"]["resources"] = MACHINES
    text = report.table([one, benchmark("b", succeeded())])
    assert cells(text, "es-0: cpu mean, cores") == ["0.75", "-"]
    assert cells(text, "es-0: disk read, GiB") == ["3", "-"]
    assert cells(text, "load-generator: io waiting") == ["12.50 %", "-"]
    assert not rows.machine_rows(TWO)


def test_a_benchmark_without_results_has_dashes() -> None:
    failed = BenchmarkStatus(phase="Failed", races_done="0/3", reason="ErrorRate", message="3 of 9 failed")
    found = [benchmark("es-8", succeeded()), benchmark("es-9", failed), benchmark("new", None)]
    text = report.table(found)
    assert cells(text, "bulk-index: throughput, docs/s")[1:] == ["-", "-"]
    assert cells(text, "bulk-index: error rate") == ["0.00 %", "-", "-"]
    assert cells(text, "ran: Elasticsearch")[1] == "-"
    sentences = report.sentences(found)
    assert "es-9 failed: ErrorRate: 3 of 9 failed" in sentences
    assert any(sentence.startswith("new has not ended: Pending") for sentence in sentences)


@pytest.mark.parametrize("output", sorted(report.FORMATS))
@pytest.mark.parametrize("names", [["new"], ["new", "old"]])
def test_every_format_copes_with_nothing(output: str, names: list[str]) -> None:
    assert report.FORMATS[output]([benchmark(name, None) for name in names])  # type: ignore[operator]


@pytest.mark.parametrize("output", report.FORMATS)
def test_a_rehearsal_is_called_one(output: str) -> None:
    words = "track check and smoke test went well; no race was asked for"
    status = BenchmarkStatus(phase="Succeeded", progress=words, races_done="0/0")
    rehearsal = benchmark("es-9", status, repetitions=0)
    assert report.verdict(rehearsal) == f"es-9 was a rehearsal: {words}."
    assert f"es-9 was a rehearsal: {words}." in report.sentences([rehearsal, TWO[0]])
    text = report.FORMATS[output]([rehearsal, TWO[0]])
    assert "0/0" in text
    assert report.FORMATS[output]([rehearsal]) and report.main_table([rehearsal])
    raced = benchmark("es-8", succeeded(), repetitions=3)
    assert report.verdict(raced) == "es-8 succeeded: 3/3 races are valid."


def test_csv_has_plain_numbers() -> None:
    lines = list(csv.reader(io.StringIO(report.comma_separated(TWO))))
    assert lines[0] == [
        "subject", "what", "unit", "es-8", "es-8 min", "es-8 max", "es-8 races", "es-8 requests beyond",
        "es-9", "es-9 min", "es-9 max", "es-9 races", "es-9 requests beyond",
    ]  # fmt: skip
    assert lines[1] == [
        "bulk-index", "throughput", "docs/s", "13000.2", "12000.4", "14000.9", "3", "", "9000.0", "9000.0", "9000.0",
        "1", "",
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"])
def test_no_name_of_a_task_or_a_version_is_a_formula(sign: str) -> None:
    """A track of somebody else's names its tasks, and a spreadsheet would work out what follows."""
    status = succeeded(f"{sign}9.0.0").to_json()
    for task in status["results"]["tasks"]:
        task["task"] = f"{sign}HYPERLINK(1)"
    text = report.comma_separated([{**TWO[0], "status": status}])
    lines = list(csv.reader(io.StringIO(text)))
    assert any("HYPERLINK" in line[0] for line in lines) and "\r" not in text
    assert not [cell for line in lines for cell in line if cell.startswith(sign)]


def test_markdown_shows_names_as_they_are() -> None:
    status = succeeded("9.0.0").to_json()
    status["results"]["tasks"][0]["task"] = "[a](http://x.example) <b> @all www.x.example | c"
    text = report.markdown([{**TWO[0], "status": status}])
    shown = "\\[a\\](http\u2060://x.example) \\<b\\> @\u2060all www\u2060.x.example \\| c"
    assert shown in text and "http://" not in text


def searched(name: str, *capacities: float, end: str = "Found") -> Benchmark:
    """A Benchmark that looked for a capacity; without any, and that found none."""
    races = [{"end": end, "rate": rate, "low": rate - 10, "high": rate + 20, "probes": 21} for rate in capacities]
    found: dict[str, Any] = {"task": "search", "objective": "o", "unit": "ops/s", "races": races or [{"end": end}]}
    found |= {"rate": {"value": 300.5, "low": 290.5, "high": 320.5}} if capacities else {"refused": "too slow"}
    one = benchmark(name, succeeded())
    one["status"]["results"] |= {"capacity": {**found, "sentences": [f"{name} said"]}, "sweep": {"sentences": ["no"]}}
    return dict(one)


def test_a_capacity_is_in_csv_and_markdown() -> None:
    asked = [searched("es-8", 300.5, 301.0), searched("es-9", end="NeverKept"), TWO[0]]
    lines = {line[1]: line for line in csv.reader(io.StringIO(report.comma_separated(asked))) if line[0] == "search"}
    assert [lines["capacity"][place] for place in (2, 3, 8, 13)] == ["ops/s", "300.5", "none: NeverKept", ""]
    assert [lines["capacity, from"][place] for place in (2, 3, 8, 13)] == ["ops/s", "290.5", "", ""]
    assert [lines["capacity, to"][place] for place in (2, 3, 8, 13)] == ["ops/s", "320.5", "", ""]
    text = report.markdown(asked)
    assert "| search: capacity, ops/s | 300 | none: NeverKept | - |" in text
    assert "\n* es-8: es-8 said\n* es-9: es-9 said" in text and "es-8: no" not in text
    asked[0]["status"]["results"]["capacity"]["rate"]["openBelow"] = True
    lines = {line[1]: line for line in csv.reader(io.StringIO(report.comma_separated(asked))) if line[0] == "search"}
    assert "capacity, from" not in lines and lines["capacity, to"][3] == "320.5", "an open end is no bound"
    assert "capacity" not in report.markdown(TWO) and "capacity" not in report.comma_separated(TWO)


def test_capacities_in_different_units_have_rows_of_their_own() -> None:
    asked = [searched("es-8", 300.5), searched("es-9", 301.0)]
    asked[1]["status"]["results"]["capacity"]["unit"] = "docs/s"
    text = report.markdown(asked)
    assert "| search: capacity, ops/s | 300 | - |" in text and "| search: capacity, docs/s | - | 300 |" in text


def test_what_a_sweep_says_is_in_csv_and_markdown() -> None:
    one = benchmark("es-8", succeeded())
    one["status"]["results"]["sweep"] = {
        "task": "search", "unit": "ops/s", "kneeClients": 8.0,
        "capacity": {"value": 300.0, "low": 250.0, "high": 350.0},
        "capacityRaces": 3, "peakClients": {"value": 34.5, "low": 30.0, "high": 40.0},
        "sentences": ["the knee is at 8"],
    }  # fmt: skip
    lines = {line[1]: line for line in csv.reader(io.StringIO(report.comma_separated([one, TWO[1]])))}
    told = {
        "capacity": "300.0",
        "capacity, from": "250.0",
        "capacity, to": "350.0",
        "knee, clients": "8.0",
        "peak, clients": "34.5",
    }
    assert {what: lines[what][3] for what in told} == told and lines["capacity, to"][8] == ""
    assert "\n* es-8: the knee is at 8" in report.markdown([one, TWO[1]])


def test_json_has_everything() -> None:
    data = json.loads(report.as_json(TWO))
    assert [each["name"] for each in data["benchmarks"]] == ["es-8", "es-9"]
    assert data["benchmarks"][0]["results"] == succeeded("8.11.0").to_json()["results"]
    assert {"what": "spec.heap", "values": {"es-8": None, "es-9": "1g"}} in data["differences"]
    assert {"what": "ran: version", "values": {"es-8": "8.11.0", "es-9": "9.0.0"}} in data["differences"]
    assert "es-8, race-1, race-2: shared a machine" in data["remarks"]


def test_markdown_is_a_table_with_sentences() -> None:
    lines = report.markdown(TWO).splitlines()
    assert lines[:2] == ["|  | es-8 | es-9 |", "| --- | ---: | ---: |"]
    assert all(line.count("|") == 4 for line in lines if line.startswith("|"))
    assert any(line.startswith("* es-8, race-1") for line in lines)


def test_what_is_not_the_same_is_said_once() -> None:
    differ = [sentence for sentence in report.sentences(TWO) if sentence.startswith("not the same")]
    assert differ == ["not the same: spec.heap: es-8 nothing, es-9 1g"]
    assert report.differences(TWO[:1]) == []


def test_what_is_not_the_same_over_http_is_in_rows_alone() -> None:
    two = [benchmark(name, succeeded()) for name in ("one", "two")]
    for each, version, host in zip(two, ("1.8.0", "1.9.1"), ("a:10041", "b:10041"), strict=True):
        each["status"]["environment"] |= {"k6Version": version, "httpHosts": [host]}
    differ = {what.split("[")[0] for what, _ in report.differences(two)}
    assert differ == {"ran: k6Version", "ran: httpHosts"}
    text = report.table(two)
    assert cells(text, "ran: k6") == ["1.8.0", "1.9.1"] and cells(text, "ran: hosts") == ["a:10041", "b:10041"]
    assert not [sentence for sentence in report.sentences(two) if sentence.startswith("not the same")]


@pytest.mark.parametrize(
    ("one", "two", "says"),
    [
        ((100, 110, 120), (115, 130, 140), "ranges overlap"),
        (
            (100, 110, 120),
            (130, 140, 150),
            "do not overlap, but one was raced after the other: a Comparison can decide it",
        ),
        ((100,), (150,), "says nothing yet"),
    ],
)
def test_reading_says_no_more_than_the_spread_allows(one: Any, two: Any, says: str) -> None:
    text = report.reading([benchmark("es-8", succeeded("8.11.0", *one)), benchmark("es-9", succeeded("9.0.0", *two))])
    assert says in text
    assert "es-9 has 1." in text


IN_TURN = {"inTurn": {"block": "b", "races": 2, "number": 0}}


def test_in_turn_no_rate_and_no_latency_is_shown_and_it_is_said_why() -> None:
    """An operator of before left the rate of all races together in the status."""
    two = [benchmark(f"cmp-1{letter}", succeeded(), **IN_TURN) for letter in "ab"]
    text = report.table(two)
    assert cells(text, "bulk-index: throughput, docs/s") == ["in turn", "in turn"]
    assert cells(text, "bulk-index: service time p50, ms") == ["81.0 (80.0–82.0)"] * 2
    assert "latency" not in text and "running average" not in text
    assert cells(report.main_table(two), "bulk-index: throughput, docs/s") == ["in turn", "in turn"]
    assert report.reading(two) == ""
    why = "raced in turn: the rate is that of all races together, so none has a throughput or a latency of its own"
    assert f"cmp-1a, cmp-1b: {why}" in report.sentences(two)
    assert report.comma_separated(two).splitlines()[1].startswith("bulk-index,throughput,docs/s,in turn,,,,,in turn")
    assert report.in_turn(TWO) == "" and report.in_turn([benchmark("new", None, **IN_TURN)]) == ""


def test_reading_is_silent_without_two_results() -> None:
    assert report.reading([benchmark("es-8", succeeded())]) == ""
    assert report.reading([benchmark("es-8", succeeded()), benchmark("es-9", None)]) == ""


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (0.0, "0.00 %"), (1.0, "100.00 %"), (0.5, "50.00 %"), (0.00001, "< 0.01 %")]
)
def test_percent(share: float | None, text: str) -> None:
    assert percentages.share_percent(share) == text


@given(st.lists(st.floats(0, 1e15), min_size=1, max_size=3))
def test_bytes_are_shown_in_a_unit_that_fits(values: list[float]) -> None:
    divisor, unit = sizes.byte_scale(values)
    assert unit == "bytes" or max(values) / divisor >= 1
    assert max(values) / divisor < 1024 or unit == "TiB"


@given(st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=4))
def test_no_number_reads_as_none_at_all(values: list[float]) -> None:
    digits = numerals.digits_for(values)
    assert all(float(numerals.number(value, digits).replace(",", "")) > 0 for value in values)


def with_noise(name: str) -> dict[str, Any]:
    numbers = [
        NumberNoise(metric="throughput", races=3, own_spread=4.1, smallest_visible=6.34, message="m"),
        NumberNoise(metric="serviceTimeP99", races=3, message="unknown: too few requests"),
    ]
    whole = [NumberNoise(metric="storeBytes", races=3, own_spread=0.1, smallest_visible=0.2, message="m")]
    tasks = [TaskNoise(task="bulk-index", numbers=numbers)]
    said = Noise(pairs=5, message="with 5 pairs …", numbers=whole, tasks=tasks)
    return dict(benchmark(name, succeeded("9.0.0").model_copy(update={"noise": said})))


def test_noise_is_a_line_and_with_all_a_row_for_each_number() -> None:
    both = [with_noise("es-9"), TWO[0]]
    assert "es-9: with 5 pairs …" in report.sentences(both)
    assert sum("pairs" in sentence for sentence in report.sentences(both)) == 1, "none of a status without noise"
    assert cells(report.table(both), "bulk-index: throughput: smallest difference that 5 pairs show") == ["6.34 %", "-"]
    assert cells(report.table(both), "bulk-index: service time p99: smallest difference that 5 pairs show") == [
        "unknown",
        "-",
    ]
    assert cells(report.table(both), "store size: smallest difference that 5 pairs show") == ["0.20 %", "-"]
    assert "smallest difference" not in report.main_table(both)
    assert json.loads(report.as_json(both))["benchmarks"][0]["noise"]["tasks"][0]["numbers"][0]["races"] == 3


def test_answers_over_http_are_rows_of_their_own() -> None:
    http = {"statusShares": {"200": 0.9, "0": 0.1}, "dropped": 3, "requestsByHost": {"one:10041": 50, "two:10041": 51}}
    task = {"task": "requests", "samples": 101, "errorRate": 0.1, "http": http}
    found = {row.what: row.cells for row in rows.result_rows([{"status": {"results": {"tasks": [task]}}}])}
    assert found["answered by 200"] == (90,) and found["not answered"] == (10,) and found["dropped"] == (3,)
    assert (found["requests to one:10041"], found["requests to two:10041"]) == ((50,), (51,))


def test_connections_opened_over_http_are_a_row() -> None:
    task = {"task": "requests", "samples": 101, "errorRate": 0, "http": {"connectionsOpened": 7}}
    found = {row.what: row.cells for row in rows.result_rows([{"status": {"results": {"tasks": [task]}}}])}
    assert found["connections opened for requests"] == (7,)
