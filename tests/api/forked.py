"""The operator's process as a fork of one that has imported it already: its imports are most of what a start costs.

A test run starts some hundreds of operators. What differs from `python -m fairlap` is where the process comes from: it
has a pid, environment, folder and output of its own, and ends as the other does. So it is with the command line.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from kubernetes.aio.config import kube_config

from .controlplane import die_with_parent

PROGRAM = ("-m", "fairlap")
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["fairlap.environ", "fairlap.runtime.kopf_handlers", "fairlap.runtime.metrics_server", "tests.api.schemas_made"]
)


class Forked:
    """As much of subprocess.Popen as the tests use, for Python with some arguments: a fork when these are PROGRAM."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> None:
        what = (list(arguments), dict(environment), folder, log)
        self._process: ForkServerProcess = _CONTEXT.Process(target=_run, args=what)
        self._process.start()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the same."""
        return self.returncode

    def wait(self, seconds: float | None = None) -> int:
        """Return the exit code once it has ended; raises subprocess.TimeoutExpired when it has not by then."""
        self._process.join(seconds)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(PROGRAM, seconds or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def called(
    words: Sequence[str], environment: Mapping[str, str], stdin: str = "", seconds: float = 900.0
) -> subprocess.CompletedProcess[str]:
    """Return how `python -m fairlap.cli` with these words has ended, as subprocess.run does with capture_output."""
    with tempfile.TemporaryDirectory() as folder:
        files = read, out, err = tuple(Path(folder) / name for name in ("in", "out", "err"))
        read.write_text(stdin, encoding="utf-8")
        process = _CONTEXT.Process(target=_call, args=(list(words), dict(environment), files))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), seconds)
        printed = (file.read_text(encoding="utf-8") for file in (out, err))
        return subprocess.CompletedProcess(list(words), process.exitcode, *printed)


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
