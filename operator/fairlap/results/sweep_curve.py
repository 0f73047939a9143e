"""The curve of a sweep over its races: a row for each step, and what the curve says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from fairlap.api.sweep_spec import Objective
from fairlap.api.sweep_status import MOST_ROWS, Range, SweepFit, SweepResult, SweepRow
from fairlap.results.capacity_found import subject
from fairlap.results.race_figures import error_rate, figure, median_of_known
from fairlap.results.remarks import first_that_fit
from fairlap.results.sweep_words import FEWEST_WAITING, bounds_words, sentences
from fairlap.statistics import scalability as law
from fairlap_race.contract.recorded.race_capacity import saturated_probes
from fairlap_race.contract.recorded.record import Record, Task
from fairlap_race.contract.specification.sweep import DOWN, UP, SweepSpec, SweepStep
from fairlap_race.contract.watched_machines.resources import LOAD_GENERATOR, MachineTable

_ROOM = 150_000
_SHOWN = ("p50", "p90", "p99")
BY_RATES = "the law is of clients, and these steps are of rates"


class _RacedStep(NamedTuple):
    """One step in all races that have it."""

    step: SweepStep
    size: float
    tasks: list[Task | None]
    """race by race"""


def sweep_result(
    records: Sequence[Record], objective: Objective | None = None, tables: Sequence[MachineTable] = ()
) -> SweepResult | None:
    """Return what the sweep of the valid races `records` says; None where none was asked for.

    `tables`: what the machines did in these races, for the CPU of the nodes.
    """
    swept = records[0].track.sweep if records else None
    if swept is None:
        return None
    if swept.search:
        return _of_search(records, swept, tables)
    steps = sorted(swept.steps, key=lambda it: (_size(it), it.direction == DOWN))[:MOST_ROWS]
    measured = [_measured(record) for record in records]
    ran = [_RacedStep(step, _size(step), [tasks.get(step.name) for tasks in measured]) for step in steps]
    used = law.usable_sizes(
        {size: _is_saturated([it for it in ran if it.size == size]) for size in {it.size for it in ran}}
    )
    cores = _cores(tables)
    rows = [_row(it, it.size in used, cores.get(it.step.name, [])) for it in ran]
    counted = [it for it in ran if it.size in used]
    result = SweepResult(
        task=swept.task,
        order=swept.order,
        unit=_unit(ran),
        rows=first_that_fit(rows, _ROOM),
        hysteresis=_hysteresis(counted),
    )
    by_clients = all(it.step.clients is not None for it in ran)
    curve = _of_clients(counted) if by_clients else {"fit_refused": BY_RATES}
    held = _of_objective(counted, objective, len(records), are_rates=not by_clients) if objective else None
    whole = result.model_copy(update={**curve, **(_fields(held) if held else {})})
    bounds = bounds_words(held, are_rates=not by_clients) if held else ""
    return whole.model_copy(update={"sentences": sentences(whole, subject(records[0]), objective, bounds)})


def _of_search(records: Sequence[Record], swept: SweepSpec, tables: Sequence[MachineTable]) -> SweepResult:
    """Return a row for each probe of each race: a probe of the same number in another race has another rate.

    Where there is no room for all, as many of each race: the first, by which the others are chosen.
    """
    each = max(1, MOST_ROWS // len(records))
    found = sorted(_probes(records, swept, tables, each), key=lambda it: (it[0].size, it[1].race))
    return SweepResult(
        task=swept.task,
        order=swept.order,
        unit=_unit([ran for ran, _ in found]),
        rows=first_that_fit([row for _, row in found], _ROOM),
        fit_refused="a search has steps beside its answer alone",
    )


def _probes(
    records: Sequence[Record], swept: SweepSpec, tables: Sequence[MachineTable], most: int
) -> Iterator[tuple[_RacedStep, SweepRow]]:
    """Yield `most` probes of each race at most, each with its row."""
    of_race: dict[str, list[MachineTable]] = {}
    for table in tables:
        of_race.setdefault(table.race_id, []).append(table)
    cores = {race_id: _cores(its_tables) for race_id, its_tables in of_race.items()}
    for number, record in enumerate(records, start=1):
        saturated, measured, used = saturated_probes(record), _measured(record), cores.get(record.race_id, {})
        for step in (record.track.sweep or swept).steps[:most]:
            ran = _RacedStep(step, _size(step), [measured.get(step.name)])
            row = _row(ran, bool(step.kept) or step.name not in saturated, used.get(step.name, []))
            yield ran, row.model_copy(update={"race": number, "kept": step.kept})


def _unit(ran: Sequence[_RacedStep]) -> str:
    unit = next((task.unit for it in ran for task in it.tasks if task and task.unit), "")
    return f"{unit}/s" if unit and not unit.endswith("/s") else unit or ""


def _size(step: SweepStep) -> float:
    return float(step.clients if step.clients is not None else step.target_throughput or 0.0)


def _measured(record: Record) -> dict[str, Task]:
    """Return the tasks with numbers by name; of two of the same name the first counts."""
    return {task.task: task for task in reversed(record.tasks) if task.rally is not None}


def _is_saturated(ran: Sequence[_RacedStep]) -> bool:
    """Tell whether the load generator was the bottleneck in at least half of the races of a step."""
    known = [task.load.saturated for it in ran for task in it.tasks if task and task.load]
    return bool(known) and 2 * sum(known) >= len(known)


def _cores(tables: Sequence[MachineTable]) -> dict[str, list[float]]:
    """Return by task the CPU of all nodes together, race by race; only of races in which each node's is known."""
    found: dict[str, list[float]] = {}
    for table in tables:
        nodes = [machine for machine in table.machines if machine.role != LOAD_GENERATOR]
        by_task: dict[str, list[float]] = {}
        for machine in nodes:
            for task in machine.tasks:
                if task.usage.cpu_mean_cores is not None:
                    by_task.setdefault(task.task, []).append(task.usage.cpu_mean_cores)
        for name, values in by_task.items():
            if len(values) == len(nodes):
                found.setdefault(name, []).append(sum(values))
    return found


