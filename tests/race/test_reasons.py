"""Each reason that only a real race can show: real Rally, runner and Elasticsearch, and the operator's judgement.

The message of each is of the form that docs/reasons.md shows; a failed race keeps its log and the numbers it had.
"""

import base64
import gzip
import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.checks import Violation, first_violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.rally.live_files import actor_pids

from .proxy import Proxy
from .runner import Race, Ran, Runner, asked
from .server import Elasticsearch, certificates
from .tracks import BULK, CREATE, DOCUMENTS, Json, search, write


def produced(reason: Reason, violation: Violation) -> None:
    """Fail unless the violation has this reason and reads as the documentation says."""
    assert violation.reason is reason, violation
    reads(reason, violation.message)


def reads(reason: Reason, message: str) -> None:
    assert looks_like(reason.example, message), f"\n{message}\nis not of the form\n{reason.example}"


def log(ran: Ran) -> str:
    return gzip.decompress(base64.b64decode(ran.binary["rally.log.gz"])).decode()


HUNGRY = """
import time

class Hungry:
    infinite = True
    def __init__(self, track, params, **_):
        pass
    def partition(self, index, count):
        return self
    def params(self):
        time.sleep(0.04)
        return {"index": "t", "body": {"query": {"match_all": {}}}, "request-params": {}}

def register(registry):
    registry.register_param_source("hungry", Hungry)
"""


@pytest.mark.produces(
    Reason.SCHEDULE_NOT_KEPT, Reason.LOAD_GENERATOR_SATURATED, Reason.VERSION_MISMATCH, Reason.JAVA_MISMATCH,
    Reason.SETTINGS_NOT_APPLIED,
)  # fmt: skip
def test_a_race_that_counts_and_what_it_would_not_be(runner: Runner, tmp_path: Path) -> None:
    hungry = search("hungry", seconds=3, operation={"param-source": "hungry"}, **{"target-throughput": 100})
    track = write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, search(), hungry, plugin=HUNGRY)
    ran = runner.run(track)
    # It counts: Rally ended, every check passes, and both files are there.
    assert set(ran.binary) == {"record.json.gz", "resources.json.gz", "race.json.gz", "rally.log.gz"}
    assert first_violation(ran.record, asked()) is None
    tasks = {task.task: task for task in ran.record.tasks}
    kept, behind = tasks["search"].schedule_share, tasks["hungry"].schedule_share
    # The other one is close to 1, but on a machine that does something else, too, it may be late.
    assert kept is not None and behind is not None
    assert 0 < behind < 0.5 and behind < kept
    # It is said, and does not void the race.
    for reason in (Reason.SCHEDULE_NOT_KEPT, Reason.LOAD_GENERATOR_SATURATED):
        (remark,) = (found for found in ran.remarks() if found.reason is reason and "hungry" in found.text)
        reads(reason, remark.text)
    load = tasks["hungry"].load
    assert load is not None and load.saturated and "although its clients were free" in load.why
    # The same race is not what somebody else asked for.
    produced(Reason.VERSION_MISMATCH, ran.violation(version="9.0.0"))
    produced(Reason.JAVA_MISMATCH, ran.violation(java=21))
    produced(Reason.SETTINGS_NOT_APPLIED, ran.violation(index={"shards": 3}, nodes=1))


def failing(name: str, reason: Reason, *schedule: Json, numbers: str = "", **track: Any) -> Any:
    """Return one case: a schedule, the reason it must end with, and a task whose numbers must have been kept."""
    return pytest.param(reason, schedule, numbers, track, id=name, marks=pytest.mark.produces(reason))


FIND = {"index": "t", "body": {"size": 0, "aggs": {"a": {"terms": {"field": "word"}}}}}
WITHOUT_PIPELINE: list[Json] = [{"index": {"_index": "t", "pipeline": "_none"}} for _ in range(DOCUMENTS)]
SETS: Json = {"set_security_user": {"field": "user"}}  # the only processor that this Elasticsearch has
PUT_PIPELINE: Json = {
    "operation": {"operation-type": "put-pipeline", "name": "put", "id": "p", "body": {"processors": [SETS]}}
}
WRONG_HITS = {
    "detailed-results": True, "assertions": [{"property": "hits", "condition": "==", "value": 5}],
}  # fmt: skip
NOTHING = """
class Nothing:
    infinite = False
    def __init__(self, track, params, **_):
        pass
    def partition(self, index, count):
        return self
    def params(self):
        raise StopIteration()

def register(registry):
    registry.register_param_source("nothing", Nothing)
"""
BROKEN = """
async def broken(es, params):
    raise RuntimeError("the track's own runner is broken")

def register(registry):
    registry.register_runner("broken", broken, async_runner=True)
"""
UNTIL_BLOCKED = """
import asyncio

async def blocked(es, params):
    while "read_only_allow_delete" not in str(await es.indices.get_settings(index="t")):
        await asyncio.sleep(0.5)

def register(registry):
    registry.register_runner("blocked", blocked, async_runner=True)
"""
SMALL_QUEUE = """
from esrally.driver import driver

class Small(driver.Sampler):
    def __init__(self, start_timestamp, buffer_size=4):
        super().__init__(start_timestamp, buffer_size=4)

def register(registry):
    driver.Sampler = Small
"""


