"""Whether there was a measurement, on real Rally and Elasticsearch: each doubt, and the good neighbour that has none.

Clients that are slow, free or busy by design come from the track's own runner and parameter source.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.checks import first_violation
from fairlap.results import disturbance, throttled_nodes
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.extended_warmup import ExtendedWarmup
from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch
from fairlap_race.contract.watched_machines.resources import MachineTable

from .proxy import Proxy
from .runner import Race, Ran, Runner, asked
from .server import Elasticsearch
from .tracks import BULK, CREATE, Json, search, write

OWN_RUNNER = """
import asyncio, time

class PerClient:
    infinite = True
    def __init__(self, track, params, **_):
        self._params, self._calls = params, 0
    def partition(self, index, count):
        it = PerClient(None, self._params)
        it._index = index
        return it
    def params(self):
        self._calls += 1
        end = time.perf_counter() + self._params.get("burn", 0)
        while time.perf_counter() < end:
            pass
        takes = self._params["takes"]
        first = self._params.get("first")
        if first and self._calls <= first[0]:
            return {"takes": first[1]}
        return {"takes": takes[self._index % len(takes)]}

async def wait(es, params):
    es.on_request_start()
    try:
        await asyncio.sleep(params["takes"])
    finally:
        es.on_request_end()
    return 1, "ops"

def register(registry):
    registry.register_param_source("per-client", PerClient)
    registry.register_runner("wait", wait, async_runner=True)