def _row(ran: _RacedStep, used: bool, cores: Sequence[float]) -> SweepRow:
    tasks = [task for task in ran.tasks if task]
    rally = [task.rally for task in tasks if task.rally]
    keys = [key for key in _SHOWN if any(key in task.support for task in tasks)]
    largest = [numbers.service_time_millis["p100"] for numbers in rally if "p100" in numbers.service_time_millis]
    fastest = [task.fastest_millis for task in tasks if task.fastest_millis is not None]
    service = _medians((numbers.service_time_millis for numbers in rally), (*_SHOWN, "mean"))
    return SweepRow(
        step=ran.step.name,
        clients=next((task.clients for task in tasks), ran.step.clients),
        target_throughput=ran.step.target_throughput,
        direction=ran.step.direction,
        used=used,
        saturated_races=sum(bool(task.load and task.load.saturated) for task in tasks),
        samples=sum(task.samples.normal for task in tasks),
        throughput=figure(task.rate for task in tasks),
        latency_millis=_medians((numbers.latency_millis for numbers in rally), _SHOWN),
        service_time_millis={
            **({"min": min(fastest)} if fastest else {}),
            **service,
            **({"max": max(largest)} if largest else {}),
        },
        support={key: min(task.support[key] for task in tasks if key in task.support) for key in keys},
        error_rate=max((error_rate(task) for task in tasks), default=0.0),
        failed=sum(task.errors.normal for task in tasks),
        schedule_share=min((t.schedule_share for t in tasks if t.schedule_share is not None), default=None),
        waiting_share=_waiting_share(ran),
        load_generator_cpu_share=median_of_known(task.load.cpu_share for task in tasks if task.load),
        elasticsearch_cpu_cores=median_of_known(cores),
    )


def _waiting_share(ran: _RacedStep) -> float | None:
    return median_of_known(_waiting(task) for task in ran.tasks if task)


