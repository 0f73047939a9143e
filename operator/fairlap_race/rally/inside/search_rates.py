"""The rate of each step of a search follows from those before it; for `race.capacity`.

Rally's schedule has as many steps as a search may take, from the beginning. Its driver has all samples of a step when
that is over, judges it, and writes down the next rate, before its workers hear of the next step: processes on one
machine, which read it when they make the step's schedule. Where the search is over, the steps that are left send
nothing. Nothing is done while a request is measured.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlap_race.contract.codec import decode
from fairlap_race.contract.recorded.record import SCHEDULE_KEPT, Task
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.capacity_search import CapacitySearch, ProbeOutcome, is_kept, next_rate
from fairlap_race.contract.specification.sweep import SweepSpec
from fairlap_race.rally.inside.steps_in_the_track import SWEEP
from fairlap_race.rally.live_files import replace_json
from fairlap_race.rally.schedule import Drift
from fairlap_race.rally.sweep_steps import PAUSE

FOUND = "search.json"
"""The file of the probes so far and the next rate, beside those of `live_files`."""
LOG = logging.getLogger(__name__)


@dataclass
class ProbeSamples:
    """The requests of one probe, while they come in."""

    latencies: list[float] = field(default_factory=list)
    """seconds, of all requests that Rally measured"""
    failed: int = 0
    drift: Drift = field(default_factory=Drift)

    def add(self, sample: Any) -> None:
        """Take in one of Rally's measured samples."""
        self.latencies.append(sample.latency)
        self.failed += not (sample.request_meta_data or {}).get("success", True)
        wait = sample.latency - sample.service_time
        self.drift.add(sample.client_id, sample.request_start, wait, sample.processing_time)

    def join(self, sample: Any) -> None:
        """Take note of one of Rally's samples of the warm-up, which may hold its client while others are measured."""
        self.drift.join(sample.client_id, sample.request_start + sample.processing_time)

    def measured(self, percentile: str, planned: float = 0.0) -> ProbeOutcome:
        """Return what was measured, of so many `planned` requests, with the nearest rank of `percentile`, as p99."""
        number = len(self.latencies)
        if not number:
            return ProbeOutcome()
        rank = max(1, math.ceil(number * float(percentile.removeprefix("p")) / 100 - 1e-9))
        sent = Task(schedule_share=self.drift.share(), schedule=self.drift.record())
        # Of few requests the plan is not judged, client by client; that many are missing is seen all the same. Each
        # client may lack one, since it sends once in a long while, and plans that are drawn have sometimes fewer.
        clients = len(self.drift.clients.keys() | self.drift.warmed_up.keys())
        enough = SCHEDULE_KEPT * planned - max(clients, 2 * math.sqrt(planned))
        kept = sent.keeps_schedule and (sent.schedule is not None or number >= enough)
        return ProbeOutcome(1000 * sorted(self.latencies)[rank - 1], self.failed / number, kept)


class Searcher:
    """In Rally's driver: judges each probe when it is over, and says at which rate the next one is."""

    def __init__(self, directory: Path, sweep: SweepSpec, search: CapacitySearch) -> None:
        self._file, self._sweep, self._search = directory / FOUND, sweep, search
        self._names = frozenset(sweep.names)
        self._samples: dict[str, ProbeSamples] = {}

    def add(self, samples: Sequence[Any], measured: Any) -> None:
        """Take in samples of Rally's; `measured` is its type of those that count."""
        for sample in samples:
            name = sample.task.name
            if name not in self._names:
                continue
            probe = self._samples.get(name)
            if probe is None:
                probe = self._samples[name] = ProbeSamples()
            if sample.sample_type == measured:
                probe.add(sample)
            else:
                probe.join(sample)

    def end(self, names: Sequence[str]) -> None:
        """Judge the probe that ended with a step of the tasks `names`, if it is one."""
        plan = _read(self._file, self._sweep)
        name = next((name for name in names if name in self._names), None)
        if name is None or plan.rate is None:
            return
        planned = plan.rate * (self._sweep.duration_seconds or 0.0)
        found = self._samples.pop(name, ProbeSamples()).measured(self._search.percentile, planned)
        plan.ran[name] = (plan.rate, is_kept(self._search, found))
        following = next_rate(self._search, _with_probes(self._sweep, plan.ran).probes)
        LOG.info("%s at %s/s: %s; next: %s", name, plan.rate, found, following)
        replace_json(self._file, {"ran": plan.ran, "rate": following})


