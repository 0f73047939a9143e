"""The numbers of several races as medians with their spread: the race is the unit of replication."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from fairlap.api.status import Figure, GcResult, PipelineResult, Results, StoreResult, TaskResult
from fairlap_race.contract.record import RallyNumbers, Record, Task

Number = float | int | None


def figure(values: Iterable[Number]) -> Figure | None:
    """Return median, smallest and largest of the numbers there are, or None when there is none."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    return Figure(median=median(known), min=min(known), max=max(known), races=len(known))


def aggregate(records: Sequence[Record]) -> Results:
    """Return the results of valid races of the same Benchmark; `records` in the order of the races."""
    if not records:
        return Results()
    names = [task.task for task in records[0].tasks if task.rally is not None]
    return Results(
        tasks=[_task([task for record in records for task in record.tasks if task.task == name]) for name in names],
        ingest_pipelines=_pipelines(records),
        store=StoreResult(
            store_bytes=figure(record.totals.store_bytes for record in records),
            segments=figure(record.totals.segments for record in records),
        ),
        gc=GcResult(
            young_count=figure(record.totals.young_gc_count for record in records),
            young_millis=figure(record.totals.young_gc_millis for record in records),
            old_count=figure(record.totals.old_gc_count for record in records),
            old_millis=figure(record.totals.old_gc_millis for record in records),
        ),
    )


def _task(tasks: Sequence[Task]) -> TaskResult:
    first, rally = tasks[0], [task.rally for task in tasks if task.rally]
    return TaskResult(
        task=first.task,
        operation=first.operation or "",
        type=first.type or "",
        unit=first.unit or "",
        clients=first.clients,
        target_throughput=first.target_throughput,
        schedule_share=min((t.schedule_share for t in tasks if t.schedule_share is not None), default=None),
        samples=sum(task.samples.normal for task in tasks),
        throughput=figure(numbers.throughput.median for numbers in rally),
        window_throughput=figure(task.windows.median if task.windows else None for task in tasks),
        service_time_millis=_percentiles(rally, lambda numbers: numbers.service_time_millis),
        latency_millis=_percentiles(rally, lambda numbers: numbers.latency_millis),
        error_rate=max(error_rate(task) for task in tasks),
    )


def error_rate(task: Task) -> float:
    """Return failed requests over all requests of one task, warm-up included (0 to 1)."""
    requests = task.samples.warmup + task.samples.normal
    return (task.errors.warmup + task.errors.normal) / requests if requests else 0.0


def _percentiles(rally: Sequence[RallyNumbers], of: Callable[[RallyNumbers], Mapping[str, float]]) -> dict[str, Figure]:
    found = {key: figure(of(numbers).get(key) for numbers in rally) for key in of(rally[0])}
    return {key: value for key, value in found.items() if value}


def _pipelines(records: Sequence[Record]) -> list[PipelineResult]:
    names = dict.fromkeys(p.name for record in records for p in record.pipelines or () if p.count)
    results = []
    for name in names:
        ran = [p for record in records for p in record.pipelines or () if p.name == name]
        count, millis = figure(p.count for p in ran), figure(p.time_millis for p in ran)
        if count and millis:
            results.append(
                PipelineResult(name=name, count=count, time_millis=millis, failed=sum(p.failed for p in ran))
            )
    return results
