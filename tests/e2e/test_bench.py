"""The measurements that need a real cluster, at their smallest size; what they measure then is of no meaning."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_examples import race_image

from kube import ROOT, Namespace, environment, tool

pytestmark = pytest.mark.e2e


def measured(script: str, namespace: Namespace, *words: str) -> list[str]:
    """The lines that a script prints."""
    kubectl = shutil.which(tool("kubectl")) or ""
    argv = [sys.executable, f"bench/{script}", "--smallest", "--namespace", namespace.name, *words]
    done = subprocess.run(
        argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1700,
        env={**environment(), "PATH": f"{Path(kubectl).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.long
def test_the_operator_is_compared_with_a_script(namespace: Namespace) -> None:
    told = measured("overhead.py", namespace, "--race-image", race_image(namespace))  # bench/overhead.py
    (pair,) = (line for line in told if line.startswith("1 "))
    assert all(float(cell) > 0 for cell in pair.split()), told
    assert any("median: " in line for line in told)


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [("aa", "--state", "targets"), ("aa", "--state", "duet"), ("power",), ("power", "--duet")], ids=" ".join
)
def test_comparisons_of_known_truth_are_raced_and_counted(
    words: tuple[str, ...], namespace: Namespace, tmp_path: Path
) -> None:
    """bench/aa.py: two clusters that are the same, one after the other and in turn; bench/power.py: one cluster through
    a proxy that slows searches, and two in turn."""
    script, *flags = words
    results = tmp_path / "results.jsonl"
    told = measured(f"{script}.py", namespace, "--results", str(results), *flags)
    (line,) = (json.loads(text) for text in results.read_text().splitlines())
    assert (line["phase"], line["fair"]) == ("Complete", "True"), line
    assert line["races"] >= 4 and line["gates"], line
    head = "| **any of them** | **" if script == "aa" else "| search 20 % slower | 1 | "
    assert any(text.startswith(head) for text in told), told
    made = "elasticsearch,deployment,service,configmap,secret,cmp"
    assert namespace.items(made, f"fairlap-bench={script}") == []


@pytest.mark.long
def test_what_identical_races_measured_is_kept_and_split(namespace: Namespace, tmp_path: Path) -> None:
    """bench/noise.py: two clusters that are kept over two blocks."""
    results = tmp_path / "results.jsonl"
    told = measured("noise.py", namespace, "--results", str(results))
    (line,) = (json.loads(text) for text in results.read_text().splitlines())
    assert line["phase"] == "Complete" and len(line["measured"]) == 4 and len(line["filled"]) == 2, line
    assert any(text.startswith("| search-request throughput | ") for text in told), told
    assert any(" s, a cluster " in text for text in told), told
    assert namespace.items("elasticsearch,configmap,secret,cmp", "fairlap-bench=noise") == []


@pytest.mark.long
def test_disturbances_are_injected_and_counted(namespace: Namespace, tmp_path: Path) -> None:
    """bench/disturbances.py: a quiet race, a burnt processor, a busy disk and a pause."""
    results = tmp_path / "results.jsonl"
    told = measured("disturbances.py", namespace, "--results", str(results), "--race-image", race_image(namespace))
    lines = [json.loads(text) for text in results.read_text().splitlines()]
    assert [line["key"]["kind"] for line in lines] == ["quiet", "cpu", "disk", "pause"]
    assert all(line["phase"] == "Succeeded" and line["watch"]["tasks"] for line in lines), lines
    assert any(text.startswith("| pause | 1 | ") for text in told), told
    assert namespace.items("bm,pod", "fairlap-bench=disturbances") == []


@pytest.mark.long
def test_two_clusters_are_searched_in_turn_and_one_after_the_other(namespace: Namespace, tmp_path: Path) -> None:
    """bench/duet.py: two rounds of a second."""
    results = tmp_path / "results.jsonl"
    told = measured("duet.py", namespace, "--results", str(results), "--race-image", race_image(namespace))
    lines = [json.loads(text) for text in results.read_text().splitlines()]
    assert [line["number"] for line in lines] == [1, 2] and len(set(lines[0]["clusters"])) == 2, lines
    assert all(line[way][name]["requests"] > 0 for line in lines for way in ("duet", "races") for name in "ab"), lines
    (rate,) = [text for text in told if text.startswith("| rate | ")]
    assert rate.endswith("| not told: fewer than 10 rounds |"), told
    assert namespace.items("elasticsearch,pod,configmap,secret", "fairlap-bench=duet") == []
