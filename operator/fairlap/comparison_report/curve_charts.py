"""Curves of tasks: times by percentile and rates over time, the median of a variant's races with all of them around."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from fairlap.api.block_record import Curve, RaceRecord
from fairlap.comparison.numbers.block_numbers import is_common
from fairlap.comparison_report.comparison_view import ComparisonView
from fairlap.comparison_report.markup import Markup, element
from fairlap.comparison_report.svg_parts import Appearance, Axis2D, figure, log_ticks, padded, table, ticks
from fairlap.wording.numerals import digits

CurvesOf = Callable[[RaceRecord], Sequence[Curve]]
CurvePoints = Sequence[tuple[float, float]]
_MOST_POINTS = 48
_BINS = 40
_SHORTEST_SECONDS = 1e-9
_LAST = 99.99
_LEAST = 1e-9
"""ms; the axis is a logarithm"""
_NINES = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99)


class _Course(NamedTuple):
    """A variant's median and, around it, its lowest and highest race."""

    middle: list[tuple[float, float]]
    low: list[tuple[float, float]]
    high: list[tuple[float, float]]
    races: int


def tasks_of(view: ComparisonView, curves: CurvesOf) -> list[str]:
    """Return the tasks that have a curve: those of gates first, then in the order of the schedule."""
    there = dict.fromkeys(
        curve.task for block in view.valid_blocks for race in block.races for curve in curves(race) if curve.points
    )
    gated = [gate.task for gate in view.gates if gate.task in there]
    return list(dict.fromkeys([*gated, *there]))


def service_time_curves(view: ComparisonView, shown: Mapping[str, Appearance], number: str, task: str) -> Markup | None:
    """Return a task's service times by percentile; None without any."""
    return _percentile_curves(view, shown, number, task, ("Service time", service_times))


def latency_curves(view: ComparisonView, shown: Mapping[str, Appearance], number: str, task: str) -> Markup | None:
    """Return a task's latencies by percentile; None unless all races were asked at the same rate."""
    races = [race for block in view.valid_blocks for race in block.races]
    if not is_common([race.target_throughput.get(task, 0.0) for race in races]):
        return None
    return _percentile_curves(view, shown, number, task, ("Latency", latencies))


def _percentile_curves(
    view: ComparisonView, shown: Mapping[str, Appearance], number: str, task: str, what: tuple[str, CurvesOf]
) -> Markup | None:
    """Return a task's times by percentile, so that each further nine is as wide as the one before."""
    words, times = what
    courses = {}
    for name in view.arms:
        races = [
            [(min(max(x, 0.0), _LAST), y) for x, y in curve if y > _LEAST] for curve in _curves(view, name, task, times)
        ]
        if any(races):
            courses[name] = _summed([race for race in races if race], _common_places(races))
    if not courses:
        return None
    all_points = [point for course in courses.values() for line in (course.low, course.high) for point in line]
    low, high = min(y for _, y in all_points), max(y for _, y in all_points)
    most = max(x for x, _ in all_points)
    frame = Axis2D((0.0, max(_nines(most), 1.0)), (low / 1.08, high * 1.08), y_log=True)
    scaled = {name: _moved(course, lambda point: (_nines(point[0]), point[1])) for name, course in courses.items()}
    axis = frame.frame(
        [(_nines(each), f"{each:g}") for each in _NINES if each <= most],
        [(each, digits(each)) for each in log_ticks(*frame.y)],
        "percentile",
    )
    rows = [
        [
            f"{x:g}",
            *(
                digits(dict(course.middle).get(x, 0)) if x in dict(course.middle) else "–"
                for course in courses.values()
            ),
        ]
        for x in sorted({x for course in courses.values() for x, _ in course.middle})
    ]
    numbers = table(["Percentile", *courses], rows, f"{words} of {task} in ms by percentile")
    title = f"{words} of {task} by percentile"
    return figure(
        number, title, _in_words(courses, "ms"), [axis, _drawn(frame, scaled, shown)], numbers, heading=f"{task} (ms)"
    )


