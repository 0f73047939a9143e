"""The operator's process as a fork of one that has imported it already: its imports are most of what a start costs.

A test run starts some hundreds of operators. What differs from `python -m fairlap` is where the process comes from: it
has a pid, environment, folder and output of its own, and ends as the other does.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from kubernetes.aio.config import kube_config

from .controlplane import die_with_parent

PROGRAM = ("-m", "fairlap")
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["fairlap.environ", "fairlap.runtime.driver", "fairlap.runtime.metrics_server"])


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


def _run(arguments: list[str], environment: dict[str, str], folder: Path, log: Path) -> None:
    die_with_parent()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in (1, 2):
        os.dup2(out, number)
    if tuple(arguments) != PROGRAM:  # a program that changes modules before they are imported
        os.execve(sys.executable, [sys.executable, *arguments], environment)  # noqa: S606 - Python itself
    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = environment["KUBECONFIG"]  # read from the environment at its import
    sys.argv = ["fairlap"]
    runpy.run_module("fairlap", run_name="__main__", alter_sys=True)
