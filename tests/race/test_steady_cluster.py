"""What the cluster did while a task was measured, on a real one of one or two nodes, and the good race beside each."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.controlplane import free_port
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap_race.contract.reasons import Reason

from .proxy import Proxy
from .runner import Race, Ran, Runner, asked
from .server import Elasticsearch
from .tracks import BULK, CREATE, Json, search, write

REFRESH: Json = {"operation": {"operation-type": "refresh", "name": "refresh"}}


def said(ran: Ran, reason: Reason) -> str:
    """Return what is remarked for this reason; it must be of the form that the documentation shows, or nothing."""
    for it in remarks(ran.record, [], ""):
        if it.reason is reason:
            return it.text
    return ""


def reads(reason: Reason, message: str) -> None:
    assert looks_like(reason.example, message), f"\n{message}\nis not of the form\n{reason.example}"


def replicas_in_schedule(number: int) -> Json:
    body = {"index.number_of_replicas": number}
    return {
        "name": f"replicas-{number}",
        "operation": {"operation-type": "raw-request", "name": f"r{number}", "method": "PUT", "path": "/t/_settings",
                      "body": body},
    }  # fmt: skip


@pytest.mark.produces(Reason.REPLICAS_MISSING)
def test_a_replica_that_is_never_there(runner: Runner, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, BULK, REFRESH, search(seconds=6), settings={"number_of_replicas": 1})
    ran = runner.run(track)
    found = ran.violation(index={"replicas": 1})
    assert found.reason is Reason.REPLICAS_MISSING, found
    reads(Reason.REPLICAS_MISSING, found.message.replace("task bulk", "task search"))
    # One node can hold none: where no field of the spec asks for it, it is as on every such cluster, and said.
    assert first_violation(ran.record, asked()) is None
    assert said(ran, Reason.SHARDS_UNASSIGNED)


@pytest.mark.long
def test_a_replica_that_the_track_adds_later_is_no_missing_one(runner: Runner, tmp_path: Path) -> None:
    late = replicas_in_schedule(1)
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, search(seconds=4), late, search("again", seconds=5)))
    (missing,) = (it for it in ran.record.course.missing if not it.primary)
    assert (missing.index, missing.why) == ("t", "REPLICA_ADDED")
    assert first_violation(ran.record, asked(index={"replicas": 1})) is None
    assert "task again" in said(ran, Reason.SHARDS_IN_MOTION)


@pytest.mark.long
@pytest.mark.produces(Reason.CACHE_MEASURED)
def test_searches_that_a_cache_answers_and_such_that_it_does_not(runner: Runner, tmp_path: Path) -> None:
    # Only searches for no hits are kept in the request cache.
    body = {"size": 0, "aggs": {"a": {"terms": {"field": "word"}}}}
    cached = search("cached", seconds=8, operation={"body": body, "cache": True})
    fresh = search("fresh", seconds=8, operation={"body": body, "cache": False})
    request = {"operation-type": "raw-request", "name": "r", "method": "POST", "path": "/t/_search?request_cache=true"}
    raw: Json = {"name": "raw", "operation": {**request, "body": body}, "iterations": 100}
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, fresh, cached, raw))
    assert first_violation(ran.record, asked()) is None
    text, of_raw = (it.text for it in ran.remarks() if it.reason is Reason.CACHE_MEASURED)
    assert text.startswith("task cached: ") and of_raw.startswith("task raw: ")
    reads(Reason.CACHE_MEASURED, text.replace("task cached", "task search"))
    by_task = {it.task: it for it in ran.record.course.caches}
    hits, misses = by_task["cached"].request_hits or 0, by_task["cached"].request_misses or 0
    assert hits > 9 * max(1, misses), by_task  # however many searches a slow machine answers in eight seconds
    assert by_task["fresh"].request_hits is not None and by_task["fresh"].request_hits < 20, by_task
    assert (by_task[""].request_hits or 0) >= by_task["cached"].request_hits


STEPPED = """
import time
from esrally.driver import driver

class Clock:
    def __init__(self):
        self.asked = 0
    def __getattr__(self, name):
        return getattr(time, name)
    def time(self):
        self.asked += 1  # once for each request, and 60 is in the middle of the searches
        return time.time() + (SECONDS if self.asked > 60 else 0)

