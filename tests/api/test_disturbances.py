"""The API server restarts and forgets, and two operators run at once: no race runs twice, none beside another."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from .controlplane import ControlPlane
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage
from .tools import patience

pytestmark = [pytest.mark.longest(3), pytest.mark.independent]
AFTER_AN_OUTAGE = 120.0
"""seconds until the garbage collector surely works again: it waits longer after each failure to list"""
LEASE_SECONDS = 45
"""a pair's: an operator that a busy machine keeps from renewing it in time ends, and nobody here starts it again"""
LONG_LEASE_SECONDS = 150
"""where nobody is to wait for its end: so long that no machine stands still for half of it"""
HOLD = "tests.fairlap.dev/hold"


def twice(stage: Stage, namespace: str) -> list[tuple[str, str]]:
    """Return the races that were started more than once."""
    attempts = [(run.benchmark_uid, run.step) for run in stage.world.runs if run.namespace == namespace]
    return [attempt for attempt in attempts if attempts.count(attempt) > 1]


def all_end(stage: Stage, namespace: str, names: list[str], seconds: float = 90) -> None:
    for name in names:
        status = stage.ends(namespace, name, seconds=seconds)
        assert status["phase"] == "Succeeded", (name, status.get("reason"), status.get("message"))
        assert status["racesDone"] == "1/1"
    assert not twice(stage, namespace)


@pytest.fixture
def pair(request: pytest.FixtureRequest, plane: ControlPlane, namespace: str) -> Iterator[list[Operator]]:
    """Two operators of the same installation that call themselves by different names; not started yet.

    A parameter is how long their lease holds, in seconds.
    """
    seconds = getattr(request, "param", LEASE_SECONDS)
    operators = [Operator(plane, namespace, leaseSeconds=seconds) for _ in range(2)]
    for number, operator in enumerate(operators):
        operator.environment["FAIRLAP_LEASE_HOLDER"] = f"operator-{number}"
        operator.environment["FAIRLAP_METRICS_PORT"] = str(operator.port)
        operator.log = operator.log.with_suffix(f".{number}.log")
    yield operators
    for operator in operators:
        if operator.process is not None:
            operator.process.send_signal(signal.SIGCONT)
        operator.lives()
        operator.stop()
        assert not operator.refused(), operator.refused()[:3]


def test_two_operators_are_one(stage: Stage, namespace: str, pair: list[Operator]) -> None:
    stage.behave(namespace, run=(0.3, 0.8))
    for operator in pair:
        operator.start()
    names = [f"two-{number}" for number in range(8)]
    stage.apply(*(benchmark(namespace, name, smokeTest=False) for name in names))
    all_end(stage, namespace, names)
    assert stage.world.most_running[namespace] == 1, "the queue holds although there are two"
    lease = stage.find("leases", namespace, "fairlap")
    assert lease is not None and lease["spec"]["holderIdentity"] in ("operator-0", "operator-1")
    idle = next(o for n, o in enumerate(pair) if lease["spec"]["holderIdentity"] != f"operator-{n}")
    assert "waiting for the lease" in idle.log.read_text()
    idle.wait_ready(path="/healthz")
    assert idle.answer("/readyz") == (503, "another operator holds the lease: this one waits for it\n")
    assert "fairlap_leader 0.0" in idle.answer("/metrics")[1]
    stage.is_clean(namespace)


def test_the_other_takes_over_and_the_first_comes_back(stage: Stage, namespace: str, pair: list[Operator]) -> None:
    """The one that leads is stopped as by a machine that hangs, and goes on when the other has taken over."""
    stage.behave(namespace, run=(1.0, 2.0))
    first, second = pair
    first.start()
    first.wait_ready()
    second.start()
    names = [f"hang-{number}" for number in range(4)]
    stage.apply(*(benchmark(namespace, name, smokeTest=False) for name in names))
    stage.reaches(namespace, "hang-0", "Racing")
    os.kill(first.pid, signal.SIGSTOP)

    def holder() -> str:
        lease = stage.find("leases", namespace, "fairlap")
        return str((lease or {"spec": {}})["spec"].get("holderIdentity"))

    stage.until(lambda: holder() == "operator-1", "the second one leads", LEASE_SECONDS)
    stage.reaches(namespace, "hang-1", "Racing", "Succeeded", seconds=30)
    os.kill(first.pid, signal.SIGCONT)
    assert first.process is not None
    assert first.process.wait(patience(20)) == 1, "it ends, since it may not lead any more"
    first.process = None
    all_end(stage, namespace, names)
    assert stage.world.most_running[namespace] == 1
    stage.is_clean(namespace)


