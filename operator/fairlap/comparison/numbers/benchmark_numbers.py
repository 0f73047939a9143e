"""What one race of a block measured: from the Benchmark that raced it and the record of its race. Pure.

A race's own pod writes its record, so nothing in it is trusted to have a shape or a size.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.block_record import MOST_CURVES, MOST_NUMBERS, Curve, Measured, RaceRecord
from fairlap.api.names import is_race
from fairlap.api.raw import as_list, as_mapping
from fairlap.api.status import RemarkStatus
from fairlap.comparison.numbers.block_pack import whole_tasks
from fairlap.comparison.numbers.race_numbers import Kind, Number, Raced
from fairlap.comparison.terms.gate_metrics import LATENCIES, METRICS, SERVICE_TIMES
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.race_capacity import RaceCapacity, race_capacity
from fairlap_race.contract.recorded.record import KEY_RECORD, Record, Task
from fairlap_race.contract.recorded.task_spans import tasks_at_once
from fairlap_race.contract.untrusted import as_number
from fairlap_race.contract.watched_machines.machine_watch import Canary
from fairlap_race.contract.watched_machines.resources import (
    ELASTICSEARCH,
    KEY_RESOURCES,
    PROMETHEUS,
    Machine,
    MachineTable,
    Usage,
)

_USED: Final[Mapping[str, Callable[[Usage], float | None]]] = {
    "memoryPeakBytes": lambda usage: usage.memory_peak_bytes,
    "diskWriteBytes": lambda usage: usage.disk_write_bytes,
}
_CPU_SECONDS: Final = "cpuSeconds"
_OF_REQUESTS, _OF_RALLY = "the requests themselves", "Rally's running average"
"""Sources of a rate. The average has begun with the warm-up, and tells as much of how cold a JVM was then."""
RALLYS_RATES: Final[Mapping[str, str]] = {METRICS["throughput"].columns: _OF_RALLY}
NodesUse = Mapping[str, Mapping[str, float]]
"""by task and column: what all Elasticsearch nodes used together during its measured part, where each one's is known"""
_CANARY: Final[Mapping[str, Callable[[Canary], float | None]]] = {
    "cpuSeconds": lambda canary: canary.cpu_seconds,
    "memorySeconds": lambda canary: canary.memory_seconds,
    "diskSeconds": lambda canary: canary.disk_seconds,
}
ReadFacts = Callable[[Json, Record | None], Mapping[str, str]]
"""what is known of how a Benchmark ran, in words, by path"""


def race_record(
    benchmark: Json,
    config_map: Mapping[str, Any] | None,
    variant: str,
    facts: ReadFacts | None = None,
    gated: Collection[str] = (),
) -> RaceRecord:
    """Return the one race of a Benchmark that is over, with what the ConfigMap of its record adds.

    `gated`: the tasks that gates name, which are kept where there are too many.
    A race that the Benchmark calls valid but whose record cannot be read is not: its numbers are lost.
    """
    metadata, status = as_mapping(benchmark.get("metadata")), as_mapping(benchmark.get("status"))
    race = _race(status)
    record = Record.from_json(text_of(config_map, KEY_RECORD))
    table = MachineTable.from_json(text_of(config_map, KEY_RESOURCES))
    valid, reason, message = _validity(status, race, record)
    sought = race_capacity(record) if record else None
    told = sorted(_numbers(record, table, sought), key=lambda it: it.task not in ("", *gated)) if record else []
    numbers, left_out = whole_tasks(told, MOST_NUMBERS)
    kept = {it.task for it in numbers}
    return RaceRecord(
        variant=variant,
        benchmark=str(metadata.get("name") or ""),
        uid=str(metadata.get("uid") or ""),
        valid=valid,
        reason=reason,
        message=message,
        started_at=_text(race.get("startedAt")),
        seconds=_number(race.get("seconds")),
        numbers=numbers,
        tasks_left_out=left_out,
        no_capacity=sought.why_no_answer if sought else "",
        task_usage=list(_task_usage(record, table)),
        target_throughput={task: rate for task, rate in _asked(record).items() if task in kept},
        failed_shares=_failed_shares(record, kept) if record else None,
        facts=dict(facts(benchmark, record)) if facts else {},
        canary=_canary(table),
        sources={**_sources(table), **_source_of_rates(record)},
        remarks=[_remark(as_mapping(each)) for each in as_list(race.get("remarks"))],
        service_times=_by_percentile(record, lambda task: task.rally.service_time_millis if task.rally else {}),
        latencies=_by_percentile(record, _latencies),
        rates=list(islice((curve for task in _tasks(record) if (curve := _rates(task)).points), MOST_CURVES)),
    )


