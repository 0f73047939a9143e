"""The example pull-request: its script and the steps of its three pipelines, run with stand-ins for other programs."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlap.api.names import MAX_COMPARISON_NAME
from fairlap.cli.command_words import fairlap

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "examples" / "pull-request" / "pipelines"
Json = dict[str, Any]

FAIRLAP = """#!/bin/bash
echo "fairlap $*" >> "$CALLS"
case "$1" in
  run) cat > "$APPLIED"; exit "$RUN_CODE" ;;
  report) [ -z "$NO_REPORT" ] || exit 1
    case "$*" in *" md "*) echo "Verdict" ;; *) echo "<!doctype html>" ;; esac > "${@: -1}" ;;
  gate) exit "$GATE_CODE" ;;
esac
"""
NOTES = """#!/bin/bash
echo "$(basename "$0") $*" >> "$CALLS"
"""


class Sandbox:
    """A folder to work in, with programs that note their calls."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder / "work", folder / "bin"
        self.calls, self.applied = folder / "calls", folder / "applied.yaml"
        self.folder.mkdir()
        self.bin.mkdir()
        (self.folder / "examples").symlink_to(ROOT / "examples")
        self.calls.touch()
        for name, text in {"fairlap": FAIRLAP, "gh": NOTES, "curl": NOTES, "pip": NOTES}.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def run(self, script: str, *, run: int = 0, gate: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.bin}:{os.environ['PATH']}", "CALLS": str(self.calls), "APPLIED": str(self.applied),
            "RUN_CODE": str(run), "GATE_CODE": str(gate), "NO_REPORT": "", **variables,
        }  # fmt: skip
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


COMPARE = "examples/pull-request/compare.sh pr-17-1 comment.md"


@pytest.mark.parametrize("code", [0, 1, 3, 124])
def test_the_script_ends_with_the_gate_and_leaves_its_comment(sandbox: Sandbox, code: int) -> None:
    ran = sandbox.run(COMPARE, gate=code)
    assert ran.returncode == code
    # Run again, it would be a second Comparison behind this one.
    assert ("pr-17-1 goes on: fairlap gate pr-17-1 --wait tells its end" in ran.stderr) == (code == 124)
    assert (sandbox.folder / "comment.md").read_text() == "Verdict\n"
    assert (sandbox.folder / "report.html").read_text() == "<!doctype html>\n"
    assert yaml.safe_load(sandbox.applied.read_text())["metadata"]["name"] == "pr-17-1"
    assert "fairlap gate pr-17-1 --wait --timeout 6h" in sandbox.called()
    assert not [line for line in sandbox.called() if line.startswith("fairlap run") and "--wait" in line]


@pytest.mark.parametrize("run", [1, 2])
def test_a_manifest_that_is_refused_is_judged_by_no_older_record_of_its_name(sandbox: Sandbox, run: int) -> None:
    for left in ("comment.md", "report.html"):
        (sandbox.folder / left).write_text("of an earlier run")
    assert sandbox.run(COMPARE, run=run).returncode == 2
    assert sandbox.called() == ["fairlap run -f -"]
    assert not (sandbox.folder / "comment.md").exists() and not (sandbox.folder / "report.html").exists()


def test_a_comparison_that_is_gone_has_no_comment(sandbox: Sandbox) -> None:
    assert sandbox.run(COMPARE, gate=2).returncode == 2
    assert not (sandbox.folder / "comment.md").exists()


@pytest.mark.parametrize("gate", [0, 1, 3])
def test_a_report_that_cannot_be_had_makes_no_verdict_another(sandbox: Sandbox, gate: int) -> None:
    assert sandbox.run(COMPARE, gate=gate, NO_REPORT="1").returncode == gate


def test_what_it_calls_is_what_the_command_line_understands(sandbox: Sandbox) -> None:
    sandbox.run(COMPARE)
    for line in sandbox.called():
        _, command, *words = line.split()
        assert fairlap.commands[command].make_context(command, words)


def step(steps: list[Json], name: str) -> Json:
    return next(each for each in steps if each.get("name") == name)


def filled(text: str, values: dict[str, str], pattern: str) -> str:
    """A text with the expressions of a pipeline filled in; one that is not known fails the test."""
    return re.sub(pattern, lambda found: values[found[1]], text)


GITHUB = {
    "github.event.number": "17", "github.run_number": "204", "github.run_attempt": "2", "github.token": "t0ken",
    "secrets.KUBECONFIG_BENCH": "kind: Config",
}  # fmt: skip


ENDS = pytest.mark.parametrize(("refused", "code"), [(0, 0), (0, 1), (0, 3), (1, 2)])


