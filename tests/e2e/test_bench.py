"""What the operator costs beside a plain script, measured at its smallest size."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_examples import race_image

from kube import ROOT, Namespace, environment, tool

pytestmark = pytest.mark.e2e


def test_the_operator_is_compared_with_a_script(namespace: Namespace) -> None:
    kubectl = shutil.which(tool("kubectl")) or ""
    argv = [sys.executable, "bench/overhead.py", "--smallest", "--namespace", namespace.name]
    done = subprocess.run(
        [*argv, "--race-image", race_image(namespace)], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**environment(), "PATH": f"{Path(kubectl).parent}:{os.environ['PATH']}"}, timeout=1700,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (pair,) = (line for line in done.stdout.splitlines() if line.startswith("1 "))
    assert all(float(cell) > 0 for cell in pair.split()), done.stdout
    assert "median: " in done.stdout
