"""What held the data and what the machines did while the example storage-classes raced: nothing here is a fake."""

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from small_examples import FOLDER, manifests, race_image, smaller, with_variants

from fairlap_race.contract.config_maps import text_of
from kube import PROMETHEUS, ROOT, Namespace, environment, tool, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.longest(1),
    pytest.mark.skipif(os.environ.get("CLUSTER") == "current", reason="the storage classes are localkube's"),
]
PROXY = "/api/v1/namespaces/monitoring/services/prometheus-operated:9090/proxy"


@pytest.fixture(scope="module")
def watched(namespace: Namespace) -> Iterator[Namespace]:
    """The installed operator, told of Prometheus and scraped by it."""

    def upgrade(*values: str) -> None:
        subprocess.run(
            [tool("helm"), "upgrade", "fairlap", str(ROOT / "charts/fairlap"), "-n", namespace.name, "--wait",
             "--timeout", "400s", "--skip-crds", "--reuse-values", *values],
            env=environment(), check=True, cwd=ROOT, timeout=500,
        )  # fmt: skip

    upgrade(
        "--set", f"prometheus.url={PROMETHEUS}", "--set", "metrics.serviceMonitor.enabled=true",
        "--set", "metrics.podMonitor.enabled=true", "--set", "canarySeconds=1",
    )  # fmt: skip
    yield namespace
    upgrade("--set", "prometheus.url=", "--set", "metrics.serviceMonitor.enabled=false",
            "--set", "metrics.podMonitor.enabled=false", "--set", "canarySeconds=0")  # fmt: skip


def table(namespace: Namespace, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(namespace.get("configmap", f"{name}-race-1"), "resources.json") or "")
    return found


# Long enough to be looked at several times, at a rate that leaves the processors to whatever else is tested.
STEPS = {"data_size_mb": 24, "fetch_rates": [20], "search_rates": [], "time_period": 16, "warmup_time_period": 1}
MEASURED = "fetch-document-20"


@pytest.fixture(scope="module")
def raced(watched: Namespace) -> Iterator[dict[str, dict[str, Any]]]:
    """The statuses of both variants of the example storage-classes, each raced as a Benchmark."""
    variants = with_variants(manifests(FOLDER / "storage-classes"))
    found = [smaller(manifest, race_image(watched)) for manifest in variants]
    for manifest in found:
        manifest["spec"]["race"]["params"] |= STEPS
    watched.apply(*found)
    names = [manifest["metadata"]["name"] for manifest in found]
    yield {name: watched.until_over(name) for name in names}
    watched.kubectl("delete", "bm", *names, "--timeout=200s")


@pytest.mark.parametrize(("name", "file_system"), [("storage-disk", ""), ("storage-tmpfs", "tmpfs")])
def test_every_column_of_a_race_and_what_held_the_data(
    watched: Namespace, raced: dict[str, dict[str, Any]], name: str, file_system: str
) -> None:
    status = raced[name]
    assert (status["phase"], status["racesDone"]) == ("Succeeded", "1/1"), status
    assert not [it for it in status["races"][0].get("remarks", []) if "Prometheus" in it["message"]]
    found = table(watched, name)
    (node,) = [machine for machine in found["machines"] if machine["role"] == "elasticsearch"]
    (own,) = [machine for machine in found["machines"] if machine["role"] == "load-generator"]
    for group in ("cpu", "memory", "faults", "network"):
        assert (node["sources"][group], own["sources"][group]) == ("prometheus", "prometheus"), found
    assert node["sources"]["jvm"] == "nodeStats" and node["race"]["heapPeakBytes"] > 1e7
    for usage in (node["race"], usage_of(node, MEASURED)):
        assert usage["cpuMeanCores"] > 0 and usage["minorFaultsPerMinute"] > 0 and "majorFaultsPerMinute" in usage
        assert usage["workingSetPeakBytes"] > 5e8 and usage["networkReceivedBytes"] > 1e4
        # A span begins and ends between two looks, so it may hold one less than its length says. Nobody looks while
        # the machine itself stands still, which is what makes the sampler's own gaps wide.
        stood_still = max(0, found["sampler"]["widestGapSeconds"] - 5)
        assert (usage["seconds"] - stood_still) / (usage["samples"] + 1) <= 5
    # Control groups of version 1 tell no container's disk traffic or pressure: the next best there is.
    wrote = node["race"].get("diskWriteBytes", 0)
    assert wrote == 0 if file_system else wrote > 0
    assert 0 <= usage_of(own, MEASURED)["cpuWaitingShare"] <= 1 and "ioWaitingShare" in usage_of(own, MEASURED)
    assert node["memoryLimitBytes"] == 2 * 2**30 and node["sources"]["throttling"] in ("nodeStats", "prometheus")
    for canary in (found["watch"]["before"], found["watch"]["after"]):
        assert canary["cpuSeconds"] > 0 and canary["memorySeconds"] > 0 and canary["diskSeconds"] > 0, found["watch"]
    # It looks every 4 s; how late one look may be is for the machine to say, and a look may be cut short by it.
    assert found["sampler"]["failures"] <= 1 and found["sampler"]["widestGapSeconds"] < 40

    # One machine for both: its init container's log and the runner say the same of it, but whose cores are whose.
    told, own_told = (it["settings"] for it in status["environment"]["machines"])
    told.pop("wholeCores", None), own_told.pop("wholeCores", None)
    assert told == own_told and told["swapBytes"] >= 0

    (storage,) = status["environment"]["storage"]
    assert (storage["kind"], storage["className"]) == ("volumeClaim", name.replace("storage", "local"))
    assert (storage["provisioner"], storage["bindingMode"]) == ("rancher.io/local-path", "WaitForFirstConsumer")
    assert storage["source"].startswith(("hostPath ", "local ")) and storage["reclaimPolicy"] == "Delete"
    assert (storage["fileSystem"] == "tmpfs") == bool(file_system) and storage["mountOptions"].startswith("rw")
    assert 0 < storage["fill"] < 1 and "remarks" not in storage


def usage_of(machine: dict[str, Any], task: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each["usage"] for each in machine["tasks"] if each["task"] == task)
    return found


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
