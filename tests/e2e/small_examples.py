"""The manifests of examples/, at a size that two cores race in a minute; or as they are, with FAIRLAP_FULL_SIZE=1.

Of a Comparison each variant is raced once, as the Benchmark that the operator would make of it: that it can be raced is
shown here, and how Comparisons are raced is shown elsewhere.
"""

import os
from pathlib import Path
from typing import Any

import yaml

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.names import API_VERSION
from fairlap.comparison.variants.variants import expand
from kube import FULL_DISK, ROOT, SMALL_JVM, Namespace

FOLDER = ROOT / "examples"
FULL_SIZE = os.environ.get("FAIRLAP_FULL_SIZE") == "1"

SHORT_STEPS = {"fetch_rates": [20], "search_rates": [10], "time_period": 10, "warmup_time_period": 1}
SMALL = {
    "log_ingest": {
        "documents": 2000, "search_iterations": 20, "search_warmup_iterations": 2, "search_time_period": 0,
        "bulk_warmup_time_period": 0,
    },
    "page_cache": {"data_size_mb": 4, "document_kb": 4, "bulk_warmup_time_period": 0, **SHORT_STEPS},
    "percolator": {"queries": 1000, "search_iterations": 20, "search_warmup_iterations": 2},
}  # fmt: skip


def manifests(folder: Path) -> list[dict[str, Any]]:
    return [doc for path in sorted(folder.glob("*.yaml")) for doc in yaml.safe_load_all(path.read_text()) if doc]


def with_variants(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the manifests with a Benchmark for each variant in place of each Comparison: upgrade-9-0-0."""
    return [each for manifest in found for each in (_variants(manifest) if is_comparison(manifest) else [manifest])]


def is_comparison(manifest: dict[str, Any]) -> bool:
    return bool(manifest["kind"] == "Comparison")


def _variants(comparison: dict[str, Any]) -> list[dict[str, Any]]:
    name = comparison["metadata"]["name"]
    return [
        {
            "apiVersion": API_VERSION, "kind": "Benchmark",
            "metadata": {"name": f"{name}-{variant.name}".lower().replace(".", "-")}, "spec": variant.spec,
        }
        for variant in expand(ComparisonSpec.model_validate(comparison["spec"]))
    ]  # fmt: skip


def smaller(manifest: dict[str, Any], race_image: str) -> dict[str, Any]:
    if manifest["kind"] == "Deployment":
        for container in manifest["spec"]["template"]["spec"]["containers"]:
            container["image"] = container["image"].replace("fairlap/race:0.1.0", race_image)
    if manifest["kind"] == "StatefulSet":
        for container in manifest["spec"]["template"]["spec"]["containers"]:
            container["resources"]["requests"]["cpu"] = "100m"
    if manifest["kind"] != "Benchmark":
        return manifest
    if built := manifest["spec"].get("elasticsearch"):
        built["config"] = {**FULL_DISK, **built.get("config", {})}
    if FULL_SIZE:
        return manifest
    manifest["spec"] |= {"repetitions": 1, "smokeTest": False}
    if built:
        built["jvmOptions"] = SMALL_JVM
        # Several tests share two processors: what is reserved must fit beside the others.
        built.setdefault("resources", {}).setdefault("requests", {})["cpu"] = "100m"
    race = manifest["spec"]["race"]
    race["resources"] = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
    if less := SMALL.get(race["track"].get("builtin")):
        race["params"] = {**race.get("params", {}), **less}
    if "sweep" in race:
        race["sweep"] |= {"clients": [1, 2, 4, 8, 12, 16], "duration": "3s", "warmup": "1s", "interval": "1s"}
    if "capacity" in race:
        race["capacity"] |= {"objective": {"p50": "50ms"}, "duration": "2s", "warmup": "1s", "resolution": "30%"}
    return manifest


def race_image(namespace: Namespace) -> str:
    container = namespace.get("deployment", "fairlap")["spec"]["template"]["spec"]["containers"][0]
    return next(str(each["value"]) for each in container["env"] if each["name"] == "FAIRLAP_RACE_IMAGE")
