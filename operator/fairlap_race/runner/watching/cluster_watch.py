"""Watches the cluster while Rally runs: copies of shards that are missing, nodes, caches; and sums it up afterwards."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fairlap_race.contract.recorded.cluster_course import ClusterCourse, MissingCopies, Recovery, TaskCaches
from fairlap_race.contract.recorded.record import Task, timestamp
from fairlap_race.contract.recorded.task_spans import race_span, seconds_of
from fairlap_race.contract.watched_machines.series import Points, Span, grown, increase
from fairlap_race.elasticsearch import course
from fairlap_race.elasticsearch.answers import dig, whole_number
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.runner.watching.race_clock import RaceClock

LOG = logging.getLogger(__name__)
PATIENCE = 3.0
"""Seconds for an answer while the race runs."""
CALM_PATIENCE = 10.0
"""Seconds for an answer before and after it."""
MOST = 200
"""Of each list in the record."""
MOST_LISTED = 2000
"""Copies of shards: a list of more, every few seconds, would be a load of its own."""
_RACE = ""
"""The name under which the race as a whole stands among its tasks."""
_COUNTERS = [field.name for field in fields(TaskCaches) if field.name not in ("task", "whole")]
MERGE_PATIENCE = 60.0
"""Seconds that merges get to end before the size of the data is read."""
MERGE_LOOK = 0.5


@dataclass
class _Missing:
    copies: int
    since: float
    until: float


@dataclass
class ClusterWatch:
    """Looks at the cluster whenever it is told to, until the race is over."""

    client: ElasticsearchClient
    clock: RaceClock = field(default_factory=RaceClock)
    looks: int = 0
    fewest_nodes: int | None = None
    most_relocating: int | None = None
    merging: int | None = None
    unlisted: int = 0
    _start: course.Mark = field(default_factory=course.Mark)
    _began: float = 0.0
    _missing: dict[tuple[str, bool, str], list[_Missing]] = field(default_factory=dict)
    _sizes: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    """index -> its shards, and the replicas of each, when copies were listed last"""
    _last: frozenset[tuple[str, bool, str]] = frozenset()
    """what was missing at the look before"""
    _caches: dict[str, dict[str, Points]] = field(default_factory=dict)
    """node -> counter -> its values"""

    def begin(self) -> None:
        """Note what the cluster has counted before Rally starts."""
        self._began = self.clock.now()
        self._start = self._mark()
        self._look_at_caches(self.clock.now(), CALM_PATIENCE)

    def addresses(self) -> tuple[str, ...]:
        """Return the addresses of all nodes in the order of their names; none when Elasticsearch does not tell."""
        return course.read_addresses(self._ask(course.ADDRESSES_PATH))

    def look(self, at: float) -> None:
        """Look once, at `at` on the race's clock; an answer that cannot be had is a look less."""
        self._look_at_shards(at)
        self._look_at_caches(at, PATIENCE)

    def _look_at_caches(self, at: float, patience: float) -> None:
        for node, counters in course.read_caches(self._ask(course.CACHES_PATH, patience)).items():
            for name, value in counters.items():
                self._caches.setdefault(node, {}).setdefault(name, Points()).add(at, value)

    def _look_at_shards(self, at: float) -> None:
        if (health := self._ask(course.HEALTH_PATH, PATIENCE)) is None:
            return
        nodes, relocating, active, initializing, unassigned = (
            whole_number(dig(health, name))
            for name in (
                *("number_of_nodes", "relocating_shards", "active_shards", "initializing_shards"),
                "unassigned_shards",
            )
        )
        self.looks += 1
        if nodes is not None:
            self.fewest_nodes = nodes if self.fewest_nodes is None else min(self.fewest_nodes, nodes)
        if relocating is not None:
            self.most_relocating = max(self.most_relocating or 0, relocating)
        if not (initializing or unassigned):
            self._note(at, {})
        elif (active or 0) > MOST_LISTED or (shards := self._ask(course.SHARDS_PATH, PATIENCE)) is None:
            self.unlisted += 1
        else:
            self._sizes |= course.read_sizes(shards)
            self._note(at, course.read_missing(shards))

    def _note(self, at: float, found: Mapping[tuple[str, bool, str], int]) -> None:
        for key, copies in found.items():
            spans = self._missing.setdefault(key, [])
            if spans and key in self._last:
                spans[-1] = _Missing(max(spans[-1].copies, copies), spans[-1].since, at)
            else:
                spans.append(_Missing(copies, at, at))
        self._last = frozenset(found)

    def _mark(self) -> course.Mark:
        began = self.clock.now()
        nodes = self._ask(course.NODES_PATH)
        at = (began + self.clock.now()) / 2
        return course.read_mark(nodes, self._ask(course.COORDINATION_PATH), at)

    def _ask(self, path: str, patience: float = CALM_PATIENCE) -> Any:
        """Return the answer; None without one, or where the user may not ask: that alone ends no race."""
        try:
            return self.client.get(path, timeout=patience)
        except ElasticsearchError as error:
            LOG.info("the cluster could not be looked at: %s", error)
            return None

    def end(
        self, is_of_the_race: Callable[[str], bool], tasks: Iterable[Task], known: Iterable[TaskCaches] = ()
    ) -> ClusterCourse:
        """Return what happened until now to the race's own indices; what Elasticsearch does not tell is None.

        `known`: what the caches did in tasks before and after which they were looked at.
        """
        end, start = self._mark(), self._start
        # What the last task counted after the last look.
        self._look_at_caches(self.clock.now(), CALM_PATIENCE)
        return ClusterCourse(
            looks=self.looks,
            unlisted=self.unlisted,
            fewest_nodes=self.fewest_nodes,
            most_relocating=self.most_relocating,
            missing=self._kept(is_of_the_race),
            recoveries=self._recoveries(end, is_of_the_race),
            rejoined=course.rejoined(start, end),
            elections=course.elections(start, end),
            requests=course.requests(start, end)[:MOST],
            caches=_better(self.caches(tasks), known),
            merging=self.merging,
        )

    def _kept(self, is_of_the_race: Callable[[str], bool]) -> tuple[MissingCopies, ...]:
        found = []
        for (index, primary, why), spans in sorted(self._missing.items()):
            shards, replicas = self._sizes.get(index, (None, None))
            for it in spans if is_of_the_race(index) else ():
                since, until = timestamp(it.since), timestamp(it.until)
                found.append(MissingCopies(index, primary, it.copies, why or None, since, until, shards, replicas))
        return tuple(found[:MOST])

    def _recoveries(self, mark: course.Mark, is_of_the_race: Callable[[str], bool]) -> tuple[Recovery, ...] | None:
        if (answer := self._ask(course.RECOVERY_PATH)) is None:
            return None
        return tuple(it for it in course.read_recoveries(answer, self._began, mark) if is_of_the_race(it.index))[:MOST]

    def await_merges(self, is_of_the_race: Callable[[str], bool], limit: float, stop: threading.Event) -> None:
        """Wait until no merge runs in the race's own indices, for a minute and until `limit` (monotonic) at most."""
        end = min(limit, time.monotonic() + MERGE_PATIENCE)
        while True:
            if (answer := self._ask(course.MERGES_PATH)) is None:
                return
            self.merging = running = course.read_merging(answer, is_of_the_race)
            if not running or time.monotonic() >= end or stop.wait(MERGE_LOOK):
                return

    def caches(self, tasks: Iterable[Task]) -> tuple[TaskCaches, ...]:
        """Return what the caches did in the race as a whole (without a name) and in each task, warm-up included."""
        listed = tuple(tasks)
        spans: list[tuple[str, Span]] = [] if (race := race_span(listed)) is None else [(_RACE, race)]
        for task in listed:
            start, end = seconds_of(task.started_at), seconds_of(task.ended_at)
            if start is not None and end is not None and end > start:
                spans.append((task.task, Span(start, end)))
        ready = [{name: grown(points) for name, points in of.items()} for of in self._caches.values()]
        return tuple(it for name, span in spans if (it := _caches(name, ready, span)) is not None)


