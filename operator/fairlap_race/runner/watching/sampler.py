"""Looks at the machines while Rally runs, from a thread of its own, and sums it up afterwards."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.recorded.task_spans import TaskSpan, machine, race_span, task_spans
from fairlap_race.contract.watched_machines.machine_watch import Canary, MachineWatch
from fairlap_race.contract.watched_machines.resources import (
    ELASTICSEARCH,
    LOAD_GENERATOR,
    MachineTable,
    Sampler,
    Volume,
)
from fairlap_race.contract.watched_machines.series import Points, Sample, Span
from fairlap_race.elasticsearch import node_stats
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.linux.cgroup import read_limits
from fairlap_race.linux.container import read_container
from fairlap_race.linux.whole_machine import read_machine
from fairlap_race.rally.live_files import read_state
from fairlap_race.runner.watching.race_clock import RaceClock
from fairlap_race.runner.watching.stalls import StallWatch
from fairlap_race.runner.watching.watched_span import merged, watched_span
from fairlap_race.runner.watching.watched_use import with_use

LOG = logging.getLogger(__name__)
INTERVAL = 4.0
"""Seconds between two looks: one in five seconds is promised, and an answer may be late."""
STEP_LOOK = 0.5
"""Seconds between two looks at where Rally is: at a new task the machines are looked at once more."""
PATIENCE = 3.0
"""Seconds for Elasticsearch's answer."""


@dataclass
class _MachineSamples:
    """All samples of one machine."""

    signals: dict[str, Points] = field(default_factory=dict)
    last: Sample = field(default_factory=Sample)

    def add(self, at: float, sample: Sample) -> None:
        for name, value in sample.values.items():
            self.signals.setdefault(name, Points()).add(at, value)
        self.last = sample


