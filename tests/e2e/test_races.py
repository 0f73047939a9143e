"""The whole chain with real parts: ECK, Elasticsearch, Rally."""

import base64
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import Record
from kube import SMALL_JVM, Namespace, benchmark, condition, run, until

pytestmark = [pytest.mark.e2e, pytest.mark.longest(2)]
SAMPLES = "every-request"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def fairlap(
    namespace: Namespace, command: str, *words: str, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The command line as a user calls it."""
    return run(sys.executable, "-m", "fairlap.cli", command, *words, "-n", namespace.name, given=given, seconds=1500)


def check_numbers(status: dict[str, object], documents: int) -> None:
    results = status["results"]
    assert isinstance(results, dict)
    bulk = next(task for task in results["tasks"] if task["type"] == "bulk")
    assert bulk["throughput"]["median"] > 0 and bulk["unit"] == "docs/s" and bulk["errorRate"] == 0
    assert bulk["serviceTimeMillis"]["p50"]["median"] > 0
    pipeline = results["ingestPipelines"][0]
    assert pipeline["count"]["median"] == documents and pipeline["failed"] == 0


def check_evidence(found: dict[str, Any]) -> None:
    """What the two nodes with a shard's primary and another's replica each say about themselves."""
    index = found["indices"][0]
    assert (index["algorithm"], index["health"]) == ("DEFLATE", "green")
    copies = dict(part.rsplit(" ", 1) for part in index["placement"].split(", "))
    assert set(copies) == {"0p", "0r", "1p", "1r"} and copies["0p"] != copies["0r"] and copies["1p"] != copies["1r"]
    assert index["storeBytes"] > index["primaryBytes"] > 0
    for node in found["nodeData"]:
        assert node["primaries"] + node["replicas"] == 2 and node["dataBytes"] > 0
        assert node["heapBytes"] == 512 * 2**20 < node["memoryBytes"]
        ratio = (node["memoryBytes"] - node["heapBytes"]) / node["dataBytes"]
        assert node["memoryToData"] == pytest.approx(ratio, rel=0.01)
    assert any("VM" in name for name in found["jvm"])
    assert {"-Xmx512m", *SMALL_JVM} <= set(found["jvmFlags"])
    assert any("GC" in name or "G1" in name for name in found["gc"])


@pytest.fixture(scope="module")
def whole(namespace: Namespace) -> Iterator[subprocess.CompletedProcess[str]]:
    """8.11.0 on Java 21, two nodes with volumes, two shards, one replica, another codec, a smoke test, a race.

    All in a namespace that enforces the Pod Security level `restricted` meanwhile.
    """
    level = "pod-security.kubernetes.io/enforce"
    namespace.kubectl("label", "namespace", namespace.name, f"{level}=restricted")
    wanted = benchmark(
        "whole",
        elasticsearch={
            "version": "8.11.0",
            "java": 21,
            "nodes": 2,
            "storage": {"size": "1Gi"},
            "index": {"shards": 2, "replicas": 1, "codec": "best_compression"},
        },
        race={"userTags": {"team": "search"}, "telemetry": ["disk-usage-stats"], "samples": {"claimName": SAMPLES}},
        smokeTest=True,
    )
    namespace.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": SAMPLES}, "spec": CLAIM})
    yield fairlap(namespace, "run", "-f", "-", "--wait", "--timeout", "20m", given=json.dumps(wanted))
    namespace.kubectl("delete", "bm", "whole", "--timeout=200s")
    namespace.kubectl("delete", "pvc", SAMPLES, "--wait=false")
    namespace.kubectl("label", "namespace", namespace.name, f"{level}-")


def test_a_whole_benchmark_on_two_nodes_with_every_setting(
    namespace: Namespace, whole: subprocess.CompletedProcess[str]
) -> None:
    status = namespace.status("whole")
    assert whole.returncode == 0, whole.stdout + whole.stderr + json.dumps(status, indent=1)
    for seen in ("benchmark/whole created", "Provisioning", "Racing", "Succeeded", "bulk-index: throughput, docs/s"):
        assert seen in whole.stdout
    assert (status["phase"], status["racesDone"]) == ("Succeeded", "1/1")
    for kind in ("Accepted", "SettingsVerified", "RacesValid", "Complete"):
        assert condition(status, kind) == "True", kind
    assert [race["name"] for race in status["races"]] == ["smoke", "race-1"]
    check_numbers(status, 5000)
    found = status["environment"]
    assert found["version"] == "8.11.0" and found["java"].startswith("21.") and found["nodes"] == 2
    index = found["indices"][0]
    assert (index["shards"], index["replicas"], index["codec"]) == (2, 1, "best_compression")
    assert index["documents"] == 5000 and len(found["buildHash"]) == 40
    check_evidence(found)
    assert condition(status, "LoadGeneratorShared") == "True"  # one machine cannot avoid it, but it is said
    namespace.nothing_left_of("whole")


@pytest.mark.usefixtures("whole")
def test_the_record_is_kept_with_the_benchmark(namespace: Namespace) -> None:
    """race.json and Rally's log are where the status says."""
    record = namespace.get("configmap", namespace.status("whole")["races"][-1]["record"])
    race = json.loads(gzip.decompress(base64.b64decode(record["binaryData"]["race.json.gz"])))
    assert race["results"]["op_metrics"] and race["user-tags"]["team"] == "search"
    fields = {it["field"]: it["value"] for it in race["results"]["disk_usage_total"] if it["index"] == "access-logs"}
    assert fields["_source"] > 0 and fields["@timestamp"] > 0, "what the telemetry collected"
    log = gzip.decompress(base64.b64decode(record["binaryData"]["rally.log.gz"])).decode()
    assert "esrally" in log or "Racing" in log or "driver" in log
    facts = text_of(record, "record.json")
    assert facts
    found = Record.from_json(facts)
    assert found and found.sample_file and not found.sample_file.problem
    assert found.sample_file.rows == sum(it.samples.warmup + it.samples.normal for it in found.tasks) > 0
    everything = json.dumps(record) + facts + log
    assert "basic_auth_password" not in everything or "*****" in everything


def test_printer_columns_read_like_a_sentence(namespace: Namespace) -> None:
    namespace.apply(benchmark("columns", suspend=True))
    until(lambda: namespace.status("columns").get("version"), 30, lambda: "the operator has not looked")
    head, line = namespace.kubectl("get", "bm", "columns", "-o", "wide").splitlines()
    assert head.split() == ["NAME", "PHASE", "PROGRESS", "VERSION", "RACES", "TRACK", "CHALLENGE", "REASON", "AGE"]
    assert "9.0.0" in line
    namespace.kubectl("delete", "bm", "columns", "--timeout=200s")


@pytest.mark.usefixtures("whole")
def test_the_command_line_reads_the_record(namespace: Namespace) -> None:
    """The results and the log of the same Benchmark."""
    table = fairlap(namespace, "results", "whole")
    assert table.returncode == 0, table.stderr
    assert "ran: Elasticsearch" in table.stdout and "8.11.0" in table.stdout
    found = json.loads(fairlap(namespace, "results", "whole", "-o", "json").stdout)
    assert found["benchmarks"][0]["results"] == namespace.status("whole")["results"]
    # With itself, from the race.json that Rally wrote: its numbers are read, and the one race is not taken for two.
    compared = json.loads(fairlap(namespace, "compare", "whole", "whole", "-o", "json").stdout)
    assert compared["verdict"] == "NotComparable" and compared["races"] == [1, 1]
    assert (
        "one race is given 2 times (whole race-1, whole race-1): a copy of it is no other race" in compared["obstacles"]
    )
    assert compared["gates"][0]["what"].startswith("throughput, geometric mean of ")
    assert compared["gates"][0]["change"] == 0
    log = fairlap(namespace, "logs", "whole", "--race", "1")
    assert log.returncode == 0 and "esrally" in log.stdout
    assert "fairlap: whole has no step race-2" in fairlap(namespace, "logs", "whole", "--race", "2").stderr
