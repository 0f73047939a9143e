"""What `fairlap compare` prints: text, Markdown, CSV and JSON of the same findings; pure."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fairlap.cli.tables.text_table import align
from fairlap.comparison.judging.side_by_side import Line, SideBySide
from fairlap.comparison.numbers.race_numbers import Kind
from fairlap.comparison_report.guarded_text import csv_cell, markdown_text
from fairlap.statistics.gates import USUAL_ALPHA
from fairlap.statistics.paired import LARGEST_CHANGE, as_change
from fairlap.statistics.sentences import change_of, describe
from fairlap.wording.counts import counted
from fairlap.wording.numerals import digits_for, figure_text, number
from fairlap.wording.percentages import short_percent, signed
from fairlap.wording.sizes import byte_scale

_HEAD = ["", "baseline", "contender", "change", f"{short_percent(1 - USUAL_ALPHA)} interval", "q"]
_CSV_HEAD = [
    "role", "what", "unit", "baseline", "contender", "change", "low", "high", "confidence", "verdict", "q",
]  # fmt: skip


class Compared(NamedTuple):
    """Two variants, and what their races say."""

    baseline: str
    contender: str
    races: tuple[int, int]
    in_blocks: bool
    found: SideBySide
    notes: tuple[str, ...] = ()
    """what the command has to add"""

    @property
    def verdict(self) -> str:
        """Return the line that stands first."""
        return f"{self.found.verdict}: {self.contender} against {self.baseline}, {self.counted}"

    @property
    def counted(self) -> str:
        """Return what it was found in."""
        one, two = self.races
        if self.in_blocks:
            return f"{counted(one, 'pair')} of races"
        if one == two == 1:
            return "1 race each"
        return f"{one} and {two} races" if 1 not in self.races else f"{counted(one, 'race')} and {counted(two, 'race')}"


def text(compared: Compared) -> str:
    """Return the verdict, its reasons, what was not the same, and all numbers as a table for a terminal."""
    found = compared.found
    parts = [compared.verdict, *_bullets(compared)]
    parts += _section("Not the same:", _differing(found))
    parts += _section("To know beside it:", [*found.notes, *compared.notes])
    if found.others:
        rows = [_HEAD, *(_cells(line) for line in found.others)]
        parts += ["", "Each number by itself, which decides nothing (q: the share of false ones among all up to it):"]
        parts += [align(rows, left=1, rule=True)]
    return "\n".join(parts)


def markdown(compared: Compared) -> str:
    """Return the same for a ticket or a pull request: the verdict first, the details folded."""
    found = compared.found
    bullets = [f"- {markdown_text(line[2:])}" for line in _bullets(compared)]
    parts = [f"**{markdown_text(compared.verdict)}**", "", *bullets]
    details = _section("Not the same:", [*map(markdown_text, _differing(found))])
    details += _section("To know beside it:", [*map(markdown_text, (*found.notes, *compared.notes))])
    table = [f"| {' | '.join(_HEAD)} |", "|---|---:|---:|---:|---:|---:|"]
    table += [f"| {' | '.join(map(markdown_text, _cells(line)))} |" for line in found.others]
    parts += ["", "<details><summary>All numbers, and what was not the same</summary>", "", *table]
    parts += [*details, "", "</details>"]
    return "\n".join(parts)


def comma_separated(compared: Compared) -> str:
    """Return the verdict, gates and other numbers as CSV with plain numbers; what is not comparable is not judged."""
    found = compared.found
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV_HEAD)
    writer.writerow(["verdict", *[""] * 8, found.verdict, ""])
    for sentence in found.obstacles:
        writer.writerow(["obstacle", csv_cell(sentence), *[""] * 9])
    for role, lines in (("gate", found.gates), ("hint", found.others)):
        for line in lines:
            verdict = line.finding.verdict if line.finding and not found.obstacles else ""
            about = [role, csv_cell(line.what), csv_cell(line.unit)]
            confidence = line.finding.confidence if line.finding else None
            writer.writerow([*about, line.baseline, line.contender, *_change(line), confidence, verdict, line.q])
    return out.getvalue().rstrip("\n")


def as_json(compared: Compared) -> str:
    """Return everything as JSON."""
    found = compared.found
    data = {
        "baseline": compared.baseline,
        "contender": compared.contender,
        "races": list(compared.races),
        "inBlocks": compared.in_blocks,
        "verdict": found.verdict,
        "gates": [_json(line, judged=not found.obstacles) for line in found.gates],
        "hints": [_json(line, judged=not found.obstacles) for line in found.others],
        "differences": [each.__dict__ for each in found.differences],
        "obstacles": list(found.obstacles),
        "notes": [*found.notes, *compared.notes],
    }
    return json.dumps(data, indent=2, ensure_ascii=False)


def _bullets(compared: Compared) -> Iterator[str]:
    found = compared.found
    if found.obstacles:
        yield from (f"* {sentence}" for sentence in found.obstacles)
        return
    for line in found.gates:
        if line.finding is None:
            times = figure_text(min(line.contender / line.baseline, LARGEST_CHANGE))
            yield f"* {line.what}: {times} times the baseline's, in {compared.counted}"
            continue
        more = line.kind.more_is_better
        yield f"* {describe(line.what, line.finding, line.margin, more_is_better=more, of=compared.counted)}"


def _differing(found: SideBySide) -> list[str]:
    return [f"{each.what}: {each.baseline} → {each.contender}" for each in found.differences]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"* {line}" for line in lines)] if lines else []


def _cells(line: Line) -> list[str]:
    divisor, unit = byte_scale([line.baseline, line.contender]) if line.kind == Kind.STORE else (1.0, line.unit)
    values = [line.baseline / divisor, line.contender / divisor]
    digits = digits_for(values)
    change, low, high = _change(line)
    interval = f"{signed(low)} to {signed(high)}" if low is not None and high is not None else "-"
    q = "-" if line.q is None else f"{line.q:.2f}"
    label = f"{line.what}, {unit}"
    return [label, *(number(value, digits) for value in values), signed(change), interval, q]


def _change(line: Line) -> tuple[float, float | None, float | None]:
    if line.finding is None:
        return as_change(math.log(line.contender) - math.log(line.baseline)), None, None
    return change_of(line.finding, more_is_better=line.kind.more_is_better)


def _json(line: Line, *, judged: bool) -> dict[str, Any]:
    change, low, high = _change(line)
    data = {
        "what": line.what,
        "unit": line.unit,
        "margin": line.margin,
        "baseline": line.baseline,
        "contender": line.contender,
        "change": change,
        "low": low,
        "high": high,
        "confidence": line.finding.confidence if line.finding else None,
        "verdict": line.finding.verdict if line.finding and judged else None,
        "q": line.q,
    }
    return {key: value for key, value in data.items() if value is not None}


FORMATS = {"text": text, "md": markdown, "csv": comma_separated, "json": as_json}