class MachineSampler:
    """Samples every Elasticsearch node and this container until it is stopped; calls `also` with each look's time."""

    def __init__(
        self,
        client: ElasticsearchClient,
        live: Path,
        pod_name: str | None,
        interval: float = INTERVAL,
        also: Callable[[float], None] | None = None,
        clock: RaceClock | None = None,
    ) -> None:
        self._client = client
        self._also = also
        self._clock = clock or RaceClock()
        self._live = live
        self._own_name = pod_name or LOAD_GENERATOR
        self._interval = interval
        self._nodes: dict[str, _MachineSamples] = {}
        self._own = _MachineSamples()
        self._machine = _MachineSamples()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._answer_seconds: list[float] = []
        self._failures = 0
        self._last_failure = ""
        self._moments: list[float] = []
        self._stalls = StallWatch()
        self._cpu_seconds: float | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Take a last sample and end; returns at once when it never began."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(2 * PATIENCE)

    def _run(self) -> None:
        step, due = None, 0.0
        while not self._stop.is_set():
            state = read_state(self._live)
            now = time.monotonic()
            current = None if state is None else state.step
            if now >= due or current != step:
                step = current
                due = now + self._interval
                self._look_safely()
            self._wait(min(STEP_LOOK, self._interval))
        self._look_safely()
        self._cpu_seconds = time.thread_time()

    def _wait(self, seconds: float) -> None:
        since, began = self._clock.now(), time.monotonic()
        self._stop.wait(seconds)
        self._stalls.waited(since, seconds, time.monotonic() - began)

    def _look_safely(self) -> None:
        for look in (self._look_at_container, self._look_at_machine, self._look_at_nodes, self._look_also):
            try:
                look()
            except Exception as error:
                # An odd answer costs one sample of what gave it, never the sampling.
                LOG.exception("the machines could not be looked at")
                self._failures, self._last_failure = self._failures + 1, f"{type(error).__name__}: {error}"

    def _look_at_container(self) -> None:
        self._own.add(self._clock.now(), read_container())

    def _look_at_machine(self) -> None:
        self._machine.add(self._clock.now(), Sample(read_machine()))

    def _look_also(self) -> None:
        if self._also:
            since, began = self._clock.now(), time.monotonic()
            self._also(since)
            self._stalls.asked_also(since, time.monotonic() - began)

    def _look_at_nodes(self) -> None:
        at, began = self._clock.now(), time.monotonic()
        try:
            stats = self._client.get(node_stats.STATS_PATH, timeout=PATIENCE)
        except ElasticsearchError as error:
            LOG.info("Elasticsearch did not tell its node stats: %s", error)
            self._failures, self._last_failure = self._failures + 1, str(error)
            self._stalls.failed(at, time.monotonic() - began)
            return
        spent = time.monotonic() - began
        self._answer_seconds.append(spent)
        samples = node_stats.node_samples(stats)
        self._stalls.answered(at, spent, node_stats.collected(samples))
        # The counters were read about in the middle of the request.
        at += spent / 2
        self._moments.append(at)
        for name, sample in samples.items():
            self._nodes.setdefault(name, _MachineSamples()).add(at, sample)

    def volumes(self) -> tuple[Volume, ...]:
        """Return where the nodes keep their data and how full that is now; empty when it cannot be had."""
        try:
            return node_stats.volumes(self._client.get(node_stats.FS_PATH, timeout=30))
        except ElasticsearchError as error:
            LOG.warning("the file systems could not be looked at: %s", error)
            return ()

    def table(self, race_id: str, race: Span | None, tasks: Iterable[TaskSpan]) -> MachineTable:
        """Return what was seen in the race as a whole and in each task, all given as name, start and span."""
        if race is None:
            return MachineTable(
                race_id=race_id, sampler=self._describe_sampling(), remarks=("no request was sent: nothing to sum up",)
            )
        spans = list(tasks)
        limits = read_limits()
        own = replace(
            machine(self._own_name, LOAD_GENERATOR, "cgroup", self._own.signals, race, spans),
            cpu_limit=limits.cpus,
            memory_limit_bytes=limits.memory_bytes,
            notes=self._own.last.notes,
        )
        nodes = [
            replace(
                machine(name, ELASTICSEARCH, "nodeStats", seen.signals, race, spans),
                cpu_limit=seen.last.cpu_limit,
                memory_limit_bytes=seen.last.memory_limit_bytes,
                notes=seen.last.notes,
            )
            for name, seen in sorted(self._nodes.items())
        ]
        remarks = () if nodes else (f"Elasticsearch did not tell its node stats: {self._last_failure}",)
        return MachineTable(race_id=race_id, sampler=self._describe_sampling(), machines=(*nodes, own), remarks=remarks)

    def watched(self, race: Span | None, tasks: Iterable[TaskSpan]) -> MachineWatch:
        """Return what was seen of the whole machine in the race and in each task."""
        known = list(tasks)
        watch, nodes = watch_of(self._machine.signals, self._stalls, race, known), self._nodes.values()
        merging = {task.task: merged((seen.signals for seen in nodes), task.span) for task in known}
        return replace(watch, tasks=tuple(replace(span, merging=merging[span.task]) for span in watch.tasks))

    def _describe_sampling(self) -> Sampler:
        gaps = [later - earlier for earlier, later in zip(self._moments, self._moments[1:], strict=False)]
        answers = self._answer_seconds
        return Sampler(
            interval_seconds=self._interval,
            samples=len(self._moments),
            failures=self._failures,
            last_failure=self._last_failure[:500],
            widest_gap_seconds=round(max(gaps), 3) if gaps else None,
            request_millis_mean=round(1000 * sum(answers) / len(answers), 3) if answers else None,
            cpu_seconds=None if self._cpu_seconds is None else round(self._cpu_seconds, 3),
        )


def watch_of(
    signals: Mapping[str, Points], stalls: StallWatch, race: Span | None, tasks: Iterable[TaskSpan]
) -> MachineWatch:
    """Return what samples of the whole machine say of a race and of each of its tasks."""
    if race is None:
        return MachineWatch()
    known = list(tasks)
    spans = tuple(watched_span(signals, task.span, task.task) for task in known)
    return MachineWatch(race=watched_span(signals, race), tasks=spans, stalls=stalls.found(known))


def summed_up(
    sampler: MachineSampler, record: Record, *, ask: bool, canaries: tuple[Canary | None, Canary | None] = (None, None)
) -> MachineTable:
    """Return the table of a race that has ended; `ask`: whether Elasticsearch may still be asked for its disks."""
    race, tasks = race_span(record.tasks), task_spans(record.tasks)
    table = sampler.table(record.race_id, race, tasks)
    watch = with_use(sampler.watched(race, tasks), table.machines, len(record.environment.nodes))
    watch = replace(watch, before=canaries[0], after=canaries[1])
    return replace(table, volumes=sampler.volumes() if ask else (), watch=watch)
