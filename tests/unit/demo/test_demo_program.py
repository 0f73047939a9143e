"""The demo as a program, with programs in place of kubectl and helm that note their calls and answer from a script."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
NAME = "demo"

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
    print("comparison.fairlap.dev/demo")
if "crd" in sys.argv and os.environ.get("NO_ECK"):
    sys.exit("Error from server (NotFound): customresourcedefinitions not found")
"""
HELM = f"""#!{sys.executable}
import os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write("helm " + " ".join(sys.argv[1:]) + "\\n")
"""


PYTHON = """#!/bin/sh
echo "python $*" >> "$CALLS"
if [ -n "$NO_REPORT" ]; then echo "fairlap: no record" >&2; exit 1; fi
for last; do :; done
echo "<!doctype html>" > "$last"
"""


def comparison(name: str, phase: str, **status: Any) -> dict[str, Any]:
    return {"kind": "Comparison", "metadata": {"name": name}, "status": {"phase": phase, **status}}


def ended(verdict: str, **status: Any) -> dict[str, Any]:
    return comparison(NAME, "Complete", verdict=verdict, **status)


CONTENDERS = [
    {"name": "9.0.0", "verdict": "Inconclusive", "sentence": "9.0.0: cannot tell; 6 more blocks would settle it"}
]


class Sandbox:
    """A folder with the two programs and what they are to answer."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls, self.report = folder, folder / "calls", folder / "report.html"
        for name, text in (("kubectl", KUBECTL), ("helm", HELM), ("python-of-the-project", PYTHON)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def run(self, *documents: dict[str, Any], arguments: tuple[str, ...] = (), **environ: str) -> Any:
        (self.folder / "watch").write_text("\n".join(json.dumps(document, indent=2) for document in documents))
        variables = {
            "CLUSTER": "current", "CALLS": str(self.calls), "WATCH": str(self.folder / "watch"),
            "FAIRLAP_PYTHON": str(self.folder / "python-of-the-project"), **environ,
        }  # fmt: skip
        report = ("--report", str(self.report))
        return subprocess.run(
            [sys.executable, str(ROOT / "examples" / "demo.py"), *report, *arguments],
            env={**os.environ, **variables, "PATH": f"{self.folder}:{os.environ['PATH']}"},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_it_ends_with_the_verdict_and_the_report(sandbox: Sandbox) -> None:
    done = sandbox.run(
        comparison(NAME, "Racing", progress="block 1 of 3: 9.0.0 races, bulk-index 43 %"),
        comparison("somebody-elses", "Racing"),
        ended("Inconclusive", contenders=CONTENDERS),
        HELM_ARGS="--set raceImage.tag=v1",
    )
    assert done.returncode == 0, done.stderr  # that nobody can tell is an answer
    assert "demo: Inconclusive" in done.stdout
    assert "9.0.0: cannot tell; 6 more blocks would settle it" in done.stdout
    assert "block 1 of 3: 9.0.0 races, bulk-index" in done.stdout
    assert "somebody-elses" not in done.stdout
    assert f"as one HTML file: {sandbox.report}" in done.stdout
    assert sandbox.report.read_text() == "<!doctype html>\n"
    calls = sandbox.called()
    helm = next(call for call in calls if call.startswith("helm"))
    assert "upgrade --install fairlap" in helm
    assert helm.endswith("--set raceImage.tag=v1")
    words = ("helm", " delete ", " apply -n", "--watch", "fairlap.cli report demo -n fairlap")
    order = [next(i for i, call in enumerate(calls) if word in call) for word in words]
    assert calls[0].startswith("kubectl get crd elasticsearches")
    assert order == sorted(order)
    assert "--cascade=foreground" in calls[order[1]], "its Benchmarks have the names of those to come"


@pytest.mark.parametrize("verdict", ["Improved", "Regressed", "Mixed", "NoDifference"])
def test_any_verdict_is_an_answer(sandbox: Sandbox, verdict: str) -> None:
    assert sandbox.run(ended(verdict)).returncode == 0


def test_what_could_not_be_compared_fails_the_demo(sandbox: Sandbox) -> None:
    unfair = {"what": "java", "rule": "MustMatch", "fair": False, "values": {"8.11.0": "17", "9.0.0": "21"}}
    done = sandbox.run(ended("NotComparable", differences=[unfair]))
    assert done.returncode == 1
    assert "not the same: java (8.11.0 17, 9.0.0 21)" in done.stdout
    assert "demo compared nothing: NotComparable" in done.stderr


def test_a_failure_is_told_and_fails_the_demo(sandbox: Sandbox) -> None:
    race = {
        "variant": "9.0.0", "benchmark": "demo-1b", "valid": False, "reason": "ImagePull",
        "message": "pod demo-1b-race-1-es-default-0: no such image",
    }  # fmt: skip
    message = "9.0.0 lost 4 of 4 races"
    blocks = [{"number": 1, "races": [race]}]
    done = sandbox.run(comparison(NAME, "Failed", reason="RacesInvalid", message=message, blocks=blocks))
    assert done.returncode == 1
    assert "demo failed: RacesInvalid: 9.0.0 lost 4 of 4 races" in done.stdout
    assert "no such image" in done.stderr
    assert "get configmap demo-1b-race-1" in done.stderr


def test_without_a_report_the_demo_says_how_to_make_one(sandbox: Sandbox) -> None:
    done = sandbox.run(ended("NoDifference"), NO_REPORT="1")
    assert done.returncode == 0
    assert "no record" in done.stdout and "fairlap report demo -n fairlap" in done.stdout
    assert not sandbox.report.exists()
    done = sandbox.run(ended("NoDifference"), FAIRLAP_PYTHON="/nonexistent")
    assert done.returncode == 0 and "make venv && .venv/bin/fairlap report demo -n fairlap" in done.stdout


def test_keep_and_no_install_leave_what_is_there(sandbox: Sandbox) -> None:
    done = sandbox.run(ended("NoDifference"), arguments=("--keep", "--no-install"))
    assert done.returncode == 0, done.stderr
    assert not [call for call in sandbox.called() if call.startswith("helm") or " delete " in call]


def test_without_eck_the_demo_says_what_to_do(sandbox: Sandbox) -> None:
    done = sandbox.run(NO_ECK="1")
    assert done.returncode == 1
    assert "install ECK first" in done.stderr
    assert "NotFound" in done.stderr
    assert not [call for call in sandbox.called() if call.startswith("helm")]


def test_too_slow_says_how_to_go_on(sandbox: Sandbox) -> None:
    done = sandbox.run(comparison(NAME, "Racing"), arguments=("--minutes", "0.03"))
    assert done.returncode == 1
    assert "it goes on without the demo" in done.stderr