@ENDS
def test_github_actions(sandbox: Sandbox, refused: int, code: int) -> None:
    found = yaml.safe_load((PIPELINES / "github-actions.yaml").read_text())
    assert found["permissions"] == {"contents": "read", "pull-requests": "write"}
    (job,) = found["jobs"].values()
    assert "head.repo.full_name == github.repository" in job["if"], "a fork has no secrets"
    compare, comment = step(job["steps"], "compare"), step(job["steps"], "comment")

    def run(each: Json) -> int:
        variables = {key: filled(value, GITHUB, r"\$\{\{ (.*?) \}\}") for key, value in each["env"].items()}
        assert "${{" not in each["run"], "what a pull request names must not become a part of a script"
        script, folder = f"set -eo pipefail\n{each['run']}", str(sandbox.folder.parent)
        return sandbox.run(script, run=refused, gate=code, RUNNER_TEMP=folder, **variables).returncode

    assert run(compare) == code
    config = sandbox.folder.parent / "kubeconfig"
    assert config.read_text() == "kind: Config" and config.stat().st_mode & 0o077 == 0
    assert comment["if"] == "always() && hashFiles('comment.md') != ''"
    assert (sandbox.folder / "comment.md").exists() == (not refused)
    if not refused:
        assert run(comment) == 0
        assert sandbox.called()[-1] == "gh pr comment 17 --edit-last --create-if-none --body-file comment.md"
        assert "fairlap gate pr-17-204-2 --wait --timeout 350m" in sandbox.called()


@ENDS
def test_gitlab(sandbox: Sandbox, refused: int, code: int) -> None:
    job = yaml.safe_load((PIPELINES / "gitlab-ci.yaml").read_text())["compare"]
    variables = {
        **job["variables"], "CI_MERGE_REQUEST_IID": "17", "CI_JOB_ID": "7001", "CI_PROJECT_ID": "5",
        "CI_API_V4_URL": "https://gitlab.example.com/api/v4", "COMMENT_TOKEN": "t0ken",
    }  # fmt: skip
    script = "set -eo pipefail\n" + "\n".join(job["script"])
    assert sandbox.run(script, run=refused, gate=code, **variables).returncode == code
    assert job["allow_failure"] == {"exit_codes": [3]}
    assert sandbox.run("\n".join(job["after_script"]), **variables).returncode == 0
    last = sandbox.called()[-1]
    if refused:
        assert last == "fairlap run -f -"
        return
    assert "fairlap gate mr-17-7001 --wait --timeout 350m" in sandbox.called()
    assert (
        last.startswith("curl ") and "body@comment.md" in last and last.endswith("/projects/5/merge_requests/17/notes")
    )


@ENDS
def test_tekton(sandbox: Sandbox, refused: int, code: int) -> None:
    spec = yaml.safe_load((PIPELINES / "tekton.yaml").read_text())["spec"]
    values = {
        "params.name": "pr-17-204", "params.image": "image", "workspaces.source.path": str(sandbox.folder),
        "results.code.path": str(sandbox.folder.parent / "code"), "params.repository": "o/r", "params.number": "17",
    }  # fmt: skip
    assert {f"params.{each['name']}" for each in spec["params"]} == {key for key in values if key.startswith("params.")}
    ended = []
    for each in spec["steps"]:
        told = [env for env in each["env"] if "value" in env]
        variables = {env["name"]: filled(env["value"], values, r"\$\((.*?)\)") for env in told}
        assert "$(params" not in each["script"], "a parameter must not become a part of a script"
        assert filled(each["workingDir"], values, r"\$\((.*?)\)") == str(sandbox.folder)
        ended.append(sandbox.run(each["script"], run=refused, gate=code, **variables).returncode)
    assert ended == [0, 0, code], "the comment is sent before the gate ends the pipeline"
    assert spec["steps"][1]["onError"] == "continue"
    assert spec["steps"][0]["timeout"] == "6h", "it has its time-out before it is killed"
    assert (sandbox.folder / "comment.md").exists() == (not refused)
    if refused:
        assert sandbox.called() == ["fairlap run -f -"]
        return
    assert "fairlap gate pr-17-204 --wait --timeout 350m" in sandbox.called()
    assert sandbox.called()[-1].startswith("gh pr comment 17 --repo o/r ")


@pytest.mark.parametrize("name", ["pr-99999-99999", "mr-99999-99999", "pr-99999-99999-99", "mr-99999-99999999999"])
def test_the_names_fit(name: str) -> None:
    assert len(name) <= MAX_COMPARISON_NAME
