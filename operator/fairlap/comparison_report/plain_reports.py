"""The short reports: Markdown for a pull request, CSV with every number of every race, JUnit XML for a pipeline."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from fairlap.api.base import Json
from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_status import ContenderStatus, DifferenceStatus, GateStatus
from fairlap.comparison_report.comparison_view import ComparisonView, label_of, read_view, unit_of
from fairlap.comparison_report.guarded_text import csv_cell, markdown_text
from fairlap.comparison_report.markup import Attribute, Child, Markup, element, shortened
from fairlap.comparison_report.metric_words import NO_GATE, VERDICT_SIGNS, VERDICT_WORDS, amount, words_of
from fairlap.comparison_report.report_data import manifest
from fairlap.wording.counts import counted
from fairlap.wording.durations import duration
from fairlap.wording.percentages import interval, percent

_MOST_CHARACTERS = 59_500
"""of Markdown without what says that something is left out: a comment of GitHub's holds 65,536"""
_LONGEST_VALUE, _LONGEST_LINE = 200, 4000
"""of Markdown, before its marks are guarded"""
_TOO_LONG = "Left out here, since it would be too long for a comment"
_End = Literal["failure", "error", "skipped", ""]
"""how a testcase of JUnit's ended, "" where it passed"""
_IN_HTML = "the HTML report (fairlap report, without -o) has all of it"


