"""Races over HTTP: real k6, the real runner, and a server that knows what is true."""

import json
import os
import socket
import ssl
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.parts.timed_server import TimedServer
from pyarrow import parquet
from tests.fixtures.message_form import looks_like

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap.plan.verdict.http_checks import HTTP_CHECKS
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.specification.race_spec import parse_spec
from fairlap_race.contract.watched_machines.resources import MachineTable
from fairlap_race.http.k6 import K6Files, k6_argv, k6_env, make_plan, write_plan

from .runner import Race, asked
from .server import certificates

Json = dict[str, Any]
OVERHEAD = 1.5
"""Milliseconds that k6 may add on a machine that does other things, too; bench/README.md has the real figure."""


@pytest.fixture
def server() -> Iterator[TimedServer]:
    found = TimedServer()
    yield found
    found.close()


@pytest.fixture
def race(account: Path, k6: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Race]:
    """Return what begins a race: of these lines, against these servers, with this `http` part."""
    monkeypatch.setenv("PATH", f"{k6.parent}:/usr/bin:/bin")

    def begin(
        lines: list[str], *servers: TimedServer, loads: list[Json], http: Json | None = None, **spec: Any
    ) -> Race:
        (tmp_path / "terms.txt").write_text("".join(f"{line}\n" for line in lines))
        return Race(account, {
            "cores": None, "hosts": [it.host for it in servers],
            "requests": {"path": str(tmp_path), "file": "terms.txt"},
            "http": {"loads": loads, "health": "/0", **(http or {})}, **spec,
        })  # fmt: skip

    return begin


def ended(race: Race, seconds: float = 60) -> Record:
    """Return the record of a race that goes on to its end."""
    try:
        return race.result(seconds).record
    finally:
        race.end()


@pytest.mark.long
@pytest.mark.usefixtures("quiet_machine")
@pytest.mark.parametrize(("delay", "rate"), [(5, 200), (20, 100), (100, 40)])
def test_latency_and_throughput_are_those_of_the_server(race, server, tmp_path, delay, rate):
    """A closed loop, then an open one: within 2 % of what the server did, and what k6 takes itself."""
    samples = tmp_path / "samples"
    samples.mkdir()
    loads = [
        {"name": "closed", "seconds": 3, "clients": 4, "warmupSeconds": 1},
        {"name": "open", "seconds": 3, "clients": 20, "rate": rate, "warmupSeconds": 1},
    ]
    record = ended(race([f"/{delay}?q={number}" for number in range(7)], server, loads=loads, samples=str(samples)))
    assert record.outcome.reason is None, record.outcome
    closed, opened = record.tasks
    true = statistics.mean(server.taken[1:]) * 1000
    for task in (closed, opened):
        assert task.rally is not None and task.http is not None and task.errors.normal == 0
        service = task.rally.service_time_millis
        assert true * 0.98 <= service["p50"] <= true * 1.02 + OVERHEAD
        assert task.http.statuses == {"200": task.samples.normal} and task.http.dropped in (0, None)
    # Between two requests of a client k6 begins a new iteration.
    assert closed.rate is not None and 4000 / (true + 2 * OVERHEAD) <= closed.rate <= 4000 / true * 1.02
    assert opened.rate == pytest.approx(rate, rel=0.02) and opened.keeps_schedule and opened.windows
    assert opened.rally and opened.rally.latency_millis["p50"] <= true * 1.02 + OVERHEAD + 1
    assert opened.samples.normal == pytest.approx(3 * rate, abs=2)
    rows = parquet.read_table(next(samples.glob("*.parquet"))).to_pylist()
    assert record.sample_file is not None and record.sample_file.rows == len(rows) == len(server.paths) - 1
    assert Counter((row["task"], row["sample_type"]) for row in rows)["open", "normal"] == opened.samples.normal
    assert first_violation(record, asked(), HTTP_CHECKS) is None
    assert record.http is not None and (record.http.requests, record.http.distinct, record.http.exit_code) == (7, 7, 0)
    assert record.http.k6_version and record.http.hosts[0].server == "timed"


