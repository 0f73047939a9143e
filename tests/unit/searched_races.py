"""Races that looked for the capacity of a cluster, made up."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

from fairlap_race.contract.recorded.record import Counts, EnvironmentRecord, RallyNumbers, Record, Task
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.recorded.track_record import TrackRecord, TrackTask
from fairlap_race.contract.specification.capacity_search import CapacitySearch, RateProbe, next_rate
from fairlap_race.contract.specification.sweep import SEARCH, SweepSpec, SweepStep

SEARCHED = CapacitySearch(lowest=100.0, highest=1000.0, resolution=0.05, millis=50.0)


def _probe(step: SweepStep, saturated_from: float) -> Task:
    rate = step.target_throughput or 0.0
    return Task(
        step.name,
        unit="ops/s",
        clients=8,
        rate=rate,
        target_throughput=rate,
        samples=Counts(0, 1000),
        rally=RallyNumbers(latency_millis={"p99": 20.0 if step.kept else 90.0}),
        load=TaskLoad(saturated=rate >= saturated_from),
    )


def searching_race(
    capacity: float, saturated_from: float = 1e9, *, noise: random.Random | None = None, **broken: Any
) -> Record:
    """Return a race of a cluster that carries `capacity`, by a load generator that is at its limit from a rate on.

    `noise`: draws for each probe a capacity that is about a tenth beside it. `broken`: what a probe that broke the
    objective has besides.
    """
    probes: list[RateProbe] = []
    while (rate := next_rate(SEARCHED, probes)) is not None:
        carried = capacity * math.exp(noise.gauss(0, 0.1)) if noise else capacity
        probes.append(RateProbe(rate, rate <= carried))
    steps = tuple(
        SweepStep(f"search@probe-{number}", target_throughput=probe.rate, kept=probe.kept)
        for number, probe in enumerate(probes, start=1)
    )
    tasks = tuple(replace(_probe(step, saturated_from), **({} if step.kept else broken)) for step in steps)
    filled = Task("bulk", unit="docs/s", clients=2, rate=50.0, samples=Counts(0, 400), rally=RallyNumbers())
    swept = SweepSpec(task="search", order=SEARCH, steps=steps, search=SEARCHED)
    planned = tuple(TrackTask(task.task, task.task, clients=task.clients or 1) for task in (filled, *tasks))
    return Record(
        tasks=(filled, *tasks),
        track=TrackRecord(sweep=swept, tasks=planned),
        environment=EnvironmentRecord(version="9.0.0"),
    )
