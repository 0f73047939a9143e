"""Every example runs, small and some in `make test-long` alone; of a Comparison each variant once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_examples import FOLDER, FULL_SIZE, is_comparison, manifests, race_image, smaller, with_variants

from fairlap_race.contract.reasons import Reason
from kube import Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.longest(6), pytest.mark.independent]
ELSEWHERE = ("storage-classes", "pull-request", "groonga-clients", "groonga-hosts", "elasticsearch-vs-groonga")
"""Raced by test_machines.py, test_pull_request.py and test_http_examples.py, which look at more."""
EXAMPLES = sorted(
    path for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith("_") and path.name not in ELSEWHERE
)
LONG = (
    *("capacity", "client-sweep", "codec-best-compression", "every-sample", "replay", "replicas-0-vs-1"),
    "searches-8-vs-9",
)
DECIDING = ("codec-best-compression", "java", "replicas-0-vs-1", "searches-8-vs-9", "version-8-vs-9")
"""What somebody decides by is measured for long enough; at a reduced size nothing is."""
NEEDS = {"upgrade": FOLDER / "inline-track" / "1-track.yaml"}
"""What an example takes from its user."""


def as_case(folder: Path) -> Any:
    marks = [pytest.mark.long] if folder.name in LONG and not FULL_SIZE else []
    return pytest.param(folder, id=folder.name, marks=marks)


def best_compression_takes_less(statuses: dict[str, Any]) -> None:
    stores = [status["results"]["store"]["storeBytes"]["median"] for status in statuses.values()]
    codecs = [status["environment"]["indices"][0]["codec"] for status in statuses.values()]
    assert codecs == ["default", "best_compression"]
    assert stores[1] < 0.85 * stores[0]
    if FULL_SIZE:  # else the data fits into the page cache, as it does everywhere with a few megabytes
        for status in statuses.values():
            (node,) = [machine for machine in status["resources"] if machine["role"] == "elasticsearch"]
            assert node["majorFaultsPerMinute"] > 0


def replicas_double_the_store(statuses: dict[str, Any]) -> None:
    found = {name: status["environment"]["indices"][0]["replicas"] for name, status in statuses.items()}
    stores = {name: status["results"]["store"]["storeBytes"]["median"] for name, status in statuses.items()}
    assert found == {"replicas-0": 0, "replicas-1": 1}
    assert stores["replicas-1"] > 1.5 * stores["replicas-0"]


def each_ran_on_its_java(statuses: dict[str, Any]) -> None:
    for name, status in statuses.items():
        found = status["environment"]
        assert found["java"].startswith(name.removeprefix("java-") + "."), found["java"]
        assert found["jvm"] and found["gc"] and found["heapBytes"] == 2**30 and "-Xmx1g" in found["jvmFlags"]


def the_older_rally_raced(statuses: dict[str, Any]) -> None:
    (status,) = statuses.values()
    found = status["environment"]
    assert (status["version"], found["version"], found["rallyVersion"]) == ("6.0.0", "6.0.0", "2.3.1")
    assert found["java"].startswith("11.") and status["target"]["rally"] == "2.3"
    assert {t["task"] for t in status["results"]["tasks"]} >= {"bulk-index", "requests-per-hour"}


def a_search_ended_with_an_answer(statuses: dict[str, Any]) -> None:
    (status,) = statuses.values()
    found, rows = status["results"]["capacity"], status["results"]["sweep"]["rows"]
    assert sum(race["probes"] for race in found["races"]) == len(rows) > 1 and found["sentences"]
    assert ("rate" in found) is not bool(found.get("refused"))
    assert {row["step"] for row in rows}.isdisjoint(task["task"] for task in status["results"]["tasks"])


def a_curve_was_fitted_or_refused_with_a_reason(statuses: dict[str, Any]) -> None:
    (status,) = statuses.values()
    curve = status["results"]["sweep"]
    assert [row["clients"] for row in curve["rows"]][:6] == [1, 2, 4, 8, 12, 16]
    assert all(row["samples"] and row["throughput"]["median"] > 0 for row in curve["rows"])
    assert ("fit" in curve) is not bool(curve.get("fitRefused"))


ANSWERS: dict[str, Callable[[dict[str, Any]], None]] = {
    "capacity": a_search_ended_with_an_answer,
    "client-sweep": a_curve_was_fitted_or_refused_with_a_reason,
    "codec-best-compression": best_compression_takes_less,
    "java": each_ran_on_its_java,
    "replicas-0-vs-1": replicas_double_the_store,
    "existing-cluster": the_older_rally_raced,
}


def measured_long_enough(statuses: dict[str, Any]) -> None:
    too_little = {Reason.FEW_SAMPLES, Reason.SHORT_MEASUREMENT, Reason.NO_WARMUP}
    remarks = [it for status in statuses.values() for race in status["races"] for it in race.get("remarks", ())]
    assert not [it for it in remarks if it["reason"] in too_little]


@pytest.mark.parametrize("folder", [as_case(folder) for folder in EXAMPLES])
def test_example(namespace: Namespace, folder: Path) -> None:
    written = manifests(folder)
    if folder.name in NEEDS:
        namespace.kubectl("apply", "-f", str(NEEDS[folder.name]))
    for manifest in filter(is_comparison, written):
        namespace.apply(manifest, dry_run=True)
    found = [smaller(manifest, race_image(namespace)) for manifest in with_variants(written)]
    # As the READMEs say: what a Benchmark races against is there before it.
    if needed := [manifest for manifest in found if manifest["kind"] != "Benchmark"]:
        namespace.apply(*needed)
    for manifest in needed:
        if manifest["kind"] == "StatefulSet":
            name = manifest["metadata"]["name"]
            namespace.kubectl("rollout", "status", f"statefulset/{name}", "--timeout=400s", seconds=420)
    namespace.apply(*(manifest for manifest in found if manifest["kind"] == "Benchmark"))
    statuses = {}
    for manifest in found:
        if manifest["kind"] == "Benchmark":
            name = manifest["metadata"]["name"]
            status = statuses[name] = namespace.until_over(name, 5400 if FULL_SIZE else 420)
            assert status["phase"] == "Succeeded", status
            races = manifest["spec"].get("repetitions", 1) if FULL_SIZE else 1
            assert status["results"]["tasks"] and status["racesDone"] == f"{races}/{races}"
            namespace.kubectl("delete", "bm", name, "--timeout=200s")
    namespace.kubectl("delete", "-f", str(folder), "--ignore-not-found", "--wait=false")
    ANSWERS.get(folder.name, lambda _: None)(statuses)
    if FULL_SIZE and folder.name in DECIDING:
        measured_long_enough(statuses)
