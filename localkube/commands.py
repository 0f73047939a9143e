"""Runs other programs: argv lists only, output into a log, failures as StepFailedError."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from localkube.step_reports import StepFailedError

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with the system's sbin folders on PATH, and `extra`."""
    env = dict(os.environ)
    env["PATH"] = f"{env.get('PATH', '')}:{SYSTEM_PATH}"
    env.update(extra or {})
    return env


def run(
    argv: Sequence[str | Path],
    *,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    hint: str = "",
) -> None:
    """Run a program with its output appended to `log`; raises StepFailedError when it can't start or fails."""
    words = [str(word) for word in argv]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as out:
        out.write(f"$ {shlex.join(words)}\n")
        out.flush()
        try:
            code = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=cwd, env=environment(env), check=False
            ).returncode
        except FileNotFoundError as error:
            raise StepFailedError(f"{words[0]}: no such program", hint=hint, log=log) from error
    if code:
        raise StepFailedError(f"`{shlex.join(words[:6])}` ended with code {code}", hint=hint, log=log)


def output(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    hint: str = "",
) -> str:
    """What a program prints; raises StepFailedError with its own words when it fails."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, input=stdin or "", capture_output=True, text=True, env=environment(env), cwd=cwd, check=False
        )
    except FileNotFoundError as error:
        raise StepFailedError(f"{words[0]}: no such program", hint=hint) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-1500:]
        raise StepFailedError(f"`{shlex.join(words[:6])}` ended with code {done.returncode}: {said}", hint=hint)
    return done.stdout


def succeeds(argv: Sequence[str | Path], env: Mapping[str, str] | None = None, cwd: Path | None = None) -> bool:
    """Whether a program exists and ends with code 0."""
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(env),
            cwd=cwd,
            check=False,
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0
