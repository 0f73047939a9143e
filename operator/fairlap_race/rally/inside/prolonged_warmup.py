"""A task's warm-up goes on until the task has settled, in all races by the same rule; for `race.steady`.

Rally's driver receives the samples of all clients each second. When what the track plans of a task's warm-up is over,
the requests of its last 36 seconds are tested as those of its measurement will be, by all four comparisons
(`fairlap_race.rally.steady`), but for latency: at a rate that cannot be carried it grows for as long as it is waited.
Where nothing changes any more, a second from then is written down as the moment at which all clients begin to measure:
processes on one machine, with one clock. What was not settled is measured from `maxWarmup` on. Nothing is done between
the begin and the end of a request, and the measured part is as long as planned.

Only what can go on for longer is prolonged: a task with a warm-up of its own and a planned end (a time period, or
iterations of an endless parameter source), without others at its side, which would be over before it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlap_race.contract.recorded.extended_warmup import ExtendedWarmup
from fairlap_race.rally.inside.own_schedule import follows_own_schedule
from fairlap_race.rally.steady import Series, WindowTimes, warmed_up, why_unjudged
from fairlap_race.rally.windows import WINDOW_SECONDS

FOLDER = "steady"
"""The folder of these files, beside those of `live_files`; it is there where warm-ups may be prolonged."""
AHEAD_SECONDS = 1.0
"""From the decision to the first measured request: until then every client has heard of it."""
LOOK_SECONDS = 0.2
"""Between two looks of a client at whether it was decided."""
_MOST = "most.json"
LOG = logging.getLogger(__name__)


def allow(directory: Path, seconds: float) -> None:
    """Let Rally's process prolong warm-ups to `seconds` at most."""
    (directory / FOLDER).mkdir(exist_ok=True)
    (directory / FOLDER / _MOST).write_text(json.dumps(seconds), encoding="utf-8")


def _file(folder: Path, task: str, suffix: str) -> Path:
    return folder / f"{hashlib.sha256(task.encode()).hexdigest()[:24]}.{suffix}"