@dataclass(frozen=True)
class _Plan:
    """How far the search is."""

    ran: dict[str, tuple[float, bool]]
    """by name the rate of a probe, and whether the objective was kept in it"""
    rate: float | None
    """of the next probe; None: there is none"""


def _read(file: Path, sweep: SweepSpec) -> _Plan:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return _Plan({}, sweep.steps[0].target_throughput)
    return _Plan({name: (float(rate), bool(kept)) for name, (rate, kept) in found["ran"].items()}, found["rate"])


def _with_probes(sweep: SweepSpec, ran: Mapping[str, tuple[float, bool]]) -> SweepSpec:
    steps = (
        replace(step, target_throughput=ran[step.name][0], kept=ran[step.name][1])
        for step in sweep.steps
        if step.name in ran
    )
    return replace(sweep, steps=tuple(steps))


class _Over:
    """Stands for Rally's control of a task's progress, in a task that sends nothing."""

    infinite, completed, percent_completed, sample_type = False, True, 1.0, None

    def start(self) -> None:
        """Begin."""

    def next(self) -> None:
        """Take note that a request is over."""

    def __str__(self) -> str:
        return "over, since the search is,"


def install(directory: Path, driver: Any, types: Any, names_of: Callable[[Any, int], list[str]]) -> None:
    """Change Rally's module `driver` where a search is written in `directory`.

    `types` are its types of samples, `names_of` returns the names of the tasks in a step of its driver.
    """
    try:
        sweep = decode(SweepSpec, json.loads((directory / SWEEP).read_text(encoding="utf-8"))["sweep"])
    except FileNotFoundError:
        return
    if sweep.search is None:
        return
    searcher, pauses = Searcher(directory, sweep, sweep.search), {f"{PAUSE}{name}" for name in sweep.names}
    scheduled, updated = driver.schedule_for, driver.Driver.update_samples
    progressed = driver.Driver.update_progress_message

    def schedule_for(task_allocation: Any, parameter_source: Any) -> Any:
        task = task_allocation.task
        if task.name not in sweep.names and task.name not in pauses:
            return scheduled(task_allocation, parameter_source)
        rate = _read(directory / FOUND, sweep).rate
        if rate is not None and task.name not in pauses:
            task.params["target-throughput"] = rate
        handle = scheduled(task_allocation, parameter_source)
        if rate is None:
            handle.task_progress_control = _Over()
        return handle

    def update_samples(self: Any, samples: Sequence[Any]) -> None:
        updated(self, samples)
        searcher.add(samples, types.Normal)

    def update_progress_message(self: Any, task_finished: bool = False) -> None:
        progressed(self, task_finished)
        if task_finished:
            searcher.end(names_of(self, self.current_step))

    driver.schedule_for, driver.Driver.update_samples = schedule_for, update_samples
    driver.Driver.update_progress_message = update_progress_message


def read_search(directory: Path, sweep: SweepSpec) -> SweepSpec:
    """Return the `sweep` with the steps of its search that ran, at their rates, as they were judged."""
    return _with_probes(sweep, _read(directory / FOUND, sweep).ran)


def unneeded(planned: SweepSpec, ran: SweepSpec) -> frozenset[str]:
    """Return the names of the tasks that the search `ran` had no need of."""
    return frozenset(name for each in planned.names if each not in ran.names for name in (each, f"{PAUSE}{each}"))


def as_it_ran(track: TrackRecord, planned: SweepSpec, ran: SweepSpec) -> TrackRecord:
    """Return what the record says of a track, without what the search `ran` had no need of."""
    without = unneeded(planned, ran)
    left = tuple(task for task in track.tasks if task.name not in without)
    allowed = {name: share for name, share in track.allowed_errors.items() if name not in without}
    return replace(track, tasks=left, sweep=ran.with_digest(), allowed_errors=allowed)
