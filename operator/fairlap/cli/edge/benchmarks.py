"""Reads Benchmark objects as the API server gives them; standard library only.

What is said of name, phase and progress holds for Comparisons, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from fairlap.api.raw import as_mapping
from fairlap.cli.edge.printable import one_line

Benchmark = Mapping[str, Any]
_SOON = timedelta(seconds=30)
"""within this an operator that watches the namespace has seen what was created"""
_OF_ALL_IN_TURN = ("throughput", "overallThroughput", "latencyMillis")
"""what an older operator says of a race in turn, too, and is that of all races together"""


def name(benchmark: Benchmark) -> str:
    """Return the Benchmark's name."""
    return str(benchmark["metadata"]["name"])


def status(benchmark: Benchmark) -> Mapping[str, Any]:
    """Return the status, empty before the operator has seen the Benchmark."""
    return as_mapping(benchmark.get("status"))


def phase(benchmark: Benchmark) -> str:
    """Return the phase; "Pending" before the operator has seen the Benchmark."""
    return str(status(benchmark).get("phase") or "Pending")


def is_rehearsal(benchmark: Benchmark) -> bool:
    """Return whether the Benchmark has succeeded without any race: none was asked for."""
    return phase(benchmark) == "Succeeded" and (benchmark.get("spec") or {}).get("repetitions") == 0


def is_in_turn(benchmark: Benchmark) -> bool:
    """Return whether the Benchmark is raced in turn with others, request by request (design.kind: Duet)."""
    return bool(as_mapping(benchmark.get("spec")).get("inTurn"))


def tasks(benchmark: Benchmark) -> list[Mapping[str, Any]]:
    """Return the results of all tasks, in the order of the schedule; in turn without rates and latencies."""
    found = (status(benchmark).get("results") or {}).get("tasks") or ()
    if not is_in_turn(benchmark):
        return list(found)
    return [{key: value for key, value in task.items() if key not in _OF_ALL_IN_TURN} for task in found]


def rate(task: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a task's throughput in the measured time; Rally's running average where nothing else is known."""
    found: Mapping[str, Any] | None = task.get("overallThroughput") or task.get("throughput")
    return found


def progress(benchmark: Benchmark, now: datetime) -> str:
    """Return how far a Benchmark is; while no operator has seen it, that, and after a while why that may be."""
    if said := status(benchmark).get("progress"):
        return str(said)
    space, created = (benchmark["metadata"].get(key) for key in ("namespace", "creationTimestamp"))
    if not created or now - datetime.fromisoformat(created) < _SOON:
        return "not seen by the operator yet"
    return (
        f"not seen by an operator since {created}: does it run, and does it watch the namespace {space}? "
        "(the chart's scope.namespaces; without it the operator's own)"
    )


def progress_line(benchmark: Benchmark, width: int = 0) -> str:
    """Return one line on how far a Benchmark is, cut to `width` columns (0: not cut)."""
    parts = (name(benchmark), phase(benchmark), progress(benchmark, datetime.now(UTC)))
    shown, state, how_far = map(one_line, parts)
    text = f"{shown:<12} {state:<13} {how_far}"
    return text if not width or len(text) <= width else text[: width - 1] + "…"


def without_percent(line: str) -> str:
    """Return a progress line without the percentage of a task, which ends it: by this a log knows what is new."""
    return re.sub(r" \d+ %$", "", line)
