"""The command line against a real API server: run, results and logs as a user calls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .controlplane import ControlPlane
from .forked import called
from .manifests import Json, benchmark
from .stage import Stage

pytestmark = pytest.mark.usefixtures("operator")
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(plane: ControlPlane, namespace: str, tmp_path: Path) -> dict[str, str]:
    """What the program finds in its environment: a kubeconfig whose context has the test's namespace."""
    kubeconfig = plane.write_kubeconfig(tmp_path / "kubeconfig", plane.admin_token, namespace)
    return {**os.environ, "KUBECONFIG": str(kubeconfig)}


@pytest.fixture
def fairlap(environment: dict[str, str]) -> Call:
    """A function that calls the program to its end; with each exit code it is a process in test_gate_codes.py, too."""

    def call(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return called(words, environment, stdin)

    return call


def completed(environment: dict[str, str], words: str) -> str:
    """What bash is told when it asks how to go on after the words."""
    asked = {
        "_FAIRLAP_COMPLETE": "bash_complete",
        "COMP_WORDS": f"fairlap {words}",
        "COMP_CWORD": str(len(words.split()) + 1),
    }
    argv = [sys.executable, "-m", "fairlap.cli"]
    done = subprocess.run(argv, env=environment | asked, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout.strip()


def manifest(path: Path, *objects: Json) -> str:
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def without_namespace(found: Json) -> Json:
    return {**found, "metadata": {"name": found["metadata"]["name"]}}


def test_run_to_the_end_then_results_and_logs(
    fairlap: Call, namespace: str, tmp_path: Path, plane: ControlPlane
) -> None:
    # Neither the file nor the options name the namespace: it is that of the context.
    both = [without_namespace(benchmark(namespace, name, smokeTest=False)) for name in ("one", "two")]
    file = manifest(tmp_path / "bm.yaml", *both)

    ran = fairlap("run", "-f", file, "--wait", "--timeout", "10m")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "benchmark/one created" in ran.stdout
    progress = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    assert progress == list(dict.fromkeys(progress)), "each line once, without a terminal"
    assert any("Racing" in line for line in progress)
    assert "\x1b" not in ran.stdout
    assert "bulk-index: throughput, docs/s" in ran.stdout

    table = fairlap("results", "one", "two")
    assert table.returncode == 0, table.stderr
    assert table.stdout.splitlines()[0].split() == ["one", "two"]
    assert "service time p90" not in table.stdout
    whole = fairlap("results", "one", "two", "--all").stdout
    assert "service time p90" in whole and len(whole.splitlines()) > len(table.stdout.splitlines())
    assert fairlap("-n", namespace, "results", "one", "two").stdout == table.stdout
    assert fairlap("-n", "kube-system", "results", "one", "two", "-n", namespace).stdout == table.stdout
    elsewhere = fairlap("-n", "kube-system", "results", "one")
    assert elsewhere.stderr == "fairlap: there is no Benchmark one in the namespace kube-system; there is none\n"
    data = json.loads(fairlap("results", "one", "-o", "json").stdout)
    assert data["benchmarks"][0]["phase"] == "Succeeded"
    assert data["benchmarks"][0]["results"]["tasks"]
    assert fairlap("results", "one", "-o", "csv").stdout.startswith("subject,what,unit,one,one min,")
    assert fairlap("results", "one", "-o", "md").stdout.startswith("|  | one |")

    assert fairlap("logs", "one").stdout == "INFO Rally ran\n"
    assert fairlap("logs", "one", "--race", "1", "-f").stdout == "INFO Rally ran\n"
    assert (
        "one, two: how small a difference can be seen here is unknown: 1 valid race, and no Comparison" in table.stdout
    )
    doctor = fairlap("doctor", "noise")
    assert doctor.returncode == 0 and "2 races of 2 Benchmarks in namespace" in doctor.stdout, doctor.stderr
    assert json.loads(fairlap("doctor", "noise", "-o", "json").stdout)["races"] == 2

    missing = fairlap("logs", "one", "--race", "2")
    assert (missing.returncode, missing.stderr) == (1, "fairlap: one has no step race-2, or it has not begun\n")

    again = fairlap("run", "-f", file, "--wait")
    assert again.returncode == 0
    assert "benchmark/one unchanged" in again.stdout
    assert "has ended before and is not run again" in again.stderr

    assert "fairlap rerun one" in again.stderr
    once_more = fairlap("rerun", "one", "--wait", "--timeout", "10m")
    assert once_more.returncode == 0, once_more.stderr
    assert "benchmark/one-2 created" in once_more.stdout

    assert all("secret-password" not in done.stdout + done.stderr for done in (ran, table, again))


def test_a_failed_benchmark_ends_with_1_and_shows_its_numbers_as_invalid(
    fairlap: Call, stage: Stage, namespace: str, tmp_path: Path
) -> None:
    stage.behave(namespace, race="error-rate")
    file = manifest(tmp_path / "bm.yaml", benchmark(namespace, smokeTest=False))

    ran = fairlap("run", "-f", file, "--wait")

    assert ran.returncode == 1
    assert "bm failed: ErrorRate" in ran.stderr
    assert f"fairlap logs bm -n {namespace}" in ran.stderr
    table = fairlap("results", "bm")
    assert table.returncode == 0
    assert "bm (invalid)" in table.stdout
    assert "bulk-index: throughput" in table.stdout
    assert "failed: ErrorRate" in table.stdout


def test_nothing_is_applied_when_the_api_server_refuses_one(
    fairlap: Call, stage: Stage, namespace: str, tmp_path: Path
) -> None:
    good, bad = benchmark(namespace, "good"), benchmark(namespace, "bad", elasticsearch__version="6.0.0")
    file = manifest(tmp_path / "bm.yaml", good, bad)

    for words in (("--dry-run",), ("--wait",)):
        ran = fairlap("run", "-f", file, *words)
        assert ran.returncode == 1
        assert "benchmark/bad: " in ran.stderr
        assert "6.0.0 cannot be built" in ran.stderr
        assert "Traceback" not in ran.stderr
    assert not stage.all("benchmarks", namespace)

    ran = fairlap("run", "-f", "-", "--dry-run", stdin=json.dumps(good))
    assert (ran.returncode, ran.stdout) == (0, "benchmark/good would be created (server dry run)\n")
    assert not stage.all("benchmarks", namespace)


def test_other_objects_go_along(fairlap: Call, stage: Stage, namespace: str, tmp_path: Path) -> None:
    track = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"track.json": "{}"}}
    spec = {"race": {"track": {"configMap": {"name": "mine"}}}, "smokeTest": False, "suspend": True}
    file = manifest(tmp_path / "bm.yaml", track, without_namespace(benchmark(namespace, **spec)))

    ran = fairlap("run", "-f", file)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[:2] == ["configmap/mine created", "benchmark/bm created"]
    assert f"fairlap results bm -n {namespace}" in ran.stdout
    found = stage.find("configmaps", namespace, "mine")
    assert found is not None
    stage.delete("configmaps", namespace, "mine")
    stage.delete("benchmarks", namespace, "bm")