def test_its_own_machine_is_watched_and_a_canary_stands_around_it(race, server):
    running = race(["/5"], server, loads=[{"name": "closed", "seconds": 6, "clients": 1}])
    try:
        ran = running.result(60)
    finally:
        running.end()
    table = MachineTable.from_json(text_of({"binaryData": ran.binary}, "resources.json"))
    assert ran.record.outcome.reason is None and table is not None and table.watch is not None
    (span,) = table.watch.tasks
    assert (
        span.task == "closed"
        and span.busy_cores is not None
        and span.processors == pytest.approx(os.cpu_count(), rel=0.1)
    )
    for canary in (table.watch.before, table.watch.after):
        assert canary is not None and canary.cpu_seconds and canary.memory_seconds and canary.disk_seconds
    assert table.watch.before.at < ran.record.first_request_at < ran.record.tasks[0].ended_at < table.watch.after.at


def test_requests_are_spread_over_the_hosts_and_all_that_failed_is_counted(race, server):
    other = TimedServer()
    lines = ["/1", "/1/404", "/1/302", "/900", "/2"]
    loads = [{"name": "one", "seconds": 2, "clients": 1}, {"name": "three", "seconds": 2, "clients": 3}]
    record = ended(race(lines, server, other, loads=loads, http={"timeoutSeconds": 0.2, "intervalSeconds": 0.5}))
    other.close()
    assert record.outcome.reason is None, record.outcome
    counts: Counter[str] = Counter()
    for task in record.tasks:
        assert task.http is not None and task.first_error is not None
        one, two = task.http.hosts
        assert abs(one.requests - two.requests) <= task.clients and one.requests > 10
        assert task.http.timeouts == task.http.statuses["0"] == one.unanswered + two.unanswered
        assert task.errors.normal == sum(task.http.statuses.values()) - task.http.statuses["200"]
        counts += Counter(task.http.statuses)
    told = server.statuses + other.statuses
    assert counts["404"] == told[404] and counts["302"] == told[302]
    assert counts["200"] + counts["0"] == told[200] - 2  # the two looks at their health
    start = [task.started_at for task in record.tasks]
    assert start == sorted(start) and record.tasks[0].ended_at < start[1]


@pytest.mark.produces(Reason.CONNECTIONS_OPENED)
def test_requests_that_open_a_connection_are_counted(race, server):
    """More clients than requests, which take turns; then four that keep the connections of their warm-up."""
    loads = [
        {"name": "requests", "seconds": 2, "clients": 100, "rate": 20},
        {"name": "kept", "seconds": 2, "clients": 4, "warmupSeconds": 1},
    ]
    record = ended(race(["/5"], server, loads=loads))
    assert record.outcome.reason is None, record.outcome
    many, kept = (task.http for task in record.tasks)
    assert many is not None and (many.opened, many.opened_again) == (record.tasks[0].samples.normal, 0)
    assert kept is not None and (kept.opened, kept.opened_again) == (0, 0)
    (told,) = (it.text for it in remarks(record, [], "") if it.reason is Reason.CONNECTIONS_OPENED)
    assert looks_like(Reason.CONNECTIONS_OPENED.example, told)


class Breaking(TimedServer):
    """Answers the first request of a connection, and breaks it 300 ms after the second one came."""

    def _answer(self, connection: socket.socket, head: str, rest: bytes, came: float) -> bytes:
        known = self.__dict__.setdefault("known", set())
        if connection in known:
            time.sleep(0.3)
            connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionResetError
        known.add(connection)
        return super()._answer(connection, head, rest, came)


def test_of_a_get_that_was_sent_again_all_time_counts(race):
    """Go does so without a word where a kept connection breaks."""
    server = Breaking()
    record = ended(race(["/1"], server, loads=[{"name": "c", "seconds": 2, "clients": 1}]))
    server.close()
    assert record.outcome.reason is None, record.outcome
    (task,) = record.tasks
    assert task.errors.normal == 0 and task.rally is not None and task.samples.normal > 3
    assert task.rally.service_time_millis["p100"] >= 300


