"""What docs/gitops.md tells pipelines, Argo CD and Flux, run on statuses of each kind."""

import re
import subprocess
from pathlib import Path
from typing import Any, get_args

import cel
import lupa
import pytest
import yaml

from fairlap.api.comparison_status import ComparisonPhase
from fairlap.api.phases import OVER
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import Phase

TEXT = (Path(__file__).parents[2] / "docs/gitops.md").read_text(encoding="utf-8")
YAML = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
PHASES = get_args(Phase)


def argo_cd(found: dict[str, Any], kind: str = "Benchmark") -> tuple[str, str]:
    (scripts,) = (each["data"] for each in YAML if "data" in each)
    lua = lupa.LuaRuntime()
    lua.globals().obj = lua.table_from(found, recursive=True)
    answer = lua.execute(scripts[f"resource.customizations.health.fairlap.dev_{kind}"])
    return answer.status, answer.message


def flux(status: dict[str, Any], kind: str = "Benchmark") -> set[str]:
    (found,) = (each["spec"]["healthCheckExprs"] for each in YAML if each.get("kind") == "Kustomization")
    (checks,) = (each for each in found if each["kind"] == kind)
    return {state for state in ("inProgress", "failed", "current") if cel.evaluate(checks[state], {"status": status})}


def ended(verdict: str, **gate: str) -> dict[str, Any]:
    conditions = [{"type": "Complete", "status": "True"}, {"type": "GatePassed", **gate}] if gate else []
    return {"phase": "Complete", "verdict": verdict, "progress": "in words", "conditions": conditions}


@pytest.mark.parametrize(
    ("benchmark", "health"),
    [
        ({"spec": {}}, ("Progressing", "not seen by the operator yet")),
        ({"spec": {}, "status": {"phase": "Racing", "progress": "race 1/2"}}, ("Progressing", "race 1/2")),
        ({"spec": {"suspend": True}, "status": {"phase": "Pending"}}, ("Suspended", "Pending")),
        ({"spec": {}, "status": {"phase": "Succeeded", "progress": "2/2 races valid"}}, ("Healthy", "2/2 races valid")),
        (
            {"spec": {}, "status": {"phase": "Failed", "reason": "ErrorRate", "message": "7 of 9 failed"}},
            ("Degraded", "ErrorRate: 7 of 9 failed"),
        ),
    ],
)
def test_argo_cd_sees_the_health(benchmark: dict[str, Any], health: tuple[str, str]) -> None:
    assert argo_cd(benchmark) == health


@pytest.mark.parametrize("phase", ["", *PHASES])
def test_flux_sees_one_of_three_states(phase: str) -> None:
    over = {"Failed": "failed", "Succeeded": "current"}
    assert flux({"phase": phase} if phase else {}) == {over[phase] if phase in OVER else "inProgress"}


@pytest.mark.parametrize(
    ("comparison", "health"),
    [
        ({"spec": {}}, ("Progressing", "not seen by the operator yet")),
        ({"spec": {}, "status": {"phase": "Racing", "progress": "block 1"}}, ("Progressing", "block 1")),
        ({"spec": {"suspend": True}, "status": {"phase": "Queued"}}, ("Suspended", "Queued")),
        ({"spec": {}, "status": ended("NoDifference", status="True")}, ("Healthy", "NoDifference: in words")),
        ({"spec": {}, "status": ended("Inconclusive", status="True")}, ("Healthy", "Inconclusive: in words")),
        ({"spec": {}, "status": ended("Regressed", status="False")}, ("Degraded", "Regressed: in words")),
        ({"spec": {}, "status": ended("NotComparable", status="Unknown")}, ("Degraded", "NotComparable: in words")),
        ({"spec": {}, "status": ended("NotComparable")}, ("Degraded", "NotComparable: in words")),
        (
            {"spec": {}, "status": {"phase": "Failed", "reason": "RacesInvalid", "message": "4 of 4 lost"}},
            ("Degraded", "RacesInvalid: 4 of 4 lost"),
        ),
    ],
)
def test_argo_cd_sees_the_health_of_a_comparison(comparison: dict[str, Any], health: tuple[str, str]) -> None:
    assert argo_cd(comparison, "Comparison") == health


@pytest.mark.parametrize("passed", ["True", "False", "Unknown", ""])
@pytest.mark.parametrize("phase", ["", *get_args(ComparisonPhase)])
def test_flux_sees_one_of_three_states_of_a_comparison(phase: str, passed: str) -> None:
    status: dict[str, Any] = {"phase": phase} if phase else {}
    if passed:
        status["conditions"] = [{"type": "Fair", "status": "True"}, {"type": "GatePassed", "status": passed}]
    over = "current" if phase == "Complete" and passed == "True" else "failed"
    assert flux(status, "Comparison") == {over if phase in OVER else "inProgress"}


def test_the_hook_is_a_benchmark() -> None:
    (hook,) = (each for each in YAML if each.get("kind") == "Benchmark")
    assert BenchmarkSpec.model_validate(hook["spec"]).elasticsearch


KUBECTL = """#!/bin/bash
case "$*" in
  apply*) exit "${REFUSED:-0}" ;;
  wait*completionTime*) ;;
  wait*) exit 1 ;;
  *"{.status.phase}") echo -n "$PHASE" ;;
  *GatePassed*) echo -n "$PASSED" ;;
esac
"""


@pytest.mark.parametrize(("phase", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_a_pipeline_ends_with_the_benchmark(phase: str, code: int, tmp_path: Path) -> None:
    stub = tmp_path / "kubectl"
    stub.write_text(KUBECTL)
    stub.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PHASE": phase}
    done = subprocess.run(["bash", "-c", SHELL[0]], env=environment, timeout=50, check=False)
    assert done.returncode == code


@pytest.mark.parametrize("script", [block for block in SHELL if " -f " in block])
def test_a_pipeline_reads_no_older_record_where_its_manifest_is_refused(script: str, tmp_path: Path) -> None:
    for name in ("kubectl", "fairlap"):
        (tmp_path / name).write_text(KUBECTL.replace("apply*", "apply*|run*"))
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PHASE": "Succeeded", "PASSED": "True"}
    ended = [
        subprocess.run(["bash", "-c", script], env={**environment, "REFUSED": refused}, timeout=50, check=False)
        for refused in ("0", "1")
    ]
    assert [done.returncode for done in ended] == [0, 2]


@pytest.mark.parametrize(("passed", "code"), [("True", 0), ("False", 1), ("Unknown", 1), ("", 1)])
def test_a_pipeline_ends_with_the_gate(passed: str, code: int, tmp_path: Path) -> None:
    stub = tmp_path / "kubectl"
    stub.write_text(KUBECTL)
    stub.chmod(0o755)
    (script,) = (block for block in SHELL if "GatePassed" in block)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PASSED": passed}
    done = subprocess.run(["bash", "-c", script], env=environment, timeout=50, check=False)
    assert done.returncode == code
