"""What one tenant writes stops nobody else: durations without end, a flood of checks, a lost namespace."""

import json
import subprocess
from typing import Any

import pytest

from kube import ROOT, Namespace, benchmark, condition, environment, tool, until

pytestmark = pytest.mark.e2e
FLOOD = 6


def small_track(name: str) -> dict[str, Any]:
    search = {"operation-type": "search", "index": "notes", "body": {"query": {"match_all": {}}}}
    schedule = [{"operation": it} for it in ({"operation-type": "create-index"}, search)]
    indices = [{"name": "notes", "body": "index.json"}]
    track = {"version": 2, "description": "small", "indices": indices, "schedule": schedule}
    data = {"track.json": json.dumps(track), "index.json": "{}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_a_time_without_end_is_refused_with_what_to_write(namespace: Namespace) -> None:
    endless = json.dumps(benchmark("endless", timeouts={"race": "99999999h"}))
    refused = namespace.attempt("apply", "-f", "-", given=endless)
    assert refused.returncode and "timeouts.race 99999999h is too long" in refused.stderr
    assert "write at most 720h" in refused.stderr


def test_checks_of_a_flood_wait_for_each_other(namespace: Namespace) -> None:
    """Six at once: two track checks run at a time, and each waits in words that name who is before it."""
    track = {"track": {"configMap": {"name": "flood"}}}
    names = [f"flood-{number}" for number in range(FLOOD)]
    namespace.apply(small_track("flood"), *(benchmark(name, race=track) for name in names))
    most, waited = 0, False

    def checked() -> bool:
        nonlocal most, waited
        pods = namespace.items("pod", "fairlap.dev/step=check")
        most = max(most, sum(pod["status"]["phase"] in ("Pending", "Running") for pod in pods))
        statuses = [each.get("status", {}) for each in namespace.items("bm") if each["metadata"]["name"] in names]
        waited = waited or any("in the line for track checks" in each.get("progress", "") for each in statuses)
        return all(condition(each, "Accepted") == "True" for each in statuses) and len(statuses) == FLOOD

    until(checked, 120, lambda: json.dumps(namespace.items("bm"))[:3000], pause=0.5)
    assert 1 <= most <= 2 and waited
    namespace.kubectl("delete", "bm", *names, "--timeout=200s")
    for name in names:
        namespace.nothing_left_of(name, 120)


def upgrade(namespace: Namespace, *values: str) -> None:
    subprocess.run(
        [tool("helm"), "upgrade", "fairlap", str(ROOT / "charts/fairlap"), "-n", namespace.name, "--wait",
         "--timeout", "400s", "--skip-crds", "--reuse-values", *values],
        env=environment(), check=True, cwd=ROOT, timeout=500,
    )  # fmt: skip


def test_a_lost_namespace_stops_no_other(namespace: Namespace) -> None:
    """One of the watched namespaces is deleted, and an operator starts that never saw it."""
    lost = f"{namespace.name}-lost"
    namespace.kubectl("create", "namespace", lost)
    upgrade(namespace, "--set", f"scope.namespaces={{{namespace.name},{lost}}}")
    try:
        namespace.kubectl("delete", "namespace", lost, "--wait=true")
        namespace.kubectl("set", "env", "deployment/fairlap", "FAIRLAP_UNREACHABLE_SECONDS=5")
        namespace.kubectl("rollout", "status", "deployment/fairlap", "--timeout=200s")
        namespace.apply(benchmark("after", race={"track": {"builtin": "log_ingest"}, "challenge": "unknown"}))
        assert namespace.until_over("after", 60)["reason"] == "UnknownChallenge"
        assert lost in namespace.kubectl("logs", "deployment/fairlap")
    finally:
        namespace.kubectl("set", "env", "deployment/fairlap", "FAIRLAP_UNREACHABLE_SECONDS-")
        upgrade(namespace, "--set-json", "scope.namespaces=[]")
