"""What docs/gitops.md tells pipelines, Argo CD and Flux, run on statuses of each kind."""

import re
import subprocess
from pathlib import Path
from typing import Any, get_args

import cel
import lupa
import pytest
import yaml

from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import TERMINAL, Phase

TEXT = (Path(__file__).parents[2] / "docs/gitops.md").read_text(encoding="utf-8")
YAML = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
PHASES = get_args(Phase)


def argo_cd(benchmark: dict[str, Any]) -> tuple[str, str]:
    (script,) = (each["data"].values() for each in YAML if "data" in each)
    lua = lupa.LuaRuntime()
    lua.globals().obj = lua.table_from(benchmark, recursive=True)
    answer = lua.execute(*script)
    return answer.status, answer.message


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
    (checks,) = (each["spec"]["healthCheckExprs"][0] for each in YAML if each.get("kind") == "Kustomization")
    status = {"phase": phase} if phase else {}
    held = {state for state in ("inProgress", "failed", "current") if cel.evaluate(checks[state], {"status": status})}
    over = {"Failed": "failed", "Succeeded": "current"}
    assert held == {over[phase] if phase in TERMINAL else "inProgress"}


def test_the_hook_is_a_benchmark() -> None:
    (hook,) = (each for each in YAML if each.get("kind") == "Benchmark")
    assert BenchmarkSpec.model_validate(hook["spec"]).elasticsearch


KUBECTL = """#!/bin/bash
case "$*" in
  wait*completionTime*) ;;
  wait*) exit 1 ;;
  *"{.status.phase}") echo -n "$PHASE" ;;
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
