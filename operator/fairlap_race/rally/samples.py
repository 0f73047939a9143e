"""From every request's sample to what Rally does not say: warm-up errors, throughput per window, support. Pure.

The file that `fairlap_race.rally.launch` writes has four kinds of lines: `#[number, {"task": …}]` declares a task;
`number,type,ok,wallclock,start,service,processing,wait,units,unit` is a sample (type 0 warm-up, 1 measured; wallclock
in seconds since the epoch, start on the machine's monotonic clock, durations in seconds, wait from the planned to the
real start, units done); `![number, "text"]` is what the server said to a failed request; `=[number, hits]` is a search
that found fewer or more than any before it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from fairlap_race.contract.record import Counts, RallyNumbers, Task, Windows, timestamp
from fairlap_race.rally.clocks import ClockWatch
from fairlap_race.rally.schedule import Drift

WINDOW_SECONDS = 1.0
MOST_PARTS = 60
"""Of a task's time, for its throughput over it."""
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)
MAX_WINDOWS = 7 * 24 * 3600
"""A window further away than a week comes from a broken clock."""


@dataclass
class Tally:
    """What is kept of one task's samples: sums only, so a million samples need no memory."""

    about: Mapping[str, Any]
    samples: list[int] = field(default_factory=lambda: [0, 0])
    errors: list[int] = field(default_factory=lambda: [0, 0])
    first_error: str | None = None
    unit: str | None = None
    units_done: float = 0.0
    first_start: float = math.inf
    last_end: float = -math.inf
    first_wallclock: float = math.inf
    measured_wallclock: float = math.inf
    last_wallclock: float = -math.inf
    windows: dict[int, float] = field(default_factory=dict)
    """window number on the machine's clock -> units done in it by measured requests"""
    drift: Drift = field(default_factory=Drift)
    clocks: ClockWatch = field(default_factory=ClockWatch)
    hits: list[int] = field(default_factory=list)
    """of searches, each with fewer or more than those before it"""

    def add(self, kind: int, ok: bool, start: float, seconds: float, units: float) -> None:
        """Count one request that started at `start` and took `seconds`."""
        self.samples[kind] += 1
        if not ok:
            self.errors[kind] += 1
        if kind == 0:
            return
        end = start + max(0.0, seconds)
        self.first_start = min(self.first_start, start)
        self.last_end = max(self.last_end, end)
        self.units_done += units
        self._spread(start, end, units)

    def note_time(self, kind: int, at: float, seconds: float) -> None:
        """Take note of when a request began, in seconds since the epoch, and how long it took altogether."""
        self.first_wallclock = min(self.first_wallclock, at)
        self.last_wallclock = max(self.last_wallclock, at + max(0.0, seconds))
        if kind == 1:
            self.measured_wallclock = min(self.measured_wallclock, at)

    def _spread(self, start: float, end: float, units: float) -> None:
        first, last = math.floor(start / WINDOW_SECONDS), math.floor(end / WINDOW_SECONDS)
        if last == first or last - first > MAX_WINDOWS:
            self.windows[last] = self.windows.get(last, 0.0) + units
            return
        # A request that spans windows counts in each by the share of its time there.
        for window in range(first, last + 1):
            inside = min(end, (window + 1) * WINDOW_SECONDS) - max(start, window * WINDOW_SECONDS)
            self.windows[window] = self.windows.get(window, 0.0) + units * inside / (end - start)


