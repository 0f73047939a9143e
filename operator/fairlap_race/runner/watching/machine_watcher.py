"""Watches the load generator's own machine, where no Elasticsearch can be asked: in races over HTTP."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.recorded.task_spans import race_span, task_spans
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch
from fairlap_race.contract.watched_machines.series import Points
from fairlap_race.linux.whole_machine import read_machine
from fairlap_race.runner.watching.race_clock import RaceClock
from fairlap_race.runner.watching.sampler import INTERVAL, STEP_LOOK, watch_of
from fairlap_race.runner.watching.stalls import StallWatch

LOG = logging.getLogger(__name__)


class MachineWatcher:
    """Looks every few seconds until it is stopped, and whenever it is told to."""

    def __init__(
        self,
        interval: float = INTERVAL,
        read: Callable[[], Mapping[str, float]] = read_machine,
        clock: RaceClock | None = None,
    ) -> None:
        self._interval, self._read, self._clock = interval, read, clock or RaceClock()
        self._signals: dict[str, Points] = {}
        self._stalls = StallWatch()
        self._taken = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine watcher", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Take a last look and end; returns at once when it never began."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(self._interval)
        self.look()

    def look(self) -> None:
        """Look now, as where a load begins or ends; an odd file costs one look, never the race."""
        try:
            with self._taken:
                at = self._clock.now()
                for name, value in self._read().items():
                    self._signals.setdefault(name, Points()).add(at, value)
        except Exception:
            LOG.exception("the machine could not be looked at")

    def watched(self, tasks: Iterable[Task]) -> MachineWatch:
        """Return what was seen of the machine in the race and in each of its tasks."""
        known = tuple(tasks)
        return watch_of(self._signals, self._stalls, race_span(known), task_spans(known))

    def _run(self) -> None:
        due = 0.0
        while not self._stop.is_set():
            now = time.monotonic()
            if now >= due:
                due = now + self._interval
                self.look()
            since, began, wanted = self._clock.now(), time.monotonic(), min(STEP_LOOK, self._interval)
            self._stop.wait(wanted)
            self._stalls.waited(since, wanted, time.monotonic() - began)