def recorded_race(
    name: str,
    record: Record,
    facts: Mapping[str, str],
    table: MachineTable | None = None,
    *,
    rates_of_rally: bool = False,
) -> Raced:
    """Return a valid race of a Benchmark with the numbers that Comparisons compare; `facts`: what is known of it.

    `table`: what the machines did, where that is known. `rates_of_rally`: what stands beside it knows no others.
    """
    kinds = {kind.value: kind for kind in Kind}
    sought = race_capacity(record)  # by probes, which no other race has
    numbers = _numbers(record, table, sought, rates_of_rally=rates_of_rally)
    found = {Number(each.task, kinds[each.metric]): each for each in numbers if each.metric in kinds}
    told = {task.task: task.rally for task in record.comparable_tasks if task.rally}
    rates = {task: numbers.error_rate for task, numbers in told.items()}
    return Raced(
        name,
        record.race_id or name,
        {number: each.value for number, each in found.items()},
        tuple(dict.fromkeys([*told, *([sought.task] if sought else [])])),
        facts=facts,
        supported=frozenset(number for number, each in found.items() if each.supported),
        error_rates={task: rate for task, rate in rates.items() if rate is not None},
        units={number: each.unit for number, each in found.items()},
        sources={**_sources(table), **(RALLYS_RATES if rates_of_rally else _source_of_rates(record))},
        rates=_asked(record),
        judged=True,
        sought=sought.task if sought else "",
    )


def _race(status: Mapping[str, Any]) -> Mapping[str, Any]:
    races = [as_mapping(race) for race in as_list(status.get("races"))]
    return next((race for race in reversed(races) if is_race(str(race.get("name")))), {})


def _validity(status: Mapping[str, Any], race: Mapping[str, Any], record: Record | None) -> tuple[bool, str, str]:
    if status.get("phase") != "Succeeded" or race.get("valid") is not True:
        first, second = (race, status) if race.get("valid") is False else (status, race)
        reason = _text(first.get("reason")) or _text(second.get("reason"))
        return False, reason, _text(first.get("message")) or _text(second.get("message"))
    if record is None:
        text = "the record of the race is missing or cannot be read, so its numbers are lost"
        return False, str(Reason.RECORD_MISSING), text
    return True, "", ""


def _remark(remark: Mapping[str, Any]) -> RemarkStatus:
    reason = _text(remark.get("reason"))[:63].encode("utf-8", "replace").decode()
    return RemarkStatus(reason=reason, message=_text(remark.get("message")))


def _sources(table: MachineTable | None) -> dict[str, str]:
    """Return who told each group of columns that a metric is from, of all nodes together."""
    groups = sorted({kind.columns for kind in METRICS.values() if kind.columns})
    told = {group: sorted({node.sources.get(group, "") for node in _nodes(table)} - {""}) for group in groups}
    return {group: " and ".join(sources) for group, sources in told.items() if sources}


def _source_of_rates(record: Record | None) -> Mapping[str, str]:
    """Return who told the rates of a race: an earlier load generator kept none of its own."""
    rated = [task for task in _tasks(record) if task.rally and task.turns is None]
    if not rated:
        return {}
    own = any(task.rate is not None for task in rated)
    return {METRICS["throughput"].columns: _OF_REQUESTS} if own else RALLYS_RATES


