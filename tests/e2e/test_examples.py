"""Every example runs, at a reduced size where it is a large one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kube import ROOT, Namespace

pytestmark = pytest.mark.e2e
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir() and not path.name.startswith("_"))


def manifests(folder: Path) -> list[dict[str, Any]]:
    return [doc for path in sorted(folder.glob("*.yaml")) for doc in yaml.safe_load_all(path.read_text()) if doc]


def smaller(manifest: dict[str, Any]) -> dict[str, Any]:
    if manifest["kind"] != "Benchmark":
        return manifest
    manifest["spec"] |= {"repetitions": 1, "smokeTest": False}
    if manifest["spec"]["race"]["track"].get("builtin") == "log_ingest":
        manifest["spec"]["race"].setdefault("params", {})["documents"] = 2000
    return manifest


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_example(namespace: Namespace, folder: Path) -> None:
    found = [smaller(manifest) for manifest in manifests(folder)]
    namespace.apply(*found)
    for manifest in found:
        if manifest["kind"] == "Benchmark":
            name = manifest["metadata"]["name"]
            status = namespace.until_over(name)
            assert status["phase"] == "Succeeded", status
            assert status["results"]["tasks"] and status["racesDone"] == "1/1"
            namespace.kubectl("delete", "bm", name, "--timeout=60s")
    namespace.kubectl("delete", "-f", str(folder), "--ignore-not-found", "--wait=false")
