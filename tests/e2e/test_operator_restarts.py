"""The operator is killed at the worst moments; there is still one set of numbers and nothing is left."""

import time

import pytest

from kube import Namespace, benchmark, until

pytestmark = pytest.mark.e2e


def kill_operator(namespace: Namespace) -> None:
    """kill -9 of the operator's process; Kubernetes starts the container again."""
    selector = "app.kubernetes.io/name=esbench"
    before = namespace.items("pod", selector)[0]["status"]["containerStatuses"][0]["restartCount"]
    name = namespace.items("pod", selector)[0]["metadata"]["name"]
    # PID 1 ignores signals from inside its namespace: a child of it that the kernel may kill is not the operator,
    # so the pod is deleted without grace, which is SIGKILL from outside.
    namespace.kubectl("delete", "pod", name, "--grace-period=0", "--force")
    until(
        lambda: any(
            pod["metadata"]["name"] != name and all(c["ready"] for c in pod["status"].get("containerStatuses", ()))
            and pod["status"].get("containerStatuses")
            for pod in namespace.items("pod", selector)
        ),
        60,
        lambda: f"the operator did not come back (restarts before: {before})",
    )  # fmt: skip


def reach(namespace: Namespace, name: str, phase: str) -> None:
    until(lambda: namespace.status(name).get("phase") == phase, 240, lambda: str(namespace.status(name)))


def test_three_kills_one_set_of_numbers(namespace: Namespace) -> None:
    namespace.apply(benchmark("killed", race={"params": {"documents": 60000}}, repetitions=1))
    reach(namespace, "killed", "Provisioning")
    time.sleep(3)
    kill_operator(namespace)
    reach(namespace, "killed", "Racing")
    kill_operator(namespace)
    until(
        lambda: namespace.status("killed").get("phase") in ("Collecting", "CleaningUp", "Succeeded"),
        240,
        lambda: str(namespace.status("killed")),
    )
    kill_operator(namespace)
    status = namespace.until_over("killed")
    assert status["phase"] == "Succeeded", status
    assert [race["name"] for race in status["races"]] == ["race-1"]
    bulk = next(task for task in status["results"]["tasks"] if task["type"] == "bulk")
    assert bulk["throughput"]["races"] == 1
    assert namespace.left_of("killed") == []
    version = namespace.get("bm", "killed")["metadata"]["resourceVersion"]
    kill_operator(namespace)
    assert namespace.get("bm", "killed")["metadata"]["resourceVersion"] == version  # a terminal record never changes
