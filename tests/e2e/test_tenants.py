"""What one tenant writes stops nobody else: durations without end, a flood of checks, a lost namespace."""

import json
import subprocess
from typing import Any

import pytest

from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_RECORD, Record
from kube import ROOT, Namespace, benchmark, condition, environment, tool, until

pytestmark = pytest.mark.e2e
FLOOD = 6
SETS = {"set": {"field": "seen", "value": True}}


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


@pytest.mark.long
def test_checks_of_a_flood_wait_for_each_other(namespace: Namespace) -> None:
    """Six at once: two track checks run at a time, and each waits in words that name who is before it."""
    track = {"track": {"configMap": {"name": "flood"}}}
    names = [f"flood-{number}" for number in range(FLOOD)]
    namespace.apply(small_track("flood"), *(benchmark(name, race=track) for name in names))
    most, waited = 0, False

    def checked() -> bool:
        nonlocal most, waited
        found = namespace.items("pod,bm")
        checks = [it for it in found if it["metadata"].get("labels", {}).get("fairlap.dev/step") == "check"]
        running = [it for it in checks if it["kind"] == "Pod" and it["status"]["phase"] in ("Pending", "Running")]
        most = max(most, len(running))
        mine = [it for it in found if it["kind"] == "Benchmark" and it["metadata"]["name"] in names]
        statuses = [it.get("status", {}) for it in mine]
        waited = waited or any("in the line for track checks" in each.get("progress", "") for each in statuses)
        return all(condition(each, "Accepted") == "True" for each in statuses) and len(statuses) == FLOOD

    until(checked, 120, lambda: json.dumps(namespace.items("bm"))[:3000], pause=0.5)
    assert 1 <= most <= 2 and waited
    namespace.kubectl("delete", "bm", *names, "--timeout=200s")
    for name in names:
        namespace.nothing_left_of(name, 120)


def track_through(pipelines: list[str]) -> dict[str, Any]:
    """A track that makes ingest pipelines and sends one document through each."""
    put = {"operation-type": "raw-request", "method": "PUT", "body": {"processors": [SETS]}}
    puts = [{**put, "name": f"put-{name}", "path": f"/_ingest/pipeline/{name}"} for name in pipelines]
    schedule = [
        {"name": "puts", "operation": {"operation-type": "composite", "requests": puts}},
        {"operation": {"operation-type": "create-index", "name": "create"}},
        {"name": "bulk", "operation": {"operation-type": "bulk", "name": "index", "bulk-size": 100}},
    ]
    lines = [line for name in pipelines for line in ({"index": {"_index": "t", "pipeline": name}}, {"name": name})]
    source = {"source-file": "docs.json", "document-count": len(pipelines), "includes-action-and-meta-data": True}
    track = {
        "version": 2,
        "description": "many pipelines",
        "indices": [{"name": "t", "body": "index.json"}],
        "corpora": [{"name": "c", "documents": [source]}],
        "schedule": schedule,
    }
    return {
        "track.json": json.dumps(track),
        "index.json": '{"settings": {"index.number_of_replicas": 0}}',
        "docs.json": "".join(f"{json.dumps(line)}\n" for line in lines),
    }


@pytest.mark.long
def test_a_hundred_and_one_pipelines_count(namespace: Namespace) -> None:
    """One more than a status lists: the race counts, its record has them all, and what is left out is said."""
    names = [f"p{number:03}" for number in range(101)]
    meta = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pipelines"}}
    track = {"track": {"configMap": {"name": "pipelines"}}}
    namespace.apply({**meta, "data": track_through(names)}, benchmark("pipelines", race=track))
    status = namespace.until_over("pipelines")
    assert status["phase"] == "Succeeded", (status.get("reason"), status.get("message"))
    listed = {it["name"]: it["count"]["median"] for it in status["results"]["ingestPipelines"]}
    assert len(listed) == 100 and {listed[name] for name in names if name in listed} == {1}
    remarks = {it["reason"]: it["message"] for it in status["races"][-1]["remarks"]}
    assert "ingest pipelines" in remarks["RecordCut"], remarks
    record = Record.from_json(text_of(namespace.get("configmap", "pipelines-race-1"), KEY_RECORD))
    assert record is not None
    counted = {it.name: it.count for it in record.pipelines or () if it.name in names}
    assert counted == dict.fromkeys(names, 1)


def upgrade(namespace: Namespace, *values: str) -> None:
    subprocess.run(
        [tool("helm"), "upgrade", "fairlap", str(ROOT / "charts/fairlap"), "-n", namespace.name, "--wait",
         "--timeout", "400s", "--skip-crds", "--reuse-values", *values],
        env=environment(), check=True, cwd=ROOT, timeout=500,
    )  # fmt: skip


@pytest.mark.long
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