def _waiting(task: Task) -> float | None:
    """Return X R / N of a closed loop (Little's law): the share of the clients' time that went into waiting."""
    mean = task.rally.service_time_millis.get("mean") if task.rally else None
    whole = task.client_seconds or (task.duration_seconds or 0.0) * (task.clients or 0)
    if mean is None or task.target_throughput or not whole:
        return None
    return min(1.0, task.samples.normal * mean / 1000 / whole)


def _medians(races: Iterable[Mapping[str, float]], keys: Sequence[str]) -> dict[str, float]:
    found = list(races)
    return {key: median(it[key] for it in found if key in it) for key in keys if any(key in it for it in found)}


def _hysteresis(ran: Sequence[_RacedStep]) -> float | None:
    ways = {(it.size, it.step.direction): median_of_known(task.rate for task in it.tasks if task) for it in ran}
    found = [
        down / up - 1
        for (size, way), up in ways.items()
        if way == UP and up and (down := ways.get((size, DOWN))) is not None
    ]
    return max(found, key=abs, default=None)


def _of_clients(ran: Sequence[_RacedStep]) -> dict[str, object]:
    """Return what the law and the knee are, as fields of the result."""
    waited = [it for it in ran if (share := _waiting_share(it)) is None or share >= FEWEST_WAITING]
    found = law.fit([(it.size, task.rate) for it in waited for task in it.tasks if task and task.rate])
    middle: list[tuple[float, float, float]] = []
    for size in sorted({it.size for it in ran}):
        tasks = [task for it in ran if it.size == size for task in it.tasks if task]
        rate = median_of_known(task.rate for task in tasks)
        times = [task.rally.service_time_millis.get("mean") for task in tasks if task.rally]
        if rate is not None and (time := median_of_known(times)) is not None:
            middle.append((size, rate, time))
    knee = law.knee(middle)
    fields: dict[str, object] = {
        "fit_refused": found.refused,
        "peak_refused": found.peak_refused,
        "peak_throughput": found.peak_throughput,
        "knee_clients": knee,
        "knee_at_end": knee is not None and knee == middle[-1][0],
    }
    if curve := found.law:
        fields["fit"] = SweepFit(
            rate=curve.rate,
            contention=curve.contention,
            coherency=curve.coherency,
            scatter=curve.scatter,
            points=curve.points,
        )
    if found.peak:
        fields["peak_clients"] = _range(found.peak)
    return fields


def _of_objective(ran: Sequence[_RacedStep], objective: Objective, races: int, *, are_rates: bool) -> law.Capacity:
    """Return the capacity at the objective."""
    curves: list[list[law.LoadStep]] = []
    unjudged: list[set[float]] = [set() for _ in range(races)]
    for race in range(races):
        curve: list[law.LoadStep] = []
        for it in ran:
            task = it.tasks[race]
            if task is None or task.rally is None:
                continue
            latency = _latency(task.rally.latency_millis, objective)
            if task.rate == 0 or (task.http and task.http.latency_left_out):
                # All failed, or some were dropped so that the rest has no honest latency: a load that is not carried.
                curve.append(law.LoadStep(it.size, task.rate or 0.0, math.inf, keeps_schedule=False))
            elif latency and task.rate:
                curve.append(law.LoadStep(it.size, task.rate, latency, task.keeps_schedule))
            else:
                unjudged[race].add(it.size)
        curves.append(curve)
    return law.capacity(curves, objective.millis, are_rates=are_rates, unjudged=unjudged)


def _fields(found: law.Capacity) -> dict[str, object]:
    return {
        "capacity": _range(found.load) if found.load else None,
        "capacity_races": found.by_races,
        "capacity_refused": found.refused,
    }


def _latency(times: Mapping[str, float], objective: Objective) -> float | None:
    """Return the objective's percentile; on too few requests infinity, if a lower one is beyond it, else None."""
    lower = [times.get(key, 0.0) for key in _SHOWN[: _SHOWN.index(objective.percentile)]]
    beyond = math.inf if max(lower, default=0.0) > objective.millis else None
    return times.get(objective.percentile, beyond)


def _range(found: law.Interval) -> Range:
    return Range(value=found.value, low=found.low, high=found.high)
