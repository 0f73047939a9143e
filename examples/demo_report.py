"""The demo's texts, made from Benchmark objects as `kubectl get -o json` gives them; no effects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

# The command line's tables need nothing but the standard library, so the demo runs with any Python.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "operator"))

from fairlap.cli.benchmarks import Benchmark, ended, name, phase, progress_line, status, tasks, without_percent
from fairlap.cli.report import main_table, reading, remarks

__all__ = [
    "ended",
    "failure",
    "has_numbers",
    "main_table",
    "name",
    "next_commands",
    "phase",
    "progress_line",
    "reading",
    "remarks",
    "status",
    "without_percent",
]


def has_numbers(benchmark: Benchmark) -> bool:
    """Return whether the Benchmark has results to show."""
    return bool(tasks(benchmark))


def failure(benchmark: Benchmark, namespace: str) -> str:
    """Return why a Benchmark failed and where to read more."""
    found = status(benchmark)
    lines = [f"{name(benchmark)} failed: {found.get('reason') or 'no reason given'}", f"  {found.get('message') or ''}"]
    record = next((race.get("record") for race in reversed(found.get("races") or ()) if race.get("record")), None)
    if record:
        lines += [
            "  Rally's log, if Rally was started:",
            f"    kubectl -n {namespace} get configmap {record} "
            r"-o jsonpath='{.binaryData.rally\.log\.gz}' | base64 -d | gunzip",
        ]
    lines.append(f"  what happened when:  kubectl -n {namespace} describe bm {name(benchmark)}")
    return "\n".join(lines)


def next_commands(benchmarks: Sequence[Benchmark], namespace: str) -> str:
    """Return three commands worth trying after the demo."""
    last = name(benchmarks[-1])
    commands = (
        ("the whole record of a Benchmark", f"kubectl -n {namespace} get bm {last} -o yaml"),
        (
            "every fact of one race",
            f"kubectl -n {namespace} get configmap {last}-race-1 "
            r"-o jsonpath='{.binaryData.record\.json\.gz}' | base64 -d | gunzip | python3 -m json.tool",
        ),
        ("a track of your own, in a ConfigMap", f"kubectl -n {namespace} apply -f examples/inline-track/"),
    )
    return "\n".join(f"  # {what}\n  {command}" for what, command in commands)