def hear_ctrl_c() -> None:
    """What a shell starts in the background ignores it, and so would whatever that starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_waiting_ends_with_124_and_with_ctrl_c_and_the_benchmark_goes_on(
    fairlap: Call, environment: dict[str, str], stage: Stage, namespace: str, tmp_path: Path
) -> None:
    stage.behave(namespace, race="hangs")
    file = manifest(tmp_path / "bm.yaml", benchmark(namespace, smokeTest=False))

    ran = fairlap("run", "-f", file, "--wait", "--timeout", "3s")
    assert ran.returncode == 124
    assert f"kubectl get benchmarks -n {namespace} --watch" in ran.stderr

    argv = [sys.executable, "-m", "fairlap.cli", "run", "-f", file, "--wait"]
    with subprocess.Popen(
        argv,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509
    ) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("["):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(240) == 130
    assert "bm goes on in the cluster" in rest
    assert stage.find("benchmarks", namespace, "bm") is not None
    stage.delete("benchmarks", namespace, "bm")


def test_unknown_names_and_a_deleted_benchmark(
    fairlap: Call, environment: dict[str, str], stage: Stage, namespace: str, tmp_path: Path
) -> None:
    none = fairlap("results", "nosuch")
    assert none.returncode == 1
    assert none.stderr == f"fairlap: there is no Benchmark nosuch in the namespace {namespace}; there is none\n"
    file = manifest(tmp_path / "bm.yaml", benchmark(namespace, suspend=True))
    argv = [sys.executable, "-m", "fairlap.cli", "run", "-f", file, "--wait"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        while not process.stdout.readline().startswith("["):
            assert process.poll() is None
        assert completed(environment, "results ") == completed(environment, f"-n {namespace} rerun ") == "plain,bm"
        assert completed(environment, "-n kube-system results ") == ""
        there = fairlap("logs", "nosuch")
        assert "there are bm" in there.stderr
        stage.delete("benchmarks", namespace, "bm")
        _, said = process.communicate(timeout=240)
        assert process.returncode == 1
    assert "the Benchmark bm was deleted" in said
    assert completed(environment, "results ") == ""
    time.sleep(0.1)


def test_kubernetes_without_the_operator(fairlap: Call, tmp_path: Path) -> None:
    other = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "metadata": {"name": "one"}, "spec": {}}
    unknown = {"apiVersion": "other.dev/v1", "kind": "Thing", "metadata": {"name": "other"}}
    ran = fairlap("run", "-f", manifest(tmp_path / "bm.yaml", unknown, other))
    assert ran.returncode == 1
    assert "the cluster knows no Thing of other.dev/v1" in ran.stderr
