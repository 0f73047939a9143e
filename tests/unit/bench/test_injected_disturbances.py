"""bench/disturbances as far as it goes without a cluster: what is raced, and what the table says."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import disturbances
import pytest
from disturbances import CPU, DISK, PAUSE, QUIET, Try
from parts.lines import append

from fairlap.api.spec import BenchmarkSpec


def line(it: Try, *remarks: str, phase: str = "Succeeded") -> dict[str, Any]:
    watch = {"tasks": [{"task": "search", "ioWaitingShare": 0.05}]}
    return {"key": it.key, "phase": phase, "seconds": 100.0, "remarks": list(remarks), "watch": watch}


@pytest.mark.parametrize("smallest", [True, False])
def test_each_race_is_a_benchmark(smallest: bool) -> None:
    wanted = disturbances.tries(2, 3, smallest)
    assert [it.kind for it in wanted] == [*[QUIET, CPU, DISK, PAUSE] * 2, QUIET]
    assert len({it.name for it in wanted}) == len(wanted)
    for it in wanted:
        BenchmarkSpec.model_validate(it.spec)


def test_a_disturbance_counts_as_seen_by_its_name_alone() -> None:
    quiet, cpu, disk, pause = disturbances.tries(1, 1, smallest=True)
    lines = [
        line(quiet),
        line(cpu, "the load generator's machine was disturbed: beside Rally something else used 0.9 cores of it"),
        line(disk, "the load generator's machine was disturbed: it or Elasticsearch stood still for 3.0 s in task a"),
        line(pause, "the load generator's machine was disturbed: it or Elasticsearch stood still for 4.0 s in task a"),
    ]
    told = list(disturbances.rows(lines))
    assert told[2:6] == [
        "| quiet | 1 | 0 |  | 5% |", "| cpu | 1 | 1 | 1 | 5% |", "| disk | 1 | 1 | 0 | 5% |",
        "| pause | 1 | 1 | 1 | 5% |",
    ]  # fmt: skip
    assert sum("stood still for N s" in text for text in told) == 1, "the same remark is printed once"


def test_what_failed_or_was_raced_otherwise_is_raced_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.jsonl"
    big, small = (disturbances.tries(1, 1, smallest) for smallest in (False, True))
    for each in (line(big[0], phase="Failed"), line(small[1]), line(big[2])):
        append(results, each)
    assert [each["key"]["kind"] for each in disturbances.counted(list(disturbances.read(results)), big)] == [DISK]
    assert disturbances.main(["--tables", "--tries", "1", "--quiet", "1", "--results", str(results)]) == 0
    assert "| disk | 1 | 0 | 0 | 5% |" in capsys.readouterr().out


def test_the_manifests_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert disturbances.main(["--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# 50 races\n") and "name: disturber-disk" in printed


class Cluster:
    """A Kubernetes in which each Benchmark races, and is over as soon as it is waited for."""

    def __init__(self, pods: dict[str, str], phase: str = "Succeeded") -> None:
        self.pods = pods
        """name by the label of its cluster"""
        self.phase = phase
        self.applied: list[str] = []
        self.asked: list[Sequence[str]] = []

    def __call__(self, *words: str) -> str:
        self.asked.append(words)
        return ""

    def attempt(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 0, "", "")

    def apply(self, *manifests: Any) -> None:
        self.applied += [each["metadata"]["name"] for each in manifests]

    def get(self, kind: str, *words: str) -> dict[str, Any]:
        if kind == "pods":
            name = self.pods.get(words[1])
            return {"items": [{"metadata": {"name": name}}] if name else []}
        races = [{"record": "r", "seconds": 60.0, "remarks": []}]
        return {"status": {"phase": self.phase, "completionTime": "t", "races": races}} if kind == "bm" else {}


@pytest.mark.parametrize("there", [True, False])
def test_a_pause_stops_the_pod_of_the_races_own_cluster_or_is_skipped(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(disturbances.time, "sleep", lambda _: None)
    pause = Try(PAUSE, 1, smallest=True)
    # As ECK labels the pods of what fairlap.manifests.meta names.
    label = "elasticsearch.k8s.elastic.co/cluster-name=disturbed-pause-1-race-1"
    cluster = Cluster({label: "es-0"} if there else {})
    lines = disturbances.run(cluster, [pause], "image", tmp_path / "r.jsonl")  # type: ignore[arg-type]
    stopped = [words[1] for words in cluster.asked if words[0] == "exec"]
    printed = capsys.readouterr().out
    if there:
        assert stopped == ["es-0"] and [each["missed"] for each in lines] == [False]
    else:
        assert stopped == [] and lines == [], "a race that nobody disturbed says nothing of whether it would be seen"
        assert "no pod of Elasticsearch disturbed-pause-1-race-1" in printed and "skipped" in printed


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_disturber_that_a_stopped_run_has_left_goes_before_anything_is_raced(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(disturbances.time, "sleep", lambda _: None)
    cluster = Cluster({}, phase)
    wanted = [Try(QUIET, 1, smallest=True), Try(CPU, 1, smallest=True)]
    lines = disturbances.run(cluster, wanted, "image", tmp_path / "r.jsonl")  # type: ignore[arg-type]
    assert cluster.asked[0][:4] == ("delete", "pods", "-l", "fairlap-bench=disturbances")
    assert cluster.applied == ["disturbed-quiet-1", "disturbed-cpu-1", "disturber-cpu"]
    printed = capsys.readouterr().out
    assert "0 of 2 races are in " in printed and "0 to race, about 0 minutes left" in printed
    assert len(lines) == (2 if phase == "Succeeded" else 0)
    assert ("Failed: : it does not count, and is raced again" in printed) == (phase == "Failed")


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), subprocess.CalledProcessError(1, ["kubectl", "wait"], stderr="timed out")]
)
def test_what_was_interrupted_says_how_it_goes_on(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(disturbances, "run", fails)
    words = ["--race-image", "image", "--results", str(tmp_path / "r.jsonl")]
    with pytest.raises(SystemExit) as raised:
        disturbances.main(words)
    told = f"{raised.value}{capsys.readouterr().err}"
    assert "The same command goes on here" in told and ("timed out" in told or "130" in told)
