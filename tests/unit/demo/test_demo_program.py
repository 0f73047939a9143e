"""The demo as a program, with programs in place of kubectl and helm that note their calls and answer from a script."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("es-8-11-0", "es-9-0-0")

KUBECTL = f"""#!{sys.executable}
import json, os, sys, time
with open(os.environ["CALLS"], "a") as calls:
    calls.write("kubectl " + " ".join(sys.argv[1:]) + "\\n")
if "--watch" in sys.argv:
    with open(os.environ["WATCH"]) as script:
        text = script.read()
    half = len(text) // 2
    sys.stdout.write(text[:half]); sys.stdout.flush(); time.sleep(0.2)
    sys.stdout.write(text[half:]); sys.stdout.flush(); time.sleep(30)
if "apply" in sys.argv and "-o" in sys.argv:
    print("benchmark.fairlap.dev/es-8-11-0\\nbenchmark.fairlap.dev/es-9-0-0")
if "crd" in sys.argv and os.environ.get("NO_ECK"):
    sys.exit("Error from server (NotFound): customresourcedefinitions not found")
"""
HELM = f"""#!{sys.executable}
import os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write("helm " + " ".join(sys.argv[1:]) + "\\n")
"""


def benchmark(name: str, phase: str, **status: Any) -> dict[str, Any]:
    return {"kind": "Benchmark", "metadata": {"name": name}, "status": {"phase": phase, **status}}


def results(rate: float) -> dict[str, Any]:
    figure = {"median": rate, "min": rate - 1, "max": rate + 1, "races": 2}
    return {"tasks": [{"task": "bulk-index", "type": "bulk", "throughput": figure, "errorRate": 0.0}]}


class Sandbox:
    """A folder with the two programs and what they are to answer."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, folder / "calls"
        for name, text in (("kubectl", KUBECTL), ("helm", HELM)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def run(self, *documents: dict[str, Any], arguments: tuple[str, ...] = (), **environ: str) -> Any:
        (self.folder / "watch").write_text("\n".join(json.dumps(document, indent=2) for document in documents))
        variables = {"CLUSTER": "current", "CALLS": str(self.calls), "WATCH": str(self.folder / "watch"), **environ}
        return subprocess.run(
            [sys.executable, str(ROOT / "examples" / "demo.py"), *arguments],
            env={**os.environ, **variables, "PATH": f"{self.folder}:{os.environ['PATH']}"},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_both_succeed(sandbox: Sandbox) -> None:
    done = sandbox.run(
        benchmark(NAMES[0], "Racing", progress="race 1/2 · bulk-index 43 %"),
        benchmark("somebody-elses", "Racing"),
        benchmark(NAMES[0], "Succeeded", racesDone="2/2", results=results(12000)),
        benchmark(NAMES[1], "Succeeded", racesDone="2/2", results=results(15000)),
        HELM_ARGS="--set raceImage.tag=v1",
    )
    assert done.returncode == 0, done.stderr
    assert "12,000 (11,999–12,001)" in done.stdout
    assert "es-9-0-0 has 1.25 times the throughput of es-8-11-0" in done.stdout
    assert "race 1/2 · bulk-index" in done.stdout
    assert "somebody-elses" not in done.stdout
    calls = sandbox.called()
    helm = next(call for call in calls if call.startswith("helm"))
    assert "upgrade --install fairlap" in helm
    assert helm.endswith("--set raceImage.tag=v1")
    order = [
        next(i for i, call in enumerate(calls) if word in call) for word in ("helm", " delete ", "-o name", "--watch")
    ]
    assert calls[0].startswith("kubectl get crd elasticsearches")
    assert order[0] < order[1] < order[3]


def test_a_failure_is_told_and_fails_the_demo(sandbox: Sandbox) -> None:
    done = sandbox.run(
        benchmark(NAMES[0], "Succeeded", racesDone="2/2", results=results(12000)),
        benchmark(
            NAMES[1], "Failed", reason="ImagePull", message="pod es-9-0-0-race-1-es-default-0: no such image",
            races=[{"name": "race-1", "record": "es-9-0-0-race-1"}],
        ),
    )  # fmt: skip
    assert done.returncode == 1
    assert "es-9-0-0 failed: ImagePull" in done.stderr
    assert "no such image" in done.stderr
    assert "get configmap es-9-0-0-race-1" in done.stderr
    assert "12,000" in done.stdout


def test_keep_and_no_install_leave_what_is_there(sandbox: Sandbox) -> None:
    done = sandbox.run(*(benchmark(name, "Succeeded") for name in NAMES), arguments=("--keep", "--no-install"))
    assert done.returncode == 0, done.stderr
    assert not [call for call in sandbox.called() if call.startswith("helm") or " delete " in call]


def test_without_eck_the_demo_says_what_to_do(sandbox: Sandbox) -> None:
    done = sandbox.run(NO_ECK="1")
    assert done.returncode == 1
    assert "install ECK first" in done.stderr
    assert "NotFound" in done.stderr
    assert not [call for call in sandbox.called() if call.startswith("helm")]


def test_too_slow_says_how_to_go_on(sandbox: Sandbox) -> None:
    done = sandbox.run(benchmark(NAMES[0], "Racing"), arguments=("--minutes", "0.03"))
    assert done.returncode == 1
    assert "they go on without the demo" in done.stderr
