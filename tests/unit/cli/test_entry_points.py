"""The commands that pip installs: each entry point of pyproject.toml is there, and runs as pip's script does."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def test_kubectl_finds_its_plugin_and_its_completion() -> None:
    assert {"fairlap", "kubectl-fairlap", "kubectl_complete-fairlap"} <= set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_command_has_its_function(name: str) -> None:
    assert callable(EntryPoint(name, SCRIPTS[name], "console_scripts").load())


@pytest.mark.parametrize(
    ("name", "word", "said"),
    [
        ("fairlap", "--version", "fairlap "),
        ("kubectl-fairlap", "--version", "fairlap "),
        pytest.param(
            "kubectl-fairlap", "--help", "Usage: kubectl fairlap", id="kubectl-fairlap---help-usage: kubectl fairlap"
        ),
        ("kubectl_complete-fairlap", "res", "results"),
    ],
)
def test_a_command_runs(tmp_path: Path, name: str, word: str, said: str) -> None:
    module, function = SCRIPTS[name].split(":")
    script = tmp_path / name
    script.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    argv = [sys.executable, str(script), word]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(said), done.stdout + done.stderr