"""


def waits(name: str, *takes: float, first: tuple[int, float] | None = None, burn: float = 0.0, **task: object) -> Json:
    """A task whose clients wait `takes` seconds each, the first some longer, and burn CPU before each request."""
    operation = {"operation-type": "wait", "name": f"{name}-op", "param-source": "per-client", "takes": list(takes)}
    return {"name": name, "operation": operation | {"first": first, "burn": burn}, **task}


def said(ran: Ran, reason: Reason) -> str:
    """Return what is remarked of a race for a reason; "" for nothing."""
    return " | ".join(remark.text for remark in ran.remarks() if remark.reason is reason)


def reads(reason: Reason, message: str) -> None:
    assert looks_like(reason.example, message), f"\n{message}\nis not of the form\n{reason.example}"


@pytest.mark.produces(Reason.NO_TASKS)
def test_a_race_of_nothing_that_rally_measures_does_not_count(runner: Runner, tmp_path: Path) -> None:
    ran = runner.run(write(tmp_path / "t", CREATE, {"operation": "refresh"}))
    violation = ran.violation()
    assert violation.reason is Reason.NO_TASKS and "none of its 2 tasks (create, refresh)" in violation.message


@pytest.mark.long
@pytest.mark.produces(Reason.FEW_SAMPLES, Reason.SHORT_MEASUREMENT, Reason.NO_WARMUP)
def test_too_little_to_stand_for_more_than_chance(runner: Runner, tmp_path: Path) -> None:
    once = search("once", **{"time-period": None, "warmup-iterations": 50, "iterations": 1, "target-throughput": 100})
    del once["time-period"]
    short = search("short", seconds=2, **{"warmup-time-period": 4})
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, once, short))
    assert first_violation(ran.record, asked()) is None
    few = said(ran, Reason.FEW_SAMPLES)
    assert few.startswith("few requests were measured: bulk 10 requests, once 1 request")
    told = said(ran, Reason.SHORT_MEASUREMENT)
    assert "bulk for" in told and "once for" in told and "of warm-up), short for" in told
    assert said(ran, Reason.NO_WARMUP) == "measured without a warm-up on a cold JVM: bulk"
    reads(Reason.NO_WARMUP, said(ran, Reason.NO_WARMUP))
    reads(Reason.FEW_SAMPLES, few.replace("bulk 10 requests, ", "").partition(", short")[0])
    reads(Reason.SHORT_MEASUREMENT, "measured for a short time: short for" + told.rpartition("short for")[2])


@pytest.mark.long
@pytest.mark.produces(Reason.NOT_SETTLED)
def test_a_task_that_still_changed_while_it_was_measured(runner: Runner, tmp_path: Path) -> None:
    period = {"time-period": 15}
    cold, warm = waits("cold", 0.03, first=(60, 0.09), **period), waits("warm", 0.03, **period)
    both = {"parallel": {"tasks": [cold, warm]}}
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, both, plugin=OWN_RUNNER))
    assert first_violation(ran.record, asked()) is None
    found = {task.task: task.settling for task in ran.record.tasks}
    assert found["warm"] is not None and found["warm"].settled
    assert found["cold"] is not None and found["cold"].settled is False and 4 <= found["cold"].unsettled_seconds <= 8
    told = said(ran, Reason.NOT_SETTLED)
    assert "cold for" in told and "warm" not in told and "bulk" not in told
    reads(Reason.NOT_SETTLED, told.replace("service time -", "throughput +").replace("cold", "search"))
    assert found["bulk"] is not None and found["bulk"].settled is None


@pytest.mark.long
def test_a_warm_up_goes_on_until_the_task_has_settled(runner: Runner, tmp_path: Path) -> None:
    """Its clients are slow for 14 seconds, and the track warms it up for one."""
    slow = waits("slow", 0.03, first=(110, 0.13), clients=2, **{"warmup-time-period": 1, "time-period": 5})
    plain = write(tmp_path / "t", CREATE, {"name": "slow", **slow}, plugin=OWN_RUNNER)
    ran = runner.run(plain, mostWarmupSeconds=120)
    assert first_violation(ran.record, asked()) is None
    (task,) = (it for it in ran.record.tasks if it.task == "slow")
    assert task.extended_warmup == ExtendedWarmup(120, settled=True)
    assert task.warmup_seconds is not None and 14 <= task.warmup_seconds <= 110, "before its limit"
    assert task.duration_seconds is not None and 4.5 <= task.duration_seconds <= 7
    assert task.windows is not None and task.windows.count >= 4, "both clients measured at the same time"
    assert not said(ran, Reason.WARMUP_TOO_SHORT)


@pytest.mark.long
@pytest.mark.produces(Reason.WARMUP_TOO_SHORT)
def test_a_warm_up_ends_at_its_limit(runner: Runner, tmp_path: Path) -> None:
    """Fifteen seconds cannot be judged; beside it a task that has no warm-up keeps none."""
    rare = waits("search", 0.5, **{"warmup-iterations": 2, "iterations": 12})
    cold = waits("cold", 0.03, **{"time-period": 3})
    ran = runner.run(write(tmp_path / "t", CREATE, rare, cold, plugin=OWN_RUNNER), mostWarmupSeconds=15)
    assert first_violation(ran.record, asked()) is None
    found = {it.task: it for it in ran.record.tasks}
    assert found["search"].samples.normal == 12
    kept = found["search"].extended_warmup
    assert kept is not None and kept == ExtendedWarmup(15, unjudged=kept.unjudged) and "it takes 36" in kept.unjudged
    assert found["cold"].extended_warmup is None and found["cold"].samples.warmup == 0
    reads(Reason.WARMUP_TOO_SHORT, said(ran, Reason.WARMUP_TOO_SHORT))


def in_a_container(watch: MachineWatch, cores: float) -> MachineWatch:
    """Return what was watched as it is of a load generator with a cgroup of its own: here that is the machine's."""
    return replace(watch, tasks=tuple(replace(it, own_cores=cores) for it in watch.tasks))


@pytest.mark.long
@pytest.mark.produces(Reason.MACHINE_DISTURBED)
def test_a_machine_that_did_something_else_meanwhile(runner: Runner, tmp_path: Path) -> None:
    burns = "import time\nend = time.monotonic() + 120\nwhile time.monotonic() < end: pass"
    with subprocess.Popen([sys.executable, "-c", burns]) as burning:
        try:
            ran = runner.run(write(tmp_path / "t", CREATE, BULK, search(seconds=10)), canarySeconds=3)
        finally:
            burning.kill()
    assert first_violation(ran.record, asked()) is None
    table = MachineTable.from_json(text_of({"binaryData": ran.binary}, "resources.json"))
    assert table is not None and table.watch is not None
    watch = table.watch
    assert watch.before is not None and watch.after is not None, "the canary ran before and after the race"
    assert watch.before.cpu_seconds and watch.after.memory_seconds and watch.before.took_seconds < 4
    (span,) = (it for it in watch.tasks if it.task == "search")
    assert span.busy_cores is not None and span.busy_cores > 0.7 and span.steal_share is not None
    assert span.own_cores is not None and span.elasticsearch_cores is not None
    # Whatever Elasticsearch does here counts as something else, too: it is said to be on another machine.
    (remark,) = disturbance.remarks(disturbance.disturbances(in_a_container(watch, 0.2), ["another"], "this"))
    assert "beside Rally something else used" in remark.text
    only = re.sub(r"disturbed: .*?(beside Rally [^;]*).*", r"disturbed: \1", remark.text)
    reads(Reason.MACHINE_DISTURBED, only)


