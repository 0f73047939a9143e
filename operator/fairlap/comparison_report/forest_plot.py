"""The forest plot: each gate's change with interval and margins, and how large the baseline against itself looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairlap.api.comparison_status import GateStatus
from fairlap.comparison_report.comparison_view import ComparisonView, label_of
from fairlap.comparison_report.markup import Markup, element, shortened
from fairlap.comparison_report.metric_words import VERDICT_SIGNS, VERDICT_WORDS, words_of
from fairlap.comparison_report.svg_parts import figure, table
from fairlap.statistics.paired import as_change
from fairlap.wording.percentages import interval, percent, short_percent

_ROW, _AXIS = 92.0, 34.0
_EDGE = 0.03
_PERCENTS = (-90, -80, -60, -40, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 25, 50, 100, 200, 400, 900)


class _PlottedGate(NamedTuple):
    gate: GateStatus
    ratios: list[float]
    """of the contender, one a block"""
    band: float | None
    """largest change of the baseline against itself in one block, as log ratio"""


def forest(view: ComparisonView, number: str, contender: str, gates: Sequence[GateStatus], reach: float) -> Markup:
    """Return the forest plot of one contender; `reach` is the log ratio at which all of them end."""
    entries = [_entry(view, contender, gate) for gate in gates]
    height = _AXIS + _ROW * len(entries)
    parts = [_axis(reach, height)]
    for place, entry in enumerate(entries):
        parts.append(_row(entry, 6 + place * _ROW, reach))
    title = f"Change of {contender} against {view.baseline}, gate by gate"
    text = " ".join(_in_words(entry) for entry in entries)
    return figure(number, title, text, parts, _numbers(view, entries, title), height=height)


def reach_of(view: ComparisonView) -> float:
    """Return at which log ratio the plots end: beyond all changes and margins, and most of the intervals."""
    ends, most = [math.log1p(0.04)], [0.0]
    for contender, gate in view.judged:
        entry = _entry(view, contender.name, gate)
        ends += [1.5 * math.log1p(gate.margin / 100), abs(_log(gate.change)), entry.band or 0.0]
        ends += [abs(ratio) for ratio in entry.ratios if abs(ratio) < 1]
        most += [abs(_log(end)) for end in (gate.low, gate.high) if end is not None]
    return min(max(*ends, *most), 3 * max(ends), math.log(12)) * 1.08


def _entry(view: ComparisonView, contender: str, gate: GateStatus) -> _PlottedGate:
    twins = [abs(ratio) for _, ratio in view.ratios(gate, view.twin)]
    return _PlottedGate(gate, [ratio for _, ratio in view.ratios(gate, contender)], max(twins) if twins else None)


def _log(change: float | None) -> float:
    return math.log1p(max(change if change is not None else 0.0, -99.9) / 100)


def _share(ratio: float, reach: float) -> float:
    return _EDGE + (1 - 2 * _EDGE) * (min(max(ratio, -reach), reach) + reach) / (2 * reach)


def _x(ratio: float, reach: float) -> str:
    return f"{_share(ratio, reach) * 100:.2f}%"


def _axis(reach: float, height: float) -> Markup:
    parts, last = [], -1.0
    shown = [each for each in _PERCENTS if abs(math.log1p(each / 100)) <= reach]
    zero = _share(0, reach)
    kept = [0]
    for side in (1, -1):
        last = zero
        for each in sorted((each for each in shown if each * side > 0), key=abs):
            share = _share(math.log1p(each / 100), reach)
            if abs(share - last) >= 0.13:
                kept.append(each)
                last = share
    for each in sorted(kept):
        x = _x(math.log1p(each / 100), reach)
        parts.append(element("line", x1=x, x2=x, y1=0, y2=height - _AXIS + 6, class_="zero" if each == 0 else "grid"))
        parts.append(element("text", percent(each).replace(".0", ""), x=x, y=height - 14, class_="tick middle"))
    return element("g", parts, aria_hidden="true")


def _row(entry: _PlottedGate, top: float, reach: float) -> Markup:
    gate, middle = entry.gate, top + 58
    words = words_of(gate.metric)
    sign = f"{VERDICT_SIGNS.get(gate.verdict, '')} {VERDICT_WORDS.get(gate.verdict, gate.verdict)}"
    numbers = f": {percent(gate.change)} ({interval(gate.low, gate.high)})" if gate.change is not None else ""
    better = "better →" if words.more_is_better else "← better"
    side = {"x": "99%", "class_": "tick end"} if words.more_is_better else {"x": "1%", "class_": "tick"}
    parts = [
        _band(entry, middle, reach),
        _margins(gate, middle, reach),
        element("text", shortened(label_of(gate), 42), x="1%", y=top + 14, class_="name halo"),
        element("text", f"{sign}{numbers}", x="1%", y=top + 31, class_="said halo"),
        None if words.any_change_is_worse else element("text", better, y=top + 80, **side),
        _interval(gate, middle, reach),
    ]
    if gate.margin or entry.ratios:
        parts += [
            element("circle", cx=_x(ratio, reach), cy=middle + 15, r=2.6, class_="block") for ratio in entry.ratios
        ]
    return element("g", parts, aria_hidden="true")


def _band(entry: _PlottedGate, middle: float, reach: float) -> Markup | None:
    if entry.band is None:
        return None
    low, high = _share(-entry.band, reach), _share(entry.band, reach)
    width = max(high - low, 0.004)
    return element("rect", x=f"{low * 100:.2f}%", width=f"{width * 100:.2f}%", y=middle - 12, height=24, class_="band")


def _margins(gate: GateStatus, middle: float, reach: float) -> list[Markup]:
    most = math.log1p(gate.margin / 100)
    return [
        element("line", x1=_x(end, reach), x2=_x(end, reach), y1=middle - 18, y2=middle + 24, class_="margin")
        for end in ((-most, most) if most else ())
    ]


def _interval(gate: GateStatus, middle: float, reach: float) -> list[Markup]:
    if gate.change is None:
        return [element("text", "no number to show", x="50%", y=middle + 4, class_="tick middle")]
    parts = []
    if gate.low is not None and gate.high is not None:
        low, high = _log(gate.low), _log(gate.high)
        parts.append(element("line", x1=_x(low, reach), x2=_x(high, reach), y1=middle, y2=middle, class_="interval"))
        for end, arrow in ((low, "◂"), (high, "▸")):
            x = _x(end, reach)
            if abs(end) > reach:
                parts.append(element("text", arrow, x=x, y=middle + 4.5, class_="arrow middle"))
            else:
                parts.append(element("line", x1=x, x2=x, y1=middle - 6, y2=middle + 6, class_="interval"))
    shape = element("path", d="M0 -6.5L6.5 0L0 6.5L-6.5 0Z", class_="estimate")
    parts.append(element("svg", shape, x=_x(_log(gate.change), reach), y=middle, width=1, height=1, overflow="visible"))
    return parts


def _in_words(entry: _PlottedGate) -> str:
    gate = entry.gate
    noise = f", the baseline against itself up to {percent(_back(entry.band), sign=False)}" if entry.band else ""
    return (
        f"{label_of(gate)}: {VERDICT_WORDS.get(gate.verdict, gate.verdict)}, {percent(gate.change)}, "
        f"interval {interval(gate.low, gate.high)}, margin {percent(gate.margin, sign=False)}{noise}."
    )


def _back(ratio: float | None) -> float | None:
    return None if ratio is None else as_change(ratio) * 100


def _numbers(view: ComparisonView, entries: Sequence[_PlottedGate], title: str) -> Markup:
    head = ["Gate", "Verdict", "Change", "Interval", "Confidence", "Margin", "Each block", f"{view.twin}, each block"]
    rows = [
        [
            label_of(entry.gate),
            VERDICT_WORDS.get(entry.gate.verdict, entry.gate.verdict),
            percent(entry.gate.change),
            interval(entry.gate.low, entry.gate.high),
            short_percent(entry.gate.confidence / 100) if entry.gate.confidence else "–",
            percent(entry.gate.margin, sign=False),
            ", ".join(percent(_back(ratio)) for ratio in entry.ratios) or "–",
            ", ".join(percent(_back(ratio)) for _, ratio in view.ratios(entry.gate, view.twin)) or "–",
        ]
        for entry in entries
    ]
    return table(head, rows, title)