def rate_curves(view: ComparisonView, shown: Mapping[str, Appearance], number: str, task: str) -> Markup | None:
    """Return a task's throughput over its time, all races begun at 0; None where it is short or in different units."""
    if view.told_apart(task, "throughput"):
        return None
    races = {name: [race for race in _curves(view, name, task, rates) if race] for name in view.arms}
    longest = max((x for each in races.values() for race in each for x, _ in race), default=0.0)
    if longest < _SHORTEST_SECONDS:
        return None
    width = longest / _BINS
    courses = {
        name: _summed([_binned(race, width) for race in each], [(place + 0.5) * width for place in range(_BINS)])
        for name, each in races.items()
        if each
    }
    values = [y for course in courses.values() for line in (course.low, course.high) for _, y in line]
    if not values:
        return None
    frame = Axis2D((0.0, longest), padded(values, zero=True))
    axis = frame.frame(
        [(each, digits(each)) for each in ticks(0, longest)],
        [(each, digits(each)) for each in ticks(*frame.y)],
        "seconds since the task began",
    )
    seconds = sorted({x for course in courses.values() for x, _ in course.middle})
    rows = [
        [
            f"{x:.1f}",
            *(digits(dict(course.middle)[x]) if x in dict(course.middle) else "–" for course in courses.values()),
        ]
        for x in seconds
    ]
    title, unit = f"Throughput of {task} over time", view.unit(task, "throughput")
    numbers = table(["Seconds", *courses], rows, f"Throughput of {task} in {unit} over time")
    return figure(
        number,
        title,
        _in_words(courses, unit),
        [axis, _drawn(frame, courses, shown)],
        numbers,
        heading=f"{task} ({unit})",
    )


def service_times(race: RaceRecord) -> Sequence[Curve]:
    """Return a race's service times by percentile."""
    return race.service_times


def latencies(race: RaceRecord) -> Sequence[Curve]:
    """Return a race's latencies by percentile."""
    return race.latencies


def rates(race: RaceRecord) -> Sequence[Curve]:
    """Return a race's throughput over time."""
    return race.rates


def _curves(view: ComparisonView, name: str, task: str, curves: CurvesOf) -> list[list[tuple[float, float]]]:
    races = [block.race_of(name) for block in view.valid_blocks]
    return [sorted(curve.points) for race in races if race for curve in curves(race) if curve.task == task]


def _nines(percentile: float) -> float:
    """Return how many nines a percentile has: 90 is 1, 99 is 2 (the axis of HdrHistogram)."""
    return -math.log10(1 - min(percentile, _LAST) / 100)


def _common_places(races: Sequence[CurvePoints]) -> list[float]:
    places = sorted({x for race in races for x, _ in race})
    step = max(1, math.ceil(len(places) / _MOST_POINTS))
    # From the end, so that the tail is kept.
    return sorted({*places[::-1][::step], *[each for each in places if each in _NINES]})


def _summed(races: Sequence[CurvePoints], places: Sequence[float]) -> _Course:
    """Return the median and both ends over races at these places, where a race reaches so far."""
    course = _Course([], [], [], len(races))
    for x in places:
        values = [y for race in races if (y := _value_at(race, x)) is not None]
        if values:
            for line, y in ((course.middle, median(values)), (course.low, min(values)), (course.high, max(values))):
                line.append((x, y))
    return course


def _value_at(points: CurvePoints, x: float) -> float | None:
    place = bisect_left(points, (x, -math.inf))
    if place < len(points) and points[place][0] == x:
        return points[place][1]
    if place in (0, len(points)):
        return None
    (x1, y1), (x2, y2) = points[place - 1], points[place]
    return y1 + (y2 - y1) * (x - x1) / (x2 - x1)


def _binned(points: CurvePoints, width: float) -> list[tuple[float, float]]:
    bins: dict[int, list[float]] = {}
    for x, y in points:
        bins.setdefault(int(min(max(x / width, 0), _BINS - 1)), []).append(y)
    return [((place + 0.5) * width, sum(values) / len(values)) for place, values in sorted(bins.items())]


def _moved(course: _Course, move: Callable[[tuple[float, float]], tuple[float, float]]) -> _Course:
    return _Course(
        list(map(move, course.middle)), list(map(move, course.low)), list(map(move, course.high)), course.races
    )


def _drawn(frame: Axis2D, courses: Mapping[str, _Course], shown: Mapping[str, Appearance]) -> list[Markup]:
    areas, lines = [], []
    for name, course in courses.items():
        look = shown[name]
        if course.races > 1:
            d = frame.path([*course.high, *reversed(course.low)]) + "Z"
            areas.append(element("path", d=d, class_=f"area {look.classes}"))
        d = frame.path(course.middle)
        lines.append(element("path", d=d, class_=f"line {look.classes}", stroke_dasharray=look.dash or None))
    return areas + lines


def _in_words(courses: Mapping[str, _Course], unit: str) -> str:
    parts = []
    for name, course in courses.items():
        last = course.middle[-1][1]
        parts.append(
            f"{name}: from {digits(course.middle[0][1])} to {digits(last)} {unit}, median of {course.races} races"
        )
    return "; ".join(parts) + "."
