"""Whole processors: localkube's kubelet gives them, Elasticsearch has them to itself, and the status says so."""

import os

import pytest

from kube import Namespace, benchmark, until

pytestmark = [
    pytest.mark.e2e,
    # Half of a small machine is nobody else's meanwhile.
    pytest.mark.long,
    pytest.mark.skipif(os.environ.get("CLUSTER") == "current", reason="the kubelet's policy is localkube's"),
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor is kept for all pods"),
]
ALLOWED = ("-c", "elasticsearch", "--", "grep", "Cpus_allowed_list", "/proc/self/status")


@pytest.mark.parametrize(("name", "cpu"), [("asked-for", {"cpu": "1"}), ("by-default", {})])
def test_whole_processors_are_ones_own(namespace: Namespace, name: str, cpu: dict[str, str]) -> None:
    whole = {"limits": {**cpu, "memory": "1536Mi"}}
    namespace.apply(benchmark(name, elasticsearch={"resources": whole}))

    def given() -> str:
        return namespace.attempt("exec", f"{name}-race-1-es-default-0", *ALLOWED).stdout.partition(":")[2].strip()

    had = until(given, 300, lambda: "Elasticsearch's container never ran")
    status = namespace.until_over(name)
    assert status["phase"] == "Succeeded", status
    node, load = status["environment"]["machines"]
    assert (node["cpus"], node["exclusiveCpus"]) == (had, True)
    assert had.isdecimal() and load["exclusiveCpus"] is False and had not in load["cpus"].split(",")
    assert "ProcessorsShared" not in {it["reason"] for it in status["races"][0].get("remarks", ())}
    assert status.get("nodeProcessors", {}).get("whole") is (None if cpu else True)


def test_without_enough_for_all_nodes_share_and_it_is_said(namespace: Namespace) -> None:
    """The load generator asks for so much that no whole processor is left."""
    most = os.cpu_count() or 1
    load = {
        "requests": {"cpu": f"{most * 1000 - 500}m", "memory": "1Gi"},
        "limits": {"cpu": str(most), "memory": "2Gi"},
    }
    namespace.apply(
        benchmark("shared", elasticsearch={"resources": {"limits": {"memory": "1536Mi"}}}, race={"resources": load})
    )
    status = namespace.until_over("shared")
    assert status["phase"] == "Succeeded", status
    given = status["nodeProcessors"]
    assert (given["cpu"], given.get("whole", False)) == ("100m", False)
    (said,) = [it for it in status["races"][0]["remarks"] if it["reason"] == "ProcessorsShared"]
    assert said["message"] == given["message"]
