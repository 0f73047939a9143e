"""The short reports: Markdown for a pull request, CSV with every number of every race, JUnit XML for a pipeline."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from fairlap.api.base import Json
from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_status import ContenderStatus, DifferenceStatus, GateStatus
from fairlap.comparison_report.comparison_view import ComparisonView, label_of, read_view, unit_of
from fairlap.comparison_report.guarded_text import csv_cell, markdown_text
from fairlap.comparison_report.markup import Child, Markup, element
from fairlap.comparison_report.metric_words import VERDICT_SIGNS, VERDICT_WORDS, amount, duration, interval, percent
from fairlap.comparison_report.report_data import manifest

_AGAINST_ITSELF = "the baseline against itself:"


def report_markdown(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    """Return the report for a pull request, the verdict in its first line; raises NotAComparisonError."""
    view = read_view(comparison, blocks)
    word = "Failed" if view.failed else view.verdict or "Not over yet"
    lines = [f"**{VERDICT_SIGNS.get(word, '✕' if view.failed else '…')} {word}**: {markdown_text(view.headline)}", ""]
    said = [f"{kind} {_said(view, condition)}" for kind, condition in (("Gates:", "GatePassed"), ("Fair:", "Fair"))]
    counted = f"{len(view.valid_blocks)} block{'s' * (len(view.valid_blocks) != 1)}"
    cost = f"{view.races_and_preparations}, {duration(view.status.cost_seconds or None)}"
    lines += [f"{markdown_text(view.name)}: {' · '.join(said)} · {counted} · {cost}", ""]
    if view.judged:
        lines += ["| | Gate | What is known | Change | Interval | Passed |", "|---|---|---|---:|---:|---|"]
        lines += [_md_row(contender.name, gate) for contender, gate in view.judged]
        lines.append("")
    unfair = [each for each in view.status.differences if not each.fair]
    for each in unfair:
        values = _values(view, each)
        lines.append(f"- not the same: **{markdown_text(each.what)}** ({values}) {markdown_text(each.message)}")
    lines += [f"- {markdown_text(finding)}" for finding in view.status.findings]
    if unfair or view.status.findings:
        lines.append("")
    lines += _folded("The gates in words, and how far it reaches", list(_in_words(view)))
    lines += _folded("What was not the same, and may be", list(_not_the_same(view)))
    lines += _folded("Races", list(_races(view)))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", manifest(view))), default=0))
    lines += _folded("To repeat it", [f"{fence}yaml", manifest(view).rstrip("\n"), fence])
    return "\n".join(lines).rstrip("\n") + "\n"


def report_csv(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    """Return a row for every number of every race; raises NotAComparisonError."""
    view = read_view(comparison, blocks)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["block", "attempt", "position", "variant", "task", "metric", "value", "valid", "reason"])
    for block in view.blocks:
        for place, race in enumerate(block.races, start=1):
            counts = "true" if block.valid and race.valid else "false"
            reason = csv_cell("" if block.valid else block.cause)
            for each in race.numbers:
                names = [csv_cell(race.variant), csv_cell(each.task), csv_cell(each.metric)]
                writer.writerow([block.number, block.attempt, place, *names, repr(each.value), counts, reason])
    return out.getvalue()


def report_junit(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    """Return JUnit XML: a testcase for fairness, each gate of each contender, and each one that cannot be compared.

    Where GatePassed is false and none of them fails, one more does. Raises NotAComparisonError.
    """
    view = read_view(comparison, blocks)
    cases = [_fair_case(view), *(_gate_case(view, name, gate) for name, gate in _judged(view))]
    cases += [_left_out_case(view, each) for each in view.contenders if each.verdict == "NotComparable"]
    status, reason, message = view.condition("GatePassed")
    if status == "False" and not any("<failure " in case or "<error " in case for case in cases):
        inner = element("failure", message, message=message or reason, type=reason)
        cases.append(element("testcase", inner, classname=view.name, name="gates passed", time="0.000"))
    counts = {
        "tests": len(cases),
        "failures": sum("<failure " in case for case in cases),
        "errors": sum("<error " in case for case in cases),
        "skipped": sum("<skipped " in case for case in cases),
    }
    seconds = f"{view.status.cost_seconds:.3f}"
    suite = element(
        "testsuite", element("properties", _properties(view)), cases, name=view.name, time=seconds, **counts
    )
    whole = element("testsuites", suite, name="fairlap", time=seconds, **counts)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{whole}\n'


def _said(view: ComparisonView, condition: str) -> str:
    status, _, _ = view.condition(condition)
    words = ("passed", "not passed") if condition == "GatePassed" else ("yes", "no")
    return {"True": words[0], "False": words[1]}.get(
        status, "not decided" if condition == "GatePassed" else "not known"
    )


def _md_row(contender: str, gate: GateStatus) -> str:
    known = f"{VERDICT_SIGNS.get(gate.verdict, '')} {VERDICT_WORDS.get(gate.verdict, gate.verdict)}"
    passed = {True: "✓", False: "✕", None: "–"}[gate.passed]
    cells = [contender, label_of(gate), known, percent(gate.change), interval(gate.low, gate.high), passed]
    return f"| {' | '.join(map(markdown_text, cells))} |"


def _in_words(view: ComparisonView) -> Iterator[str]:
    for contender, gate in view.judged:
        told = gate.sentence or label_of(gate)
        if gate.noise is not None and _AGAINST_ITSELF not in told:
            told += f"; {_AGAINST_ITSELF} {percent(gate.noise, sign=False)}"
        yield f"- {markdown_text(f'{contender.name}: {told}')}"
    yield from (f"- {markdown_text(line)}" for line in view.status.scope)


def _not_the_same(view: ComparisonView) -> Iterator[str]:
    for each in view.status.differences:
        if each.fair:
            values = _values(view, each)
            yield f"- {markdown_text(each.what)} ({each.rule}): {values} {markdown_text(each.message)}".rstrip()


def _values(view: ComparisonView, each: DifferenceStatus) -> str:
    return " · ".join(
        f"{markdown_text(name)}: {markdown_text(each.values[name])}" for name in view.variants if name in each.values
    )


def _races(view: ComparisonView) -> Iterator[str]:
    for block in view.blocks:
        order = ", ".join(markdown_text(race.variant) for race in block.races)
        yield f"- block {block.label}: {order}{'' if block.valid else f' (void: {markdown_text(block.reason)})'}"
    for contender, gate in view.judged:
        unit = unit_of(gate)
        medians = f"{amount(gate.baseline, unit)} and {amount(gate.contender, unit)}"
        yield f"- {markdown_text(f'{label_of(gate)}: medians of {view.baseline} and {contender.name} {medians}')}"


def _folded(summary: str, lines: list[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", ""] if lines else []


def _judged(view: ComparisonView) -> Iterator[tuple[str, GateStatus]]:
    for contender, gate in view.judged:
        yield contender.name, gate


def _fair_case(view: ComparisonView) -> Markup:
    status, reason, message = view.condition("Fair")
    if view.failed:
        inner: Child = element("error", view.headline, message=view.headline, type=view.status.reason or "Failed")
    elif not view.over:
        inner = element("error", view.headline, message="not over yet", type="NotOver")
    elif status == "False":
        inner = element("failure", _unfair(view), message=message or reason, type=reason or "NotFair")
    else:
        inner = None
    return element("testcase", inner, classname=view.name, name="comparison is fair", time="0.000")


def _unfair(view: ComparisonView) -> str:
    lines = []
    for each in view.status.differences:
        if not each.fair:
            values = ", ".join(f"{name}: {each.values[name]}" for name in view.variants if name in each.values)
            lines.append(f"{each.what}: {values}. {each.message}".strip())
    return "\n".join(lines)


def _gate_case(view: ComparisonView, contender: str, gate: GateStatus) -> Markup:
    sentence = gate.sentence or f"{label_of(gate)}: {VERDICT_WORDS.get(gate.verdict, gate.verdict)}"
    inner: Child = None
    if gate.policy == "reportOnly" or gate.passed is None:
        inner = element("skipped", message=sentence)
    elif not gate.passed:
        kind = "GateNotPassed" if gate.verdict == "NoDifference" else gate.verdict
        inner = element("failure", sentence, message=sentence, type=kind)
    said = element("system-out", sentence)
    return element("testcase", inner, said, classname=f"{view.name}.{contender}", name=label_of(gate), time="0.000")


def _left_out_case(view: ComparisonView, contender: ContenderStatus) -> Markup:
    """Return the case of one that cannot be compared: it fails as its gates would, where any decides."""
    sentence = contender.sentence or VERDICT_WORDS["NotComparable"]
    if view.condition("GatePassed")[0] == "False":
        inner = element("failure", sentence, message=sentence, type=contender.verdict)
    else:
        inner = element("skipped", message=sentence)
    return element("testcase", inner, classname=f"{view.name}.{contender.name}", name="comparable", time="0.000")


def _properties(view: ComparisonView) -> list[Markup]:
    found = [("verdict", view.verdict or ""), ("blocks", str(len(view.valid_blocks))), ("baseline", view.baseline)]
    found += [(f"block {block.label}", f"void: {block.reason}") for block in view.blocks if not block.valid]
    found += [("finding", text) for text in view.status.findings]
    return [element("property", name=name, value=value) for name, value in found]
