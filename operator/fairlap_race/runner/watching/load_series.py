"""What the load generator used while requests were sent, look by look: each task can be judged by its own time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.recorded.record import LoadGenerator, Task
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.recorded.task_spans import task_spans
from fairlap_race.contract.some_of import some_clauses
from fairlap_race.contract.watched_machines.series import Points, Span, increase, largest
from fairlap_race.linux.cgroup import CgroupUsage
from fairlap_race.runner.watching.load_generator import CPU_SHARE, PROCESS_SHARE, THROTTLED_SHARE

PART_SECONDS = 10.0
"""About the length of the parts in which a task is judged: a minute without CPU shows in ten minutes, too."""
SATURATED_PARTS = 0.05
"""Of a task's time. Less of it moves no figure that is published by more than its spread."""
THROTTLED_PART = 0.1
"""Of a part's time, more than of a task's as a whole: a start's few throttled periods say nothing of what follows."""
MOST_LOOKS = 100_000
"""A day of looks, one a second; beyond it every other one is forgotten."""


@dataclass(frozen=True)
class _Figures:
    """One span: shares of the CPU that may be used, of one core for the busiest process, and of the time."""

    cpu: float | None
    busiest: float | None
    throttled: float | None

    def why(self, may_use: float, throttled_share: float) -> list[str]:
        found = []
        if self.cpu is not None and self.cpu > CPU_SHARE:
            found.append(f"it used {as_percent(self.cpu, CPU_SHARE)} of its {may_use:g} CPUs")
        if self.throttled is not None and self.throttled > throttled_share:
            found.append(f"it was throttled for {as_percent(self.throttled, throttled_share)} of the time")
        if self.busiest is not None and self.busiest > PROCESS_SHARE:
            found.append(f"its busiest process used {as_percent(self.busiest, PROCESS_SHARE)} of one core")
        return found


@dataclass
class LoadSeries:
    """The counters of the load generator's container and processes; times in seconds since the epoch."""

    cpu: Points = field(default_factory=Points)
    throttled_periods: Points = field(default_factory=Points)
    throttled_seconds: Points = field(default_factory=Points)
    processes: dict[int, Points] = field(default_factory=dict)

    def add(self, at: float, usage: CgroupUsage, processes: Iterable[tuple[int, float]]) -> None:
        """Take a look: the container's counters, and the CPU seconds of each process by its id."""
        for points, value in (
            (self.cpu, usage.cpu_seconds),
            (self.throttled_periods, usage.throttled_periods),
            (self.throttled_seconds, usage.throttled_seconds),
        ):
            if value is not None:
                _append(points, at, value)
        for pid, seconds in processes:
            _append(self.processes.setdefault(pid, Points()), at, seconds)

    def of_task(self, span: Span, may_use: float) -> TaskLoad | None:
        """Return how busy it was in the measured part of a task; `may_use`: its cores. None where it is not known."""
        whole = self._figures(span, may_use)
        if whole.cpu is None and whole.busiest is None:
            return None
        parts = max(1, round(span.seconds / PART_SECONDS))
        each = span.seconds / parts
        spans = [Span(span.start + number * each, span.start + (number + 1) * each) for number in range(parts)]
        figures = [found for part in spans if (found := self._figures(part, may_use)) != _Figures(None, None, None)]
        full = [found for found in figures if found.why(may_use, THROTTLED_PART)]
        why = whole.why(may_use, THROTTLED_SHARE)
        judged, saturated = each * len(figures), each * len(full)
        if not why and full and saturated >= SATURATED_PARTS * judged:
            most = _Figures(*(largest(getattr(f, name) for f in full) for name in ("cpu", "busiest", "throttled")))
            why = [f"for {saturated:.0f} of {span.seconds:.0f} s {' and '.join(most.why(may_use, THROTTLED_PART))}"]
        periods, seconds = (increase(it, span) for it in (self.throttled_periods, self.throttled_seconds))
        return TaskLoad(
            cpu_share=_rounded(whole.cpu),
            busiest_share=_rounded(whole.busiest),
            throttled_periods=_rounded(periods and periods[0]),
            throttled_seconds=_rounded(seconds and seconds[0]),
            judged_seconds=round(judged, 3),
            saturated_seconds=round(saturated, 3),
            saturated=bool(why),
            why="; ".join(why),
        )

    def _figures(self, span: Span, may_use: float) -> _Figures:
        cpu = _rate(self.cpu, span)
        return _Figures(
            cpu=None if cpu is None or may_use <= 0 else cpu / may_use,
            busiest=largest(_rate(points, span) for points in self.processes.values()),
            throttled=_rate(self.throttled_seconds, span),
        )


def _append(points: Points, at: float, value: float) -> None:
    # A counter that fell began anew, in another process of the same id.
    if points.at and value < points.value[-1]:
        points.at, points.value = array("d"), array("d")
    points.add(at, value)
    if len(points.at) > MOST_LOOKS:
        points.at, points.value = points.at[::2], points.value[::2]


def _rate(points: Points, span: Span) -> float | None:
    found = increase(points, span)
    return None if found is None else found[0] / found[1]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def with_loads(tasks: Iterable[Task], series: LoadSeries, may_use: float) -> tuple[Task, ...]:
    """Return the tasks, each with how busy the load generator was while it was measured."""
    tasks = tuple(tasks)
    spans = {it.task: it.span for it in task_spans(tasks)}
    return tuple(
        replace(task, load=series.of_task(spans[task.task], may_use)) if task.task in spans else task for task in tasks
    )


def judge_tasks(load: LoadGenerator, tasks: Iterable[Task]) -> LoadGenerator:
    """Return `load` as its tasks have it: saturated in one of them, whatever it was in the mean over the race.

    The mean decides only where a task with measured requests is too short to be judged by itself.
    """
    measured = [task for task in tasks if task.samples.normal]
    if not any(task.load for task in measured):
        return load
    unknown = any(task.load is None for task in measured)
    found = [f"task {task.task}: {task.load.why}" for task in measured if task.load and task.load.saturated]
    mean = load.why if load.saturated and unknown else ""
    return replace(load, saturated=bool(found or mean), why="; ".join(filter(None, (some_clauses(found, 5), mean))))
