"""The demo's texts, made from a Comparison as `kubectl get -o json` gives it; no effects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

# The command line's tables need nothing but the standard library, so the demo runs with any Python.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "operator"))

from fairlap.api.phases import is_over
from fairlap.cli.edge.benchmarks import Benchmark as Comparison
from fairlap.cli.edge.benchmarks import name, phase, progress_line, status, without_percent
from fairlap.cli.edge.printable import one_line
from fairlap.cli.tables.comparison_end import end_lines

__all__ = [
    "Comparison",
    "compared",
    "failure",
    "is_over",
    "name",
    "next_commands",
    "phase",
    "progress_line",
    "status",
    "verdict",
    "without_percent",
]


def verdict(comparison: Comparison) -> str:
    """Return what is known at the end, the verdict first."""
    return "\n".join(map(one_line, end_lines(comparison)))


def compared(comparison: Comparison) -> bool:
    """Return whether the races allowed to say anything: Inconclusive is an answer, NotComparable is none."""
    return phase(comparison) == "Complete" and status(comparison).get("verdict") not in (None, "", "NotComparable")


def failure(comparison: Comparison, namespace: str) -> str:
    """Return why a Comparison has compared nothing and where to read more."""
    found = status(comparison)
    reason = found.get("reason") or found.get("verdict") or "no reason given"
    lines = [f"{name(comparison)} compared nothing: {reason}", f"  {found.get('message') or ''}".rstrip()]
    blocks = [*(found.get("blocks") or ()), *([found["block"]] if found.get("block") else [])]
    races = [race for block in blocks for race in block.get("races") or ()]
    if lost := next((race for race in reversed(races) if race.get("valid") is False), None):
        lines += [
            f"  {lost['benchmark']} did not count: {lost.get('reason')}: {lost.get('message')}",
            "  Rally's log of its race, if Rally was started:",
            f"    kubectl -n {namespace} get configmap {lost['benchmark']}-race-1 "
            r"-o jsonpath='{.binaryData.rally\.log\.gz}' | base64 -d | gunzip",
        ]
    lines.append(f"  what happened when:  kubectl -n {namespace} describe cmp {name(comparison)}")
    return "\n".join(line for line in lines if line)


def next_commands(comparisons: Sequence[Comparison], namespace: str) -> str:
    """Return three commands worth trying after the demo."""
    last = name(comparisons[-1])
    commands = (
        ("verdict, gates and blocks as the API has them", f"kubectl -n {namespace} get cmp {last} -o yaml"),
        ("the races, each a Benchmark of its own", f"kubectl -n {namespace} get bm -l fairlap.dev/comparison={last}"),
        ("a track of your own, in a ConfigMap", f"kubectl -n {namespace} apply -f examples/inline-track/"),
    )
    return "\n".join(f"  # {what}\n  {command}" for what, command in commands)