@pytest.mark.parametrize("pair", [LONG_LEASE_SECONDS], indirect=True)
def test_one_that_ends_politely_lets_the_next_begin_at_once(stage: Stage, namespace: str, pair: list[Operator]) -> None:
    first, second = pair
    first.start()
    first.wait_ready()
    second.start()
    second.wait_ready(path="/healthz")
    stage.until(lambda: "waiting for the lease" in second.log.read_text(), "the second one waits", 10)
    assert first.stop() == 0
    began = time.monotonic()
    stage.apply(benchmark(namespace, smokeTest=False))
    stage.until(lambda: stage.status(namespace, "bm").get("phase"), "it is seen", 10)
    assert time.monotonic() - began < LONG_LEASE_SECONDS / 2, "it need not wait until the lease has run out"
    all_end(stage, namespace, ["bm"])


def test_the_api_server_restarts(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    """Killed while Benchmarks are in every phase, and back some seconds later with an empty watch cache.

    etcd forgets meanwhile the versions that watches would go on from: they get 410 Gone and must list again.
    """
    operator = Operator(plane, namespace, maxActive=3)
    operator.start()
    stage.behave(namespace, run=(3.0, 6.0), eck=(0.1, 1.0))
    names = [f"outage-{number}" for number in range(5)]
    stage.apply(*(benchmark(namespace, name, smokeTest=False) for name in names))
    stage.reaches(namespace, names[0], "Racing")
    for pause in (1.0, 4.0):
        plane.kill_apiserver()
        time.sleep(pause)
        plane.compact()
        plane.start_apiserver()
        time.sleep(1.0)
        operator.revive()

    def all_over() -> bool:
        operator.revive()  # whenever it ends: an API server that is back may refuse to renew the lease for a while
        operator.lives()
        return all("completionTime" in stage.status(namespace, name) for name in names)

    try:
        stage.until(all_over, "all have ended", 120)
        all_end(stage, namespace, names)
        operator.wait_ready()
        stage.is_clean(namespace, AFTER_AN_OUTAGE)
    finally:
        # Not looked at: refusals. An API server that has just started does not know of any permission yet.
        operator.stop()


LATE_ANSWERS = """
import asyncio, runpy
from fairlap.runtime.loop import status_writer

write_status = status_writer.write_status

async def late(*arguments):
    answer = await write_status(*arguments)
    await asyncio.sleep(1)
    return answer

status_writer.write_status = late
runpy.run_module("fairlap", run_name="__main__")
"""


def test_a_write_is_seen_before_its_answer_comes(stage: Stage, plane: ControlPlane, namespace: str) -> None:
    """The end is told nevertheless: kopf ends a daemon as soon as it sees that its Benchmark is over."""
    operator = Operator(plane, namespace)
    operator.command[1:] = ["-c", LATE_ANSWERS]
    operator.start()

    def told() -> list[str]:
        return [event["reason"] for event in stage.all("events", namespace)]

    try:
        stage.apply(benchmark(namespace, smokeTest=False))
        all_end(stage, namespace, ["bm"])
        stage.until(lambda: "Succeeded" in told(), "the event of its end", 20)
    finally:
        assert operator.stop() == 0


@pytest.fixture
def deaf(plane: ControlPlane, namespace: str) -> Iterator[Operator]:
    """An operator that a test may stop for a while; it looks around every 5 s even if nothing happens."""
    operator = Operator(plane, namespace, leaseSeconds=120)
    operator.environment["FAIRLAP_RESYNC_SECONDS"] = "5"
    operator.start()
    operator.wait_ready()
    yield operator
    operator.stop()


@contextmanager
def lost_watch(operator: Operator, plane: ControlPlane) -> Iterator[None]:
    """Let the operator sleep through what happens meanwhile, and etcd forget it: its watches get 410 Gone."""
    os.kill(operator.pid, signal.SIGSTOP)
    try:
        plane.kill_apiserver()  # first: what it sends would wait in the operator's sockets
        plane.start_apiserver()
        yield
        plane.kill_apiserver()
        plane.compact()
        plane.start_apiserver()
    finally:
        os.kill(operator.pid, signal.SIGCONT)


def test_a_cluster_goes_while_nobody_watches(stage: Stage, plane: ControlPlane, namespace: str, deaf: Operator) -> None:
    """No event ever tells that it is gone, yet the Benchmark ends, with its numbers."""
    stage.apply(benchmark(namespace, smokeTest=False))
    stage.until(lambda: stage.find("elasticsearches", namespace, "bm-race-1"), "the cluster")
    stage.patch("elasticsearches", namespace, "bm-race-1", {"metadata": {"finalizers": [HOLD]}})

    def cluster_meta() -> dict[str, object]:
        return (stage.find("elasticsearches", namespace, "bm-race-1") or {}).get("metadata") or {}

    stage.until(lambda: "deletionTimestamp" in cluster_meta(), "the cluster is being removed")
    with lost_watch(deaf, plane):
        stage.patch("elasticsearches", namespace, "bm-race-1", {"metadata": {"finalizers": None}})
        stage.until(lambda: not cluster_meta(), "the cluster is gone")
    all_end(stage, namespace, ["bm"], seconds=120)
    stage.is_clean(namespace, AFTER_AN_OUTAGE)


def test_a_benchmark_goes_while_nobody_watches(
    stage: Stage, plane: ControlPlane, namespace: str, deaf: Operator
) -> None:
    """The one behind it in the queue gets its place."""
    stage.behave(namespace, "first", race="hangs")
    stage.apply(benchmark(namespace, "first", smokeTest=False), benchmark(namespace, "second", smokeTest=False))
    stage.reaches(namespace, "first", "Racing")
    stage.reaches(namespace, "second", "Queued")
    with lost_watch(deaf, plane):
        stage.delete("benchmarks", namespace, "first")
        stage.until(lambda: not stage.find("benchmarks", namespace, "first"), "the Benchmark is gone")
    all_end(stage, namespace, ["second"], seconds=120)
    stage.is_clean(namespace, AFTER_AN_OUTAGE)

    def in_vain() -> int:
        written = plane.writes(deaf.account, namespace)
        return sum(entry.get("responseStatus", {}).get("code") == 404 for entry in written)

    before = in_vain()
    time.sleep(15)  # three times as long as it takes between two looks that no event causes
    assert in_vain() == before, "nobody works any more for the one that is gone"


def test_an_operator_that_cannot_read_a_specification_leaves_nothing_behind(
    stage: Stage, namespace: str, install: Callable[..., Operator], plane: ControlPlane
) -> None:
    """A newer CRD lets a field through that this operator does not know, while a race is under way."""
    stage.behave(namespace, run=(60.0, 60.0))
    operator = install(namespace)
    stage.apply(benchmark(namespace, "newer", smokeTest=False))
    stage.reaches(namespace, "newer", "Racing")
    operator.stop()
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/future"
    kubectl = ("patch", "crd", "benchmarks.fairlap.dev", "--type=json", "-p")
    added = json.dumps([{"op": "add", "path": path, "value": {"type": "boolean"}}])
    assert plane.kubectl(*kubectl, added).returncode == 0
    try:
        stage.until(lambda: _takes_future(stage, namespace), "the API server knows the new field")
        operator.start()
        status = stage.ends(namespace, "newer")
        assert status["reason"] == "InvalidSpec" and "future" in status["message"]
        stage.is_clean(namespace)
    finally:
        plane.kubectl(*kubectl, json.dumps([{"op": "remove", "path": path}]))


def _takes_future(stage: Stage, namespace: str) -> bool:
    stage.patch("benchmarks", namespace, "newer", {"spec": {"future": True}})
    return bool(stage.benchmark(namespace, "newer")["spec"].get("future"))
