"""A kept cluster goes when its time is over, and an annotation makes another run: neither touches the record."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from .controlplane import ControlPlane
from .manifests import Json, benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
Install = Callable[..., Operator]
RERUN, OF, VALUE = "fairlap.dev/rerun", "fairlap.dev/rerun-of", "fairlap.dev/rerun-value"


def events(stage: Stage, namespace: str, name: str) -> dict[str, str]:
    """Return the messages of the events about a Benchmark, by reason."""
    found = stage.all("events", namespace)
    return {e["reason"]: e["message"] for e in found if e["involvedObject"]["name"] == name}


def kept(stage: Stage, namespace: str) -> list[str]:
    return [thing["metadata"]["name"] for thing in stage.all("elasticsearches", namespace)]


def failed_with_cluster(stage: Stage, namespace: str, keep: str) -> Json:
    stage.behave(namespace, race="documents")
    stage.apply(benchmark(namespace, keepCluster="OnFailure", keepClusterFor=keep, smokeTest=False))
    return stage.ends(namespace, "bm")


def test_a_kept_cluster_goes_in_its_time(stage: Stage, namespace: str, install: Install) -> None:
    install(namespace)
    status = failed_with_cluster(stage, namespace, "5s")
    (told,) = (c for c in status["conditions"] if c["type"] == "ClusterKept")
    assert told["status"] == "True" and "for 5s, until " in told["message"], told
    assert f"kubectl -n {namespace} port-forward service/bm-race-1-es-http 9200" in told["message"]
    assert kept(stage, namespace) == ["bm-race-1"]
    before = stage.benchmark(namespace, "bm")
    assert "finalizers" not in before["metadata"]
    stage.until(lambda: not kept(stage, namespace), "the cluster is removed", 15)
    stage.is_clean(namespace)
    stage.until(lambda: {"ClusterKept", "ClusterRemoved"} <= set(events(stage, namespace, "bm")), "both events", 30)
    assert "port-forward" in events(stage, namespace, "bm")["ClusterKept"]
    assert stage.status(namespace, "bm") == before["status"], "a terminal record never changes"


def test_a_kept_cluster_goes_although_the_operator_was_away(stage: Stage, namespace: str, install: Install) -> None:
    operator = install(namespace)
    failed_with_cluster(stage, namespace, "8s")
    operator.kill()
    time.sleep(9)
    assert kept(stage, namespace) == ["bm-race-1"]
    operator.start()
    stage.until(lambda: not kept(stage, namespace), "the next operator removes it", 15)


def test_a_kept_cluster_goes_with_its_benchmark(stage: Stage, namespace: str, install: Install) -> None:
    install(namespace)
    failed_with_cluster(stage, namespace, "1h")
    stage.delete("benchmarks", namespace, "bm")
    stage.is_clean(namespace)


def records(stage: Stage, namespace: str) -> list[str]:
    return sorted(
        thing["metadata"]["name"]
        for thing in stage.all("configmaps", namespace)
        if thing["metadata"].get("labels", {}).get("fairlap.dev/part") == "record"
    )


@pytest.mark.long
def test_records_go_in_their_time_and_a_benchmark_when_it_asks_for_it(
    stage: Stage, namespace: str, install: Install
) -> None:
    operator = install(namespace, maxActive=3, rbac__deleteExpired=True)
    stage.behave(namespace, "silent", race="silent")
    for name, ttl in (
        ("stays", {"failed": "1s"}),
        ("silent", {"succeeded": "4s"}),
        ("goes", {"succeeded": "4s", "benchmark": True}),
    ):
        stage.apply(benchmark(namespace, name, smokeTest=False, ttlAfterFinished=ttl))
    assert stage.ends(namespace, "silent")["phase"] == "Succeeded", "its record tells, though nothing else did"
    before = stage.benchmark(namespace, "silent")
    stage.ends(namespace, "stays")
    operator.kill()
    operator.start()
    stage.until(lambda: records(stage, namespace) == ["stays-race-1"], "the records go, another operator does it", 30)
    stage.until(lambda: stage.find("benchmarks", namespace, "goes") is None, "the one that asked for it goes", 30)
    stage.until(lambda: "Expired" in events(stage, namespace, "silent"), "an event says so", 30)
    after = stage.benchmark(namespace, "silent")
    assert after["status"] == before["status"], "a terminal record never changes"
    assert "fairlap.dev/expired" in after["metadata"]["annotations"]
    environment = {**os.environ, "KUBECONFIG": str(stage.plane.admin)}
    for words, code in ((("logs", "silent"), 1), (("results", "silent", "-o", "machines"), 0)):
        argv = [sys.executable, "-m", "fairlap.cli", *words, "-n", namespace]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=240)
        said = "the records of silent expired at "
        assert said in done.stdout + done.stderr and (done.returncode != 0) == bool(code), done


def test_an_operator_that_may_not_delete_says_so(stage: Stage, namespace: str, install: Install) -> None:
    install(namespace)
    stage.apply(benchmark(namespace, smokeTest=False, ttlAfterFinished={"succeeded": "1s"}))
    stage.ends(namespace, "bm")
    stage.until(lambda: "ExpiryForbidden" in events(stage, namespace, "bm"), "an event says so", 30)
    assert "install the operator with rbac.deleteExpired=true" in events(stage, namespace, "bm")["ExpiryForbidden"]
    assert records(stage, namespace) == ["bm-race-1"]


def annotate(stage: Stage, namespace: str, name: str, value: str) -> None:
    command = ("annotate", "bm", name, f"{RERUN}={value}", "--overwrite", f"--namespace={namespace}")
    done = stage.plane.kubectl(*command)
    assert done.returncode == 0, done.stderr


def names(stage: Stage, namespace: str) -> list[str]:
    return sorted(bench["metadata"]["name"] for bench in stage.all("benchmarks", namespace))


def dealt_with(stage: Stage, namespace: str, name: str, value: str) -> None:
    def done() -> bool:
        annotations = stage.benchmark(namespace, name)["metadata"].get("annotations", {})
        return bool(annotations.get("fairlap.dev/rerun-done") == value)

    stage.until(done, f"value {value} of {name} is dealt with", 20)


def test_an_annotation_makes_another_run(stage: Stage, namespace: str, install: Install) -> None:
    operator = install(namespace)
    stage.apply(benchmark(namespace, smokeTest=False, race__userTags={"a": "b"}))
    stage.ends(namespace, "bm")
    before = stage.benchmark(namespace, "bm")
    annotate(stage, namespace, "bm", "monday")
    dealt_with(stage, namespace, "bm", "monday")
    assert stage.ends(namespace, "bm-2")["phase"] == "Succeeded"
    after, again = stage.benchmark(namespace, "bm"), stage.benchmark(namespace, "bm-2")
    assert (after["spec"], after["status"]) == (before["spec"], before["status"])
    assert {**again["spec"], "suspend": False} == before["spec"]
    assert again["metadata"]["labels"] == {OF: "bm"}
    assert again["metadata"]["annotations"][VALUE] == "monday"
    assert "ownerReferences" not in again["metadata"], "deleting the first does not delete the second"
    assert "bm-2" in events(stage, namespace, "bm")["Rerun"] and "bm" in events(stage, namespace, "bm-2")["RerunOf"]
    # The same value asks for nothing more; a new one does, and a run of a run is numbered after the first.
    annotate(stage, namespace, "bm", "monday")
    annotate(stage, namespace, "bm-2", "tuesday")
    dealt_with(stage, namespace, "bm-2", "tuesday")
    assert names(stage, namespace) == ["bm", "bm-2", "bm-3"]
    # One that was deleted does not come back.
    stage.ends(namespace, "bm-3")
    for name in ("bm-2", "bm-3"):
        stage.delete("benchmarks", namespace, name)
    operator.kill()
    operator.start()
    operator.wait_ready()
    time.sleep(2)
    assert names(stage, namespace) == ["bm"]


def test_a_long_name_and_a_taken_one(stage: Stage, namespace: str, install: Install) -> None:
    install(namespace)
    long = "a" * 27
    stage.apply(benchmark(namespace, long, suspend=True), benchmark(namespace, "a" * 25 + "-2", suspend=True))
    annotate(stage, namespace, long, "x")
    dealt_with(stage, namespace, long, "x")
    assert "a" * 25 + "-3" in names(stage, namespace)
    assert stage.ends(namespace, "a" * 25 + "-3")["phase"] == "Succeeded"


def test_killed_while_it_makes_another_run(stage: Stage, namespace: str, install: Install) -> None:
    operator = install(namespace)
    stage.apply(benchmark(namespace, suspend=True))
    dice, values = random.Random(7), [f"v{number}" for number in range(6)]
    for value in values:
        operator.wait_ready()
        annotate(stage, namespace, "bm", value)
        time.sleep(dice.uniform(0.0, 0.12))
        operator.kill()
        operator.start()
        dealt_with(stage, namespace, "bm", value)
    made = [
        b["metadata"]["annotations"][VALUE] for b in stage.all("benchmarks", namespace) if b["metadata"]["name"] != "bm"
    ]
    assert sorted(made) == values, "each value made one run"


def test_a_run_that_is_refused_is_said(stage: Stage, plane: ControlPlane, namespace: str, install: Install) -> None:
    policy: Json = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": f"no-second-{namespace}"},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [{"apiGroups": ["fairlap.dev"], "apiVersions": ["*"], "operations": ["CREATE"],
                                   "resources": ["benchmarks"]}],
            },
            "validations": [{"expression": "!object.metadata.name.endsWith('-2')", "message": "one is enough"}],
        },
    }  # fmt: skip
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding",
               "spec": {"policyName": f"no-second-{namespace}", "validationActions": ["Deny"]}}  # fmt: skip
    stage.apply(benchmark(namespace, suspend=True), policy, binding)
    second = benchmark(namespace, "x-2", suspend=True)
    stage.until(lambda: stage.would_refuse(second, "one is enough"), "the policy is in force", 30)
    install(namespace)
    annotate(stage, namespace, "bm", "x")
    dealt_with(stage, namespace, "bm", "x")
    stage.until(lambda: "one is enough" in events(stage, namespace, "bm").get("RerunRefused", ""), "the event", 10)
    assert names(stage, namespace) == ["bm"]


@pytest.mark.long
def test_of_the_reruns_the_newest_stay(stage: Stage, namespace: str, install: Install) -> None:
    install(namespace, maxActive=3, rbac__deleteExpired=True)
    stage.apply(benchmark(namespace, smokeTest=False, rerunHistoryLimit=1))
    stage.ends(namespace, "bm")
    for number in (2, 3):
        annotate(stage, namespace, "bm", f"night-{number}")
        stage.until(lambda: stage.find("benchmarks", namespace, f"bm-{number}"), "the next run is there", 30)  # noqa: B023
        stage.ends(namespace, f"bm-{number}")
    stage.until(lambda: stage.find("benchmarks", namespace, "bm-2") is None, "the older rerun goes", 30)
    assert stage.benchmark(namespace, "bm") and stage.benchmark(namespace, "bm-3")
    stage.until(lambda: not [name for name in records(stage, namespace) if name.startswith("bm-2-")], "its records", 30)
