"""The curves of a sweep, all variants over each other: the medians joined by a line, and every race as a point."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from statistics import median
from typing import NamedTuple

from fairlap.comparison_report.comparison_view import ComparisonView
from fairlap.comparison_report.markup import Markup, element
from fairlap.comparison_report.metric_words import words_of
from fairlap.comparison_report.report_sections import section
from fairlap.comparison_report.svg_parts import Appearance, Axis2D, figure, legend, marker, padded, table, ticks
from fairlap.wording.numerals import digits

_METRICS = ("throughput", "latencyP50", "latencyP99", "serviceTimeP50", "serviceTimeP99")
_MOST_TICKS = 8


class _Dot(NamedTuple):
    """One race in one step."""

    size: float
    down: bool
    """whether it was raced on the way down, and is not joined to the others"""
    value: float
    unit: str
    title: str


def sweep_curves(view: ComparisonView, shown: Mapping[str, Appearance]) -> Markup | None:
    """Return throughput and times of the template's sweep by clients or rate; None without a sweep or a number."""
    sweep = ((view.spec.get("template") or {}).get("race") or {}).get("sweep")
    if not isinstance(sweep, Mapping) or not (task := sweep.get("task")):
        return None
    charts = [
        chart
        for place, metric in enumerate(_METRICS)
        if (chart := _chart(view, shown, f"sweep-{place}", str(task), metric))
    ]
    if not charts:
        return None
    way = " of the way up, the way down is not joined" if sweep.get("order") == "upAndDown" else ""
    note = (
        f"Each sign is one race in one step; the line joins the medians{way}. Steps in which the load generator was "
        "the bottleneck are among them: each Benchmark's results.sweep says which do not count."
    )
    return section(
        "sweep", "Curves of the sweep", element("p", note, class_="note"), legend(dict(shown), view.arms),
        element("div", charts, class_="charts"),
    )  # fmt: skip


def _chart(view: ComparisonView, shown: Mapping[str, Appearance], number: str, task: str, metric: str) -> Markup | None:
    dots = {name: found for name in view.arms if (found := _dots(view, name, task, metric))}
    units = {dot.unit for each in dots.values() for dot in each}
    if len(units) != 1 or any(view.told_apart(step, metric) for step in _steps(view, task)):
        return None
    sizes = sorted({dot.size for each in dots.values() for dot in each})
    by_rate = any(each.startswith(f"{task}@") and "/s" in each[len(task) :] for each in _tasks(view))
    values = [dot.value for each in dots.values() for dot in each]
    spread = sizes[-1] / sizes[0] > 4
    at = math.log2 if spread else float
    frame = Axis2D(padded([at(size) for size in sizes], 0.04), padded(values, zero=True))
    labelled = sizes if len(sizes) <= _MOST_TICKS else sizes[:: math.ceil(len(sizes) / _MOST_TICKS)]
    below = "target throughput" if by_rate else "clients"
    drawn: list[Markup] = [
        frame.frame(
            [(at(size), f"{size:g}") for size in labelled],
            [(each, digits(each)) for each in ticks(*frame.y)],
            below,
        )
    ]
    middles = {name: _middles(each) for name, each in dots.items()}
    for name, each in dots.items():
        look, middle = shown[name], middles[name]
        if upwards := [(at(size), value) for (size, down), value in middle.items() if not down]:
            line = frame.path(upwards)
            drawn.append(element("path", d=line, class_=f"line {look.classes}", stroke_dasharray=look.dash or None))
        drawn += [marker(look, frame.at_x(at(dot.size)), frame.at_y(dot.value), dot.title) for dot in each]
    unit = units.pop()
    what = f"{words_of(metric).words} of {task}"
    rows = [
        [_label(*step), *(digits(middle[step]) if step in middle else "–" for middle in middles.values())]
        for step in sorted({step for middle in middles.values() for step in middle})
    ]
    numbers = table([below.capitalize(), *middles], rows, f"{what} by {below}, medians")
    told = "; ".join(
        f"{name}: {digits(min(each.values()))} to {digits(max(each.values()))} {unit}".strip()
        for name, each in middles.items()
    )
    title = f"{what} by {below}"
    return figure(number, title, told, drawn, numbers, heading=f"{what} ({unit})" if unit else what)


def _tasks(view: ComparisonView) -> list[str]:
    found = (each.task for block in view.valid_blocks for race in block.races for each in race.numbers)
    return list(dict.fromkeys(found))


def _dots(view: ComparisonView, name: str, task: str, metric: str) -> list[_Dot]:
    """Return each race of a variant in each step, upwards."""
    steps, found = _steps(view, task), list[_Dot]()
    for block in view.valid_blocks:
        for each, (size, down) in steps.items():
            if (value := view.number(block, name, each, metric)) is not None:
                unit = view.unit(each, metric)
                told = f"{name}, block {block.label}, {each}: {digits(value)} {unit}".strip()
                found.append(_Dot(size, down, value, unit, told))
    return sorted(found)


def _steps(view: ComparisonView, task: str) -> dict[str, tuple[float, bool]]:
    """Return of each step its size, and whether it was raced on the way down."""
    step = re.compile(rf"{re.escape(task)}@([0-9.e+]+)(?:/s)?(-down)?")
    return {name: (float(match[1]), bool(match[2])) for name in _tasks(view) if (match := step.fullmatch(name))}


def _middles(dots: list[_Dot]) -> dict[tuple[float, bool], float]:
    steps = sorted({(dot.size, dot.down) for dot in dots})
    return {step: median(dot.value for dot in dots if (dot.size, dot.down) == step) for step in steps}


def _label(size: float, down: bool) -> str:
    return f"{size:g}{' (downwards)' if down else ''}"
