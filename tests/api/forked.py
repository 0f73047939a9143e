"""The operator's process as a fork of one that has imported it already: its imports are most of what a start costs.

A test run starts some hundreds of operators. What differs from `python -m fairlap` is where the process comes from: it
has a pid, environment, folder and output of its own, and ends as the other does. So it is with the command line.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kubernetes.aio.config import kube_config
from tests.fixtures.forked_process import ForkedProcess

from .controlplane import die_with_parent

PROGRAM = ("-m", "fairlap")
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["fairlap.environ", "fairlap.runtime.kopf_handlers", "fairlap.runtime.metrics_server", "tests.api.schemas_made"]
)


def started(arguments: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> ForkedProcess:
    """Return Python with some arguments, begun: a fork when these are PROGRAM."""
    return ForkedProcess(_CONTEXT, _run, list(arguments), dict(environment), folder, log)


def called(
    words: Sequence[str], environment: Mapping[str, str], stdin: str = "", seconds: float = 900.0
) -> subprocess.CompletedProcess[str]:
    """Return how `python -m fairlap.cli` with these words has ended, as subprocess.run does with capture_output."""
    with tempfile.TemporaryDirectory() as folder:
        files = read, out, err = tuple(Path(folder) / name for name in ("in", "out", "err"))
        read.write_text(stdin, encoding="utf-8")
        process = ForkedProcess(_CONTEXT, _call, list(words), dict(environment), files)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise subprocess.TimeoutExpired(list(words), seconds) from None
        printed = (file.read_text(encoding="utf-8") for file in (out, err))
        return subprocess.CompletedProcess(list(words), code, *printed)


def _become(environment: Mapping[str, str]) -> None:
    die_with_parent()
    os.environ.clear()
    os.environ.update(environment)


def _write_to(file: Path, *numbers: int) -> None:
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in numbers:
        os.dup2(out, number)


def _call(words: list[str], environment: dict[str, str], files: tuple[Path, Path, Path]) -> None:
    read, out, err = files
    _become(environment)
    _write_to(out, 1)
    _write_to(err, 2)
    sys.stdin = read.open(encoding="utf-8")
    sys.argv = ["fairlap", *words]
    runpy.run_module("fairlap.cli", run_name="__main__", alter_sys=True)


def _run(arguments: list[str], environment: dict[str, str], folder: Path, log: Path) -> None:
    _become(environment)
    os.chdir(folder)
    _write_to(log, 1, 2)
    if tuple(arguments) != PROGRAM:  # a program that changes modules before they are imported
        os.execve(sys.executable, [sys.executable, *arguments], environment)  # noqa: S606 - Python itself
    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = environment["KUBECONFIG"]  # read from the environment at its import
    sys.argv = ["fairlap"]
    runpy.run_module("fairlap", run_name="__main__", alter_sys=True)