def _better(found: Iterable[TaskCaches], known: Iterable[TaskCaches]) -> tuple[TaskCaches, ...]:
    """Return what was found, with what is known for the tasks in it; a task that stands twice was not alone."""
    listed, known = tuple(found), tuple(known)
    times = Counter(each.task for each in known)
    whole = {each.task: each for each in known if times[each.task] == 1}
    better = (_at_least(each, known) if each.task == _RACE else whole.get(each.task, each) for each in listed)
    more = (each for each in whole.values() if each.task not in {it.task for it in listed})
    return (*better, *more)


def _at_least(race: TaskCaches, known: Iterable[TaskCaches]) -> TaskCaches:
    """Return what the caches did in the race: no less than in the tasks of which it is known exactly.

    Between two readings a counter is taken to grow evenly, and the last one comes some seconds after the race.
    """
    parts = tuple(known)
    counted = {
        name: max(value, sum(getattr(part, name) or 0 for part in parts))
        for name in _COUNTERS
        if (value := getattr(race, name)) is not None
    }
    return replace(race, **counted)


def _caches(task: str, nodes: Iterable[Mapping[str, Points]], span: Span) -> TaskCaches | None:
    """Return the growth of each counter in a span, summed over the nodes; None when nothing of it is known."""
    sums: dict[str, Any] = {}
    for of_node in nodes:
        for name, points in of_node.items():
            if (grew := increase(points, span)) is not None:
                sums[name] = sums.get(name, 0) + round(grew[0])
    return TaskCaches(task, **sums) if sums else None
