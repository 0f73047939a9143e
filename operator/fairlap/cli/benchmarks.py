"""Reads Benchmark objects as the API server gives them; pure, standard library only.

What is said of name, phase, progress and end holds for Comparisons, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fairlap.cli.printable import one_line

Benchmark = Mapping[str, Any]
TERMINAL = ("Succeeded", "Complete", "Failed")


def name(benchmark: Benchmark) -> str:
    """Return the Benchmark's name."""
    return str(benchmark["metadata"]["name"])


def status(benchmark: Benchmark) -> Mapping[str, Any]:
    """Return the status, empty before the operator has seen the Benchmark."""
    found: Mapping[str, Any] = benchmark.get("status") or {}
    return found


def phase(benchmark: Benchmark) -> str:
    """Return the phase; "Pending" before the operator has seen the Benchmark."""
    return str(status(benchmark).get("phase") or "Pending")


def ended(benchmark: Benchmark) -> bool:
    """Return whether the Benchmark is over."""
    return phase(benchmark) in TERMINAL


def is_rehearsal(benchmark: Benchmark) -> bool:
    """Return whether the Benchmark has succeeded without any race: none was asked for."""
    return phase(benchmark) == "Succeeded" and (benchmark.get("spec") or {}).get("repetitions") == 0


def tasks(benchmark: Benchmark) -> list[Mapping[str, Any]]:
    """Return the results of all tasks, in the order of the schedule."""
    return list((status(benchmark).get("results") or {}).get("tasks") or ())


def progress_line(benchmark: Benchmark, width: int = 0) -> str:
    """Return one line on how far a Benchmark is, cut to `width` columns (0: not cut)."""
    found = status(benchmark)
    parts = (name(benchmark), phase(benchmark), str(found.get("progress") or "not seen by the operator yet"))
    shown, state, progress = map(one_line, parts)
    text = f"{shown:<12} {state:<13} {progress}"
    return text if not width or len(text) <= width else text[: width - 1] + "…"


def without_percent(line: str) -> str:
    """Return a progress line without its percentage, so that a log shows each task once."""
    return re.sub(r"\s*\d+\s*%", "", line)
