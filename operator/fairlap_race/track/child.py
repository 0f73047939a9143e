"""Asks a module of the race image in a process of its own, because that runs the track's own code.

Such code may print, change the interpreter, use any memory, or exit. The protocol: `python -m MODULE REQUEST.json
ANSWER.json`; the module reads the one file and writes the other; what it prints is kept for when there is no answer.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from fairlap_race.contract.codec import decode, encode
from fairlap_race.errors import StoppedError

LOOK_SECONDS = 0.02
Question = TypeVar("Question")


class ChildError(Exception):
    """The child gave no answer: a sentence without its end, and what the child printed."""

    def __init__(self, sentence: str, output: str = "") -> None:
        super().__init__(sentence)
        self.output = output


def kill_session(leader: int) -> None:
    """Kill the process `leader` and all that is in the session which it leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def ask_child(
    module: str,
    request: object,
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    stop: threading.Event | None = None,
    python: str = sys.executable,
    kill: Callable[[int], None] = kill_session,
) -> dict[str, Any]:
    """Return the JSON object with which `module` answers the dataclass `request`.

    It runs in `folder`, an absolute path, where the files of the protocol are, too. `kill` ends what it has started
    when it takes longer than `seconds` or `stop` is set. Raises ChildError when there is no answer, and StoppedError.
    """
    asked, answered, printed = (folder / f"{module.rpartition('.')[2]}{end}" for end in _ENDS)
    asked.write_text(json.dumps(encode(request)), encoding="utf-8")
    answered.unlink(missing_ok=True)
    with printed.open("wb") as output:
        child = subprocess.Popen(
            [str(Path(shutil.which(python) or python).absolute()), "-m", module, str(asked), str(answered)],
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _await(child, time.monotonic() + seconds, seconds, stop or threading.Event())
    except BaseException:
        kill(child.pid)
        child.wait()
        raise
    answer = read_json(answered)
    if answer is None:
        raise ChildError(f"loading the track ended with exit code {child.returncode}", read_text(printed).strip())
    return answer


_ENDS = ("-request.json", "-answer.json", ".out")


def _await(child: subprocess.Popen[bytes], limit: float, seconds: float, stop: threading.Event) -> None:
    while child.poll() is None:
        if stop.wait(LOOK_SECONDS):
            raise StoppedError
        if time.monotonic() > limit:
            raise ChildError(f"loading the track took longer than {seconds:.0f} s")
    if stop.is_set():  # it may have ended for the same reason, or just before anybody looked
        raise StoppedError


def answer_parent(cls: type[Question], answer: Callable[[Question], object]) -> None:
    """Be the child: read the request, a `cls`, from its file, and write what `answer` returns to the other."""
    request = decode(cls, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    Path(sys.argv[2]).write_text(json.dumps(encode(answer(request))), encoding="utf-8")


def read_text(path: Path) -> str:
    """Return the text of a file, or an empty text when there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file, or None when there is none or it is not complete."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None
