"""How a Comparison ended, in lines for people; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairlap.api.condition_types import ComparisonCondition, ComparisonReason
from fairlap.api.raw import condition_of
from fairlap.cli.edge import benchmarks as bm
from fairlap.comparison_report.metric_words import NO_GATE

Comparison = Mapping[str, Any]


def end_lines(comparison: Comparison) -> Iterator[str]:
    """Yield what is known at the end: verdict, each gate, what was not the same, findings, gates."""
    status = bm.status(comparison)
    if bm.phase(comparison) == "Failed":
        why = f"{status.get('reason') or 'no reason given'}: {status.get('message') or ''}"
        yield f"{bm.name(comparison)} failed: {why}"
    else:
        yield f"{bm.name(comparison)}: {status.get('verdict') or 'no verdict'}"
    for contender in status.get("contenders") or ():
        yield f"* {contender.get('sentence') or contender.get('name')}"
        yield from (f"  - {gate['sentence']}" for gate in contender.get("gates") or () if gate.get("sentence"))
    for difference in status.get("differences") or ():
        if not difference.get("fair"):
            yield f"* not the same: {_difference(difference)}"
    yield from (f"* {finding}" for finding in status.get("findings") or ())
    gate = condition_of(comparison, ComparisonCondition.GATE_PASSED)
    if gate:
        known = {"True": "passed", "False": "not passed"}.get(str(gate.get("status")), "not known")
        if gate.get("status") != "False" and gate.get("reason") == ComparisonReason.NOTHING_TO_DECIDE:
            known = NO_GATE
        yield f"Gates: {known}{_because(gate)}"


def _difference(difference: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name} {value}" for name, value in (difference.get("values") or {}).items())
    mend = f". {difference['message']}" if difference.get("message") else ""
    return f"{difference.get('what')} ({values}){mend}"


def _because(condition: Mapping[str, Any]) -> str:
    return f": {condition['message']}" if condition.get("message") else ""