def _write(file: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    fresh = file.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


def _read(file: Path) -> str:
    """Return the text of a file, "" where there is none."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


@dataclass
class Prolonged:
    """When one client ends its warm-up: not before what was planned, and not before it was decided or is the limit."""

    folder: Path
    task: str
    most: float
    """seconds from its begin"""
    _begin: float = 0.0
    _until: float | None = None
    _looked: float = -math.inf

    def start(self, now: float) -> None:
        """Begin to warm up at `now`, seconds of the machine's monotonic clock."""
        self._begin = now

    def over(self, now: float) -> bool:
        """Return whether the warm-up is over at `now`."""
        if self._until is None and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            self._until = self._decided()
        limit = self._begin + self.most
        return now >= (limit if self._until is None else min(limit, self._until))

    def _decided(self) -> float | None:
        try:
            return float(_file(self.folder, self.task, "until").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None


class ProlongedPeriod:
    """Stands for Rally's TimePeriodBased: `warm` seconds or more of warm-up, then `measured` seconds."""

    infinite = False

    def __init__(self, prolonged: Prolonged, warm: float, measured: float, types: Any) -> None:
        self._prolonged, self._warm, self._measured, self._types = prolonged, warm, measured, types
        self._begin = self._now = 0.0
        self._measures_from: float | None = None

    def start(self) -> None:
        """Begin."""
        self._begin = self._now = time.perf_counter()
        self._prolonged.start(self._begin)

    def next(self) -> None:
        """Take note that a request is over."""
        self._now = time.perf_counter()
        if self._measures_from is None and self._now >= self._begin + self._warm and self._prolonged.over(self._now):
            self._measures_from = self._now

    @property
    def sample_type(self) -> Any:
        """What the next request is."""
        return self._types.Warmup if self._measures_from is None else self._types.Normal

    @property
    def percent_completed(self) -> float:
        """The share (0 to 1) of what was planned that is done, as far as it is known."""
        since = self._now - self._begin
        if self._measures_from is None:
            return min(since, self._warm) / (self._warm + self._measured)
        return min(1.0, (self._warm + self._now - self._measures_from) / (self._warm + self._measured))

    @property
    def completed(self) -> bool:
        """Whether all is measured."""
        return self._measures_from is not None and self._now >= self._measures_from + self._measured

    def __str__(self) -> str:
        return "time-period-based, with a warm-up until it is settled,"


class ProlongedIterations:
    """Stands for Rally's IterationBased: `warm` requests or more of warm-up, then `measured` ones."""

    infinite = False

    def __init__(self, prolonged: Prolonged, warm: int, measured: int, types: Any) -> None:
        self._prolonged, self._warm, self._measured, self._types = prolonged, warm, measured, types
        self._warmed = self._done = 0
        self._measures = False

    def start(self) -> None:
        """Begin."""
        self._prolonged.start(time.perf_counter())

    def next(self) -> None:
        """Take note that a request is over."""
        if self._measures:
            self._done += 1
            return
        self._warmed += 1
        self._measures = self._warmed >= self._warm and self._prolonged.over(time.perf_counter())

    @property
    def sample_type(self) -> Any:
        """What the next request is."""
        return self._types.Normal if self._measures else self._types.Warmup

    @property
    def percent_completed(self) -> float:
        """The share (0 to 1) of what was planned that is done, as far as it is known."""
        return (min(self._warmed, self._warm) + self._done + 1) / (self._warm + self._measured + 1)

    @property
    def completed(self) -> bool:
        """Whether all is measured."""
        return self._done >= self._measured

    def __str__(self) -> str:
        return "iteration-count-based, with a warm-up until it is settled,"


def prolong(handle: Any, allocation: Any, folder: Path, most: float, types: Any) -> None:
    """Let the schedule `handle` of Rally's `allocation` warm up for as long as needed, where it can."""
    task, infinite = allocation.task, bool(handle.params.infinite)
    if allocation.total_clients != task.clients or handle.runner.completed is not None:
        return
    prolonged = Prolonged(folder, task.name, most)
    if task.warmup_time_period and task.time_period and infinite:
        control: Any = ProlongedPeriod(prolonged, task.warmup_time_period, task.time_period, types)
    elif task.warmup_iterations and task.iterations and infinite and task.warmup_time_period is None:
        control = ProlongedIterations(prolonged, task.warmup_iterations, task.iterations, types)
    else:
        return
    handle.task_progress_control = control
    _file(folder, task.name, "task").write_text(task.name, encoding="utf-8")


@dataclass
class _Warming:
    """What is known of the warm-up of one task."""

    times: WindowTimes = field(default_factory=WindowTimes)
    units: dict[int, float] = field(default_factory=dict)
    begin: float = math.inf
    end: float = -math.inf
    requests: int = 0
    judged: int = 0
    unjudged: str = ""
    """why no look could tell yet whether it had settled; "" before the first one, and since one could"""
    could_be: bool = False
    """judged, by some look"""
    decided: bool = False

    def add(self, start: float, seconds: float, units: float, *, ok: bool) -> None:
        end = start + seconds
        self.begin, self.end = min(self.begin, end), max(self.end, end)
        self.requests += 1
        if ok:
            self.times.add(end, seconds)
        window = math.floor(end / WINDOW_SECONDS)
        self.units[window] = self.units.get(window, 0.0) + units

    def planned_is_over(self, task: Any) -> bool:
        """Return whether what the track plans to warm up is done: what is still to change then is not known before."""
        if task.warmup_time_period is not None:
            return self.end - self.begin >= float(task.warmup_time_period) - AHEAD_SECONDS
        return self.requests >= int(task.warmup_iterations or 0) * int(task.clients)

    def settled(self, *, own_schedule: bool) -> bool:
        """Return whether the last whole windows show no change any more; of `own_schedule` the rate is the track's."""
        # The last one may lack the requests of a client whose samples are under way.
        last = math.floor(self.end / WINDOW_SECONDS) - 1
        if last == self.judged:
            return False
        self.judged = last
        first, series = math.ceil(self.begin / WINDOW_SECONDS), Series(self.times, None if own_schedule else self.units)
        why = why_unjudged(first, last, series)
        # What was seen to change once had not settled, however few requests come later.
        self.could_be = self.could_be or not why
        self.unjudged = "" if self.could_be else why
        return warmed_up(first, last, series)


class Decider:
    """In Rally's driver: looks at all warm-ups, and writes down from when on a task is measured."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tasks: dict[str, _Warming] = {}

    def add(self, samples: Sequence[Any], warmup: Any) -> None:
        """Take in samples of Rally's; `warmup` is its type of those that are not measured."""
        seen: dict[str, Any] = {}
        for sample in samples:
            if sample.sample_type == warmup:
                seen[sample.task.name] = sample.task
                known = self._tasks.setdefault(sample.task.name, _Warming())
                ok = bool((sample.request_meta_data or {}).get("success", True))
                known.add(sample.request_start, sample.service_time, float(sample.total_ops or 0), ok=ok)
        for name, task in seen.items():
            self._decide(task, self._tasks[name])

    def _decide(self, task: Any, known: _Warming) -> None:
        if known.decided or not known.planned_is_over(task):
            return
        noted = known.unjudged
        known.decided = known.settled(own_schedule=follows_own_schedule(task))
        if known.decided:
            _write(_file(self._folder, task.name, "until"), f"{time.perf_counter() + AHEAD_SECONDS:.6f}")
        if known.unjudged != noted:
            _write(_file(self._folder, task.name, "unjudged"), known.unjudged)


def install(directory: Path, driver: Any, types: Any) -> None:
    """Change Rally's module `driver` where warm-ups may be prolonged; `types` are its types of samples."""
    folder = directory / FOLDER
    try:
        most = float(json.loads((folder / _MOST).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return
    scheduled, updated = driver.schedule_for, driver.Driver.update_samples
    decider = Decider(folder)

    def schedule_for(task_allocation: Any, parameter_source: Any) -> Any:
        handle = scheduled(task_allocation, parameter_source)
        prolong(handle, task_allocation, folder, most, types)
        return handle

    def update_samples(self: Any, samples: Sequence[Any]) -> None:
        updated(self, samples)
        try:
            decider.add(samples, types.Warmup)
        except Exception:  # the race goes on, with warm-ups of the greatest length
            LOG.exception("the warm-up could not be judged")

    driver.schedule_for, driver.Driver.update_samples = schedule_for, update_samples


def read_prolonged(directory: Path) -> dict[str, ExtendedWarmup]:
    """Return by task how its warm-up ended, of those that could be prolonged; none where none may be."""
    folder = directory / FOLDER
    try:
        most = float(json.loads((folder / _MOST).read_text(encoding="utf-8")))
        names = [file.read_text(encoding="utf-8") for file in folder.glob("*.task")]
    except (OSError, ValueError):
        return {}
    return {
        name: ExtendedWarmup(most, _file(folder, name, "until").exists(), _read(_file(folder, name, "unjudged")))
        for name in names
    }