def register(registry):
    driver.time = Clock()
"""


@pytest.mark.long
@pytest.mark.produces(Reason.CLOCK_STEPPED)
@pytest.mark.parametrize("seconds", [30, -30], ids=["forward", "back"])
def test_a_clock_that_is_set_while_a_task_runs(runner: Runner, tmp_path: Path, seconds: int) -> None:
    stepped = STEPPED.replace("SECONDS", str(seconds))
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, search(seconds=8), plugin=stepped))
    reads(Reason.CLOCK_STEPPED, said(ran, Reason.CLOCK_STEPPED))
    (task,) = (it for it in ran.record.tasks if it.task == "search")
    assert task.clock_shift_seconds == pytest.approx(30, abs=0.1)


def test_a_race_in_which_nothing_happened(runner: Runner, tmp_path: Path) -> None:
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, search(seconds=3)))
    course = ran.record.course
    assert first_violation(ran.record, asked()) is None
    assert (course.fewest_nodes, course.rejoined, course.elections, course.merging) == (1, (), 0, 0)
    assert all(it.primary for it in course.missing), "a look may fall on the moment in which an index is made"
    assert course.looks and course.recoveries == ()
    (of_node,) = course.requests
    assert of_node.node == "race-0" and of_node.requests and of_node.requests > 10
    assert all(task.clock_shift_seconds is None for task in ran.record.tasks)
    ours = (Reason.SHARDS_IN_MOTION, Reason.REQUESTS_UNEVEN, Reason.CACHE_MEASURED, Reason.MERGES_RUNNING,
            Reason.CLOCK_STEPPED)  # fmt: skip
    assert not any(said(ran, reason) for reason in ours)


@pytest.mark.long
@pytest.mark.produces(Reason.MERGES_RUNNING)
def test_merges_that_do_not_end(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """No index of a small track merges for a minute: Elasticsearch's answer is altered on its way."""

    def alter(path: str, answer: Any) -> Any:
        for index in answer["indices"].values() if path.startswith("/_stats/merge") else ():
            index["total"]["merges"]["current"] = 2
        return answer

    proxy = Proxy(elasticsearch, alter_json=alter)
    try:
        ran = runner.run(write(tmp_path / "t", CREATE, BULK), hosts=[proxy.host], caFile=None)
    finally:
        proxy.shutdown()
        proxy.server_close()
    reads(Reason.MERGES_RUNNING, said(ran, Reason.MERGES_RUNNING))
    assert first_violation(ran.record, asked()) is None


@pytest.fixture(scope="module")
def pair(folder: Path) -> Iterator[tuple[Elasticsearch, Elasticsearch]]:
    """Two nodes that are one cluster."""
    ports, password = (free_port(), free_port()), "of-both"
    nodes = []
    for number in range(2):
        (folder / f"node-{number}").mkdir()
        nodes.append(Elasticsearch(folder / f"node-{number}", ports, number, password))
    try:
        for node in nodes:
            node.launch()
        for node in nodes:
            node.await_answer()
        nodes[0].ask("GET", "/_cluster/health?wait_for_nodes=2&timeout=120s")
        yield nodes[0], nodes[1]
    finally:
        for node in nodes:
            node.kill()


@pytest.fixture
def of_two(account: Path, pair: tuple[Elasticsearch, Elasticsearch]) -> Runner:
    """Runs races against both nodes, whose certificates are of two authorities."""
    first, second = pair
    first.reset()
    both = account / "both.crt"
    both.write_text(first.ca.read_text() + second.ca.read_text())
    return Runner(
        account,
        {
            "hosts": [f"localhost:{node.port}" for node in pair],
            "user": "elastic",
            "passwordFile": str(first.password_file),
            "caFile": str(both),
        },
    )


def counts(ran: Ran) -> bool:
    return first_violation(ran.record, asked(nodes=2)) is None


GREEN: Json = {
    "name": "green",
    "operation": {"operation-type": "cluster-health", "name": "g", "retry-until-success": True,
                  "request-params": {"wait_for_status": "green"}},
}  # fmt: skip
REPLICATED = {"number_of_replicas": 1}


