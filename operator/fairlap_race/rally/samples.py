"""From every request's sample to what Rally does not say: warm-up errors, throughput per window, support. Pure.

The file that `fairlap_race.rally.launch` writes has five kinds of lines: `#[number, {"task": …}]` declares a task;
`number,type,ok,wallclock,start,service,processing,wait,client,units,unit` is a sample (type 0 warm-up, 1 measured;
wallclock in seconds since the epoch, start on the machine's monotonic clock, durations in seconds, wait from the
planned to the real start, the client's number, units done); `![number, "text"]` is what the server said to a failed
request; `=[number, hits]` is a search that found fewer or more than any before it; `~[number, retries, errors, lost]`
is a bulk that was sent again or whose documents were not all taken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.record import Counts, RallyNumbers, Task, timestamp
from fairlap_race.contract.request_evidence import BulkTrouble
from fairlap_race.rally import steady
from fairlap_race.rally.clocks import ClockWatch
from fairlap_race.rally.histograms import Times
from fairlap_race.rally.schedule import Drift
from fairlap_race.rally.windows import Pace

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)


@dataclass
class Tally:
    """What is kept of one task's samples: sums only, so a million samples need no memory."""

    about: Mapping[str, Any]
    samples: list[int] = field(default_factory=lambda: [0, 0])
    errors: list[int] = field(default_factory=lambda: [0, 0])
    first_error: str | None = None
    unit: str | None = None
    units_done: float = 0.0
    first_wallclock: float = math.inf
    measured_wallclock: float = math.inf
    last_wallclock: float = -math.inf
    pace: Pace = field(default_factory=Pace)
    drift: Drift = field(default_factory=Drift)
    times: Times = field(default_factory=Times)
    clocks: ClockWatch = field(default_factory=ClockWatch)
    window_times: steady.WindowTimes = field(default_factory=steady.WindowTimes)
    hits: list[int] = field(default_factory=list)
    """of searches, each with fewer or more than those before it"""
    bulk_trouble: BulkTrouble | None = None

    def add(self, kind: int, ok: bool, client: int, start: float, seconds: float, units: float) -> None:
        """Count one request of a client that started at `start` and took `seconds`."""
        self.samples[kind] += 1
        if not ok:
            self.errors[kind] += 1
        if kind == 0:
            self.pace.join(client)
            return
        self.units_done += units
        self.pace.add(client, start, start + max(0.0, seconds), units)
        if ok:
            self.window_times.add(start + max(0.0, seconds), seconds)

    def note_time(self, kind: int, at: float, seconds: float) -> None:
        """Take note of when a request began, in seconds since the epoch, and how long it took altogether."""
        self.first_wallclock = min(self.first_wallclock, at)
        self.last_wallclock = max(self.last_wallclock, at + max(0.0, seconds))
        if kind == 1:
            self.measured_wallclock = min(self.measured_wallclock, at)


def tally(lines: Iterable[str], keep: Callable[[str, Sequence[str]], None] | None = None) -> list[Tally]:
    """Return one tally for each task in the sample file's `lines`, in the order of their first sample.

    `keep` is given the task's name and the fields of each sample. A last line that was cut off (the writer was killed)
    is ignored.
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
        elif line[0] == "~":
            number, retries, errors, lost = json.loads(line[1:])
            found[number].bulk_trouble = with_trouble(found[number].bulk_trouble, retries, errors, lost)
        else:
            parts = line.rstrip("\n").split(",", 10)
            it = found[int(parts[0])]
            it.note_time(int(parts[1]), float(parts[3]), float(parts[6]))
            it.clocks.add(float(parts[3]), float(parts[4]), float(parts[5]), float(parts[6]))
            # A failed request reports another unit than the task's.
            if parts[2] == "1" or it.unit is None:
                it.unit = parts[10]
            client, start = int(parts[8]), float(parts[4])
            it.add(int(parts[1]), parts[2] == "1", client, start, float(parts[5]), float(parts[9]))
            if parts[1] == "1":
                it.drift.add(client, start, float(parts[7]), float(parts[6]))
                it.times.add(float(parts[5]), float(parts[5]) + float(parts[7]))
            else:
                it.drift.join(client, start + float(parts[6]))
            if keep is not None:
                keep(str(it.about["task"]), parts)
    return found


def with_trouble(known: BulkTrouble | None, retries: int, errors: int, lost: int) -> BulkTrouble:
    """Return the trouble of a task's bulks with that of one more: sent again, documents refused, and never taken."""
    before = known or BulkTrouble()
    return BulkTrouble(
        retried=before.retried + (retries > 0),
        retries=before.retries + retries,
        item_errors=before.item_errors + errors,
        lost=before.lost + lost,
    )


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
    seconds, rate = it.pace.duration(), it.pace.rate(planned=throttled, timed=bool(it.about.get("timed")))
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
        duration_seconds=None if seconds is None else round(seconds, 6),
        client_seconds=round(it.pace.client_seconds(), 6) if measured else None,
        samples=Counts(*it.samples),
        errors=Counts(*it.errors),
        first_error=it.first_error,
        schedule_share=it.drift.share() if throttled else None,
        client_busy_share=it.drift.busy_share(it.about.get("clients") or 1) if throttled else None,
        schedule=it.drift.record() if throttled else None,
        rally=rally,
        fastest_millis=min(it.times.service) / 1000 if it.times.service else None,
        units_done=it.units_done if measured else None,
        rate=None if rate is None else round(rate, 6),
        windows=it.pace.windows(),
        settling=steady.settling_of(it.pace, it.window_times),
        support=support(it.samples[1]),
        fewest_hits=min(it.hits, default=None),
        most_hits=max(it.hits, default=None),
        bulk_trouble=it.bulk_trouble,
        clock_shift_seconds=it.clocks.shift(),
        histogram=it.times.record(),
    )
