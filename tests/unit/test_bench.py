"""The scripts of bench/ as far as they go without a cluster; at their smallest size they run in other tests."""

import gzip
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


@pytest.mark.long
def test_simulated_comparisons_err_as_seldom_as_promised() -> None:
    argv = [sys.executable, "bench/error_rates.py", "--smallest"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.startswith("## ")]
    assert len(titles) == 4
    assert all(f"\n| {prior} | " in done.stdout for prior in ("right", "a tenth of it", "a hundredth of it"))


@pytest.mark.long
def test_what_racing_on_costs_is_simulated() -> None:
    argv = [sys.executable, "bench/racing_on.py", "--smallest"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.startswith("## ")]
    assert len(titles) == 6 and "| a hundredth of it | 10% | " in done.stdout


@pytest.mark.long
def test_simulated_searches_for_a_capacity_end() -> None:
    argv = [sys.executable, "bench/capacity.py", "--smallest"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n| ") == 7


def race_of(seconds: float, service: float) -> dict[str, object]:
    return {"seconds": seconds, "others": 0.0, "numbers": {"search · p50": service}}


@pytest.mark.parametrize(
    ("services", "said"),
    [
        ([1.0, 1.001, 0.999, 1.0, 1.002, 0.998], "| yes |"),
        ([1.1, 0.9, 1.2, 0.8, 1.1, 0.9], "| within "),
        ([1.0], "| unknown |"),
    ],
)
def test_what_checks_cost_is_said_as_far_as_it_is_known(services: list[float], said: str) -> None:
    bench = loaded("truth")
    lines = [{"with": race_of(30.0, each), "without": race_of(28.0, 1.0)} for each in services]
    rows = bench.table(lines).splitlines()
    assert said in rows[2] and rows[-1].endswith("2.0 s are added to a race")


@pytest.mark.parametrize(
    ("script", "one", "two"),
    [
        ("truth", {"documents": 100, "search_seconds": 1}, {"documents": 100, "search_seconds": 2}),
        ("aa_intervals", {"documents": 9, "searches": 9, "throttled_seconds": 1, "rest": 0},
         {"documents": 9, "searches": 9, "throttled_seconds": 1, "rest": 6}),
    ],
)  # fmt: skip
def test_pairs_of_another_design_do_not_count(script: str, one: dict[str, int], two: dict[str, int]) -> None:
    bench = loaded(script)
    size, other = (bench.Size(**each, undisturbed=False) for each in (one, two))
    assert bench.counted([{"design": size.design}, {"design": other.design}, {}], size) == [{"design": size.design}]


def test_a_stopped_comparison_of_waits_goes_on_with_the_pairs_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = loaded("aa_intervals")
    raced: list[str] = []

    def run_rally(spec: object, *_: object) -> float:
        raced.append(spec.race_id.split("-")[1])  # type: ignore[attr-defined]
        if len(raced) == 4:
            raise KeyboardInterrupt
        return 30.0 if raced[-1] == "stock" else 10.0

    monkeypatch.setattr(bench.local_race, "run_rally", run_rally)
    monkeypatch.setattr(bench.local_race, "numbers", lambda _: {"search · p50": 2.0})
    monkeypatch.setattr(bench.Load, "others", lambda _: 0.0)
    argv = ["aa_intervals.py", "--host", "h:1", "--server-pid", "1", "--disturbed", "--pairs", "3", "--rest", "2"]
    monkeypatch.setattr(sys, "argv", [*argv, "--results", str(tmp_path / "aa.jsonl")])
    with pytest.raises(KeyboardInterrupt):
        bench.main()
    assert raced == ["stock", "reduced", "reduced", "stock"]
    bench.main()
    assert raced[4:] == ["reduced", "stock", "stock", "reduced"]
    printed = capsys.readouterr().out
    assert "1 of 3 pairs are in " in printed and printed.rstrip().endswith("whole race: stock 30.0 s, reduced 10.0 s")


def test_rest_is_a_task_between_the_bulk_and_the_searches(tmp_path: Path) -> None:
    bench = loaded("aa_intervals")
    for rest, names in ((0, ["refresh", "search"]), (6, ["refresh", "rest", "search"])):
        bench.write_track(tmp_path / str(rest), bench.SMALLEST._replace(rest=rest))
        schedule = json.loads((tmp_path / str(rest) / "track.json").read_text())["schedule"]
        told = [each.get("name") or each["operation"]["name"] for each in schedule]
        assert told[told.index("bulk") + 1 : -1] == names


def test_the_seconds_of_steps_are_those_of_the_tiny_tasks() -> None:
    bench = loaded("steps")
    lines = [{"at": at, "samples": at * 10, "messages": at} for at in (0, 1, 2, 5, 6, 8, 20)]
    found = bench.timed(lines, 30.0, {"long · p50": 1.0})
    assert found.steps == [1, 2] and found.tiny == {"samples": 30, "messages": 3}
    assert found.long == {"samples": 120, "messages": 12}
    slow = found._replace(steps=[6.0, 6.0])
    head, _, stock, told = bench.table({"stock": [slow], "told": [found]}).splitlines()[:4]
    assert head.endswith("| times `told` |") and stock.endswith("| 4.0 |") and told.startswith("| told | 1 | 1.500 |")


def test_what_an_example_found_is_kept_once_and_told(tmp_path: Path) -> None:
    """By bench/example_found.py: with the recorded demo as an example; its README's table, and one line for it."""
    recorded = json.loads(gzip.decompress((ROOT / "tests" / "report" / "demo.json.gz").read_bytes()))["comparison"]
    kept = tmp_path / "examples.jsonl"
    other = '{"example": "java"}\n'
    kept.write_text(other + '{"example": "version-8-vs-9"}\n')
    recorded["metadata"]["labels"] = {"question": "version-8-vs-9"}
    recorded["status"] |= {"costRaces": 7, "costPreparations": 2}
    argv = [sys.executable, "bench/example_found.py", "--machine", "a machine", "--results", str(kept)]
    for _ in range(2):
        done = subprocess.run(
            argv, input=json.dumps(recorded), cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
        )
        first, line = kept.read_text().splitlines()
        found = json.loads(line)
        assert first + "\n" == other and (found["races"], found["seconds"], len(found["gates"])) == (7, 536, 3)
    assert "| `throughput` | -33.1 % | -69.8 % to +48.2 % (98.3 %) | 3 | ±76.8 % |" in done.stdout
    del recorded["status"]["completionTime"]
    unfinished = subprocess.run(
        [*argv[:2], "--smallest"], input=json.dumps(recorded), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert unfinished.returncode == 2 and "no finished Comparison" in unfinished.stderr
