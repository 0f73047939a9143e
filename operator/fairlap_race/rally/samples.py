"""From every request's sample to what Rally does not say: warm-up errors, throughput per window, support. Pure.

The file that `fairlap_race.rally.inside.launch` writes has six kinds of lines: `#[number, {"task": …}]` declares a
task; `number,type,ok,wallclock,start,service,processing,wait,client,units,unit` is a sample (type 0 warm-up, 1
measured; wallclock in seconds since the epoch, start on the machine's monotonic clock, durations in seconds, wait from
the planned to the real start, the client's number, units done); `![number, "text"]` is what the server said to a failed
request; `=[number, hits]` is a search that found fewer or more than any before it; `~[number, retries, errors, lost]`
is a bulk that was sent again or whose documents were not all taken; `?[number, late, failed]` is a measured search that
timed out (1, else 0), or of which shards failed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.recorded.record import Counts, RallyNumbers, Task, Windows, timestamp
from fairlap_race.contract.recorded.request_evidence import BulkTrouble
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.rally import steady
from fairlap_race.rally.clocks import ClockWatch, never_set
from fairlap_race.rally.histograms import Times
from fairlap_race.rally.schedule import Drift
from fairlap_race.rally.windows import Pace

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)
_IN_TURN = "its requests were sent in turn with those of other races, whose time is in it"


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
    clock_set: float = 0.0
    """by how many seconds the wall clock had been set before the first request"""
    pace: Pace = field(default_factory=Pace)
    drift: Drift = field(default_factory=Drift)
    times: Times = field(default_factory=Times)
    clocks: ClockWatch = field(default_factory=ClockWatch)
    window_times: steady.WindowTimes = field(default_factory=steady.WindowTimes)
    window_latencies: steady.WindowTimes = field(default_factory=steady.WindowTimes)
    """of requests that are planned"""
    hits: list[int] = field(default_factory=list)
    """of searches, each with fewer or more than those before it"""
    bulk_trouble: BulkTrouble | None = None
    in_part: list[int] = field(default_factory=lambda: [0, 0])
    """measured searches that timed out, and those with failed shards"""

    @property
    def is_planned(self) -> bool:
        """Whether its requests are due at moments, by a target throughput."""
        return self.about.get("target") is not None

    @property
    def has_own_schedule(self) -> bool:
        """Whether they are due when a scheduler of the track's says so, at whatever rate."""
        return self.about.get("own_schedule") is True

    def add(
        self, kind: int, ok: bool, client: int, start: float, seconds: float, units: float, wait: float = 0.0
    ) -> None:
        """Count a client's request that started at `start`, `wait` seconds after it was due, and took `seconds`."""
        self.samples[kind] += 1
        if not ok:
            self.errors[kind] += 1
        if kind == 0:
            it = self.pace.join(client)
            it.warm = max(it.warm, (start, start + max(0.0, seconds)))
            return
        self.units_done += units
        self.pace.add(client, start, start + max(0.0, seconds), units)
        if ok:
            self.window_times.add(start + max(0.0, seconds), seconds)
        if ok and (self.is_planned or self.has_own_schedule):
            self.window_latencies.add(start + max(0.0, seconds), seconds + max(0.0, wait))

    def note_time(self, kind: int, at: float, seconds: float, clock_set: float = 0.0) -> None:
        """Take note of when a request began, in seconds since the epoch, and how long it took altogether.

        `clock_set`: by how many seconds the wall clock, which `at` is free of, had been set.
        """
        if at < self.first_wallclock:
            self.first_wallclock, self.clock_set = at, clock_set
        self.last_wallclock = max(self.last_wallclock, at + max(0.0, seconds))
        if kind == 1:
            self.measured_wallclock = min(self.measured_wallclock, at)


