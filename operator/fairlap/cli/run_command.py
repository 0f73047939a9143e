"""`fairlap run`: apply Benchmarks, and with --wait follow them to their end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from fairlap.cli import benchmarks as bm
from fairlap.cli import manifest_files, report
from fairlap.cli.connection import Connection, RefusedError
from fairlap.cli.exits import FAILED, INTERRUPTED, SUCCEEDED, TIMED_OUT, CliError
from fairlap.cli.printable import say
from fairlap.cli.screen import Screen
from fairlap.plan.rerun import ASKED, announced

Json = dict[str, Any]
_ANSWER_SECONDS = 30


def run(connection: Connection, files: Sequence[str], wait: bool, timeout: float | None, dry_run: bool) -> int:
    """Apply the objects in `files`, after the API server has accepted all of them in a dry run; return the exit code.

    `timeout`: seconds to wait, None for as long as it takes. Raises CliError.
    """
    objects = manifest_files.load(files)
    spaces = {
        each["metadata"].get("namespace") or connection.namespace
        for each in objects
        if manifest_files.is_benchmark(each)
    }
    if spaces != {connection.namespace}:
        if len(spaces) > 1:
            raise CliError(
                f"the Benchmarks are of several namespaces ({', '.join(sorted(spaces))}): run them one by one"
            )
        connection.namespace = spaces.pop()
    if not _accepted(connection, objects, show=dry_run):
        return FAILED
    if dry_run:
        return SUCCEEDED
    applied = [_apply(connection, each) for each in objects]
    names = [bm.name(each) for each in applied if manifest_files.is_benchmark(each)]
    return _wait(connection, names, wait, timeout)


def _wait(connection: Connection, names: Sequence[str], wait: bool, timeout: float | None) -> int:
    if not wait:
        say(f"follow them: {_watch_command(connection)}\nread the results: {connection.command('results', names)}")
        return SUCCEEDED
    try:
        return _follow(connection, names, timeout)
    except KeyboardInterrupt:
        say(f"\nStopped waiting; {_going_on(names)}. Go on watching: {_watch_command(connection)}")
        return INTERRUPTED


def rerun(connection: Connection, name: str, wait: bool, timeout: float | None) -> int:
    """Have the operator run the Benchmark `name` again as a new one; return the exit code. Raises CliError."""
    connection.benchmark(name)
    value = f"{time.time():.3f}"
    there = connection.annotate(name, ASKED, value)
    deadline = time.monotonic() + _ANSWER_SECONDS
    while (upcoming := announced(there, value)) is None or not _exists(connection, upcoming.name):
        if time.monotonic() > deadline:
            raise CliError(f"the operator has not answered within {_ANSWER_SECONDS} s: see whether it runs")
        time.sleep(0.5)
        there = connection.benchmark(name)
    say(f"benchmark/{upcoming.name} created")
    return _wait(connection, [upcoming.name], wait, timeout)


def _exists(connection: Connection, name: str) -> bool:
    return name in (each["metadata"]["name"] for each in connection.benchmarks())


def _accepted(connection: Connection, objects: Sequence[Json], show: bool) -> bool:
    """Return whether the API server would take all objects; say what it says of those that it would not take."""
    refused = False
    for each in objects:
        try:
            _, what = connection.apply(each, dry_run=True)
        except RefusedError as error:
            refused = True
            say(f"{manifest_files.title(each)}: {error}", sys.stderr)
        else:
            if show:
                say(f"{manifest_files.title(each)} would be {what} (server dry run)")
    if refused:
        say("fairlap: nothing was applied", sys.stderr)
    return not refused


def _apply(connection: Connection, manifest: Json) -> Json:
    applied, what = connection.apply(manifest)
    say(f"{manifest_files.title(applied)} {what}")
    if manifest_files.is_benchmark(applied) and bm.ended(applied):
        say(
            f"{bm.name(applied)} has ended before and is not run again: its record stands. "
            f"To measure it once more: {connection.command('rerun', [bm.name(applied)])}",
            sys.stderr,
        )
    return applied


def _follow(connection: Connection, names: Sequence[str], timeout: float | None) -> int:
    began, stop = time.monotonic(), threading.Event()
    seen: dict[str, Json] = {}
    screen = Screen(sys.stdout)
    try:
        for change in connection.changes(stop):
            if change is not None and bm.name(change) in names:
                if change.get("deleted"):
                    raise CliError(f"the Benchmark {bm.name(change)} was deleted")
                seen[bm.name(change)] = change
            screen.show([seen[name] for name in names if name in seen])
            if len(seen) == len(names) and all(map(bm.ended, seen.values())):
                break
            if timeout is not None and time.monotonic() - began > timeout:
                say(
                    f"fairlap: not at an end after {timeout:g} s; {_going_on(names)}. "
                    f"Go on watching: {_watch_command(connection)}",
                    sys.stderr,
                )
                return TIMED_OUT
    finally:
        stop.set()
    return _show_end(connection, [seen[name] for name in names])


def _show_end(connection: Connection, ran: Sequence[Json]) -> int:
    if any(bm.tasks(benchmark) for benchmark in ran):
        say(f"\nMedian over the races (smallest–largest):\n\n{report.main_table(ran)}\n")
        for sentence in report.sentences(ran):
            say(f"* {sentence}")
        say(f"\nAll figures: {connection.command('results', list(map(bm.name, ran)))} --all")
    failed = [benchmark for benchmark in ran if bm.phase(benchmark) == "Failed"]
    for benchmark in failed:
        say(report.verdict(benchmark), sys.stderr)
        say(f"Rally's log: {connection.command('logs', [bm.name(benchmark)])}", sys.stderr)
    return FAILED if failed else SUCCEEDED


def _going_on(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'goes' if len(names) == 1 else 'go'} on in the cluster"


def _watch_command(connection: Connection) -> str:
    return f"kubectl get benchmarks -n {connection.namespace}{connection.context} --watch"
