"""The operator as a process: restarts, what it may do, which namespaces it serves, metrics and logs."""

import json
import time
import urllib.request
from collections.abc import Callable

import pytest

from .controlplane import ControlPlane
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
Install = Callable[..., Operator]


def test_the_operator_may_do_little(stage: Stage, namespace: str, install: Install) -> None:
    operator = install(namespace)

    def may(*what: str) -> bool:
        user = f"--as=system:serviceaccount:{namespace}:{operator.account}"
        return stage.plane.kubectl("auth", "can-i", *what, user, f"--namespace={namespace}").stdout.strip() == "yes"

    assert may("list", "benchmarks.fairlap.dev")
    assert may("update", "bm", "--subresource=status")
    assert may("create", "bm")  # the next run, when an annotation asks for it
    assert may("list", "nodes")  # how many processors their machines have
    for forbidden in (
        ("get", "secrets"), ("list", "secrets"), ("create", "pods"), ("create", "pods", "--subresource=exec"),
        ("delete", "bm"),
        ("update", "bm"), ("escalate", "roles"), ("bind", "roles"), ("delete", "configmaps"),
        ("delete", "pods"), ("impersonate", "users"),
        ("create", "serviceaccounts", "--subresource=token"), ("update", "roles"),
        *((verb, "nodes") for verb in ("get", "watch", "patch")), ("list", "nodes", "--subresource=proxy"),
        ("list", "namespaces"), ("list", "customresourcedefinitions"),
    ):  # fmt: skip
        assert not may(*forbidden), forbidden


def test_a_deleted_job_before_it_runs(stage: Stage, namespace: str, install: Install) -> None:
    """The Job goes after its uid was recorded, while nobody looks: it is lost, and not made anew."""
    operator = install(namespace)
    stage.behave(namespace, race="hangs")
    stage.apply(benchmark(namespace, smokeTest=False))
    stage.until(lambda: stage.status(namespace, "bm").get("step", {}).get("jobUID"), "the uid is on record", 30)
    operator.kill()
    stage.delete("jobs", namespace, "bm-race-1")
    stage.until(lambda: stage.find("jobs", namespace, "bm-race-1") is None, "the Job is gone", 10)
    operator.start()
    assert stage.ends(namespace, "bm")["reason"] == "JobLost"
    assert stage.runs(namespace) in ([], ["bm-race-1"])


def test_what_is_over_is_never_touched_again(stage: Stage, namespace: str, install: Install) -> None:
    operator = install(namespace, maxActive=2)
    stage.behave(namespace, "bad", race="documents")
    stage.apply(benchmark(namespace, "good", smokeTest=False), benchmark(namespace, "bad", smokeTest=False))
    for name in ("good", "bad"):
        stage.ends(namespace, name)
    before = {name: stage.benchmark(namespace, name) for name in ("good", "bad")}
    operator.kill()
    operator.start()
    operator.wait_ready()
    stage.patch("configmaps", namespace, "good-race-1", {"data": {"record.json": "{}"}})
    stage.delete("configmaps", namespace, "bad-race-1")
    time.sleep(2)
    assert {name: stage.benchmark(namespace, name) for name in ("good", "bad")} == before
    stage.patch("benchmarks", namespace, "good", {"spec": {"suspend": True}})
    stage.until(lambda: stage.status(namespace, "good")["observedGeneration"] == 2, "its generation is observed")
    after, ended = stage.status(namespace, "good"), before["good"]["status"]
    for status in (after, ended):
        for part in (status, *status["conditions"]):
            del part["observedGeneration"]
    assert after == ended, "nothing else of it is written"


def test_two_namespaces_and_no_others(stage: Stage, namespace: str, install: Install) -> None:
    watched, other = stage.make_namespace(f"{namespace}-b"), stage.make_namespace(f"{namespace}-c")
    install(namespace, scope__namespaces=[namespace, watched], maxActive=2)
    for place in (namespace, watched, other):
        stage.apply(benchmark(place, smokeTest=False))
    for place in (namespace, watched):
        assert stage.ends(place, "bm")["phase"] == "Succeeded"
        stage.promises_kept(place)
    assert "status" not in stage.benchmark(other, "bm")


def test_claims_that_eck_never_owned_go_with_their_cluster(stage: Stage, namespace: str, plane: ControlPlane) -> None:
    """ECK owns a claim only some time after Kubernetes has made it; a claim of somebody else stays."""
    operator = Operator(plane, namespace)
    operator.environment["FAIRLAP_SWEEP_SECONDS"] = "2"
    operator.start()
    theirs = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    kept = {"name": "theirs", "namespace": namespace, "labels": {"tests": "keep"}}
    stage.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept, "spec": theirs})
    stage.behave(namespace, cluster="claims-without-owner", race="hangs")
    stage.apply(benchmark(namespace, smokeTest=False, elasticsearch__nodes=2, elasticsearch__storage={"size": "1Gi"}))
    stage.reaches(namespace, "bm", "Racing")
    operator.lives()
    assert len(stage.all("persistentvolumeclaims", namespace)) == 3, "a claim whose cluster lives stays"
    stage.delete("benchmarks", namespace, "bm")
    stage.is_clean(namespace)
    assert [claim["metadata"]["name"] for claim in stage.all("persistentvolumeclaims", namespace)] == ["theirs"]
    operator.stop()
    assert not operator.refused(), operator.refused()[:3]
    assert "Traceback" not in operator.log.read_text()


def test_metrics_health_and_a_clean_end(stage: Stage, namespace: str, install: Install) -> None:
    operator = install(namespace)
    operator.wait_ready()
    stage.apply(benchmark(namespace, smokeTest=False))
    stage.ends(namespace, "bm")

    def metrics() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{operator.port}/metrics", timeout=120) as answer:
            text: str = answer.read().decode()
            return text

    line = 'fairlap_benchmarks{phase="Succeeded"} 1.0'
    stage.until(lambda: line in metrics(), line, 5)
    assert "fairlap_passes_total" in metrics()
    assert operator.stop(10) == 0
    for line in operator.log.read_text().splitlines():
        entry = json.loads(line)
        assert {"message", "timestamp", "severity"} <= set(entry)
        assert entry["severity"] not in ("error", "critical"), entry
    assert "secret-password" not in operator.log.read_text()
