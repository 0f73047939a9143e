"""The programs that the tests run: those that localkube builds and caches."""

import functools
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 4
LEAST_SECONDS = 120.0
"""No wait is shorter: a machine may stand still for a minute."""


def patience(seconds: float) -> float:
    """Return how long to wait for what takes at most so long on a quiet machine, and costs nothing once it is there.

    A wait that is too short for a busy machine tells nothing of the operator.
    """
    return max(seconds * PATIENCE, LEAST_SECONDS)


@functools.cache
def tool(name: str) -> str:
    """Return the path of a program (or file) that localkube provides, building it on first use.

    Raises RuntimeError with localkube's own words when it cannot.
    """
    done = subprocess.run(
        [sys.executable, "-m", "localkube", "tool", name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    path = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    if done.returncode or not Path(path).exists():
        raise RuntimeError(f"`python3 -m localkube tool {name}` gave no file: {(done.stderr or done.stdout)[-2000:]}")
    return path
