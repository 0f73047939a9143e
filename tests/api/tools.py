"""The programs the tests run: the ones that localkube builds and caches, and Debian's etcd and openssl."""

import functools
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 4
"""What every wait is multiplied with: a wait that is too short for a busy machine tells nothing of the operator."""


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


def debian(name: str, package: str) -> str:
    """Return the path of a program from a Debian package; raises RuntimeError that names the package."""
    found = shutil.which(name)
    if not found:
        raise RuntimeError(f"{name} is not installed: apt-get install {package}")
    return found
