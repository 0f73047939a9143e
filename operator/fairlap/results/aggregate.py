"""The numbers of several races as medians with their spread: the race is the unit of replication."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fairlap.api.figure import Figure
from fairlap.api.status import (
    MOST_HTTP_HOSTS,
    MOST_PERCENTILES,
    MOST_PIPELINES,
    MOST_STATUSES,
    MOST_TASKS,
    GcResult,
    HttpTaskResult,
    PipelineResult,
    ProbeResult,
    Results,
    StoreResult,
    TaskResult,
)
from fairlap.api.sweep_spec import Objective
from fairlap.results.capacity_found import capacity_result
from fairlap.results.race_figures import error_rate, figure
from fairlap.results.remarks import RaceRemark, first_that_fit
from fairlap.results.sweep_curve import sweep_result
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HttpAnswers
from fairlap_race.contract.recorded.record import Pipeline, RallyNumbers, Record, Task
from fairlap_race.contract.request_files.probe import MOST_PROBES, ProbeRecord
from fairlap_race.contract.watched_machines.resources import MachineTable

_LARGEST = 1 << 62
_ROOM_OF_TASKS, _ROOM_OF_PIPELINES = 300_000, 50_000


def aggregate(
    records: Sequence[Record], objective: Objective | None = None, tables: Sequence[MachineTable] = ()
) -> Results:
    """Return the results of valid races of the same Benchmark; `records` in the order of the races.

    `objective` is that of its sweep, `tables` what the machines did in these races as far as it is known.
    """
    if not records:
        return Results()
    return Results(
        tasks=_tasks(records),
        sweep=sweep_result(records, objective, tables),
        capacity=capacity_result(records),
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
        probes=list(_probes(records)),
    )


def _probes(records: Sequence[Record]) -> Iterator[ProbeResult]:
    """Yield each condition's values; a race has several where each host has its own."""
    for name in dict.fromkeys(probe.name for probe in records[0].probes[:MOST_PROBES]):
        races = [
            next((it for it in record.probes[:MOST_PROBES] if it.name == name), ProbeRecord()) for record in records
        ]
        hosts = [it for race in races for it in race.hosts]
        own = [[it.own for it in race.hosts] if race.own is None else [race.own] for race in races]
        value, before, after = (
            _over_races(numbers, len(races))
            for numbers in (
                (it for of_race in own for it in of_race),
                (it.before for it in hosts),
                (it.after for it in hosts),
            )
        )
        if value is not None:
            few = min(len(race.hosts) for race in races)
            yield ProbeResult(name=name, value=value, before=before, after=after, hosts=few)


def _over_races(values: Iterable[float | int | None], races: int) -> Figure | None:
    found = figure(values)
    return found and found.model_copy(update={"races": min(races, found.races)})


def _tasks(records: Sequence[Record]) -> list[TaskResult]:
    names = list(dict.fromkeys(task.task for task in records[0].comparable_tasks if task.rally is not None))[
        :MOST_TASKS
    ]
    runs: dict[str, list[Task]] = {name: [] for name in names}
    for record in records:
        for task in record.comparable_tasks:
            if task.task in runs:
                runs[task.task].append(task)
    return first_that_fit((_task(of_all_races) for of_all_races in runs.values()), _ROOM_OF_TASKS)


def remarks(record: Record, results: Results, indices: int, races: Sequence[Record] = ()) -> Iterator[RaceRemark]:
    """Yield which numbers of the record the status has no room for; `indices`: how many of them it has.

    `races`: all whose results these are.
    """
    measured = {task.task for task in record.comparable_tasks if task.rally is not None}
    worked = {it.name for it in record.pipelines or () if it.count}
    for what, field, there, kept in (
        ("tasks", "results.tasks", len(measured), len(results.tasks)),
        ("ingest pipelines", "results.ingestPipelines", len(worked), len(results.ingest_pipelines)),
        ("indices", "environment.indices", len(record.indices or ()), indices),
        ("steps", "results.sweep.rows", *_steps(races or [record], results)),
    ):
        if there > kept:
            text = f"status.{field} has {kept} of {there} {what}, and {there - kept} were left out: the record has them"
            yield RaceRemark(Reason.RECORD_CUT, text)


def _steps(races: Sequence[Record], results: Results) -> tuple[int, int]:
    """Return how many rows the sweep of the races would have, and how many it has: of probes one for each race."""
    swept = [record.track.sweep for record in races if record.track.sweep]
    each = [len(it.steps) for it in swept]
    rows = len(results.sweep.rows) if results.sweep else 0
    return (sum(each) if any(it.search for it in swept) else max(each, default=0)), rows


