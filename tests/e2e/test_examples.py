"""Every example runs, at a reduced size where it is a large one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube import FULL_DISK, ROOT, SMALL_JVM, Namespace

pytestmark = pytest.mark.e2e
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir() and not path.name.startswith("_"))

SHORT_STEPS = {"fetch_rates": [20], "search_rates": [10], "time_period": 3, "warmup_time_period": 1}
SMALL = {
    "log_ingest": {"documents": 2000},
    "page_cache": {"data_size_mb": 4, "document_kb": 4, **SHORT_STEPS},
    "percolator": {"queries": 1000, "search_iterations": 20, "search_warmup_iterations": 2},
}


def manifests(folder: Path) -> list[dict[str, Any]]:
    return [doc for path in sorted(folder.glob("*.yaml")) for doc in yaml.safe_load_all(path.read_text()) if doc]


def smaller(manifest: dict[str, Any], race_image: str) -> dict[str, Any]:
    if manifest["kind"] == "Deployment":
        for container in manifest["spec"]["template"]["spec"]["containers"]:
            container["image"] = container["image"].replace("esbench/race:0.1.0", race_image)
    if manifest["kind"] == "StatefulSet":
        for container in manifest["spec"]["template"]["spec"]["containers"]:
            container["resources"]["requests"]["cpu"] = "100m"
    if manifest["kind"] != "Benchmark":
        return manifest
    manifest["spec"] |= {"repetitions": 1, "smokeTest": False}
    if built := manifest["spec"].get("elasticsearch"):
        built["config"] = {**FULL_DISK, **built.get("config", {})}
        built["jvmOptions"] = SMALL_JVM
        # Several tests share two processors: what is reserved must fit beside the others.
        built.setdefault("resources", {}).setdefault("requests", {})["cpu"] = "100m"
    race = manifest["spec"]["race"]
    race["resources"] = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
    if less := SMALL.get(race["track"].get("builtin")):
        race["params"] = {**race.get("params", {}), **less}
    return manifest


def best_compression_takes_less(statuses: dict[str, Any]) -> None:
    stores = [status["results"]["store"]["storeBytes"]["median"] for status in statuses.values()]
    codecs = [status["environment"]["indices"][0]["codec"] for status in statuses.values()]
    assert codecs == ["best_compression", "default"]
    assert stores[0] < 0.85 * stores[1]


def replicas_double_the_store(statuses: dict[str, Any]) -> None:
    found = {name: status["environment"]["indices"][0]["replicas"] for name, status in statuses.items()}
    stores = {name: status["results"]["store"]["storeBytes"]["median"] for name, status in statuses.items()}
    assert found == {"replicas-0": 0, "replicas-1": 1}
    assert stores["replicas-1"] > 1.5 * stores["replicas-0"]


def each_ran_on_its_java(statuses: dict[str, Any]) -> None:
    for name, status in statuses.items():
        found = status["environment"]
        assert found["java"].startswith(name.removeprefix("es-java-") + "."), found["java"]
        assert found["jvm"] and found["gc"] and found["heapBytes"] == 2**30 and "-Xmx1g" in found["jvmFlags"]


def each_class_held_its_data(statuses: dict[str, Any]) -> None:
    for name, status in statuses.items():
        for volume in status["environment"]["storage"]:
            assert volume["className"] == name.replace("storage", "local")
            assert (volume["fileSystem"] == "tmpfs") == (name == "storage-tmpfs")


def the_older_rally_raced(statuses: dict[str, Any]) -> None:
    (status,) = statuses.values()
    found = status["environment"]
    assert (status["version"], found["version"], found["rallyVersion"]) == ("6.0.0", "6.0.0", "2.3.1")
    assert found["java"].startswith("11.") and status["target"]["rally"] == "2.3"
    assert {t["task"] for t in status["results"]["tasks"]} >= {"bulk-index", "requests-per-hour"}


ANSWERS: dict[str, Callable[[dict[str, Any]], None]] = {
    "codec-best-compression": best_compression_takes_less,
    "java": each_ran_on_its_java,
    "replicas-0-vs-1": replicas_double_the_store,
    "storage-classes": each_class_held_its_data,
    "existing-cluster": the_older_rally_raced,
}


def race_image(namespace: Namespace) -> str:
    container = namespace.get("deployment", "esbench")["spec"]["template"]["spec"]["containers"][0]
    return next(str(each["value"]) for each in container["env"] if each["name"] == "ESBENCH_RACE_IMAGE")


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_example(namespace: Namespace, folder: Path) -> None:
    found = [smaller(manifest, race_image(namespace)) for manifest in manifests(folder)]
    namespace.apply(*found)
    statuses = {}
    for manifest in found:
        if manifest["kind"] == "Benchmark":
            name = manifest["metadata"]["name"]
            status = statuses[name] = namespace.until_over(name)
            assert status["phase"] == "Succeeded", status
            assert status["results"]["tasks"] and status["racesDone"] == "1/1"
            namespace.kubectl("delete", "bm", name, "--timeout=60s")
    namespace.kubectl("delete", "-f", str(folder), "--ignore-not-found", "--wait=false")
    ANSWERS.get(folder.name, lambda _: None)(statuses)
