"""`fairlap run`: apply Benchmarks and Comparisons, and with --wait follow them to their end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from fairlap.api.names import COMPARISON_KIND, COMPARISON_PLURAL, KIND, PLURAL
from fairlap.api.phases import is_over
from fairlap.cli.commands.gate_command import exit_code
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge import manifest_files
from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import FAILED, INTERRUPTED, SUCCEEDED, TIMED_OUT, CliError, RefusedError
from fairlap.cli.edge.printable import one_line, print_text
from fairlap.cli.edge.screen import Screen
from fairlap.cli.tables import report
from fairlap.cli.tables.comparison_end import end_lines
from fairlap.plan.lifetimes.rerun import ASKED, announced, objection, requested_value, was_made_for

Json = dict[str, Any]
Id = tuple[str, str]
"""kind and name"""
_ANSWER_SECONDS = 30
_PLURALS = {KIND: PLURAL, COMPARISON_KIND: COMPARISON_PLURAL}


def run(connection: Connection, files: Sequence[str], wait: bool, timeout: float | None, dry_run: bool) -> int:
    """Apply the objects in `files`, after the API server has accepted all of them in a dry run; return the exit code.

    `timeout`: seconds to wait, None for as long as it takes. Raises CliError.
    """
    objects = manifest_files.load(files)
    ours = [each for each in objects if manifest_files.is_ours(each)]
    spaces = {each["metadata"].get("namespace") or connection.namespace for each in ours}
    if spaces != {connection.namespace}:
        if len(spaces) > 1:
            kinds = " and ".join(dict.fromkeys(f"{each['kind']}s" for each in ours))
            raise CliError(f"the {kinds} are of several namespaces ({', '.join(sorted(spaces))}): run them one by one")
        connection.namespace = spaces.pop()
    if not _accepted(connection, objects, show=dry_run):
        return FAILED
    if dry_run:
        return SUCCEEDED
    applied = [_apply(connection, each) for each in objects]
    # Files may name one object twice: a directory, and a file in it.
    ids = dict.fromkeys(_id(each) for each in applied if manifest_files.is_ours(each))
    return _wait(connection, list(ids), wait, timeout)


def _id(found: Json) -> Id:
    return str(found["kind"]), bm.name(found)


def _wait(
    connection: Connection, ids: Sequence[Id], wait: bool, timeout: float | None, began: float | None = None
) -> int:
    """Follow the objects to their end, or say how to; the time is that since `began`, without it since now."""
    if not wait:
        print_text("\n".join(_next_commands(connection, ids)))
        return SUCCEEDED
    try:
        return _follow(connection, ids, timeout, began)
    except KeyboardInterrupt:
        print_text(f"\nStopped waiting; {_going_on(ids)}. Go on watching: {_watch_command(connection, ids)}")
        return INTERRUPTED


def _next_commands(connection: Connection, ids: Sequence[Id]) -> Iterator[str]:
    yield f"follow them: {_watch_command(connection, ids)}"
    if benchmarks := [name for kind, name in ids if kind == KIND]:
        yield f"read the results: {connection.command('results', benchmarks)}"
    for kind, name in ids:
        if kind == COMPARISON_KIND:
            yield f"read the verdict: {connection.command('report', [name])}"


def rerun(connection: Connection, name: str, wait: bool, timeout: float | None) -> int:
    """Have the operator run the Benchmark `name` again as a new one; return the exit code. Raises CliError."""
    if refused := objection(connection.benchmark(name)):
        raise CliError(refused)
    value = f"{time.time():.3f}"
    there = first = connection.annotate(name, ASKED, value)
    began = time.monotonic()
    while not (made := _rerun_of(connection, first, value)):
        if why := _why_none(connection, first, there, value):
            raise CliError(why)
        if time.monotonic() - began > _ANSWER_SECONDS:
            upcoming = _announced_name(connection, there, value, wait)
            if not wait:
                return _wait(connection, [(KIND, upcoming)], wait, timeout)
            made = _awaited_rerun(connection, first, value, timeout, began)
            break
        time.sleep(0.5)
        there = connection.benchmark(name)
    print_text(f"benchmark/{made} created")
    return _wait(connection, [(KIND, made)], wait, timeout, began)


def _why_none(connection: Connection, first: Json, now: Json, value: str) -> str:
    """Return in a sentence why nothing is made any more for this value of `first`, "" where the operator goes on."""
    meta, name = now["metadata"], bm.name(first)
    gone = now.get("deleted") or meta.get("deletionTimestamp")
    if gone or meta.get("uid") != first["metadata"].get("uid"):
        return f"the Benchmark {name} was deleted before it was run again"
    if (meta.get("annotations") or {}).get(ASKED) != value:
        return f"the annotation {ASKED} of {name} was changed before it was run again: ask once more"
    if requested_value(now) is None:
        return f"the operator would not run {name} again: {_describe(connection, name)} says why"
    return ""


def _describe(connection: Connection, name: str) -> str:
    return f"kubectl describe {PLURAL} {name} -n {connection.namespace}{connection.context}"


def _announced_name(connection: Connection, first: Json, value: str, wait: bool) -> str:
    """Return, and tell, the name of what the operator cannot create yet; raises CliError where none is announced."""
    upcoming = announced(first, value)
    if upcoming is None:
        raise CliError(f"the operator has not answered within {_ANSWER_SECONDS} s: see whether it runs")
    if not wait and upcoming.name in map(bm.name, connection.benchmarks()):
        describe = _describe(connection, bm.name(first))
        raise CliError(
            f"benchmark/{upcoming.name} was announced and is another's by now: the operator goes on trying under "
            f"another name, which {describe} tells"
        )
    print_text(
        f"benchmark/{upcoming.name} is announced and not created yet, say while a quota is full: the operator goes on "
        "trying, and its log says what is in the way",
        sys.stderr,
    )
    return upcoming.name


def _awaited_rerun(connection: Connection, first: Json, value: str, timeout: float | None, began: float) -> str:
    """Return the name of what the operator makes at last; raises CliError where it makes none, or not in time."""
    stop = threading.Event()
    try:
        for change in connection.changes(stop, (KIND,), [first]):
            if change is not None and was_made_for(change, first, value):
                return bm.name(change)
            if change is not None and bm.name(change) == bm.name(first):
                why = _why_none(connection, first, change, value)
                # A list may tell the first before its run.
                if why and (made := _rerun_of(connection, first, value)):
                    return made
                if why:
                    raise CliError(why)
            if timeout is not None and time.monotonic() - began > timeout:
                raise CliError(
                    f"the next run of {bm.name(first)} is not created after {timeout:g} s; the operator goes on "
                    f"trying. Go on watching: {_watch_command(connection, [(KIND, bm.name(first))])}",
                    TIMED_OUT,
                )
    finally:
        stop.set()
    raise CliError(f"nothing more was heard of {bm.name(first)}; the operator goes on trying")


def _rerun_of(connection: Connection, benchmark: Json, value: str) -> str:
    """Return the name of the Benchmark that this value had the operator make; "" while there is none."""
    made = (bm.name(each) for each in connection.benchmarks() if was_made_for(each, benchmark, value))
    return next(made, "")


def _accepted(connection: Connection, objects: Sequence[Json], show: bool) -> bool:
    """Return whether the API server would take all objects; say what it says of those that it would not take."""
    refused = False
    for each in objects:
        try:
            _, what = connection.apply(each, dry_run=True)
        except RefusedError as error:
            refused = True
            print_text(f"{manifest_files.title(each)}: {error}", sys.stderr)
        else:
            if show:
                print_text(f"{manifest_files.title(each)} would be {what} (server dry run)")
    if refused:
        print_text("fairlap: nothing was applied", sys.stderr)
    return not refused


def _apply(connection: Connection, manifest: Json) -> Json:
    applied, what = connection.apply(manifest)
    print_text(f"{manifest_files.title(applied)} {what}")
    if manifest_files.is_ours(applied) and is_over(applied):
        print_text(
            f"{bm.name(applied)} has ended before and is not run again: its record stands. "
            f"{_how_to_repeat(connection, applied)}",
            sys.stderr,
        )
    return applied


def _how_to_repeat(connection: Connection, ended: Json) -> str:
    if manifest_files.is_ours(ended, COMPARISON_KIND):
        return "To compare once more, apply it under another metadata.name"
    if refused := objection(ended):
        return refused
    return f"To measure it once more: {connection.command('rerun', [bm.name(ended)])}"


def _follow(connection: Connection, ids: Sequence[Id], timeout: float | None, began: float | None = None) -> int:
    began, stop = time.monotonic() if began is None else began, threading.Event()
    seen: dict[Id, Json] = {}
    screen = Screen(sys.stdout)
    try:
        known = [{"kind": kind, "metadata": {"name": name}} for kind, name in ids]
        for change in connection.changes(stop, tuple(dict.fromkeys(kind for kind, _ in ids)), known):
            # One that is over stays as it was: it may expire, or be made anew, while others go on.
            if change is not None and _id(change) in ids and not is_over(seen.get(_id(change), {})):
                if change.get("deleted") and not is_over(change):
                    raise CliError(f"the {change['kind']} {bm.name(change)} was deleted")
                seen[_id(change)] = change
            screen.show([seen[each] for each in ids if each in seen])
            if len(seen) == len(ids) and all(map(is_over, seen.values())):
                break
            if timeout is not None and time.monotonic() - began > timeout:
                print_text(
                    f"fairlap: not at an end after {timeout:g} s; {_going_on(ids)}. "
                    f"Go on watching: {_watch_command(connection, ids)}",
                    sys.stderr,
                )
                return TIMED_OUT
    finally:
        stop.set()
    benchmarks = [seen[each] for each in ids if each[0] == KIND]
    comparisons = [seen[each] for each in ids if each[0] == COMPARISON_KIND]
    codes = [_show_end(connection, benchmarks) if benchmarks else SUCCEEDED]
    codes += [_show_verdict(connection, each) for each in comparisons]
    # Of several ends the clearest: one that failed, then one that is not decided.
    return FAILED if FAILED in codes else max(codes)


def _show_verdict(connection: Connection, comparison: Json) -> int:
    failed = bm.phase(comparison) == "Failed"
    print_text("\n" + "\n".join(map(one_line, end_lines(comparison))), sys.stderr if failed else sys.stdout)
    print_text(f"The whole of it, as one HTML file: {connection.command('report', [bm.name(comparison)])}")
    return exit_code(comparison)


def _show_end(connection: Connection, ran: Sequence[Json]) -> int:
    if any(bm.tasks(benchmark) for benchmark in ran):
        print_text(f"\nMedian over the races (smallest–largest):\n\n{report.main_table(ran)}\n")
        for sentence in report.sentences(ran):
            print_text(f"* {sentence}")
        print_text(f"\nAll figures: {connection.command('results', list(map(bm.name, ran)))} --all")
    failed = [benchmark for benchmark in ran if bm.phase(benchmark) == "Failed"]
    for benchmark in failed:
        print_text(report.verdict(benchmark), sys.stderr)
        print_text(f"The log: {connection.command('logs', [bm.name(benchmark)])}", sys.stderr)
    return FAILED if failed else SUCCEEDED


def _going_on(ids: Sequence[Id]) -> str:
    return f"{', '.join(name for _, name in ids)} {'goes' if len(ids) == 1 else 'go'} on in the cluster"


def _watch_command(connection: Connection, ids: Sequence[Id]) -> str:
    plurals = ",".join(dict.fromkeys(_PLURALS[kind] for kind, _ in ids))
    # kubectl watches one kind at a time.
    return f"kubectl get {plurals} -n {connection.namespace}{connection.context}{'' if ',' in plurals else ' --watch'}"