def _used_by(record: Record | None, table: MachineTable | None) -> Mapping[str, Callable[[Usage], float | None]]:
    """Return the columns that are Elasticsearch's own: in turn a device has written what all variants wrote."""
    in_turn = any(task.turns is not None for task in _tasks(record))
    shared = in_turn and _sources(table).get(METRICS["diskWriteBytes"].columns) != PROMETHEUS
    return {metric: column for metric, column in _USED.items() if not (shared and metric == "diskWriteBytes")}


def _canary(table: MachineTable | None) -> dict[str, float]:
    watch = table.watch if table else None
    if watch is None or watch.before is None or watch.after is None:
        return {}
    found = {}
    for kind, took in _CANARY.items():
        before, after = _number(took(watch.before)), _number(took(watch.after))
        if before is not None and after is not None and min(before, after) > 0:
            found[kind] = (before + after) / 2
    return found


def _numbers(
    record: Record, table: MachineTable | None, sought: RaceCapacity | None, *, rates_of_rally: bool = False
) -> Iterator[Measured]:
    """Yield every number: what is of the whole race first, so that thousands of tasks do not crowd it out."""
    yield from whole_numbers(record, table, sought)
    nodes = nodes_use(table, record)
    for task in _tasks(record):
        yield from task_numbers(task, nodes, rates_of_rally=rates_of_rally)


def whole_numbers(record: Record, table: MachineTable | None, sought: RaceCapacity | None) -> Iterator[Measured]:
    """Yield the numbers of the whole race as Comparisons compare them, with the capacity that was `sought`, if any."""
    documents = [index.documents for index in record.indices or () if index.documents is not None]
    whole = {
        "storeBytes": record.totals.store_bytes,
        "segments": record.totals.segments,
        "documents": sum(documents) if documents else None,
        **{
            metric: _added([machine.race for machine in _nodes(table)], column)
            for metric, column in _used_by(record, table).items()
        },
    }
    for metric, value in whole.items():
        yield from _measured("", metric, value)
    if sought and sought.answer:
        yield from _measured(sought.task, "capacity", sought.answer, unit=sought.unit[:63])


def task_numbers(task: Task, nodes: NodesUse | None = None, *, rates_of_rally: bool = False) -> Iterator[Measured]:
    """Yield the numbers of one task as Comparisons compare them; without `nodes`, not those of the machines.

    The throughput is what was done in the measured time; with `rates_of_rally`, as `race.json` has it.
    """
    requests, rally = task.samples.normal, task.rally
    kept = requests if task.times_kept is None else task.times_kept  # Rally's percentiles are of these alone
    if rally is None:
        return
    rate = None if rates_of_rally else task.rate
    if rate is None:  # the same that `fairlap compare` takes from race.json
        rate = rally.throughput.median if rally.throughput.mean is None else rally.throughput.mean
    if task.turns is None:  # of requests in turn the rate is that of all races together
        yield from _measured(task.task, "throughput", rate, unit=(task.unit or "")[:63], requests=requests)
    for metrics, times in ((SERVICE_TIMES, rally.service_time_millis), (LATENCIES, _latencies(task))):
        for metric in metrics:
            kind = METRICS[metric]
            enough = kept >= kind.requests
            yield from _measured(task.task, metric, times.get(kind.percentile), supported=enough, requests=kept)
    used = (nodes or {}).get(task.task, {}).get(_CPU_SECONDS)
    if task.units_done and task.units_done > 0 and used is not None:
        yield from _measured(task.task, "cpuSecondsPerOperation", used / task.units_done)


def _task_usage(record: Record | None, table: MachineTable | None) -> Iterator[Measured]:
    nodes, metrics = nodes_use(table, record), _used_by(record, table)
    for task in _tasks(record):
        for metric in metrics:
            value = nodes.get(task.task, {}).get(metric)
            if value is not None and math.isfinite(value) and value >= 0:
                yield Measured(task=task.task, metric=metric, value=value)


