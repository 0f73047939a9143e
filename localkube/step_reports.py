"""Says what is being done, how long it should take and how it is going; and what to do when it fails."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

TAIL_LINES = 25
QUIET_REPORT_SECONDS = 30


class StepFailedError(Exception):
    """Something could not be done; carries where the details are and what a person can do about it."""

    def __init__(self, why: str, *, hint: str = "", log: Path | None = None):
        super().__init__(why)
        self.why = why
        self.hint = hint
        self.log = log
        self.step = ""


def duration(seconds: float) -> str:
    """`42 s`, `6 min 5 s`."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def tail(path: Path, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of a text file; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 64 * 1024))
            return file.read().decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def print_line(text: str) -> None:
    """One line for the person who waits."""
    print(text, flush=True)


class _Ticker(threading.Thread):
    """Shows elapsed time while a step runs: in place on a terminal, a line now and then elsewhere."""

    shown: ClassVar[list["_Ticker"]] = []  # of steps within steps only the innermost speaks

    def __init__(self, estimate: float):
        super().__init__(daemon=True)
        self.shown.append(self)
        self._estimate = estimate
        self._over = threading.Event()
        self._terminal = sys.stdout.isatty()

    def run(self) -> None:
        started = time.monotonic()
        while not self._over.wait(1 if self._terminal else QUIET_REPORT_SECONDS):
            if self.shown[-1] is not self:
                continue
            line = f"    {duration(time.monotonic() - started)} of about {duration(self._estimate)}"
            print(f"\r{line} ", end="", flush=True) if self._terminal else print_line(line)

    def end(self) -> None:
        self.shown.remove(self)
        self._over.set()
        self.join()
        if self._terminal:
            print("\r" + " " * 50 + "\r", end="", flush=True)


@contextlib.contextmanager
def step(title: str, estimate: float = 0) -> Iterator[None]:
    """Report a step; `estimate` in seconds, given only for those worth waiting for.

    A StepFailedError that passes through learns the step's name.
    """
    print_line(f"• {title}" + (f" (about {duration(estimate)})" if estimate >= 5 else ""))
    ticker = _Ticker(estimate) if estimate >= 5 else None
    started = time.monotonic()
    if ticker:
        ticker.start()
    try:
        yield
    except StepFailedError as error:
        error.step = error.step or title
        raise
    finally:
        if ticker:
            ticker.end()
    if time.monotonic() - started >= 1:
        print_line(f"    done in {duration(time.monotonic() - started)}")


def explain(error: StepFailedError) -> str:
    """The report of a failure: which step, the log's tail, what to do."""
    parts = [f"\nFAILED: {error.step}" if error.step else "\nFAILED", f"  {error.why}"]
    if error.log:
        parts += [f"  the end of {error.log}:", *(f"    | {line}" for line in tail(error.log))]
    if error.hint:
        parts.append(f"  What to do: {error.hint}")
    return "\n".join(parts)
