"""The queue under a flood of checks, with shares of namespaces, without machines, and beside a kept cluster."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
Install = Callable[..., Operator]
FLOOD = 20
HOLD = "tests.example/hold"
GIT = {"race__track": {"git": {"url": "https://git.example/tracks", "revision": "main", "path": "mine"}}}


@pytest.mark.long
def test_a_flood_of_checks_runs_a_few_at_a_time(stage: Stage, namespace: str, install: Install) -> None:
    """Each check fails, which ends its Benchmark; the operator is killed in the middle of it."""
    stage.behave(namespace, race="track", steps=("check",), run=(0.1, 0.2))
    operator = install(namespace, maxChecks=3)
    names = [f"flood-{number:02}" for number in range(FLOOD)]
    stage.apply(*(benchmark(namespace, name, **GIT) for name in names))
    words: set[str] = set()

    def over() -> int:
        found = [bench.get("status") or {} for bench in stage.all("benchmarks", namespace)]
        words.update(status.get("progress", "") for status in found)
        return sum("completionTime" in status for status in found)

    stage.until(lambda: over() >= FLOOD // 3, "some checks are over", 60)
    operator.kill()
    operator.start()
    stage.until(lambda: over() == FLOOD, "all checks are over", 120)
    assert 2 <= stage.world.most_checks[namespace] <= 3
    assert sorted(stage.runs(namespace)) == [f"{name}-check" for name in names]
    assert any("before it in the line for track checks, the last is" in text for text in words), words
    assert all("admittedTime" not in stage.status(namespace, name) for name in names[:3])


def test_a_namespace_has_its_share(stage: Stage, namespace: str, install: Install) -> None:
    other = stage.make_namespace(f"{namespace}-b")
    install(namespace, scope__namespaces=[namespace, other], maxActive=2, maxActivePerNamespace=1)
    for place in (namespace, other):
        stage.behave(place, race="hangs")
    stage.apply(benchmark(namespace, "first", smokeTest=False))
    stage.reaches(namespace, "first", "Racing")
    stage.apply(benchmark(namespace, "second", smokeTest=False))
    waiting = stage.reaches(namespace, "second", "Queued")
    assert "in its namespace, whose share of 1 is taken" in waiting["progress"]
    assert f"{namespace}/first" in waiting["progress"]
    stage.apply(benchmark(other, "third", smokeTest=False))
    stage.reaches(other, "third", "Racing")
    assert stage.status(namespace, "second")["phase"] == "Queued"
    stage.delete("benchmarks", namespace, "first")
    stage.reaches(namespace, "second", "Racing")
    stage.forget(other)


@pytest.mark.long
def test_who_finds_no_machine_lets_others_go_first(stage: Stage, namespace: str) -> None:
    """Once for Elasticsearch's pod, once for the load generator's; both come back in turn and race once."""
    operator = Operator(stage.plane, namespace)
    operator.environment["FAIRLAP_UNSCHEDULABLE_SECONDS"] = "3"
    operator.start()
    stage.behave(namespace, "no-node", cluster="unschedulable")
    stage.behave(namespace, "no-rally", race="unschedulable")
    stage.apply(*(benchmark(namespace, name, smokeTest=False) for name in ("no-node", "no-rally", "small")))
    for name in ("no-node", "no-rally"):
        stage.until(lambda name=name: stage.status(namespace, name).get("gaveWay"), "it gives way", 60)  # type: ignore[misc]
        stage.behave(namespace, name)
    ended = {name: stage.ends(namespace, name) for name in ("small", "no-node", "no-rally")}
    assert {name: status["phase"] for name, status in ended.items()} == dict.fromkeys(ended, "Succeeded")
    assert stage.runs(namespace) == ["small-race-1", "no-node-race-1", "no-rally-race-1"]
    assert stage.world.most_running[namespace] == 1
    assert all("queuedTime" not in status and "gaveWay" not in status for status in ended.values())
    operator.stop()
    assert not operator.refused() and "Traceback" not in operator.log.read_text()
    stage.is_clean(namespace)


@pytest.mark.long
def test_who_finds_no_machine_lets_go_for_one_that_is_still_in_its_check(stage: Stage, namespace: str) -> None:
    """The check may find no machine either, because of the cluster that waits there: then nobody would ever line up."""
    operator = Operator(stage.plane, namespace)
    operator.environment["FAIRLAP_UNSCHEDULABLE_SECONDS"] = "3"
    operator.start()
    stage.behave(namespace, "no-node", cluster="unschedulable")
    stage.behave(namespace, "next", race="unschedulable", steps=("check",))
    stage.apply(benchmark(namespace, "no-node", smokeTest=False))
    stage.reaches(namespace, "no-node", "Provisioning")
    stage.until(lambda: any(place == namespace for place, _ in stage.world.built), "its cluster is begun", 60)
    time.sleep(5)
    assert not stage.status(namespace, "no-node").get("gaveWay"), "nobody wants its place"
    stage.behave(namespace, "no-node")  # from its next cluster on, which may come at once
    stage.apply(benchmark(namespace, "next", smokeTest=False, **GIT))
    stage.until(lambda: stage.status(namespace, "no-node").get("gaveWay"), "it gives way", 60)
    assert stage.status(namespace, "next")["step"]["name"] == "check"
    stage.delete("benchmarks", namespace, "next")
    assert stage.ends(namespace, "no-node")["phase"] == "Succeeded"
    operator.stop()
    assert not operator.refused() and "Traceback" not in operator.log.read_text()
    stage.is_clean(namespace)


def test_a_deletion_that_hangs_keeps_no_place(stage: Stage, namespace: str) -> None:
    """In the foreground, while somebody else's finalizer holds the record of its race."""
    operator = Operator(stage.plane, namespace)
    operator.environment["FAIRLAP_CLEANUP_SECONDS"] = "8"
    operator.start()
    stage.behave(namespace, "held", race="hangs")
    stage.apply(benchmark(namespace, "held", smokeTest=False))
    stage.reaches(namespace, "held", "Racing")
    stage.apply(benchmark(namespace, "next", smokeTest=False))
    stage.reaches(namespace, "next", "Queued")
    stage.patch("configmaps", namespace, "held-race-1", {"metadata": {"finalizers": [HOLD]}})
    stage.do(stage.world.rest.delete("benchmarks", namespace, "held", {"propagationPolicy": "Foreground"}))
    try:
        assert stage.ends(namespace, "next")["phase"] == "Succeeded"
        assert stage.benchmark(namespace, "held")["metadata"]["deletionTimestamp"]
        (told,) = (e["message"] for e in stage.all("events", namespace) if e["reason"] == "PlaceGivenBack")
        assert f"still there: ConfigMap held-race-1 (finalizers: {HOLD})" in told, told
    finally:
        stage.patch("configmaps", namespace, "held-race-1", {"metadata": {"finalizers": None}})
    stage.until(lambda: not stage.find("benchmarks", namespace, "held"), "it is gone", 30)
    operator.stop()
    assert not operator.refused() and "Traceback" not in operator.log.read_text()
    stage.is_clean(namespace)


def test_races_keep_away_from_a_kept_cluster(stage: Stage, namespace: str, install: Install) -> None:
    install(namespace)
    stage.behave(namespace, "next", race="hangs")
    stage.apply(benchmark(namespace, "kept", smokeTest=False, keepCluster="Always"))
    assert stage.ends(namespace, "kept")["phase"] == "Succeeded"
    uid = stage.benchmark(namespace, "kept")["metadata"]["uid"]
    stage.apply(benchmark(namespace, "next", smokeTest=False))
    stage.reaches(namespace, "next", "Racing")

    def demanded(pod: Any) -> Any:
        (term,) = pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        return term["labelSelector"]["matchExpressions"][0]["values"]

    def pods() -> list[Any]:
        return [pod for pod in stage.all("pods", namespace) if pod["metadata"]["name"].startswith("next-")]

    stage.until(lambda: len(pods()) == 2, "both pods", 30)
    assert all(demanded(pod) == [uid] for pod in pods())
