"""The scripts of bench/ that race without a cluster, at their smallest size: what they measure then means nothing."""

import re
import subprocess
from pathlib import Path

import pytest

from .runner import PYTHON, ROOT, rally_turn
from .server import Elasticsearch


def run_bench(script: str, elasticsearch: Elasticsearch, *arguments: str) -> str:
    """Return what a script of bench/ prints at its smallest size; fails when it fails."""
    argv = [str(PYTHON), script, "--smallest", *arguments]
    argv += ["--host", f"localhost:{elasticsearch.port}", "--server-pid", str(elasticsearch.pid)]
    argv += ["--password-file", str(elasticsearch.password_file), "--ca-file", str(elasticsearch.ca)]
    environment = {"PYTHONPATH": "operator", "PATH": "/usr/bin:/bin"}
    with rally_turn(alone=True):
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_stock_and_shortened_waits_are_compared(elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    results = ("--results", str(tmp_path / "aa_intervals.jsonl"))
    printed = run_bench("bench/aa_intervals.py", elasticsearch, *results)
    assert "| search-throttled · service time p50 |" in printed
    assert "whole race: stock " in printed
    again = run_bench("bench/aa_intervals.py", elasticsearch, *results)
    assert "pair 1 " not in again and again.endswith(printed[printed.index("| number |") :])


@pytest.mark.long
def test_a_step_takes_its_time_when_workers_are_told_and_no_more(elasticsearch: Elasticsearch) -> None:
    """The same samples in as many messages, and each step in a fraction of the time."""
    printed = run_bench("bench/steps.py", elasticsearch)
    took = {kind: float(seconds) for kind, seconds in re.findall(r"^\| (\w+) \| 1 \| ([0-9.]+) \|", printed, re.M)}
    assert took["stock"] > 5.9 and took["polled"] > 1.9 and took["told"] < 1.0, printed
    counts = dict(re.findall(r"^\| (stock|polled|told) \| (16 \| 3 \| 200) \|", printed, re.M))
    assert list(counts) == ["stock", "polled", "told"], printed
    assert "| long · service time p50 |" in printed


@pytest.mark.long
def test_a_race_with_all_checks_and_without_them_is_compared(elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    results = ("--results", str(tmp_path / "truth.jsonl"))
    printed = run_bench("bench/truth.py", elasticsearch, *results)
    assert "| search · service time p50 |" in printed and "s are added to a race" in printed
    again = run_bench("bench/truth.py", elasticsearch, *results)
    assert "pair 1 " not in again and again.endswith(printed[printed.index("| number |") :])


@pytest.mark.long
def test_what_the_canary_tells_of_searches_is_measured_by_turns(elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    results = ("--results", str(tmp_path / "canary.jsonl"))
    printed = run_bench("bench/canary.py", elasticsearch, *results)
    rows = re.findall(r"^\| (hashing|reading memory|writing to its disk) \| \d+ of [1-4] \| ", printed, re.M)
    assert len(rows) == 3 or "no moment is without others on this machine, of 4" in printed, printed
    again = run_bench("bench/canary.py", elasticsearch, *results)
    assert "4 of 4 moments are in " in again and again.splitlines()[1:] == printed.splitlines()[1:]


@pytest.mark.long
def test_what_rally_keeps_of_requests_is_measured_by_factor() -> None:
    argv = [str(PYTHON), "bench/samples_memory.py", "--smallest"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^\| 1 of (\d+) \| ", done.stdout, re.M) == ["1", "10", "100"]


@pytest.mark.long
def test_k6_and_rally_are_measured_against_servers_that_know_what_is_true(own_loopback: None, k6: Path) -> None:
    argv = [str(PYTHON), "bench/http_load.py", "--smallest", "--k6", str(k6)]
    environment = {"PYTHONPATH": "operator", "PATH": "/usr/bin:/bin"}
    with rally_turn(alone=True):
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\| k6 as raced / Rally \| [0-9.]+ \|$", done.stdout, re.M), done.stdout
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| 20 .*$", done.stdout, re.M)]
    assert [(row[1].split(",")[0], row[2]) for row in rows] == [
        (loop, tool) for loop in ("closed", "open") for tool in ("k6", "Rally")
    ], done.stdout
    for row in rows:
        true, p50, rate = float(row[3]), float(row[4]), float(row[7])
        # 2 % of the truth, and what tool, loopback and a machine that others use add.
        assert true * 0.98 <= p50 <= true * 1.02 + 5, done.stdout
        assert (rate == pytest.approx(100, rel=0.04)) if row[1].startswith("open") else rate <= 4000 / true * 1.02