RATE: Json = {"name": "rate", "path": "/status", "pointer": "/1/cache_hit_rate", "weight": "/1/n_queries"}


def test_conditions_are_read_from_every_host(race, server):
    """Each host counts since its start; what the race itself made of the cache is what is judged."""
    other = TimedServer()
    loads = [{"name": "c", "seconds": 2, "clients": 20, "rate": 50}]
    lines = [f"/1?q={number}" for number in range(25)]
    record = ended(race(lines, server, other, loads=loads, probes=[RATE]))
    other.close()
    assert record.outcome.reason is None, record.outcome
    (probe,) = record.probes
    assert [it.host for it in probe.hosts] == [server.host, other.host]
    # Of a hundred requests each host gets a half, which repeats 25 different ones, or 13, where n is even.
    assert probe.own == pytest.approx(100 - 100 * sum(len(set(it.paths[1:])) for it in (server, other)) / 100, abs=3)
    wrong = ended(race(lines, server, loads=loads, probes=[{**RATE, "pointer": "/1/hits/rate"}], mode="check"))
    assert wrong.outcome.reason is Reason.PROBE_UNREADABLE
    assert "the deepest level that exists is /1, an object without 'hits'" in wrong.outcome.message


def test_what_each_request_finds_is_read_after_the_race(race, server):
    """Each line once more, equal ones once, behind the last measured request; the check reads the first line alone."""
    other = TimedServer()
    lines = ["/1?hits=7", "/1?q=a&hits=0", "/1?hits=7", "/1?hits=123"]
    http = {"hits": "/hits/total"}
    loads = [{"name": "c", "seconds": 1, "clients": 2, "rate": 20}]
    record = ended(race(lines, server, other, loads=loads, http=http))
    assert record.outcome.reason is None and record.http.hits is not None, record.outcome
    assert (record.http.hits.lines, record.http.hits.why) == ((7, 0, 7, 123), "")
    sent = record.tasks[0].samples.normal
    assert sent in (20, 21), "k6 may begin one more at the very end"
    assert len(server.paths) + len(other.paths) == 2 + sent + 3, "two looks at health, the load, three different lines"
    server.forget()
    assert ended(race(lines, server, loads=loads, http=http, mode="check")).outcome.reason is None
    assert server.paths == ["/0", "/1?hits=7"]
    wrong = ended(race(lines, server, loads=loads, http={"hits": "/hits/found"}, mode="check"))
    assert wrong.outcome.reason is Reason.PROBE_UNREADABLE
    assert wrong.outcome.message == (
        f"race.requests.hits: the answer of {server.host} to line 1: /hits/found finds nothing: the deepest level that "
        "exists is /hits, an object without 'found'"
    )
    other.close()


def test_hits_that_cannot_be_read_void_the_race(race, server):
    lines = ["/1?hits=7", "/1"]
    record = ended(race(lines, server, loads=[{"name": "c", "seconds": 1, "clients": 1}], http={"hits": "/hits/total"}))
    assert record.http.hits is not None and record.http.hits.lines == (7, None)
    spec = BenchmarkSpec.model_validate(
        {
            "target": {"kind": "http", "hosts": ["http://a:1"], "health": "/0"},
            "race": {"requests": {"configMap": {"name": "a"}, "hits": "/hits/total"}, "load": {"clients": 1}},
        }
    )
    violation = first_violation(record, spec, HTTP_CHECKS)
    assert violation and violation.reason is Reason.PROBE_UNREADABLE
    assert violation.message == "race.requests.hits: line 2: the answer is not JSON"


