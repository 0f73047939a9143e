"""The curves of sweeps as one picture (SVG): throughput and times by clients or rate, Benchmarks over each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.benchmarks import Benchmark
from fairlap.cli.edge.exits import UsageError
from fairlap.comparison_report.markup import Markup, element
from fairlap.comparison_report.svg_parts import HEIGHT, WIDTH, Appearance, Axis2D, looks, marker, padded, ticks
from fairlap.wording.numerals import digits

_HEAD, _LEGEND_LINE = 44.0, 18.0
_MOST_TICKS = 10
_COLOURS: Final = (("#3d444d", "#c9d1d9"), ("#0a5fb4", "#6cb6ff"), ("#b5470a", "#ff9d63"), ("#0b7358", "#4fd0aa"),
                   ("#9a3f86", "#f0a0de"), ("#7d5b00", "#e3c04e"), ("#5a51c8", "#b3acff"))  # fmt: skip
_STYLE: Final = """
svg{--bg:#fff;--fg:#1b1f24;--soft:#57606a;--grid:#e3e7eb;LIGHT}
@media (prefers-color-scheme:dark){svg{--bg:#0f1419;--fg:#e6edf3;--soft:#a3adb8;--grid:#27303a;DARK}}
text{font:12px system-ui,"Segoe UI",Roboto,sans-serif;fill:var(--fg)}.tick{font-size:11px;fill:var(--soft)}
.name{font-weight:600;font-size:13px}.middle{text-anchor:middle}.end{text-anchor:end}.page{fill:var(--bg)}
.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}.mark{stroke:var(--bg)}.line{fill:none;stroke-width:2}
"""


class _Point(NamedTuple):
    """One step of one Benchmark."""

    size: float
    value: float
    counts: bool
    """whether the load generator was not the bottleneck"""
    down: bool
    """whether it was raced on the way down, and is not joined to the others"""


def picture(benchmarks: Sequence[Benchmark]) -> str:
    """Return throughput, p50 and p99 of sweeps as an SVG document that needs nothing else.

    Raises UsageError where a Benchmark has no sweep, or where they are over different things or in different units.
    """
    rows = {bm.name(it): _rows(it) for it in benchmarks}
    by_rate = {bool(row.get("targetThroughput")) for each in rows.values() for row in each}
    if len(by_rate) > 1:
        raise UsageError("one picture has either clients or rates from left to right: name Benchmarks of one kind")
    over_rate = by_rate == {True}
    times = "latencyMillis" if over_rate else "serviceTimeMillis"
    words = "latency" if over_rate else "service time"
    tasks = {bm.name(it): _of_sweep(it, "task", "requests") for it in benchmarks}
    unit, several = _one_unit(benchmarks), len({*tasks.values()}) > 1
    throughput = "throughput" if several else f"throughput of {tasks[bm.name(benchmarks[0])]}"
    panels = (
        (f"{throughput} ({unit})", lambda row: (row.get("throughput") or {}).get("median")),
        (f"{words} p50 (ms)", lambda row: (row.get(times) or {}).get("p50")),
        (f"{words} p99 (ms)", lambda row: (row.get(times) or {}).get("p99")),
    )
    shown = looks(list(rows), "")
    drawn = [
        element(
            "g", _panel(heading, rows, shown, read, "target throughput" if over_rate else "clients"),
            transform=f"translate({place * (WIDTH + 20):g} {_HEAD - 20:g})",
        )
        for place, (heading, read) in enumerate(panels)
    ]  # fmt: skip
    height = _HEAD + HEIGHT + 10 + _LEGEND_LINE * len(rows)
    width = len(panels) * WIDTH + (len(panels) - 1) * 20
    light, dark = ("".join(f"--v{at}:{pair[kind]};" for at, pair in enumerate(_COLOURS)) for kind in (0, 1))
    strokes = "".join(f".v{at}{{fill:var(--v{at})}}.line.v{at}{{fill:none;stroke:var(--v{at})}}" for at in range(7))
    hollow = ".hollow{fill:var(--bg);stroke:var(--soft)}"
    style = _STYLE.replace("LIGHT", light).replace("DARK", dark) + strokes + hollow
    title = f"{', '.join(dict.fromkeys(tasks.values()))}: {', '.join(rows)}"
    return str(
        element(
            "svg",
            element("title", title),
            element("style", Markup(style)),
            element("rect", width=width, height=height, class_="page"),
            drawn,
            _legend(rows, tasks if several else {}, shown, _HEAD + HEIGHT),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:g} {height:g}",
            role="img",
        )
    )


def _rows(benchmark: Benchmark) -> list[Mapping[str, Any]]:
    found = ((bm.status(benchmark).get("results") or {}).get("sweep") or {}).get("rows") or ()
    rows = [row for row in found if (row.get("clients") or row.get("targetThroughput")) and row.get("throughput")]
    if not rows:
        raise UsageError(f"{bm.name(benchmark)} has no curve: -o svg is for Benchmarks with race.sweep")
    return rows


def _of_sweep(benchmark: Benchmark, key: str, otherwise: str) -> str:
    sweep = (bm.status(benchmark).get("results") or {}).get("sweep") or {}
    return str(sweep.get(key) or otherwise)


def _one_unit(benchmarks: Sequence[Benchmark]) -> str:
    units = {bm.name(it): unit for it in benchmarks if (unit := _of_sweep(it, "unit", ""))}
    (one, unit), *others = units.items() or [("", "requests/s")]
    if odd := next(((name, other) for name, other in others if other != unit), None):
        told = f"the throughput of {one} is in {unit}, of {odd[0]} in {odd[1]}"
        raise UsageError(f"{told}: one picture has one unit, so name Benchmarks of one unit")
    return unit


def _panel(
    heading: str,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    shown: Mapping[str, Appearance],
    read: Callable[[Mapping[str, Any]], float | None],
    below: str,
) -> list[Markup]:
    points = {name: _points(each, read) for name, each in rows.items()}
    everything = [point for each in points.values() for point in each]
    top = element("text", heading, x=6, y=-6, class_="name")
    if not everything:
        return [top, element("text", "no number", x=WIDTH / 2, y=HEIGHT / 2, class_="tick middle")]
    sizes = sorted({point.size for point in everything})
    at = _scale(sizes)
    frame = Axis2D(padded([at(it) for it in sizes], 0.04), padded([point.value for point in everything], zero=True))
    labelled = sizes[:: math.ceil(len(sizes) / _MOST_TICKS)]
    below_ticks, side_ticks = [(at(it), f"{it:g}") for it in labelled], [(it, digits(it)) for it in ticks(*frame.y)]
    drawn = [top, frame.frame(below_ticks, side_ticks, below)]
    for name, each in points.items():
        look = shown[name]
        if joined := [(at(point.size), point.value) for point in each if not point.down]:
            line = frame.path(joined)
            drawn.append(element("path", d=line, class_=f"line {look.classes}", stroke_dasharray=look.dash or None))
        for point in each:
            seen = look if point.counts else Appearance(look.colour, look.shape, look.dash, hollow=True)
            told = f"{name}, {point.size:g}{' (downwards)' if point.down else ''}: {digits(point.value)}"
            drawn.append(marker(seen, frame.at_x(at(point.size)), frame.at_y(point.value), told))
    return drawn


def _scale(sizes: Sequence[float]) -> Callable[[float], float]:
    """Return where sizes stand: evenly where they are even steps, by their logarithm where they double."""
    gaps = [later - earlier for earlier, later in pairwise(sizes)]
    return math.log2 if gaps and max(gaps) > 3 * min(gaps) else float


def _points(rows: Sequence[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], float | None]) -> list[_Point]:
    found = [
        _Point(
            float(row.get("targetThroughput") or row["clients"]),
            float(value),
            counts=bool(row.get("used")),
            down=row.get("direction") == "down",
        )
        for row in rows
        if (value := read(row)) is not None
    ]
    return sorted(found)


def _legend(
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    tasks: Mapping[str, str],
    shown: Mapping[str, Appearance],
    top: float,
) -> list[Markup]:
    """Return the signs of Benchmarks with their names, and with the task of each of which `tasks` has one."""
    items: list[Markup] = []
    for place, name in enumerate(rows):
        y = top + _LEGEND_LINE * (place + 0.5)
        told = f"{name}: {tasks[name]}" if name in tasks else name
        items += [marker(shown[name], 60, y), element("text", told, x=74, y=y + 4)]
    if any(not row.get("used") for each in rows.values() for row in each):
        note = "hollow: the load generator was the bottleneck"
        items.append(element("text", note, x=WIDTH + 20, y=top + _LEGEND_LINE * 0.5 + 4, class_="tick"))
    return items
