"""Every example but pull-request runs, small and some in `make test-long` alone; of a Comparison each variant once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_examples import FOLDER, FULL_SIZE, is_comparison, manifests, race_image, smaller, with_variants

from fairlap_race.contract.reasons import Reason
from kube import Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.longest(6), pytest.mark.independent]
ELSEWHERE = ("storage-classes", "pull-request", "groonga-clients", "groonga-hosts", "elasticsearch-vs-groonga")
"""Raced by test_machines.py and test_http_examples.py, which look at more; but tests/unit/test_pull_request.py races
nothing: it runs the script and the pipelines of that example with a stand-in for `fairlap`."""
EXAMPLES = sorted(
    path for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith("_") and path.name not in ELSEWHERE
)


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


class Own(NamedTuple):
    """What is particular to an example."""

    answers: Callable[[dict[str, Any]], None] = lambda _: None
    """what its statuses must say"""
    long: bool = False
    """`make test` leaves it to `make test-long`, at the reduced size, too"""
    decides: bool = False
    """somebody decides by it, so it is measured for long enough; at a reduced size nothing is"""
    needs: Path | None = None
    """what it takes from its user"""


OWN = {
    "capacity": Own(a_search_ended_with_an_answer, long=True),
    "client-sweep": Own(a_curve_was_fitted_or_refused_with_a_reason, long=True),
    "codec-best-compression": Own(best_compression_takes_less, long=True, decides=True),
    "every-sample": Own(long=True),
    "existing-cluster": Own(the_older_rally_raced),
    "java": Own(each_ran_on_its_java, decides=True),
    "replay": Own(long=True),
    "replicas-0-vs-1": Own(replicas_double_the_store, long=True, decides=True),
    "searches-8-vs-9": Own(long=True, decides=True),
    "upgrade": Own(needs=FOLDER / "inline-track" / "1-track.yaml"),
    "version-8-vs-9": Own(decides=True),
}
if gone := set(OWN) - {folder.name for folder in EXAMPLES}:
    raise AssertionError(f"examples that are not there or raced elsewhere: {sorted(gone)}")


def as_case(folder: Path) -> Any:
    own = OWN.get(folder.name, Own())
    return pytest.param(folder, own, id=folder.name, marks=[pytest.mark.long] if own.long and not FULL_SIZE else [])


def measured_long_enough(statuses: dict[str, Any]) -> None:
    too_little = {Reason.FEW_SAMPLES, Reason.SHORT_MEASUREMENT, Reason.NO_WARMUP}
    remarks = [it for status in statuses.values() for race in status["races"] for it in race.get("remarks", ())]
    assert not [it for it in remarks if it["reason"] in too_little]


@pytest.mark.parametrize(("folder", "own"), [as_case(folder) for folder in EXAMPLES])
def test_example(namespace: Namespace, folder: Path, own: Own) -> None:
    written = manifests(folder)
    if own.needs:
        namespace.kubectl("apply", "-f", str(own.needs))
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
    own.answers(statuses)
    if FULL_SIZE and own.decides:
        measured_long_enough(statuses)