def _measured(
    task: str, metric: str, value: float | None, *, unit: str = "", supported: bool = True, requests: int | None = None
) -> Iterator[Measured]:
    """Yield the number if it can be compared: a count from 0 on, anything else above 0."""
    least_known = value is not None and math.isfinite(value) and (value > 0 or (value == 0 and METRICS[metric].exact))
    if value is not None and least_known:
        yield Measured(task=task, metric=metric, value=value, unit=unit, supported=supported, requests=requests)


def _nodes(table: MachineTable | None) -> list[Machine]:
    return [machine for machine in table.machines if machine.role == ELASTICSEARCH] if table else []


def nodes_use(table: MachineTable | None, record: Record | None) -> NodesUse:
    """Return the sums over the nodes, found once for all tasks; of a task that a node has twice the first counts.

    The CPU time of a task beside which others ran is left out: it is that of all of them.
    """
    at_once = tasks_at_once(record.tasks if record and table else ())
    nodes, usages = _nodes(table), dict[str, list[Usage]]()
    for machine in nodes:
        for name, usage in {each.task: each.usage for each in reversed(machine.tasks)}.items():
            usages.setdefault(name, []).append(usage)
    columns = {**_USED, _CPU_SECONDS: _cpu_seconds}
    return {
        name: {
            key: value
            for key, column in columns.items()
            if not (key == _CPU_SECONDS and name in at_once) and (value := _added(of_nodes, column)) is not None
        }
        for name, of_nodes in usages.items()
        if len(of_nodes) == len(nodes)
    }


def _added(usages: Sequence[Usage], column: Callable[[Usage], float | None]) -> float | None:
    """Return the sum over the Elasticsearch nodes; None unless it is known of each."""
    values = [column(usage) for usage in usages]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _cpu_seconds(usage: Usage) -> float | None:
    return None if usage.cpu_mean_cores is None or usage.seconds <= 0 else usage.cpu_mean_cores * usage.seconds


def _latencies(task: Task) -> Mapping[str, float]:
    # Without a rate latency is service time under another name, and in turn it has the time of the others in it.
    return task.rally.latency_millis if task.rally and task.target_throughput and task.turns is None else {}


def _asked(record: Record | None) -> dict[str, float]:
    """Return the operations per second that were asked for, by task."""
    return {task.task: rate for task in _tasks(record) if (rate := task.target_throughput) and rate > 0}


def _failed_shares(record: Record, kept: Collection[str]) -> dict[str, float]:
    """Return which share of the measured requests failed, by task, of those `kept` of which some did."""
    counts = {task.task: (task.errors.normal, task.samples.normal) for task in _tasks(record)}
    return {task: failed / sent for task, (failed, sent) in counts.items() if task in kept and 0 < failed <= sent}


def _by_percentile(record: Record | None, times: Callable[[Task], Mapping[str, float]]) -> list[Curve]:
    """Return a curve of the percentiles of each task that has some, of as many tasks as are kept."""
    found: list[Curve] = []
    for task in _tasks(record):
        if len(found) == MOST_CURVES:
            break
        shares = [(_percentile(name), value) for name, value in times(task).items() if value >= 0]
        if points := sorted((share, value) for share, value in shares if share is not None):
            found.append(Curve(task=task.task, points=points[:200]))
    return found


def _percentile(key: str) -> float | None:
    try:
        share = float(key.removeprefix("p")) if key.startswith("p") else math.nan
    except ValueError:
        return None
    return share if 0 <= share <= 100 else None


def _rates(task: Task) -> Curve:
    windows = task.windows if task.turns is None else None  # in turn a rate is that of all races together
    if windows is None or not windows.over_time or windows.seconds <= 0 or windows.count <= 0:
        return Curve(task=task.task)
    step = windows.seconds * windows.count / len(windows.over_time)
    points = [(round((number + 0.5) * step, 3), rate) for number, rate in enumerate(windows.over_time)]
    return Curve(task=task.task, points=points[:200])


def _tasks(record: Record | None) -> Sequence[Task]:
    return record.comparable_tasks if record else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    number = as_number(value)
    return number if number is not None and abs(number) < 1 << 53 else None  # so that a sum of some is a number, too
