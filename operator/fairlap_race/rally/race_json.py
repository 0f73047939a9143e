"""Rally's race.json as typed numbers, as they are. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlap_race.contract.recorded.record import RallyNumbers, Task, Throughput
from fairlap_race.contract.recorded.track_record import TrackTask
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.contract.untrusted import as_number
from fairlap_race.rally.samples import Tally, task_record


def rally_numbers(entry: Mapping[str, Any]) -> RallyNumbers:
    """Return Rally's numbers from one entry of `results.op_metrics`."""
    throughput = entry.get("throughput") or {}
    return RallyNumbers(
        throughput=Throughput(**{name: as_number(throughput.get(name)) for name in ("min", "mean", "median", "max")}),
        service_time_millis=_percentiles(entry.get("service_time")),
        latency_millis=_percentiles(entry.get("latency")),
        processing_time_millis=_percentiles(entry.get("processing_time")),
        error_rate=as_number(entry.get("error_rate")),
    )


def _percentiles(values: Any) -> dict[str, float]:
    """Return {"p50": …, "p99.9": …, "mean": …} from Rally's {"50_0": …, "99_9": …, "mean": …, "unit": "ms"}."""
    found: dict[str, float] = {}
    for key, value in (values or {}).items():
        number = as_number(value)
        if number is None:
            continue
        if key == "mean":
            found[key] = number
        else:
            found["p" + key.replace("_", ".").removesuffix(".0")] = number
    return found


def tasks(
    race: Mapping[str, Any] | None,
    tallies: list[Tally],
    planned: tuple[TrackTask, ...],
    taken: Mapping[str, TaskTurns] | None = None,
) -> tuple[Task, ...]:
    """Return one record for each task that has samples or Rally's numbers, in the order of the schedule.

    `taken`: by task how its requests were sent, where races take turns.
    """
    turns = taken or {}
    entries: dict[str, Mapping[str, Any]] = {}
    for entry in ((race or {}).get("results") or {}).get("op_metrics") or ():
        entries[str(entry.get("task"))] = entry
    found: dict[str, Task] = {}
    for it in tallies:
        name = str(it.about["task"])
        found[name] = task_record(it, rally_numbers(entries[name]) if name in entries else None, turns.get(name))
    for name, entry in entries.items():
        if name not in found:
            numbers = rally_numbers(entry)
            found[name] = Task(task=name, operation=entry.get("operation"), rally=numbers, turns=turns.get(name))
    order = {task.name: position for position, task in enumerate(planned)}
    return tuple(sorted(found.values(), key=lambda task: order.get(task.task, len(order))))


def is_complete(race: Mapping[str, Any] | None) -> bool:
    """Tell whether race.json has results; Rally writes it at the start, without any."""
    return isinstance((race or {}).get("results"), Mapping)