def test_a_pause_of_elasticsearch_is_told_from_its_own_slowness(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    def pause(_: Race) -> None:
        end = time.monotonic() + 120
        while elasticsearch.ask("GET", "/_stats/search")["_all"]["total"]["search"]["query_total"] < 50:
            assert time.monotonic() < end, "no searches"
            time.sleep(0.5)
        os.killpg(elasticsearch.pid, signal.SIGSTOP)
        time.sleep(5)
        os.killpg(elasticsearch.pid, signal.SIGCONT)

    ran = runner.run(write(tmp_path / "t", CREATE, BULK, search(seconds=14)), meanwhile=pause)
    table = MachineTable.from_json(text_of({"binaryData": ran.binary}, "resources.json"))
    assert table is not None and table.watch is not None
    assert max((it.seconds for it in table.watch.stalls), default=0.0) >= 1.0, table.watch
    assert any("stood still for" in it.sentence for it in disturbance.disturbances(table.watch, [], ""))


@pytest.mark.long
@pytest.mark.usefixtures("quiet_machine")
def test_a_race_that_measured_long_enough_has_no_such_remark(runner: Runner, tmp_path: Path) -> None:
    bulk = {**BULK, "operation": {**BULK["operation"], "bulk-size": 10}, "warmup-time-period": 2}
    steady = search("steady", seconds=12, **{"warmup-time-period": 2})
    documents = [{"n": number, "word": "w"} for number in range(1000)]
    track = write(tmp_path / "t", CREATE, {**bulk, "target-throughput": "70 docs/s"}, steady, documents=documents)
    ran = runner.run(track)
    assert first_violation(ran.record, asked()) is None
    for reason in (Reason.FEW_SAMPLES, Reason.SHORT_MEASUREMENT, Reason.NO_WARMUP, Reason.SCHEDULE_NOT_KEPT):
        assert said(ran, reason) == ""
    (found,) = (task for task in ran.record.tasks if task.task == "steady")
    assert found.windows is not None and found.windows.median == pytest.approx(20, rel=0.15)
    assert found.rate == pytest.approx(20, rel=0.02)
    assert found.schedule is not None and found.schedule.sent == pytest.approx(240, abs=5)
    assert found.load is not None and not found.load.saturated


@pytest.mark.long
@pytest.mark.usefixtures("quiet_machine")
def test_edges_and_schedules_and_a_load_generator_that_was_busy_for_one_task(runner: Runner, tmp_path: Path) -> None:
    warm = {"warmup-time-period": 3, "time-period": 12}
    track = write(
        tmp_path / "t", CREATE, BULK,
        waits("burning", 0.001, burn=0.05, **warm),
        waits("backlog", 0.042, first=(3, 1.0), **warm, **{"target-throughput": 20}),
        waits("slow", *(0.8, *[0.01] * 7), clients=8, **warm, **{"target-throughput": 40}),
        waits("kept", 0.01, clients=8, **warm, **{"target-throughput": 40}),
        waits("rare", 0.01, **{"time-period": 20, "target-throughput": 0.5}),
        waits("ragged", 0.01, 0.02, 0.04, clients=3, iterations=900),
        plugin=OWN_RUNNER,
    )  # fmt: skip
    ran = runner.run(track)
    assert first_violation(ran.record, asked()) is None
    tasks = {task.task: task for task in ran.record.tasks}
    _schedules(ran, tasks)
    _edges(tasks)
    _load(said(ran, Reason.LOAD_GENERATOR_SATURATED), tasks)


def _load(told: str, tasks: dict[str, Task]) -> None:
    """The mean over the race is far from what saturates; of the one task it is not."""
    burning, quiet = tasks["burning"].load, tasks["kept"].load
    assert burning is not None and quiet is not None and burning.busiest_share and quiet.busiest_share
    assert burning.busiest_share > 0.5 > 2 * quiet.busiest_share and burning.judged_seconds > 10
    # Where other work takes the cores, the process that never waits has less than all of one.
    assert burning.saturated is ("task burning: " in told) and "task kept" not in told, told
    assert burning.saturated or burning.busiest_share <= 0.9
    assert not burning.saturated or "its busiest process used" in told


def _schedules(ran: Ran, tasks: dict[str, Task]) -> None:
    told = said(ran, Reason.SCHEDULE_NOT_KEPT)
    assert "task kept" not in told and "task rare" not in told, told
    backlog, slow, kept = (tasks[name].schedule for name in ("backlog", "slow", "kept"))
    assert backlog is not None and slow is not None and kept is not None
    share = tasks["backlog"].schedule_share
    assert share is not None and share > 0.98, "its rate is kept, and every latency is seconds too long"
    assert backlog.backlog_requests == backlog.sent and backlog.backlog_seconds == pytest.approx(2.1, abs=0.8)
    assert "task backlog: " in told and "waited for what the warm-up had left" in told
    assert (slow.clients, slow.slow_clients) == (8, 1) and slow.slowest_share == pytest.approx(0.25, abs=0.05)
    assert tasks["slow"].schedule_share == pytest.approx(0.906, abs=0.02)
    assert "task slow reached" in told and "1 of 8 clients sent less than 90 %" in told
    assert kept.slow_clients == 0 and kept.sent == pytest.approx(480, abs=10)
    assert kept.planned == pytest.approx(kept.sent, abs=8)


def _edges(tasks: dict[str, Task]) -> None:
    rare, ragged = tasks["rare"], tasks["ragged"]
    assert (
        rare.windows is not None and rare.windows.median is None and "in a window on average" in rare.windows.left_out
    )
    assert rare.rate == pytest.approx(0.5, rel=0.02)
    # 100, 50 and 25 requests a second less what a sleep takes longer, until the first client has sent its share.
    assert ragged.windows is not None and ragged.windows.median is not None and ragged.rate is not None
    assert ragged.windows.median == pytest.approx(160, rel=0.15)
    assert ragged.rate < 0.65 * ragged.windows.median


class Throttling(Proxy):
    """Answers as an Elasticsearch that is throttled for as long as it computes."""

    looks = 0

    def changed(self, path: str, content: bytes) -> bytes:
        if not path.startswith("/_nodes/stats") or "cgroup" not in path:
            return content
        stats = json.loads(content)
        self.looks += 1
        for node in stats["nodes"].values():
            seconds = node["process"]["cpu"]["total_in_millis"] / 1000
            throttled = {"number_of_times_throttled": int(10 * seconds), "time_throttled_nanos": int(1e9 * seconds)}
            limit = {"cfs_quota_micros": 200_000, "cfs_period_micros": 100_000, "stat": throttled}
            node.setdefault("os", {}).setdefault("cgroup", {})["cpu"] = limit
        return json.dumps(stats).encode()


@pytest.mark.long
def test_elasticsearch_that_its_own_limit_holds_back(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    steady = search("steady", seconds=12)

    def remarks(race: Callable[[], Ran]) -> list[str]:
        ran = race()
        assert first_violation(ran.record, asked()) is None
        table = MachineTable.from_json(text_of({"binaryData": ran.binary}, "resources.json"))
        return [remark.text for remark in throttled_nodes.remarks(table)]

    proxy = Throttling(elasticsearch)
    try:
        track = write(tmp_path / "t", CREATE, BULK, steady)
        found = remarks(lambda: runner.run(track, hosts=[proxy.host], caFile=None))
    finally:
        proxy.shutdown()
        proxy.server_close()
    assert proxy.looks
    assert any("task steady: node " in text and "by its CPU limit of 2 CPUs for" in text for text in found), found
    elasticsearch.reset()
    assert remarks(lambda: runner.run(track)) == [], "this machine's Elasticsearch has no limit"
