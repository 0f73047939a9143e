"""The scripts of bench/ as far as they go without a cluster; at their smallest size they run in other tests."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "bench").glob("*.py"))
sys.path.insert(0, str(ROOT / "bench"))  # where the scripts find their parts


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_script_has_a_smallest_size(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(script), "--help"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0 and "--smallest" in done.stdout, done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_script_is_run_by_a_test(script: Path) -> None:
    suites = [ROOT / "tests" / suite / "test_bench.py" for suite in ("unit", "race", "api", "e2e")]
    assert [path for path in suites if f"bench/{script.name}" in path.read_text()]


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"bench/{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def overhead() -> ModuleType:
    return loaded("overhead")


def test_what_one_race_lacks_is_named_and_not_compared() -> None:
    """Rally gives no 99th percentile of fewer than 100 requests, and on a stalled machine a task makes fewer."""
    both, one = {"search · p50": 2.0}, {"search · p50": 1.0, "search · p99": 9.0}
    for pair in ((both, one), (one, both)):
        *rows, empty, last = loaded("aa_intervals").table([pair]).splitlines()
        assert len(rows) == 3 and rows[-1].startswith("| search · p50 |") and not empty
        assert last == "not compared, since not every race has it: search · p99"


def test_kubectl_is_given_one_document_of_json(overhead: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since kubectl 1.32 takes no `---` between documents of JSON."""
    given: list[str] = []

    def run(argv: list[str], **options: str) -> subprocess.CompletedProcess[str]:
        given.append(options["input"])
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr("parts.kubectl.subprocess.run", run)
    overhead.Kubectl("here").apply({"kind": "ConfigMap"}, {"kind": "Job"})
    (text,) = given
    assert [item["kind"] for item in json.loads(text)["items"]] == ["ConfigMap", "Job"]


def test_both_sizes_are_benchmarks(overhead: ModuleType) -> None:
    for spec in (overhead.SPEC, overhead.SMALLEST):
        overhead.BenchmarkSpec.model_validate(spec)


def test_simulated_comparisons_err_as_seldom_as_promised() -> None:
    argv = [sys.executable, "bench/error_rates.py", "--smallest"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.startswith("## ")]
    assert len(titles) == 4 and "| right | " in done.stdout