def _task(tasks: Sequence[Task]) -> TaskResult:
    first, rally = tasks[0], [task.rally for task in tasks if task.rally]
    plans = [task.schedule for task in tasks if task.schedule]
    windows = [task.windows for task in tasks if task.windows]
    settling = [task.settling for task in tasks if task.settling]
    settled = [it.settled for it in settling]
    own = [task for task in tasks if task.turns is None]  # in turn rate and latency have the others' time in them
    rates = [task.rally for task in own if task.rally]
    return TaskResult(
        task=first.task,
        operation=first.operation or "",
        type=first.type or "",
        unit=first.unit or "",
        clients=first.clients,
        target_throughput=first.target_throughput,
        schedule_share=min((t.schedule_share for t in tasks if t.schedule_share is not None), default=None),
        slowest_client_share=min((it.slowest_share for it in plans if it.slowest_share is not None), default=None),
        backlog_millis=max((1000 * (it.backlog_seconds or 0.0) for it in plans if it.has_backlog), default=None),
        samples=total(task.samples.normal for task in tasks),
        throughput=figure(numbers.throughput.median for numbers in rates),
        window_throughput=figure(it.median for it in windows),
        windows=min((it.count for it in windows), default=None),
        window_requests=min((it.requests for it in windows if it.requests is not None), default=None),
        windows_left_out=next((it.left_out for it in reversed(windows) if it.left_out), ""),
        warmup_seconds=min((it for task in tasks if (it := task.warmup_seconds) is not None), default=None),
        settled=False if False in settled else None if None in settled or not settled else True,
        unsettled_seconds=max((it.unsettled_seconds for it in settling if it.unsettled_seconds), default=None),
        settled_left_out=next((it.left_out for it in reversed(settling) if it.left_out), ""),
        overall_throughput=figure(task.rate for task in own),
        support=_support(tasks),
        service_time_millis=_percentiles(rally, lambda numbers: numbers.service_time_millis),
        latency_millis=_percentiles(rates, lambda numbers: numbers.latency_millis),
        error_rate=max(error_rate(task) for task in tasks),
        http=_http([task.http for task in tasks if task.http]),
    )


def _http(answers: Sequence[HttpAnswers]) -> HttpTaskResult | None:
    if not answers:
        return None
    statuses, hosts = Counter[str](), Counter[str]()
    for answer in answers:
        statuses.update(answer.statuses)
        for it in answer.hosts:  # one may be named twice
            hosts[it.host] += it.requests
    requests = sum(statuses.values())
    dropped = [it.dropped for it in answers if it.dropped is not None]
    opened = [it.opened for it in answers if it.opened is not None]
    return HttpTaskResult(
        status_shares={status: count / requests for status, count in statuses.most_common(MOST_STATUSES) if requests},
        timeouts=total(it.timeouts for it in answers),
        dropped=total(dropped) if dropped else None,
        connections_opened=total(opened) if opened else None,
        requests_by_host=dict(list(hosts.items())[:MOST_HTTP_HOSTS]),
        latency_left_out=next((it.latency_left_out for it in reversed(answers) if it.latency_left_out), ""),
    )


def _percentiles(rally: Sequence[RallyNumbers], of: Callable[[RallyNumbers], Mapping[str, float]]) -> dict[str, Figure]:
    keys = dict.fromkeys(key for numbers in rally for key in of(numbers))
    found = {key: figure(of(numbers).get(key) for numbers in rally) for key in list(keys)[:MOST_PERCENTILES]}
    return {key: value for key, value in found.items() if value}


def _support(tasks: Sequence[Task]) -> dict[str, int]:
    """Return for each percentile the requests at or beyond it, in the race with the fewest that has it."""
    keys = dict.fromkeys(key for task in tasks for key in task.support)
    return {
        key: total([min(task.support[key] for task in tasks if key in task.support)])
        for key in list(keys)[:MOST_PERCENTILES]
    }


def _pipelines(records: Sequence[Record]) -> list[PipelineResult]:
    worked = dict.fromkeys(it.name for record in records for it in record.pipelines or () if it.count)
    runs: dict[str, list[Pipeline]] = {name: [] for name in list(worked)[:MOST_PIPELINES]}
    for record in records:
        for pipeline in record.pipelines or ():
            if pipeline.name in runs:
                runs[pipeline.name].append(pipeline)
    results: list[PipelineResult] = []
    for name, ran in runs.items():
        count, millis = figure(it.count for it in ran), figure(it.time_millis for it in ran)
        if count and millis:
            failed = total(it.failed for it in ran)
            results.append(PipelineResult(name=name, count=count, time_millis=millis, failed=failed))
    return first_that_fit(results, _ROOM_OF_PIPELINES)


def total(numbers: Iterable[int]) -> int:
    """Return the sum, as far as it is a number that the API server can keep."""
    return max(-_LARGEST, min(sum(numbers), _LARGEST))
