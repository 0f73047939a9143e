"""What the race's own programs used of a machine while it was watched, by the same looks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fairlap_race.contract.watched_machines.machine_watch import MachineWatch
from fairlap_race.contract.watched_machines.resources import ELASTICSEARCH, Machine, Usage
from fairlap_race.contract.watched_machines.series import largest


def with_use(watch: MachineWatch, machines: Iterable[Machine], nodes: int) -> MachineWatch:
    """Return what was watched, each task with what the runner's own looks say of the `machines` in it.

    `nodes`: how many Elasticsearch has; what all of them used is known when each of them told.
    """
    own: dict[str, float | None] = {}
    elasticsearch: dict[str, list[Usage]] = {}
    for machine in machines:
        for task in machine.tasks:
            if machine.role == ELASTICSEARCH:
                elasticsearch.setdefault(task.task, []).append(task.usage)
            else:
                own[task.task] = task.usage.cpu_mean_cores
    told = {task: _of_nodes(usages, nodes) for task, usages in elasticsearch.items()}
    spans = []
    for span in watch.tasks:
        cores, written, read = told.get(span.task, (None, None, None))
        known = replace(span, own_cores=own.get(span.task), elasticsearch_cores=cores)
        spans.append(replace(known, data_written_bytes=written, data_read_bytes=read))
    return replace(watch, tasks=tuple(spans))


def _of_nodes(usages: Sequence[Usage], nodes: int) -> tuple[float | None, float | None, float | None]:
    """Return the cores of all nodes together, and the bytes written and read where most were."""
    cores = [it.cpu_mean_cores for it in usages if it.cpu_mean_cores is not None]
    together = round(sum(cores), 4) if cores and len(cores) >= nodes else None
    return together, largest(it.disk_write_bytes for it in usages), largest(it.disk_read_bytes for it in usages)