@pytest.mark.long
def test_two_nodes_take_even_shares_and_hold_the_replica(of_two: Runner, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, GREEN, BULK, REFRESH, search(seconds=5, clients=2), settings=REPLICATED)
    ran = of_two.run(track)
    assert counts(ran), ran.record.course
    first, second = sorted(it.requests or 0 for it in ran.record.course.requests)
    assert first > 0.6 * second, ran.record.course.requests
    assert ran.record.course.rejoined == () and ran.record.course.elections == 0
    assert not said(ran, Reason.SHARDS_IN_MOTION) and not said(ran, Reason.REQUESTS_UNEVEN)


@pytest.mark.long
def test_an_index_that_a_bulk_makes_has_its_replica_a_moment_later(of_two: Runner, tmp_path: Path) -> None:
    """Nobody created it: it has one replica, as every index that Elasticsearch makes by itself."""
    slow = {**BULK, "operation": {**BULK["operation"], "bulk-size": 10}, "target-throughput": "150 docs/s"}
    ran = of_two.run(write(tmp_path / "t", slow, target="made"))
    (index,) = (it for it in ran.record.indices or () if it.name == "made")
    assert index.replicas == 1 and index.health == "green"
    assert first_violation(ran.record, asked(nodes=2, index={"replicas": 1})) is None, ran.record.course


@pytest.mark.long
@pytest.mark.produces(Reason.REQUESTS_UNEVEN)
def test_one_of_two_nodes_takes_all_requests(of_two: Runner, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, GREEN, BULK, REFRESH, search(seconds=10))
    ran = of_two.run(track, hosts=of_two.defaults["hosts"][:1])
    assert counts(ran)
    reads(Reason.REQUESTS_UNEVEN, said(ran, Reason.REQUESTS_UNEVEN))


@pytest.mark.long
@pytest.mark.produces(Reason.SHARDS_IN_MOTION)
def test_a_shard_that_moves_while_it_is_searched(
    of_two: Runner, pair: tuple[Elasticsearch, Elasticsearch], tmp_path: Path
) -> None:
    def move(_: Race) -> None:
        time.sleep(3)
        (shard,) = pair[0].ask("GET", "/_cat/shards/t?format=json&h=node")
        there = "race-1" if shard["node"] == "race-0" else "race-0"
        order = {"index": "t", "shard": 0, "from_node": shard["node"], "to_node": there}
        pair[0].ask("POST", "/_cluster/reroute", {"commands": [{"move": order}]})

    ran = of_two.run(write(tmp_path / "t", CREATE, GREEN, BULK, REFRESH, search(seconds=15)), meanwhile=move)
    assert counts(ran)
    text = said(ran, Reason.SHARDS_IN_MOTION)
    (recovery,) = ran.record.course.recoveries or ()
    assert (recovery.kind, recovery.primary) == ("PEER", True)
    expected = Reason.SHARDS_IN_MOTION.example
    assert looks_like(expected, text), text


@pytest.mark.long
@pytest.mark.produces(Reason.NODE_LEFT)
def test_a_node_that_leaves_and_comes_back(
    of_two: Runner, pair: tuple[Elasticsearch, Elasticsearch], tmp_path: Path
) -> None:
    """Last in this file: what it leaves is a cluster that was divided."""
    master = pair[0].ask("GET", "/_cat/master?format=json")[0]["node"]
    other = pair[1] if master == "race-0" else pair[0]

    def pause(_: Race) -> None:
        time.sleep(3)
        os.killpg(other.pid, signal.SIGSTOP)
        threading.Timer(12, os.killpg, (other.pid, signal.SIGCONT)).start()

    hosts = [f"localhost:{node.port}" for node in pair if node is not other]
    settings = {"number_of_replicas": 0, "routing.allocation.require._name": master}
    track = write(tmp_path / "t", CREATE, GREEN, BULK, REFRESH, search(seconds=45), settings=settings)
    ran = of_two.run(track, meanwhile=pause, hosts=hosts)
    found = first_violation(ran.record, asked(nodes=2))
    assert found is not None and found.reason is Reason.NODE_LEFT, (found, ran.record.course)
    reads(Reason.NODE_LEFT, found.message.replace("race-0", "race-1"))
    assert ran.record.nodes_restarted == (), "its process is the same"