@pytest.mark.parametrize(
    ("reason", "schedule", "numbers", "track"),
    [
        failing("warm-up", Reason.WARMUP_ATE_ALL, CREATE, {**BULK, "warmup-time-period": 60}, numbers="bulk"),
        failing("tolerated", Reason.ERROR_RATE, CREATE,
                search(index="nowhere", **{"ignore-response-error-level": "non-fatal"}), numbers="search"),
        failing("error", Reason.REQUEST_ERRORS, CREATE, BULK, search(index="nowhere"), numbers="bulk"),
        failing("assertion", Reason.ASSERTION_FAILED, CREATE, BULK, {"operation": "refresh"},
                search(operation=WRONG_HITS), numbers="bulk"),
        failing("no-pipeline", Reason.PIPELINE_MISSING, CREATE,
                {**BULK, "operation": {**BULK["operation"], "pipeline": "nowhere"}}),
        failing("pipeline-passed-by", Reason.PIPELINE_NOT_APPLIED, CREATE, PUT_PIPELINE,
                {**BULK, "operation": {**BULK["operation"], "pipeline": "p"}}, numbers="bulk",
                actions=WITHOUT_PIPELINE),
        failing("no-sample", Reason.TASK_MISSING, CREATE, BULK,
                {"name": "nothing", "operation": {"operation-type": "search", "param-source": "nothing"}},
                numbers="bulk", plugin=NOTHING),
        failing("broken-runner", Reason.RALLY_FAILED, CREATE, BULK,
                {"name": "broken", "operation": {"operation-type": "broken", "name": "b"}}, numbers="bulk",
                plugin=BROKEN),
        failing("dropped", Reason.SAMPLES_DROPPED, CREATE, BULK, search(), numbers="search", plugin=SMALL_QUEUE),
    ],
)  # fmt: skip
def test_a_race_that_does_not_count(
    runner: Runner, tmp_path: Path, reason: Reason, schedule: tuple[Json, ...], numbers: str, track: Json
) -> None:
    ran = runner.run(write(tmp_path / "t", *schedule, **track))
    produced(reason, ran.violation())
    assert "esrally" in log(ran) or "INFO" in log(ran)
    assert not numbers or numbers in {task.task for task in ran.record.tasks}, ran.record.tasks


@pytest.mark.produces(Reason.CIRCUIT_BREAKER)
def test_circuit_breaker(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    elasticsearch.settings(indices__breaker__request__limit="1kb")
    track = write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, search(operation=FIND))
    produced(Reason.CIRCUIT_BREAKER, runner.run(track).violation())


@pytest.mark.produces(Reason.DISK_WATERMARK)
def test_disk_watermark(runner: Runner, tmp_path: Path) -> None:
    limits = {f"cluster.routing.allocation.disk.watermark.{name}": "1%" for name in ("low", "high", "flood_stage")}
    operation = {"operation-type": "put-settings", "name": "full", "body": {"persistent": limits}}
    wait = {"name": "wait", "operation": {"operation-type": "blocked", "name": "w"}}
    track = write(tmp_path / "t", CREATE, {"operation": operation}, wait, BULK, plugin=UNTIL_BLOCKED)
    produced(Reason.DISK_WATERMARK, runner.run(track).violation())


def test_disks_that_are_too_full_for_any_shard(runner: Runner, tmp_path: Path) -> None:
    fills = {"low": "1%", "high": "1%", "flood_stage": "99%"}
    limits = {f"cluster.routing.allocation.disk.watermark.{name}": percent for name, percent in fills.items()}
    full = {"operation-type": "put-settings", "name": "full", "body": {"persistent": limits}}
    health = {"operation-type": "cluster-health", "request-params": {"wait_for_status": "green"},
              "retry-until-success": True}  # fmt: skip
    track = write(tmp_path / "t", {"operation": full}, CREATE, {"name": "health", "operation": health}, BULK)
    violation = runner.run(track, stallSeconds=24).violation()
    assert violation.reason == Reason.DISK_WATERMARK, violation.message
    assert "no node takes a shard in step" in violation.message
    assert "[cluster.routing.allocation.disk.watermark.high=1%]" in violation.message


@pytest.mark.produces(Reason.DOCUMENT_COUNT_MISMATCH)
def test_somebody_else_writes(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, BULK, search(seconds=20))
    ran = runner.run(track, meanwhile=lambda _: elasticsearch.ask("POST", "/t/_doc", {"n": 1}))
    produced(Reason.DOCUMENT_COUNT_MISMATCH, ran.violation())