def tally(lines: Iterable[str]) -> list[Tally]:
    """Return one tally for each task in the sample file's `lines`, in the order of their first sample.

    A last line that was cut off (the writer was killed) is ignored.
    """
    found: list[Tally] = []
    for line in lines:
        if not line.endswith("\n"):
            break
        if line[0] == "#":
            found.append(Tally(about=json.loads(line[1:])[1]))
        elif line[0] == "!":
            number, text = json.loads(line[1:])
            if found[number].first_error is None:
                found[number].first_error = text
        elif line[0] == "=":
            number, hits = json.loads(line[1:])
            found[number].hits.append(hits)
        else:
            parts = line.rstrip("\n").split(",", 9)
            it = found[int(parts[0])]
            it.note_time(int(parts[1]), float(parts[3]), float(parts[6]))
            it.clocks.add(float(parts[3]), float(parts[4]), float(parts[5]), float(parts[6]))
            # A failed request reports another unit than the task's.
            if parts[2] == "1" or it.unit is None:
                it.unit = parts[9]
            it.add(int(parts[1]), parts[2] == "1", float(parts[4]), float(parts[5]), float(parts[8]))
            if parts[1] == "1":
                it.drift.add(float(parts[4]), float(parts[7]), float(parts[6]))
    return found


def windows(it: Tally) -> Windows | None:
    """Return the throughput of the full windows between the task's first and last measured request.

    The first and the last window are left out, since load filled them only in part. None without a full window.
    """
    if it.samples[1] == 0:
        return None
    first = math.ceil(it.first_start / WINDOW_SECONDS)
    last = math.floor(it.last_end / WINDOW_SECONDS)
    if last <= first or last - first > MAX_WINDOWS:
        return None
    in_order = [it.windows.get(number, 0.0) / WINDOW_SECONDS for number in range(first, last)]
    rates = sorted(in_order)
    return Windows(
        seconds=WINDOW_SECONDS,
        count=len(rates),
        median=round(quantile(rates, 0.5), 3),
        p10=round(quantile(rates, 0.1), 3),
        p90=round(quantile(rates, 0.9), 3),
        over_time=tuple(float(f"{rate:.4g}") for rate in parts_of(in_order)),
    )


def parts_of(values: list[float], most: int = MOST_PARTS) -> list[float]:
    """Return the means of parts of as equal length as can be, `most` at most, in the order of the values."""
    parts = min(len(values), most)
    ends = [len(values) * number // parts for number in range(parts + 1)] if parts else []
    return [sum(values[start:end]) / (end - start) for start, end in pairwise(ends)]


def quantile(ordered: list[float], share: float) -> float:
    """Return the quantile of the sorted values by linear interpolation, as Rally does; `share` is 0 to 1."""
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def support(samples: int) -> dict[str, int]:
    """Return for each percentile how many of `samples` measured samples lie at or beyond it.

    A percentile that less than one sample supports is left out: it would be the maximum under another name.
    """
    found = {}
    for percentile in PERCENTILES:
        beyond = math.floor(samples * (100 - percentile) / 100 + 1e-9)
        if beyond >= 1:
            found[f"p{percentile:g}"] = beyond
    if samples:
        found["p100"] = 1
    return found


def task_record(it: Tally, rally: RallyNumbers | None) -> Task:
    """Return the record of one task: Rally's numbers as they are, and ours beside them."""
    measured, throttled = it.samples[1] > 0, it.about.get("target") is not None
    return Task(
        task=str(it.about["task"]),
        operation=it.about.get("operation"),
        type=it.about.get("type"),
        unit=None if it.unit is None else f"{it.unit}/s",
        clients=it.about.get("clients"),
        target_throughput=it.about.get("target"),
        started_at=timestamp(it.first_wallclock) if sum(it.samples) else None,
        measured_from=timestamp(it.measured_wallclock) if measured else None,
        ended_at=timestamp(it.last_wallclock) if sum(it.samples) else None,
        duration_seconds=round(it.last_end - it.first_start, 6) if measured else None,
        samples=Counts(*it.samples),
        errors=Counts(*it.errors),
        first_error=it.first_error,
        schedule_share=it.drift.share() if throttled else None,
        client_busy_share=it.drift.busy_share(it.about.get("clients") or 1) if throttled else None,
        rally=rally,
        units_done=it.units_done if measured else None,
        windows=windows(it),
        support=support(it.samples[1]),
        fewest_hits=min(it.hits, default=None),
        most_hits=max(it.hits, default=None),
        clock_shift_seconds=it.clocks.shift(),
    )