def test_each_race_sends_the_same(race, server):
    """In the file's order each line in turn; by lot what seed and number say, the frequent ones more often."""
    sent = {}
    for name, http in (
        ("file", {}),
        ("zipf", {"order": "zipf", "exponent": 1.5}),
        ("again", {"order": "zipf", "exponent": 1.5}),
    ):
        server.forget()
        loads = [{"name": "c", "seconds": 2, "clients": 20, "rate": 100}]
        assert ended(race([f"/1?q={n}" for n in range(10)], server, loads=loads, http=http)).outcome.reason is None
        sent[name] = [int(path.rpartition("=")[2]) for path in server.paths if "=" in path]
    # A machine that stalls drops some of the 200, or ends k6 a little late; a last request may overtake another one.
    assert {name: len(it) for name, it in sent.items() if not 150 <= len(it) <= 230} == {}
    counts = {name: Counter(it) for name, it in sent.items()}
    assert len(counts["file"]) == 10 and max(counts["file"].values()) - min(counts["file"].values()) <= 1
    differ = (counts["zipf"] - counts["again"]) + (counts["again"] - counts["zipf"])
    assert differ.total() <= 1 + abs(len(sent["zipf"]) - len(sent["again"]))
    counts = counts["zipf"]
    assert (
        counts[0] == pytest.approx(counts.total() / sum(rank**-1.5 for rank in range(1, 11)), rel=0.25)
        and counts[0] > counts[1]
    )


def test_what_k6_drops_lowers_the_share_of_the_schedule_and_leaves_no_latency(race, server):
    record = ended(race(["/85"], server, loads=[{"name": "r", "seconds": 3, "clients": 1, "rate": 20}]))
    (task,) = record.tasks
    # Of sixty every second one is sent, and fewer by a machine that stalls.
    sent = task.samples.normal
    assert 10 < sent < 34 and task.schedule_share == pytest.approx(sent / 60, abs=0.02) and task.fell_behind
    assert task.http is not None and task.http.dropped == pytest.approx(60 - sent, abs=1) and task.http.latency_left_out
    assert task.rally is not None and task.rally.latency_millis == {}
    assert "although its clients were free" not in record.load_generator.why


def test_what_k6_drops_in_the_warm_up_costs_the_measured_time_nothing(race, server, tmp_path):
    """The first twenty hang, and all clients with them; a machine must stall for half a second to have it again."""
    samples = tmp_path / "samples"
    samples.mkdir()
    loads = [{"name": "r", "seconds": 2, "clients": 20, "rate": 40, "warmupSeconds": 3}]
    lines = ["/1500"] * 20 + [f"/5?q={number}" for number in range(300)]
    record = ended(race(lines, server, loads=loads, samples=str(samples)))
    (task,) = record.tasks
    assert task.samples.warmup < 100 and task.http is not None and task.rally is not None
    assert (task.http.dropped, task.http.latency_left_out) == (0, "") and task.keeps_schedule
    assert 5 <= task.rally.latency_millis["p50"] < 50 and task.rate == pytest.approx(40, rel=0.05)
    rows = parquet.read_table(next(samples.glob("*.parquet"))).to_pylist()
    assert len(rows) == task.samples.warmup + task.samples.normal
    assert all(row["latency_ms"] is None for row in rows if row["sample_type"] == "normal")
    assert sum(row["latency_ms"] is not None for row in rows) >= 20, "those before the first that was dropped"