def tally(
    lines: Iterable[str],
    keep: Callable[[str, Sequence[str]], None] | None = None,
    clock_offset: float | None = None,
) -> list[Tally]:
    """Return one tally for each task in the sample file's `lines`, in the order of their first sample.

    `keep` is given the task's name and the fields of each sample. `clock_offset`: by how many seconds the wall clock
    was ahead of the monotonic one when the race began, whose times the tallies then have; None takes the wall clock as
    it was. A last line that was cut off (the writer was killed) is ignored.
    """
    found: list[Tally] = []
    for line in lines:
        if not line.endswith("\n"):
            break
        if line[0] == "#":
            found.append(Tally(about=json.loads(line[1:])[1]))
        elif line[0] in "!=?~":
            number, *said = json.loads(line[1:])
            _note(found[number], line[0], said)
        else:
            parts = line.rstrip("\n").split(",", 10)
            it = found[int(parts[0])]
            wall, start, seconds, processing, wait = map(float, parts[3:8])
            slack = max(0.0, processing - seconds)
            at = wall if clock_offset is None else never_set(wall, start, slack, clock_offset)
            it.note_time(int(parts[1]), at, processing, wall - at)
            it.clocks.add(wall, start, seconds, processing)
            # A failed request reports another unit than the task's.
            if parts[2] == "1" or it.unit is None:
                it.unit = parts[10]
            client = int(parts[8])
            it.add(int(parts[1]), parts[2] == "1", client, start, seconds, float(parts[9]), wait)
            if parts[1] == "1":
                it.drift.add(client, start, wait, processing)
                it.times.add(seconds, seconds + wait)
            else:
                it.drift.join(client, start + processing)
            if keep is not None:
                keep(str(it.about["task"]), parts)
    return found


def _note(it: Tally, mark: str, said: list[Any]) -> None:
    """Take note of what a line says of one request beside its sample."""
    if mark == "!":
        it.first_error = said[0] if it.first_error is None else it.first_error
    elif mark == "=":
        it.hits.append(said[0])
    elif mark == "?":
        it.in_part = [known + more for known, more in zip(it.in_part, said, strict=True)]
    else:
        it.bulk_trouble = with_trouble(it.bulk_trouble, *said)


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


def series_of(it: Tally, *, in_turn: bool = False) -> steady.Series:
    """Return what tells whether the task has settled.

    In turn rate and latency have the other races' time in them; a schedule of the track's own may change the rate.
    """
    if in_turn:
        return steady.Series(it.window_times)
    return steady.Series(it.window_times, None if it.has_own_schedule else it.pace.units, it.window_latencies)


def task_record(it: Tally, rally: RallyNumbers | None, turns: TaskTurns | None = None) -> Task:
    """Return the record of one task: Rally's numbers as they are, and ours beside them.

    `turns`: how its requests were sent, where races take turns: what is done in turn has no throughput of its own.
    """
    measured, throttled = it.samples[1] > 0, it.is_planned
    planned = throttled or it.has_own_schedule
    seconds, rate = it.pace.duration(), it.pace.rate(planned=planned, timed=bool(it.about.get("timed")))
    windows = it.pace.windows(planned=planned)
    hung = it.pace.hung(max(it.times.service, default=0) / 1e6) if not planned and turns is None else []
    if windows is not None and turns is not None:
        windows = Windows(windows.seconds, left_out=_IN_TURN)
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
        hung_clients=len(hung) or None,
        hung_seconds=round(max(hung), 3) if hung else None,
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
        windows=windows,
        settling=steady.settling_of(it.pace, series_of(it, in_turn=turns is not None)),
        planned_warmup_seconds=it.about.get("warmup") or None if it.about.get("timed") and not planned else None,
        support=support(it.samples[1]),
        fewest_hits=min(it.hits, default=None),
        most_hits=max(it.hits, default=None),
        timed_out=it.in_part[0] or None,
        shards_failed=it.in_part[1] or None,
        bulk_trouble=it.bulk_trouble,
        clock_shift_seconds=it.clocks.shift(),
        clock_set_seconds=round(it.clock_set, 3) or None,
        histogram=it.times.record(),
        turns=turns,
    )
