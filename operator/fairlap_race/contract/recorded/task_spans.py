"""When each task of a race ran, and what a machine did in each. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, takewhile
from typing import NamedTuple

from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.untrusted import parse_time
from fairlap_race.contract.watched_machines.resources import GROUPS, Machine, TaskUsage, known, missing
from fairlap_race.contract.watched_machines.series import COUNTERS, Points, Span, grown, usage

LONGEST_RACE_SECONDS = 32 * 86400.0
"""Longer than a race may take (30 days): times that are further apart are no race's."""
CLOCK_SET_SECONDS = 1.0
"""A clock that is set by less moves no figure of a task that is long enough to be judged."""
BESIDE_SHARE = 0.01
"""Share of a task's measured part: another task that runs in it for less moves no figure of the machines."""


class TaskSpan(NamedTuple):
    """The measured part of one task (all of it, when nothing was measured)."""

    task: str
    started_at: str
    span: Span


def seconds_of(moment: str | None) -> float | None:
    """Return an ISO-8601 time as seconds since the epoch, or None when it is none."""
    found = parse_time(moment)
    return None if found is None else found.timestamp()


def task_spans(tasks: Iterable[Task]) -> tuple[TaskSpan, ...]:
    """Return the span of each task whose times are known."""
    found = []
    for task in tasks:
        began = task.measured_from or task.started_at
        start, end = seconds_of(began), seconds_of(task.ended_at)
        if began is not None and start is not None and end is not None and end > start:
            found.append(TaskSpan(task.task, began, Span(start, end)))
    return tuple(found)


class _TaskRun(NamedTuple):
    begun: float
    end: float
    measured_from: float
    task: str
    counts: bool


def tasks_at_once(tasks: Iterable[Task], others: Collection[str] | None = None) -> frozenset[str]:
    """Return the tasks in whose measured part others ran, their warm-ups included: machines show them all together.

    `others`: the names of those that count as such; None for all.
    """
    runs = sorted(
        _TaskRun(
            seconds_of(task.started_at) or own.span.start,
            own.span.end,
            own.span.start,
            task.task,
            others is None or task.task in others,
        )
        for task in tasks
        for own in task_spans([task])
    )
    found, latest = set[str](), -math.inf
    for place, own in enumerate(runs):
        least = BESIDE_SHARE * (own.end - own.measured_from)
        before = min(own.end, latest) - own.measured_from
        if before > least or any(beside > least for beside in _beside(own, islice(runs, place + 1, None))):
            found.add(own.task)
        if own.counts:
            latest = max(latest, own.end)
    return frozenset(found)


def _beside(own: _TaskRun, later: Iterable[_TaskRun]) -> Iterator[float]:
    """Yield for how many seconds of its measured part each of the later ones, in order, ran; below 0 is none."""
    for other in takewhile(lambda it: it.begun < own.end, later):
        if not other.counts:
            continue
        yield min(own.end, other.end) - max(own.measured_from, other.begun)


def race_span(tasks: Iterable[Task]) -> Span | None:
    """Return the span from the first request to the end of the last, warm-up included; None without any."""
    known = [(seconds_of(task.started_at), seconds_of(task.ended_at)) for task in tasks]
    starts = [start for start, _ in known if start is not None]
    ends = [end for _, end in known if end is not None]
    if not starts or not ends or not 0 < max(ends) - min(starts) <= LONGEST_RACE_SECONDS:
        return None
    return Span(min(starts), max(ends))


def clock_was_set(tasks: Iterable[Task]) -> bool:
    """Tell whether the load generator's clock was set while these tasks ran, or between them."""
    return any(task.clock_set_seconds or (task.clock_shift_seconds or 0.0) >= CLOCK_SET_SECONDS for task in tasks)


def machine(
    name: str, role: str, source: str, signals: Mapping[str, Points], race: Span, tasks: Iterable[TaskSpan]
) -> Machine:
    """Return the summary of one machine's samples, all of them from `source`."""
    ready = {key: grown(points) if key in COUNTERS else points for key, points in signals.items()}
    found = Machine(
        name=name,
        role=role,
        race=usage(ready, race),
        tasks=tuple(TaskUsage(task, began, usage(ready, span)) for task, began, span in tasks),
    )
    sources = {group: source for group, columns in GROUPS.items() if known(found.race, columns)}
    return replace(found, sources=sources, missing=missing(found))
