"""`fairlap gate`: a Comparison's verdict as an exit code for a pipeline."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

from fairlap.api.condition_types import ComparisonCondition, ComparisonReason
from fairlap.api.phases import is_over
from fairlap.api.raw import condition_of
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.comparison_files import Connect
from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import (
    DEBUG,
    FAILED,
    SUCCEEDED,
    TIMED_OUT,
    UNDECIDED,
    CliError,
    NotWrittenError,
    UnknownKindError,
    UnknownNameError,
    UsageError,
    unforeseen,
)
from fairlap.cli.edge.printable import one_line, print_text

Json = dict[str, Any]
_PASSED = {"True": "passed", "False": "NOT PASSED"}


def gate(connect: Connect, name: str, wait: bool, timeout: float | None) -> int:
    """Print the verdict and the gates of the Comparison `name`; return the exit code.

    Raises UsageError for a name that is not there, CliError with the code of a time-out, and with that for "cannot be
    told" where no cluster answers (with `wait` it is asked again) or anything else goes wrong: only a regression may
    look like one.
    """
    try:
        return _gate(connect, name, wait, timeout)
    except UnknownNameError as error:
        raise UsageError(str(error)) from error
    except CliError as error:
        raise CliError(str(error), TIMED_OUT if error.code == TIMED_OUT else UNDECIDED) from error
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        raise CliError(unforeseen(error), UNDECIDED) from error


def _gate(connect: Connect, name: str, wait: bool, timeout: float | None) -> int:
    connection = connect()
    comparison = _followed(connection, name, timeout) if wait else connection.comparison(name)
    for line in verdict_lines(comparison):
        _print_line(line, sys.stdout)
    if not is_over(comparison):
        _print_line(f"fairlap: {name} is not at an end, so nothing can be told; --wait waits for it", sys.stderr)
    return exit_code(comparison)


def exit_code(comparison: Mapping[str, Any]) -> int:
    """Return 0 when all gates are passed, 1 when something got worse, 3 when it cannot be told."""
    status = bm.status(comparison)
    if status.get("phase") != "Complete":
        return UNDECIDED
    gates_passed = condition_of(comparison, ComparisonCondition.GATE_PASSED)
    holds, reason = gates_passed.get("status"), gates_passed.get("reason")
    if holds == "True" or (holds != "False" and reason == ComparisonReason.NOTHING_TO_DECIDE):
        return SUCCEEDED
    if holds != "False" or status.get("verdict") == "NotComparable" or reason == ComparisonReason.NOT_COMPARABLE:
        return UNDECIDED
    not_passed = [each for _, each in _gates(comparison) if each.get("passed") is False]
    # A gate that allows no worsening is not passed by one within the margin either, whose verdict is NoDifference.
    if any(each.get("verdict") != "Inconclusive" for each in not_passed):
        return FAILED
    return FAILED if reason == ComparisonReason.GATE_NOT_PASSED and not not_passed else UNDECIDED


def verdict_lines(comparison: Mapping[str, Any]) -> list[str]:
    """Return the verdict, a line a gate, and one for each that cannot be compared."""
    status = bm.status(comparison)
    said = str(status.get("message") or "") if status.get("phase") == "Failed" else _verdict_sentence(comparison)
    how = str(status.get("verdict") or status.get("phase") or "Pending")
    found = [one_line(f"{how}: {said or bm.progress(comparison, datetime.now(UTC))}")]
    for contender, each in _gates(comparison):
        undecided = "only reported" if each.get("policy") == "reportOnly" else "open"
        passed = _PASSED.get(str(each.get("passed")), undecided)
        what = each.get("sentence") or f"{each.get('task') or ''} {each.get('metric')}: {each.get('verdict')}".strip()
        found.append(one_line(f"* {passed}: {contender}: {what}"))
    for each in status.get("contenders") or ():
        if each.get("verdict") == "NotComparable":
            found.append(one_line(f"* NOT COMPARABLE: {each.get('name')}: {each.get('sentence') or 'not judged'}"))
    return found


def _followed(connection: Connection, name: str, timeout: float | None) -> Json:
    """Return the Comparison at its end and show its progress meanwhile; `timeout` in seconds, None: without end.

    What is not answered is asked again. Raises UnknownNameError, and CliError, with the code of a time-out when the
    time is over first.
    """
    began, stop = time.monotonic(), threading.Event()
    newest: Json | None = None
    failure = shown = ""
    try:
        # Before anything is watched it is asked for by its name: it may be over, or not there.
        for change in itertools.chain((None,), connection.comparison_changes(stop)):
            if change is not None and change["metadata"]["name"] == name:
                newest = change
            elif change is None and newest is None:
                left = None if timeout is None else max(0.0, began + timeout - time.monotonic())
                newest, failure = _found_or_failure(connection, name, left)
            if newest is not None and is_over(newest):
                return newest
            if newest is not None and newest.get("deleted"):
                raise CliError(f"the Comparison {name} was deleted")
            progress = one_line(bm.progress(newest, datetime.now(UTC)) if newest is not None else failure)
            if bm.without_percent(progress) != shown:
                shown = bm.without_percent(progress)
                _print_line(f"{name}: {progress}", sys.stderr)
            if timeout is not None and time.monotonic() - began > timeout:
                how = "; it goes on in the cluster" if bm.status(newest or {}).get("progress") else f": {progress}"
                raise CliError(f"{name} is not at an end after {timeout:g} s{how}", TIMED_OUT)
    finally:
        stop.set()
    raise CliError(f"nothing more was heard of {name} before its end; it goes on in the cluster")


def _found_or_failure(connection: Connection, name: str, seconds: float | None) -> tuple[Json | None, str]:
    """Return the Comparison, or why it cannot be had in these seconds; raises UnknownNameError where there is none."""
    answer: Future[Json] = Future()

    def ask() -> None:
        try:
            answer.set_result(connection.comparison(name))
        except Exception as error:
            answer.set_exception(error)

    # In a thread, since the client tries an API server that is silent for minutes.
    threading.Thread(target=ask, name="ask", daemon=True).start()
    try:
        return answer.result(seconds), ""
    except TimeoutError:
        failure = "the API server does not answer"
    except CliError as error:
        # One that has just started knows no kind either: the watch tells when that is to be believed.
        if isinstance(error, UnknownNameError) and not isinstance(error, UnknownKindError):
            raise
        failure = str(error)
    return None, f"nothing is known of it yet: {failure}"


def _print_line(text: str, out: TextIO) -> None:
    """Print a line. One that cannot be written, say on a full disk, makes no verdict another, and ends no waiting."""
    with suppress(NotWrittenError):
        print_text(text, out)


def _verdict_sentence(comparison: Mapping[str, Any]) -> str:
    """Return the whole sentence of the verdict; the progress is cut where a column ends."""
    complete = condition_of(comparison, ComparisonCondition.COMPLETE)
    message = complete.get("message") if complete.get("status") == "True" else ""
    return str(message or bm.status(comparison).get("progress") or "")


def _gates(comparison: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (str(contender.get("name")), each)
        for contender in bm.status(comparison).get("contenders") or ()
        for each in contender.get("gates") or ()
    ]
