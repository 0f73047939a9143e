"""Notices that the load generator stood still, or that Elasticsearch answered nobody: looks that come late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import median

from fairlap_race.contract.recorded.record import timestamp
from fairlap_race.contract.recorded.task_spans import TaskSpan, seconds_of
from fairlap_race.contract.watched_machines.machine_watch import Stall
from fairlap_race.elasticsearch.node_stats import CollectionTime

LEAST_SECONDS = 1.0
"""A process that waits for a busy processor is late by a tenth of that; a pause of five seconds, seen by whoever asks
every four, makes him wait for one at least."""
TIMES_USUAL = 10.0
"""A cluster that always takes its time to answer does not stand still."""
LEAST_WORKING = 0.9
"""processors that a collector keeps busy, of those that it may use up to one: one that was stopped in a collection
has its time by the clock, and has not worked"""
MOST, MOST_IN_ALL = 50, 500
"""Of each task: who reads them knows which tasks count, and who watches does not. In all: each task's longest first."""
_TOGETHER = 5.0
"""Seconds between two answers that did not come, of one time without answers."""


class StallWatch:
    """Told of each wait and each answer, it keeps those that took too long."""

    def __init__(self) -> None:
        self._own: list[Stall] = []
        self._unanswered: list[Stall] = []
        self._answers: list[float] = []
        self._also: list[float] = []
        self._collected: Mapping[str, CollectionTime] = {}
        self._open = 0
        """first of the unanswered whose garbage collections are not known yet"""

    def waited(self, since: float, wanted: float, took: float) -> None:
        """Note how long a sleep took that was to take `wanted` seconds, from `since` (seconds since the epoch) on."""
        if took - wanted >= LEAST_SECONDS:
            self._own.append(Stall(timestamp(since), seconds=round(took - wanted, 3)))

    def answered(self, since: float, took: float, collected: Mapping[str, CollectionTime]) -> None:
        """Note an answer; `collected`: what the garbage collections of each node have taken so far.

        One that collects stands still, and others of it do not: of many nodes the one that grew the most explains it.
        """
        self._answers.append(took)
        if took >= LEAST_SECONDS:
            self._add(since, took)
        grew = max((_explained(self._collected.get(node, now), now) for node, now in collected.items()), default=0.0)
        for number in range(self._open, len(self._unanswered)):
            self._unanswered[number] = replace(self._unanswered[number], collected_seconds=round(grew, 3))
        self._open, self._collected = len(self._unanswered), collected

    def asked_also(self, since: float, took: float) -> None:
        """Note how long other questions took, which have no answer to be read here: late by what is usual of them."""
        usual = median(self._also) if self._also else took
        self._also.append(took)
        if took >= max(LEAST_SECONDS, TIMES_USUAL * usual):
            self._add(since, took)

    def failed(self, since: float, took: float) -> None:
        """Note that no answer came; one that was refused at once is not waited for."""
        if took >= LEAST_SECONDS:
            self._add(since, took)

    def _add(self, since: float, took: float) -> None:
        if self._open < len(self._unanswered):
            last = self._unanswered[-1]
            began = seconds_of(last.at) or since
            if since - (began + last.seconds) <= _TOGETHER:
                self._unanswered[-1] = replace(last, seconds=round(since + took - began, 3))
                return
        self._unanswered.append(Stall(timestamp(since), seconds=round(took, 3)))

    def found(self, tasks: Iterable[TaskSpan]) -> tuple[Stall, ...]:
        """Return the stalls in the order of time, once for each task that it fell into, the longest of each."""
        usual = median(self._answers) if self._answers else 0.0
        stalls = [*self._own, *(it for it in self._unanswered if it.seconds >= TIMES_USUAL * usual)]
        spans = list(tasks)
        seen, kept = Counter[str](), list[tuple[int, Stall]]()
        for stall in sorted(stalls, key=lambda it: it.seconds, reverse=True):
            for task in _tasks(stall, spans) or ("",):
                seen[task] += 1
                if seen[task] <= MOST:
                    kept.append((seen[task], replace(stall, task=task)))
        kept.sort(key=lambda it: it[0])
        return tuple(sorted((stall for _, stall in kept[:MOST_IN_ALL]), key=lambda it: it.at))


def _explained(before: CollectionTime, now: CollectionTime) -> float:
    """Return the seconds for which a node collected between two answers; 0 where it cannot have, for lack of work."""
    seconds = max(0.0, now.seconds - before.seconds)
    if before.cpu_seconds is None or now.cpu_seconds is None:
        return seconds
    least = LEAST_WORKING * min(1.0, now.cpu_limit or 1.0) * seconds
    return seconds if now.cpu_seconds - before.cpu_seconds >= least else 0.0


def _tasks(stall: Stall, tasks: Iterable[TaskSpan]) -> list[str]:
    """Return the task that most of a stall fell into, all of them on a tie, and each in which it was long enough."""
    start = seconds_of(stall.at)
    if start is None:
        return []
    shared = {it.task: min(start + stall.seconds, it.span.end) - max(start, it.span.start) for it in tasks}
    most = max(shared.values(), default=0.0)
    return [task for task, seconds in shared.items() if seconds > 0 and seconds >= min(LEAST_SECONDS, most)]
