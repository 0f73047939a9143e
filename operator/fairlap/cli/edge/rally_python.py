"""Finds a Python that has Rally, or makes one: Rally's pinned libraries conflict with ours, so it lives apart."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fairlap.cli.edge.exits import CliError
from fairlap_race.contract.rally_releases import MAIN

VERSION = MAIN.rally
"""The Rally of the race image; both must say the same of a track."""
PYTHON_VARIABLE = "FAIRLAP_RALLY_PYTHON"
_PROBE = "import importlib.metadata as m; print(m.version('esrally'))"
_INSTALL_SECONDS = 900


def python_with_rally(report: Callable[[str], object]) -> Path:
    """Return the interpreter to check tracks with; `report` gets a sentence on what takes time.

    In this order: the one that FAIRLAP_RALLY_PYTHON names, our own when it has Rally, that of a virtual environment in
    the user's cache, which is made on first use. Raises CliError.
    """
    named = os.environ.get(PYTHON_VARIABLE)
    if named:
        found = _version(Path(named))
        if found != VERSION:
            what = f"has Rally {found}" if found else "is no Python with Rally"
            raise CliError(f"{PYTHON_VARIABLE}={named} {what}: Rally {VERSION} is needed")
        return Path(named)
    if _own_version() == VERSION:
        return Path(sys.executable)
    return _cached(cache_directory() / f"rally-{VERSION}-python{sys.version_info[0]}.{sys.version_info[1]}", report)


def cache_directory() -> Path:
    """Return the directory for what is made once: FAIRLAP_CACHE, or fairlap in the user's cache."""
    named = os.environ.get("FAIRLAP_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairlap"


def _own_version() -> str | None:
    try:
        return importlib.metadata.version("esrally")
    except importlib.metadata.PackageNotFoundError:
        return None


def _version(python: Path) -> str | None:
    try:
        done = subprocess.run([str(python), "-c", _PROBE], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cached(home: Path, report: Callable[[str], object]) -> Path:
    python, ready = home / "bin" / "python", home / ".ready"
    if ready.is_file() and python.exists():
        return python
    try:
        home.mkdir(parents=True, exist_ok=True)
        with (home / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two commands at once make it once
            if not ready.is_file() or not python.exists():
                _make(home, python, report)
                ready.touch()
    except OSError as error:
        raise CliError(f"{home}: {error.strerror or error}; {_otherwise()}") from error
    return python


def _make(home: Path, python: Path, report: Callable[[str], object]) -> None:
    report(f"Installing Rally {VERSION} into {home}, once; this takes about a minute ...")
    began = time.monotonic()
    _run([sys.executable, "-m", "venv", str(home)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    _run([*pip, f"esrally=={VERSION}"])
    report(f"Installed Rally {VERSION} in {time.monotonic() - began:.0f} s")


def _run(argv: list[str]) -> None:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise CliError(f"Rally could not be installed within {_INSTALL_SECONDS} s; {_otherwise()}") from None
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise CliError(f"Rally could not be installed: {words}; {_otherwise()}")


def _otherwise() -> str:
    return f"or name a Python that has esrally {VERSION} in {PYTHON_VARIABLE}"
