"""`helm uninstall` in the middle of a race, by the real helm: what is left can be deleted, and needs nobody for it."""

import json
from typing import Any

import pytest

from kube import Namespace, benchmark, run, tool, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]
OPERATOR, CHART = "app.kubernetes.io/name=fairlap", "helm.sh/chart"
# However slow the machine is, the race is under way when the operator goes; shorter than what counts as a stall.
SLEEP = {"operation": {"operation-type": "sleep", "duration": 590}}
CREATE = {"operation": {"operation-type": "create-index"}}
SEARCH = {"operation": {"operation-type": "search", "index": "waits", "body": {"query": {"match_all": {}}}}}
WAITS = {
    "version": 2,
    "description": "a race that waits",
    "indices": [{"name": "waits", "body": "index.json"}],
    "schedule": [CREATE, SLEEP, SEARCH],
}


def track(name: str) -> dict[str, Any]:
    data = {"track.json": json.dumps(WAITS), "index.json": "{}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def load_generator_runs(namespace: Namespace) -> bool:
    pods = namespace.items("pod", "fairlap.dev/role=load-generator,fairlap.dev/step=race-1")
    return any(
        "running" in container.get("state", {})
        for pod in pods
        for container in pod["status"].get("containerStatuses", ())
    )


def claims_are_owned(namespace: Namespace) -> bool:
    """ECK owns a claim some time after Kubernetes has made it; before that a claim wants the operator."""
    claims = namespace.items("pvc")
    return bool(claims) and all(claim["metadata"].get("ownerReferences") for claim in claims)


def left_of_the_release(namespace: Namespace) -> list[str]:
    """What the chart has made and helm has not removed; of what belongs to the whole cluster, this release's own."""
    own = namespace.items("deployment,service,configmap,serviceaccount,role,rolebinding", CHART)
    wide = [
        each
        for each in namespace.items("clusterrole,clusterrolebinding", CHART)
        if each["metadata"].get("annotations", {}).get("meta.helm.sh/release-namespace") == namespace.name
    ]
    return [f"{each['kind']}/{each['metadata']['name']}" for each in (*own, *wide)]


def test_uninstalled_in_the_middle_of_a_race_all_can_be_deleted(leaving: Namespace) -> None:
    """One races, with a volume, and one waits for its turn; the first is deleted by itself, the other with all."""
    race = {"track": {"configMap": {"name": "waits"}}}
    disk = {"storage": {"size": "1Gi"}}
    leaving.apply(track("waits"), benchmark("going", elasticsearch=disk, race=race))
    leaving.reach("going", "Racing")
    leaving.apply(benchmark("waiting", race={"params": {}}))
    leaving.reach("waiting", "Queued")
    until(lambda: load_generator_runs(leaving), 200, lambda: json.dumps(leaving.items("pod"))[:3000])
    until(lambda: claims_are_owned(leaving), 120, lambda: json.dumps(leaving.items("pvc"))[:3000])

    argv = (tool("helm"), "uninstall", "fairlap", "-n", leaving.name, "--wait", "--timeout", "400s")
    done = run(*argv, seconds=500)
    assert done.returncode == 0, done.stdout + done.stderr
    until(lambda: not leaving.items("pod", OPERATOR), 120, lambda: "the operator is still there")
    assert not left_of_the_release(leaving), left_of_the_release(leaving)

    # The race itself goes on, since nobody but its owner ends it.
    assert load_generator_runs(leaving) and leaving.status("going")["phase"] == "Racing"
    for each in leaving.items("bm"):
        assert not each["metadata"].get("finalizers"), each["metadata"]

    leaving.kubectl("delete", "bm", "going", "--timeout=300s", seconds=320)
    leaving.nothing_left_of("going", 120)
    records = "fairlap.dev/benchmark=going"
    until(lambda: not leaving.items("configmap", records), 60, lambda: json.dumps(leaving.items("configmap", records)))

    leaving.kubectl("delete", "namespace", leaving.name, "--timeout=360s", seconds=380)
    assert leaving.attempt("get", "namespace", leaving.name).returncode != 0