@pytest.mark.produces(Reason.CLUSTER_NOT_FRESH)
def test_a_cluster_with_data(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    elasticsearch.ask("PUT", "/left-over", {})
    produced(Reason.CLUSTER_NOT_FRESH, runner.run(write(tmp_path / "t", CREATE, BULK)).violation())


@pytest.mark.produces(Reason.CLUSTER_UNREACHABLE, Reason.AUTHENTICATION_FAILED, Reason.TLS_UNTRUSTED)
def test_no_way_to_elasticsearch(runner: Runner, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, BULK)
    unreachable = runner.run(track, hosts=["localhost:1"], timeoutSeconds=2)
    produced(Reason.CLUSTER_UNREACHABLE, unreachable.violation())
    (tmp_path / "password").write_text("wrong")
    produced(Reason.AUTHENTICATION_FAILED, runner.run(track, passwordFile=str(tmp_path / "password")).violation())
    certificates(tmp_path / "other")
    produced(Reason.TLS_UNTRUSTED, runner.run(track, caFile=str(tmp_path / "other/ca.crt")).violation())


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        pytest.param(reason, changes, marks=pytest.mark.produces(reason))
        for reason, changes in (
            (Reason.UNSUPPORTED_PRODUCT, {"product": False}),
            (Reason.CLIENT_TOO_NEW, {"version": "6.7.2"}),
        )
    ],
)
def test_another_server(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path, reason: Reason, changes: Json
) -> None:
    proxy = Proxy(elasticsearch, **changes)
    try:
        ran = runner.run(write(tmp_path / "t", CREATE, BULK), hosts=[proxy.host], caFile=None)
    finally:
        proxy.shutdown()
        proxy.server_close()
    produced(reason, ran.violation())


LONG = search(seconds=300)


@pytest.mark.produces(Reason.RACE_TIMEOUT)
def test_too_long(runner: Runner, tmp_path: Path) -> None:
    ran = runner.run(write(tmp_path / "t", CREATE, LONG), timeoutSeconds=45)
    produced(Reason.RACE_TIMEOUT, ran.violation())
    (task,) = (task for task in ran.record.tasks if task.task == "search")
    assert task.samples.normal > 0, "the numbers that there were are kept"


@pytest.mark.produces(Reason.RACE_STALLED)
def test_standing_still(runner: Runner, tmp_path: Path) -> None:
    health = {"operation-type": "cluster-health", "name": "h", "index": "t", "retry-until-success": True}
    health["request-params"] = {"wait_for_status": "green"}
    track = write(tmp_path / "t", CREATE, {"name": "health", "operation": health}, settings={"number_of_replicas": 1})
    produced(Reason.RACE_STALLED, runner.run(track, stallSeconds=30).violation())


def terminate(race: Race) -> None:
    """End a race politely once its progress was seen to be true."""
    began, share = datetime.fromisoformat(race.progress()["firstRequestAt"]), 100 / LONG["time-period"]
    while True:
        time.sleep(0.5)
        percent = race.progress()["percent"] or 0
        gone = (datetime.now(UTC) - began).total_seconds()
        assert percent <= gone * share + 1, (percent, gone)
        if gone > 12 and percent >= (gone - 10) * share:
            break
        assert gone < 120, f"after {gone:.0f} s of {LONG['time-period']} s it says {percent} %"
    assert len(race.processes()) > 3
    race.process.send_signal(signal.SIGTERM)


def kill_driver(race: Race) -> None:
    os.kill(actor_pids(race.work / "live")["driver"], signal.SIGKILL)


@pytest.mark.parametrize(
    ("reason", "harm"),
    [
        pytest.param(reason, harm, marks=pytest.mark.produces(reason), id=reason)
        for reason, harm in (
            (Reason.RACE_ABORTED, terminate),
            (Reason.LOAD_GENERATOR_DIED, kill_driver),
        )
    ],
)
def test_ended_from_outside(runner: Runner, tmp_path: Path, reason: Reason, harm: Any) -> None:
    ran = runner.run(write(tmp_path / "t", CREATE, LONG), meanwhile=harm)
    produced(reason, ran.violation())
    assert log(ran)


@pytest.mark.produces(Reason.ELASTICSEARCH_RESTARTED)
def test_elasticsearch_restarts(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """Last in this file: what it leaves is a server that has just started."""

    def restart(_: Race) -> None:
        time.sleep(2)
        elasticsearch.kill()
        time.sleep(35)  # as long as a kubelet waits for a container that ends often, and a JVM starts on a busy machine
        elasticsearch.start()

    ran = runner.run(write(tmp_path / "t", CREATE, BULK, LONG), meanwhile=restart)
    produced(Reason.ELASTICSEARCH_RESTARTED, ran.violation())
    assert "bulk" in {task.task for task in ran.record.tasks}
