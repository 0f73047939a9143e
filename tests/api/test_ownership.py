"""What others have made is never taken for a race's own: not a name that was there first, nor a label that is worn."""

from typing import Any

import pytest

from fairlap.plan.basis.steps import account_name
from fairlap_race.contract.recorded.record import Progress

from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
Json = dict[str, Any]
KEPT = {"tests": "keep"}


def account(namespace: str, name: str) -> Json:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}


def said(stage: Stage, namespace: str, name: str) -> str:
    return str(stage.status(namespace, name).get("progress", ""))


def test_an_account_that_was_there_first_is_nobodys_identity(stage: Stage, namespace: str, operator: Operator) -> None:
    """The step's own name, and the one that is known once the Benchmark is there: taken again, it is waited for."""
    first = account(namespace, "health-race-1")
    first["metadata"]["labels"] = KEPT
    stage.apply(first, benchmark(namespace, "health", smokeTest=False, suspend=True))
    stage.until(lambda: "suspended" in said(stage, namespace, "health"), "the Benchmark is seen")
    uid = stage.benchmark(namespace, "health")["metadata"]["uid"]
    taken = account_name("health", uid, "race-1")
    stage.apply(account(namespace, taken))
    stage.patch("benchmarks", namespace, "health", {"spec": {"suspend": False}})
    words = f"waiting for ServiceAccount {taken}, which is not of this Benchmark, to go away"
    stage.until(lambda: said(stage, namespace, "health") == words, words)
    assert not stage.runs(namespace)
    stage.delete("serviceaccounts", namespace, taken)
    assert stage.ends(namespace, "health")["phase"] == "Succeeded"
    stage.is_clean(namespace)
    operator.lives()


def forgeries(namespace: str, of: Json) -> list[Json]:
    """A record that is done, a pod and a cluster that restarted, and a Job that failed, with another's labels."""
    labels = {
        "app.kubernetes.io/managed-by": "fairlap", "fairlap.dev/benchmark": "bm", "fairlap.dev/step": "race-1",
        "fairlap.dev/uid": of["metadata"]["uid"], **KEPT,
    }  # fmt: skip
    meta = {"name": "bm-race-1", "namespace": namespace, "labels": labels}
    of_pod = {**meta, "labels": {**labels, "fairlap.dev/role": "elasticsearch"}}
    containers = [{"name": "elasticsearch", "image": "i"}]
    pod = {"containers": containers, "nodeName": "node-a", "restartPolicy": "Never"}
    job = {"suspend": True, "template": {"spec": {"containers": containers, "restartPolicy": "Never"}}}
    done = {"progress": Progress("2026-01-01T00:00:00Z", "done", "forged", 100, 1, 1, None).to_json()}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": done},
        {"apiVersion": "v1", "kind": "Pod", "metadata": of_pod, "spec": pod},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": job},
        {"apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch", "metadata": meta,
         "spec": {"version": "9.0.0", "nodeSets": [{"name": "default", "count": 0, "podTemplate": {"spec": {}}}]}},
    ]  # fmt: skip


def test_what_another_namespace_forges_is_not_believed(stage: Stage, namespace: str, operator: Operator) -> None:
    theirs = stage.make_namespace(f"{namespace}-theirs")
    stage.apply(benchmark(namespace, smokeTest=False, suspend=True))
    stage.until(lambda: "suspended" in said(stage, namespace, "bm"), "the Benchmark is seen")
    stage.apply(*forgeries(theirs, stage.benchmark(namespace, "bm")))
    restarted = {"name": "elasticsearch", "image": "i", "imageID": "", "restartCount": 7, "ready": False}
    stage.patch("pods", theirs, "bm-race-1", {"status": {"containerStatuses": [restarted]}}, "status")
    stage.patch("benchmarks", namespace, "bm", {"spec": {"suspend": False}})
    status = stage.ends(namespace, "bm")
    assert (status["phase"], status["racesDone"]) == ("Succeeded", "1/1"), status
    assert status["environment"]["nodes"] == 1, "the forged pod is no node"
    assert stage.find("jobs", theirs, "bm-race-1") and stage.find("elasticsearches", theirs, "bm-race-1")
    operator.lives()
    for plural in ("jobs", "elasticsearches", "configmaps", "pods"):
        stage.delete(plural, theirs, "bm-race-1")