def report_markdown(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    """Return the report for a pull request, the verdict in its first line; raises NotAComparisonError.

    It fits a comment: values are cut, and what is folded is left out from the end on where all would be too long.
    """
    view = read_view(comparison, blocks)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", manifest(view))), default=0))
    folded = {
        "The gates in words, and how far it reaches": list(_in_words(view)),
        "What was not the same, and may be": list(_not_the_same(view)),
        "Races": list(_races(view)),
        "To repeat it": [f"{fence}yaml", manifest(view).rstrip("\n"), fence],
    }
    shown = list(_shown(view))
    lines = _fitting(shown)
    if more := len(shown) - len(lines):
        lines += ["", f"{_TOO_LONG}: {counted(more, 'more line')}; {_IN_HTML}.", ""]
    left_out: list[str] = []
    for summary, inner in folded.items():
        part = _folded(summary, inner)
        if left_out or len(_fitting([*lines, *part])) < len(lines) + len(part):
            left_out += [summary] if part else []  # what stands first matters most
        else:
            lines += part
    if left_out:
        lines.append(f"{_TOO_LONG}: {'; '.join(left_out)}; {_IN_HTML}.")
    return "\n".join(lines).rstrip("\n") + "\n"


def _shown(view: ComparisonView) -> Iterator[str]:
    """Yield the lines that are not folded."""
    word = "Failed" if view.failed else view.verdict or "Not over yet"
    yield f"**{VERDICT_SIGNS.get(word, '✕' if view.failed else '…')} {word}**: {_line(view.headline)}"
    yield ""
    said = [
        f"{kind} {_state_word(view, condition)}" for kind, condition in (("Gates:", "GatePassed"), ("Fair:", "Fair"))
    ]
    blocks = counted(len(view.valid_blocks), "block")
    cost = f"{view.races_and_preparations}, {duration(view.status.cost_seconds or None)}"
    yield f"{_line(view.name)}: {' · '.join(said)} · {blocks} · {cost}"
    yield ""
    if view.judged:
        yield from ("| | Gate | What is known | Change | Interval | Passed |", "|---|---|---|---:|---:|---|")
        yield from (_md_row(contender.name, gate) for contender, gate in view.judged)
        yield ""
    unfair = [each for each in view.status.differences if not each.fair]
    for each in unfair:
        yield f"- not the same: **{_value(each.what)}** ({_values(view, each)}) {_line(each.message)}"
    yield from (f"- {_line(finding)}" for finding in view.status.findings)
    if unfair or view.status.findings:
        yield ""


def _fitting(lines: Sequence[str]) -> list[str]:
    """Return as many of the first lines as a comment holds."""
    lengths = accumulate(len(line) + 1 for line in lines)
    return [line for line, length in zip(lines, lengths, strict=True) if length <= _MOST_CHARACTERS]


def _value(text: str) -> str:
    return markdown_text(shortened(text, _LONGEST_VALUE))


def _line(text: str) -> str:
    return markdown_text(shortened(text, _LONGEST_LINE))


def report_csv(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    """Return a row for every number of every race; raises NotAComparisonError."""
    view = read_view(comparison, blocks)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["block", "attempt", "position", "variant", "task", "metric", "value", "valid", "reason", "unit"])
    for block in view.blocks:
        for place, race in enumerate(block.races, start=1):
            counts = "true" if block.valid and race.valid else "false"
            reason = csv_cell("" if block.valid else block.cause)
            for each in race.numbers:
                names = [csv_cell(race.variant), csv_cell(each.task), csv_cell(each.metric)]
                told = [repr(each.value), counts, reason, csv_cell(each.unit or words_of(each.metric).unit)]
                writer.writerow([block.number, block.attempt, place, *names, *told])
    return out.getvalue()


def report_junit(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    """Return JUnit XML: a testcase for fairness, each gate of each contender, and each one that cannot be compared.

    Where GatePassed is false and none of them fails, one more does. Raises NotAComparisonError.
    """
    view = read_view(comparison, blocks)
    cases = [_fair_case(view), *(_gate_case(view, name, gate) for name, gate in _judged(view))]
    cases += [_left_out_case(view, each) for each in view.contenders if each.verdict == "NotComparable"]
    status, reason, message = view.condition("GatePassed")
    if status == "False" and not any(case.ended in ("failure", "error") for case in cases):
        cases.append(_case(view.name, "gates passed", "failure", message, message=message or reason, type=reason))
    ends = Counter(case.ended for case in cases)
    counts = {"tests": len(cases), "failures": ends["failure"], "errors": ends["error"], "skipped": ends["skipped"]}
    seconds = f"{view.status.cost_seconds:.3f}"
    parts = element("properties", _properties(view)), [case.markup for case in cases]
    suite = element("testsuite", *parts, name=view.name, time=seconds, **counts)
    whole = element("testsuites", suite, name="fairlap", time=seconds, **counts)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{whole}\n'


def _state_word(view: ComparisonView, condition: str) -> str:
    status, _, _ = view.condition(condition)
    if condition == "GatePassed" and view.decides_nothing:
        return NO_GATE
    words = ("passed", "not passed") if condition == "GatePassed" else ("yes", "no")
    return {"True": words[0], "False": words[1]}.get(
        status, "not decided" if condition == "GatePassed" else "not known"
    )


def _md_row(contender: str, gate: GateStatus) -> str:
    known = f"{VERDICT_SIGNS.get(gate.verdict, '')} {VERDICT_WORDS.get(gate.verdict, gate.verdict)}"
    passed = {True: "✓", False: "✕", None: "–"}[gate.passed]
    cells = [contender, label_of(gate), known, percent(gate.change), interval(gate.low, gate.high), passed]
    return f"| {' | '.join(map(_value, cells))} |"


def _in_words(view: ComparisonView) -> Iterator[str]:
    for contender, gate in view.judged:
        told = gate.sentence or label_of(gate)
        # The sentence of a number that was judged with its noise says it already.
        if gate.noise is not None and not (gate.sentence and gate.confidence is not None):
            told += f"; the baseline against itself: {percent(gate.noise, sign=False)}"
        yield f"- {_line(f'{contender.name}: {told}')}"
    yield from (f"- {_line(line)}" for line in view.status.scope)


def _not_the_same(view: ComparisonView) -> Iterator[str]:
    for each in view.status.differences:
        if each.fair:
            values = _values(view, each)
            yield f"- {_value(each.what)} ({each.rule}): {values} {_line(each.message)}".rstrip()


def _values(view: ComparisonView, each: DifferenceStatus) -> str:
    return " · ".join(f"{_value(name)}: {_value(each.values[name])}" for name in view.variants if name in each.values)


def _races(view: ComparisonView) -> Iterator[str]:
    for block in view.blocks:
        order = ", ".join(_value(race.variant) for race in block.races)
        yield f"- block {block.label}: {order}{'' if block.valid else f' (void: {_line(block.reason)})'}"
    for contender, gate in view.judged:
        unit = unit_of(gate)
        medians = f"{amount(gate.baseline, unit)} and {amount(gate.contender, unit)}"
        yield f"- {markdown_text(f'{label_of(gate)}: medians of {view.baseline} and {contender.name} {medians}')}"


def _folded(summary: str, lines: list[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", ""] if lines else []


def _judged(view: ComparisonView) -> Iterator[tuple[str, GateStatus]]:
    for contender, gate in view.judged:
        yield contender.name, gate


class _Case(NamedTuple):
    """A testcase of JUnit's."""

    ended: _End
    markup: Markup


def _case(of: str, name: str, ended: _End, *said: Child, beside: Child = None, **why: Attribute) -> _Case:
    """Return a testcase; `said` and `why` stand in the element for how it `ended`, `beside` after that."""
    inner = element(ended, *said, **why) if ended else None
    return _Case(ended, element("testcase", inner, beside, classname=of, name=name, time="0.000"))


def _fair_case(view: ComparisonView) -> _Case:
    of, name, head = view.name, "comparison is fair", view.headline
    status, reason, message = view.condition("Fair")
    if view.failed:
        return _case(of, name, "error", head, message=head, type=view.status.reason or "Failed")
    if not view.over:
        return _case(of, name, "error", head, message="not over yet", type="NotOver")
    if status == "False":
        return _case(of, name, "failure", _unfair(view), message=message or reason, type=reason or "NotFair")
    return _case(of, name, "")


def _unfair(view: ComparisonView) -> str:
    lines = []
    for each in view.status.differences:
        if not each.fair:
            values = ", ".join(f"{name}: {each.values[name]}" for name in view.variants if name in each.values)
            lines.append(f"{each.what}: {values}. {each.message}".strip())
    return "\n".join(lines)


def _gate_case(view: ComparisonView, contender: str, gate: GateStatus) -> _Case:
    of, name = f"{view.name}.{contender}", label_of(gate)
    sentence = gate.sentence or f"{label_of(gate)}: {VERDICT_WORDS.get(gate.verdict, gate.verdict)}"
    shown = element("system-out", sentence)
    if gate.policy == "reportOnly" or gate.passed is None:
        return _case(of, name, "skipped", beside=shown, message=sentence)
    if not gate.passed:
        kind = "GateNotPassed" if gate.verdict == "NoDifference" else gate.verdict
        return _case(of, name, "failure", sentence, beside=shown, message=sentence, type=kind)
    return _case(of, name, "", beside=shown)


def _left_out_case(view: ComparisonView, contender: ContenderStatus) -> _Case:
    """Return the case of one that cannot be compared: it fails as its gates would, where any decides."""
    sentence = contender.sentence or VERDICT_WORDS["NotComparable"]
    of = f"{view.name}.{contender.name}"
    if view.condition("GatePassed")[0] == "False":
        return _case(of, "comparable", "failure", sentence, message=sentence, type=contender.verdict)
    return _case(of, "comparable", "skipped", message=sentence)


def _properties(view: ComparisonView) -> list[Markup]:
    found = [("verdict", view.verdict or ""), ("blocks", str(len(view.valid_blocks))), ("baseline", view.baseline)]
    found += [(f"block {block.label}", f"void: {block.reason}") for block in view.blocks if not block.valid]
    found += [("finding", text) for text in view.status.findings]
    return [element("property", name=name, value=value) for name, value in found]
