"""`fairlap logs`: what Rally logged, from the record of a step or from the pod while it runs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from fairlap.api.names import BENCHMARK_LABEL, RACE_CONTAINER, ROLE_LABEL, ROLE_LOAD_GENERATOR, STEP_LABEL
from fairlap.api.phases import is_over
from fairlap.api.spec import BenchmarkSpec
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import SUCCEEDED, CliError, RefusedError, UsageError
from fairlap.cli.edge.printable import print_text
from fairlap.plan.basis.steps import CHECK, PROBE, SMOKE, step_after
from fairlap.plan.lifetimes import expiry
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_LOG, KEY_RECORD, Record
from fairlap_race.contract.untrusted import MAX_UNPACKED_BYTES, unpacked

Json = dict[str, Any]
_WAIT_SECONDS = 2.0
_NOT_STARTED = 400
"""The API server's answer for the log of a container that has not started."""


def step_name(text: str) -> str:
    """Return the step that a user means with 2, race-2, smoke, check or probe; raises UsageError."""
    if text in (PROBE, CHECK, SMOKE) or re.fullmatch(r"race-[1-9][0-9]?", text):
        return text
    if re.fullmatch(r"[1-9][0-9]?", text):
        return f"race-{text}"
    raise UsageError(f"--race takes a number, smoke, check or probe, not {text!r}")


def logs(connection: Connection, name: str, step: str | None, follow: bool) -> int:
    """Print the log of a step (None: the one that runs, or the last one that ran); return the exit code."""
    lines = _follow(connection, name, step) if follow else _once(connection, name, step)
    for line in lines:
        if not print_text(line.rstrip("\r")):
            break
    return SUCCEEDED


def current_step(benchmark: Json) -> str | None:
    """Return the step that runs, or the last one that began; None before the first one."""
    status = bm.status(benchmark)
    running = status.get("step") or {}
    races = [race["name"] for race in status.get("races") or ()]
    if under_way := running.get("name") or (races and races[-1]):
        return str(under_way)
    finished = status.get("finishedStep")
    failed = _failed_step(benchmark, finished) if bm.phase(benchmark) == "Failed" else None
    return failed or finished or (CHECK if is_over(benchmark) else None)


def _failed_step(benchmark: Json, finished: str | None) -> str | None:
    """Return the step after the last one that came to its end; None where this version does not know the spec."""
    with suppress(ValueError):
        return step_after(BenchmarkSpec.model_validate(benchmark.get("spec")), finished)
    return None


def _once(connection: Connection, name: str, step: str | None) -> Iterator[str]:
    benchmark = connection.benchmark(name)
    chosen = step or current_step(benchmark)
    if chosen is None:
        raise CliError(f"{name} has not started: {bm.status(benchmark).get('progress') or 'it waits for the operator'}")
    found = _recorded(connection, name, chosen)
    if found is not None:
        yield from found.splitlines()
        return
    pod = _pod(connection, name, chosen)
    if pod is None:
        raise CliError(_no_log(connection, name, chosen))
    yield from connection.pod_log(pod, RACE_CONTAINER, follow=False)


def _follow(connection: Connection, name: str, step: str | None) -> Iterator[str]:
    shown: set[str] = set()
    while True:
        benchmark = connection.benchmark(name)
        chosen = step or current_step(benchmark)
        if chosen is not None and chosen not in shown and (lines := _live(connection, name, chosen)) is not None:
            if step is None:
                yield f"==> {name} {chosen} <=="
            yield from lines
            shown.add(chosen)
            continue
        if is_over(benchmark) or (step is not None and step in shown):
            if not shown:
                raise CliError(_no_log(connection, name, chosen or CHECK))
            return
        time.sleep(_WAIT_SECONDS)


def _live(connection: Connection, name: str, step: str) -> Iterator[str] | None:
    """Return the lines of the step's log, those of the running pod as they come; None when there is no log yet."""
    found = _recorded(connection, name, step)
    if found is not None:
        return iter(found.splitlines())
    pod = _pod(connection, name, step)
    if pod is None:
        return None
    lines = connection.pod_log(pod, RACE_CONTAINER, follow=True)
    try:
        first = next(lines, None)
    except RefusedError as error:
        if error.status == _NOT_STARTED:
            return None
        raise
    return _joined(first, lines)


def _joined(first: str | None, rest: Iterator[str]) -> Iterator[str]:
    if first is not None:
        yield first
        yield from rest


def _recorded(connection: Connection, name: str, step: str) -> str | None:
    there = connection.config_map(f"{name}-{step}") or {}
    packed = (there.get("binaryData") or {}).get(KEY_LOG)
    if not packed:
        return None
    text = unpacked(packed)
    if text is None:
        raise CliError(
            f"the log in the record {name}-{step} cannot be unpacked: it is no gzip in base64, or more than "
            f"{MAX_UNPACKED_BYTES >> 20} MiB"
        )
    return text.decode("utf-8", "replace")


def _pod(connection: Connection, name: str, step: str) -> str | None:
    labels = {BENCHMARK_LABEL: name, STEP_LABEL: step, ROLE_LABEL: ROLE_LOAD_GENERATOR}
    pods = connection.pods(labels)
    return str(pods[-1]["metadata"]["name"]) if pods else None


def _no_log(connection: Connection, name: str, step: str) -> str:
    there = connection.config_map(f"{name}-{step}")
    if there is None:
        if expired := expiry.describe(connection.benchmark(name), datetime.now(UTC)):
            return expired
        return f"{name} has no step {step}, or it has not begun"
    record = Record.from_json(text_of(there, KEY_RECORD))
    why = f": {record.outcome.reason.value}: {record.outcome.message}" if record and record.outcome.reason else ""
    return f"there is no log of {name} {step}, since nothing was started that writes one{why}"
