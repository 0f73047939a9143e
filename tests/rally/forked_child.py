"""The process that is asked about a track as a fork of one that has imported Rally: that is most of what one takes.

The tests ask some hundreds of times. As `python -m MODULE REQUEST.json ANSWER.json` it has a session, environment,
search path, folder and output of its own, and ends as that does; what a track's code changes, no other sees.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import esrally.config
import esrally.paths  # noqa: F401
from tests.fixtures.forked_process import ForkedProcess

REVIEW = "fairlap_race.track.check.review"
_CONTEXT = multiprocessing.get_context("forkserver")
# It stands in the command line of the forks: Rally starts nowhere where it finds its own package's name in another one.
_CONTEXT.set_forkserver_preload([REVIEW, __name__])


def start_server() -> None:
    """Start the process that imports Rally and forks, unless it runs."""
    forkserver.ensure_running()


def popen(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdout: IO[bytes], **how: Any) -> Any:
    """Begin what subprocess.Popen would: a fork where this interpreter is to check a track, else a process."""
    python, option, module, *words = argv
    if (python, option, module) != (str(Path(sys.executable).absolute()), "-m", REVIEW):
        return subprocess.Popen(argv, env=env, cwd=cwd, stdout=stdout, **how)
    assert how == {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "start_new_session": True}
    return ForkedProcess(_CONTEXT, _run, [module, *words], dict(env), cwd, Path(stdout.name))


FORKING = SimpleNamespace(Popen=popen, DEVNULL=subprocess.DEVNULL, STDOUT=subprocess.STDOUT)
"""in place of the module subprocess"""


def _run(words: list[str], environment: dict[str, str], folder: Path, output: Path) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    out = os.open(output, os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(out, number)
    given = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [str(folder), *given, *installed]
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    tempfile.tempdir = None  # it is of the environment again
    sys.argv = words
    importlib.import_module(words[0]).main()
