"""The measurement of the operator's memory, at its smallest size."""

import subprocess
import sys

import pytest

from .tools import ROOT

pytestmark = pytest.mark.independent


@pytest.mark.long
def test_memory_of_the_operator_is_measured() -> None:
    argv = [sys.executable, "bench/memory.py", "--smallest"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["operator", "resident", "MiB", "peak", "MiB", "first", "decision", "s"]
    assert [row.rsplit(None, 3)[0] for row in rows] == [
        "idle, no Benchmark",
        "1 racing",
        "1 finished and 1 racing, after a restart",
    ]
    assert all(float(row.split()[-2]) > 10 for row in rows) and float(rows[-1].split()[-1]) > 0
