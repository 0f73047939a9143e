"""The operator is killed at the worst moments; there is still one set of numbers and nothing is left."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kube import Namespace, benchmark, environment, tool, until

pytestmark = [pytest.mark.e2e, pytest.mark.longest(5)]
SELECTOR = "app.kubernetes.io/name=fairlap"


def kill_operator(namespace: Namespace) -> None:
    """kill -9 of the operator's process; Kubernetes starts its container again."""
    (pod,) = operators(namespace)
    before = start_of(pod)
    if os.environ.get("CLUSTER") == "current":  # its processes are not of this machine
        namespace.kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")
    else:
        for process in processes_of(pod["metadata"]["uid"]):
            os.kill(process, signal.SIGKILL)
    until(
        lambda: any(start_of(pod) not in ("", before) for pod in operators(namespace)),
        120,
        lambda: "the operator did not come back",
    )


def operators(namespace: Namespace) -> list[dict[str, Any]]:
    return namespace.items("pod", SELECTOR)


def start_of(pod: dict[str, Any]) -> str:
    """Which start of the operator runs in a pod and is ready; empty when none is."""
    for container in pod["status"].get("containerStatuses", ()):
        if container["ready"] and "deletionTimestamp" not in pod["metadata"]:
            return f"{pod['metadata']['uid']}/{container['restartCount']}"
    return ""


def processes_of(pod_uid: str) -> list[int]:
    """The operator's processes in a pod on this machine, but not the one that holds the pod's namespaces."""

    def is_one(process: Path) -> bool:
        try:
            mine = pod_uid in (process / "cgroup").read_text().replace("_", "-")
            return mine and b"fairlap" in (process / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            return False

    found = [int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit() and is_one(process)]
    assert found, f"no process of pod {pod_uid}"
    return found


def wait_for_the_moment(namespace: Namespace, name: str, *phases: str) -> None:
    """Return as soon as a Benchmark is in one of some phases that last for no more than a moment."""
    columns = "jsonpath={.status.phase}{'\\n'}"
    argv = [tool("kubectl"), "-n", namespace.name, "get", "bm", name, "--watch", "-o", columns]
    with subprocess.Popen(argv, env=environment(), stdout=subprocess.PIPE, text=True) as watch:
        try:
            assert watch.stdout is not None
            seen = []
            for line in watch.stdout:
                seen.append(line.strip())
                if seen[-1] in phases:
                    return
                assert seen[-1] not in ("Succeeded", "Failed"), seen
        finally:
            watch.kill()


def test_three_kills_one_set_of_numbers(namespace: Namespace) -> None:
    namespace.apply(benchmark("killed", race={"params": {"documents": 60000}}, repetitions=1))
    namespace.reach("killed", "Provisioning")
    time.sleep(3)
    kill_operator(namespace)
    namespace.reach("killed", "Racing")
    kill_operator(namespace)
    # An operator that was away while the runner collected goes on with cleaning up.
    wait_for_the_moment(namespace, "killed", "Collecting", "CleaningUp")
    kill_operator(namespace)
    status = namespace.until_over("killed")
    assert status["phase"] == "Succeeded", status
    assert [race["name"] for race in status["races"]] == ["race-1"]
    bulk = next(task for task in status["results"]["tasks"] if task["type"] == "bulk")
    assert bulk["throughput"]["races"] == 1
    namespace.nothing_left_of("killed")
    version = namespace.get("bm", "killed")["metadata"]["resourceVersion"]
    kill_operator(namespace)
    assert namespace.get("bm", "killed")["metadata"]["resourceVersion"] == version  # a terminal record never changes
