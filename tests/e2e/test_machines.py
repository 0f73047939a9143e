"""What the machines did during a real race: the real Prometheus, kubelet, Elasticsearch and volumes."""

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from kube import ROOT, Namespace, benchmark, environment, tool, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.environ.get("CLUSTER") == "current", reason="the storage classes are localkube's"),
]
URL = "http://prometheus-operated.monitoring.svc:9090"
PROXY = "/api/v1/namespaces/monitoring/services/prometheus-operated:9090/proxy"


@pytest.fixture(scope="module")
def watched(namespace: Namespace) -> Iterator[Namespace]:
    """The installed operator, told of Prometheus and scraped by it."""

    def upgrade(*values: str) -> None:
        subprocess.run(
            [tool("helm"), "upgrade", "esbench", str(ROOT / "charts/esbench"), "-n", namespace.name, "--wait",
             "--timeout", "120s", "--skip-crds", "--reuse-values", *values],
            env=environment(), check=True, cwd=ROOT, timeout=180,
        )  # fmt: skip

    upgrade(
        "--set", f"prometheus.url={URL}", "--set", "metrics.serviceMonitor.enabled=true",
        "--set", "metrics.podMonitor.enabled=true",
    )  # fmt: skip
    yield namespace
    upgrade("--set", "prometheus.url=", "--set", "metrics.serviceMonitor.enabled=false",
            "--set", "metrics.podMonitor.enabled=false")  # fmt: skip


def table(namespace: Namespace, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(namespace.get("configmap", f"{name}-race-1")["data"]["resources.json"])
    return found


def mostly_bulk(name: str, **elasticsearch: Any) -> dict[str, Any]:
    """A race whose bulk indexing takes long enough to be sampled several times, and little else."""
    params = {"documents": 200000, "search_warmup_iterations": 1, "search_iterations": 5}
    # Little is reserved, so that it finds room beside whatever else is being tested.
    little = {"requests": {"cpu": "25m"}, "limits": {"memory": "1536Mi"}}
    race = {"params": params, "resources": {"requests": {"cpu": "25m"}, "limits": {"cpu": "2", "memory": "1Gi"}}}
    return benchmark(name, elasticsearch={"resources": little, **elasticsearch}, race=race)


@pytest.mark.parametrize(("kind", "file_system"), [("local-disk", ""), ("local-tmpfs", "tmpfs")])
def test_every_column_of_a_race_and_what_held_the_data(watched: Namespace, kind: str, file_system: str) -> None:
    watched.apply(mostly_bulk(kind, storage={"className": kind, "size": "1Gi"}))
    status = watched.until_over(kind)
    assert status["phase"] == "Succeeded", status
    assert not [text for text in status["races"][0].get("remarks", []) if "Prometheus" in text]
    found = table(watched, kind)
    (node,) = [machine for machine in found["machines"] if machine["role"] == "elasticsearch"]
    (own,) = [machine for machine in found["machines"] if machine["role"] == "load-generator"]
    for group in ("cpu", "memory", "faults", "network"):
        assert (node["sources"][group], own["sources"][group]) == ("prometheus", "prometheus"), found
    assert node["sources"]["jvm"] == "nodeStats" and node["race"]["heapPeakBytes"] > 1e7
    bulk = max(node["tasks"], key=lambda task: task["usage"]["seconds"])["usage"]
    assert bulk["cpuMeanCores"] > 0.05 and bulk["minorFaultsPerMinute"] > 0 and "majorFaultsPerMinute" in bulk
    assert bulk["workingSetPeakBytes"] > 5e8 and bulk["networkReceivedBytes"] > 1e5
    # Control groups of version 1 tell no container's disk traffic or pressure: the next best there is.
    wrote = bulk.get("diskWriteBytes", 0)
    assert wrote == 0 if file_system else wrote > 0
    bulk_of_own = next(task for task in own["tasks"] if task["task"] == "bulk-index")["usage"]
    assert 0 <= bulk_of_own["cpuWaitingShare"] <= 1 and "ioWaitingShare" in bulk_of_own
    assert node["memoryLimitBytes"] == 1536 * 2**20 and node["sources"]["throttling"] in ("nodeStats", "prometheus")
    # A span begins and ends between two looks, so it may hold one less than its length says.
    assert bulk["seconds"] / (bulk["samples"] + 1) <= 5
    # It looks every 4 s; how late one look may be is for the machine to say.
    assert found["sampler"]["failures"] == 0 and found["sampler"]["widestGapSeconds"] < 20

    (storage,) = status["environment"]["storage"]
    assert (storage["kind"], storage["className"]) == ("volumeClaim", kind)
    assert (storage["provisioner"], storage["bindingMode"]) == ("rancher.io/local-path", "WaitForFirstConsumer")
    assert storage["source"].startswith(("hostPath ", "local ")) and storage["reclaimPolicy"] == "Delete"
    assert (storage["fileSystem"] == "tmpfs") == bool(file_system) and storage["mountOptions"].startswith("rw")
    assert 0 < storage["fill"] < 1 and "remarks" not in storage
    watched.kubectl("delete", "bm", kind, "--timeout=60s")


def test_prometheus_scrapes_the_operator_by_both_monitors(watched: Namespace) -> None:
    def jobs() -> set[str]:
        answer = json.loads(watched.kubectl("get", "--raw", f"{PROXY}/api/v1/query?query=up"))
        mine = [
            s["metric"]
            for s in answer["data"]["result"]
            if s["metric"].get("namespace") == watched.name and s["value"][1] == "1"
        ]
        return {metric["job"] for metric in mine}

    # The reloader looks at its mounted configuration every three minutes.
    until(lambda: len(jobs()) == 2, 300, lambda: f"only {jobs()}")