def test_tls_and_credentials_come_from_files_and_are_verified(race, account, tmp_path, monkeypatch):
    tls = account / "account"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls / "http.crt", tls / "http.key")
    context.load_verify_locations(tls / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    server = TimedServer(context, "Basic bWU6cGFzcw==")
    (tmp_path / "user").write_text("me\n")
    (tmp_path / "password").write_text("pass\n")
    secure = {
        "caFile": str(tls / "ca.crt"), "userFile": str(tmp_path / "user"), "passwordFile": str(tmp_path / "password"),
        "certificateFile": str(tls / "http.crt"), "certificateKeyFile": str(tls / "http.key"),
    }  # fmt: skip
    loads = [{"name": "c", "seconds": 1, "clients": 2}]
    record = ended(race(["/1"], server, loads=loads, **secure))
    assert record.outcome.reason is None, record.outcome
    assert record.tasks[0].errors.normal == 0 and record.tasks[0].samples.normal > 50
    # The same CA as a file of nobody: k6 itself must refuse it, too.
    certificates(tmp_path / "other")
    assert unverified(server, tmp_path, {**secure, "caFile": str(tmp_path / "other/ca.crt")}) == {"0"}
    record = ended(race(["/1"], server, loads=loads, **{**secure, "caFile": str(tmp_path / "other/ca.crt")}))
    assert record.outcome.reason is Reason.TLS_UNTRUSTED
    (tmp_path / "password").write_text("wrong")
    record = ended(race(["/1"], server, loads=loads, **secure))
    assert record.outcome.reason is Reason.AUTHENTICATION_FAILED and "HTTP 401" in record.outcome.message
    server.close()


def unverified(server: TimedServer, folder: Path, secure: Json) -> set[str]:
    """Return the statuses that k6 itself notes, without the look at the health before it."""
    load = {"name": "c", "seconds": 1, "clients": 1}
    spec = parse_spec(json.dumps({
        "format": 1, "mode": "race", "namespace": "ns", "record": "r", "raceId": "id", "hosts": [server.host],
        "http": {"loads": [load]}, "requests": {"path": "/r"}, **secure,
    }))  # fmt: skip
    assert spec.http is not None
    (folder / "requests.json").write_text('[["GET", "/1", null, null]]')
    files = K6Files(folder)
    write_plan(files, make_plan(spec, spec.http, spec.http.loads[0], folder / "requests.json", 1))
    environment = k6_env(spec, files, os.environ)
    program, *arguments = k6_argv(files)
    subprocess.run([program, *arguments], env=environment, check=True, timeout=60)
    return {line.split(",")[6] for line in files.lines_pipe.read_text().splitlines()}


def test_hosts_that_do_not_answer_are_named_before_anything_is_sent(race, server):
    gone = TimedServer()
    gone.close()
    began = time.monotonic()
    running = race(
        ["/1"], server, gone, loads=[{"name": "c", "seconds": 60, "clients": 1}], mode="check", timeoutSeconds=3
    )
    record = ended(running)
    assert record.outcome.reason is Reason.CLUSTER_UNREACHABLE and time.monotonic() - began < 30
    assert record.outcome.message.startswith(f"target.hosts: {gone.host} does not answer GET /0")
    assert server.paths == ["/0"] and record.tasks == ()


def test_the_check_names_a_line_that_is_no_request(race, server):
    loads = [{"name": "c", "seconds": 60, "clients": 1}]
    record = ended(race(["/1", "shoes"], server, loads=loads, mode="check"))
    assert record.outcome.reason is Reason.REQUESTS_INVALID and "terms.txt line 2" in record.outcome.message
    record = ended(race(["/1"], server, loads=loads, mode="check"))
    assert record.outcome.reason is None and record.tasks == () and server.paths == ["/0"]
    record = ended(race(["/1"], server, loads=loads, mode="smoke"))
    assert record.outcome.reason is None and record.tasks[0].samples.normal > 100


@pytest.mark.parametrize(
    ("change", "reason", "words"),
    [
        ({"stallSeconds": 3}, Reason.RACE_STALLED, "nothing moved for 3 s in step 1 of 1, c at "),
        ({"timeoutSeconds": 4}, Reason.RACE_TIMEOUT, "the race was not over at its deadline, in step 1 of 1, c at "),
    ],
)
def test_a_race_that_stands_still_or_takes_too_long_is_ended(race, server, change, reason, words):
    loads = [{"name": "c", "seconds": 60, "clients": 2}]
    record = ended(race(["/1", "/1", "/60000"], server, loads=loads, **change))
    assert record.outcome.reason is reason and record.outcome.message.startswith(words)
    assert record.tasks[0].samples.normal >= 1 and record.http is not None and record.http.exit_code is None


def test_a_race_that_is_told_to_stop_tells_how_far_it_was(race, server):
    running = race(["/5"], server, loads=[{"name": "c", "seconds": 60, "clients": 2}])
    running.await_racing(task="c")
    running.process.terminate()
    record = ended(running)
    assert record.outcome.reason is Reason.RACE_ABORTED and "in step 1 of 1, c at " in record.outcome.message
