"""The measurement of the operator's memory, at its smallest size."""

import subprocess
import sys

import pytest

from .tools import ROOT

pytestmark = pytest.mark.independent


def test_memory_of_the_operator_is_measured() -> None:
    argv = [sys.executable, "bench/memory.py", "--smallest"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["operator", "resident", "MiB", "peak", "MiB"]
    assert [row.rsplit(None, 2)[0] for row in rows] == [
        "idle, no Benchmark",
        "1 finished, which it has driven",
        "1 finished, after a restart",
        "1 finished and 1 racing",
    ]
    assert all(float(row.split()[-1]) > 10 for row in rows)
