"""From samples of counters and gauges to what happened in a span of time. Pure.

A span's ends hardly ever fall on samples. Between two samples a counter is taken to grow evenly. A number is only
given when the samples around the span are close enough: at least half of the time between them must be the span's,
and they must cover at least half of the span, or nearly all of it for a total. Otherwise it would mostly tell of
something else.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.watched_machines.resources import Usage

PEAK_SECONDS = 2.0
"""Shortest time that a peak is averaged over: two samples taken close together would show a moment's noise."""

COUNTERS = (
    *("cpu_seconds", "throttled_periods", "throttled_seconds", "faults", "major_faults"),
    *("disk_read_bytes", "disk_reads", "disk_write_bytes", "disk_writes"),
    *("network_received_bytes", "network_sent_bytes", "cpu_waiting", "memory_waiting", "memory_stalled"),
    *("io_waiting", "io_stalled", "young_gc_count", "young_gc_millis", "old_gc_count", "old_gc_millis"),
)
"""Signals that only grow; `faults` are all page faults, the major ones included."""
GAUGES = ("memory_bytes", "working_set_bytes", "page_cache_bytes", "heap_bytes")


@dataclass(frozen=True)
class Sample:
    """One look at one machine; signals that cannot be had are absent."""

    values: Mapping[str, float] = field(default_factory=dict)
    cpu_limit: float | None = None
    memory_limit_bytes: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Span:
    """A span of time, in seconds since the epoch."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start


@dataclass
class Points:
    """The samples of one signal in the order of time."""

    at: array[float] = field(default_factory=lambda: array("d"))
    value: array[float] = field(default_factory=lambda: array("d"))

    def add(self, at: float, value: float) -> None:
        """Add a sample; one that is not newer than the last, or not a number, is ignored."""
        if math.isfinite(at) and math.isfinite(value) and (not self.at or at > self.at[-1]):
            self.at.append(at)
            self.value.append(value)

    def inside(self, span: Span) -> range:
        """Return the positions of the samples in the span."""
        return range(bisect_left(self.at, span.start), bisect_right(self.at, span.end))

    def around(self, span: Span) -> range:
        """Return the positions of the samples in the span, of the last one before it and of the first one after it."""
        inside = self.inside(span)
        return range(max(0, inside.start - 1), min(len(self.at), inside.stop + 1))

    def covered(self, span: Span) -> Span | None:
        """Return the part of the span that can be told about, or None (see the module's rule)."""
        if len(self.at) < 2 or span.seconds <= 0:
            return None
        part = Span(max(span.start, self.at[0]), min(span.end, self.at[-1]))
        if part.seconds < 0.5 * span.seconds:
            return None
        before = self.at[bisect_right(self.at, part.start) - 1]
        after = self.at[bisect_left(self.at, part.end)]
        outside = (part.start - before) + (after - part.end)
        return part if outside <= part.seconds else None

    def at_moment(self, moment: float) -> float:
        """Return the value at a moment between the first and the last sample."""
        position = bisect_right(self.at, moment)
        if position == len(self.at):
            return self.value[-1]
        t0, t1 = self.at[position - 1], self.at[position]
        v0, v1 = self.value[position - 1], self.value[position]
        return v0 + (v1 - v0) * (moment - t0) / (t1 - t0)


def grown(points: Points) -> Points:
    """Return a counter's samples without its resets: where it fell, it had begun anew at zero."""
    total, last, result = 0.0, None, Points()
    for at, value in zip(points.at, points.value, strict=True):
        if last is not None:
            total += value - last if value >= last else value
        result.add(at, total)
        last = value
    return result


def added(many: Iterable[Points]) -> Points:
    """Return the sum of counters of the same machine (devices, interfaces), at the moments where all were sampled.

    Samples of one scrape share their time. A counter that came or went meanwhile counts with what it grew.
    """
    tracks = [grown(points) for points in many if points.at]
    if len(tracks) <= 1:
        return tracks[0] if tracks else Points()
    moments = sorted({at for points in tracks for at in points.at})
    result = Points()
    for moment in moments:
        result.add(moment, sum(_held(points, moment) for points in tracks))
    return result


def _held(points: Points, moment: float) -> float:
    position = bisect_right(points.at, moment)
    return points.value[position - 1] if position else 0.0


def increase(points: Points, span: Span) -> tuple[float, float] | None:
    """Return by how much a counter without resets grew, and in how many seconds of the span; None when unknown."""
    part = points.covered(span)
    if part is None:
        return None
    return points.at_moment(part.end) - points.at_moment(part.start), part.seconds


def peak_rate(points: Points, span: Span) -> float | None:
    """Return the highest growth per second between samples at least `PEAK_SECONDS` apart and mostly in the span."""
    best, anchor = None, None
    for position in points.around(span):
        if anchor is None:
            anchor = position
            continue
        start, end = points.at[anchor], points.at[position]
        if end - start < PEAK_SECONDS:
            continue
        shared = min(end, span.end) - max(start, span.start)
        if shared >= 0.5 * (end - start):
            rate = (points.value[position] - points.value[anchor]) / (end - start)
            best = rate if best is None else max(best, rate)
        anchor = position
    return best


def level(points: Points, span: Span) -> tuple[float, float] | None:
    """Return mean and peak of a gauge in the span; None when unknown."""
    part = points.covered(span)
    if part is None:
        return None
    values = [points.value[position] for position in points.inside(span)]
    if not values:
        values = [points.at_moment(part.start), points.at_moment(part.end)]
    return sum(values) / len(values), max(values)


def largest(values: Iterable[float | None]) -> float | None:
    """Return the largest of those that are known; None for none."""
    return max((value for value in values if value is not None), default=None)


TOTALS = (
    *("throttled_periods", "throttled_seconds", "disk_read_bytes", "disk_reads", "disk_write_bytes", "disk_writes"),
    *("network_received_bytes", "network_sent_bytes"),
    *("young_gc_count", "young_gc_millis", "old_gc_count", "old_gc_millis"),
)
"""Columns that are the growth of the counter of the same name."""
WHOLE_SHARE = 0.95
"""Share of a span that must be covered for a total: unlike a rate it would else read as that of all of it."""
SHARES = ("cpu_waiting", "memory_waiting", "memory_stalled", "io_waiting", "io_stalled")
LEVELS = {
    "memory_peak_bytes": ("memory_bytes", 1),
    "working_set_mean_bytes": ("working_set_bytes", 0),
    "working_set_peak_bytes": ("working_set_bytes", 1),
    "page_cache_mean_bytes": ("page_cache_bytes", 0),
    "page_cache_peak_bytes": ("page_cache_bytes", 1),
    "heap_mean_bytes": ("heap_bytes", 0),
    "heap_peak_bytes": ("heap_bytes", 1),
}
"""Column -> gauge, and 0 for its mean or 1 for its peak."""


def usage(signals: Mapping[str, Points], span: Span) -> Usage:
    """Return what a machine did in a span; `signals`: counters without resets, and gauges, by name."""
    counted = {name: increase(signals[name], span) for name in COUNTERS if name in signals}
    levels = {name: level(signals[name], span) for name in GAUGES if name in signals}

    def rate(name: str) -> float | None:
        found = counted.get(name)
        return None if found is None else found[0] / found[1]

    whole = {name: n[0] for name, n in counted.items() if n is not None and n[1] >= WHOLE_SHARE * span.seconds}
    columns: dict[str, Any] = {name: _rounded(whole[name]) if name in whole else None for name in TOTALS}
    for name in SHARES:
        columns[f"{name}_share"] = None if (found := rate(name)) is None else _rounded(min(1.0, found))
    for column, (name, which) in LEVELS.items():
        columns[column] = None if (both := levels.get(name)) is None else round(both[which])
    faults, major, cpu = rate("faults"), rate("major_faults"), rate("cpu_seconds")
    if major is not None:
        columns["major_faults_per_minute"] = _rounded(60 * major)
    if faults is not None:
        columns["minor_faults_per_minute"] = _rounded(60 * max(0.0, faults - (major or 0.0)))
    if cpu is not None:
        columns["cpu_mean_cores"] = _rounded(cpu)
        columns["cpu_peak_cores"] = _rounded(max(cpu, peak_rate(signals["cpu_seconds"], span) or 0.0))
    seen = max((len(points.inside(span)) for points in signals.values()), default=0)
    return Usage(seconds=round(span.seconds, 3), samples=seen, **columns)


def _rounded(value: float) -> float:
    # Interpolation makes long tails of digits that nobody measured.
    return round(value, 4) if abs(value) < 100 else round(value, 1)
