"""One k6 from its start to its end: told of, ended when it must end, and what it costs."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Progress, timestamp
from fairlap_race.contract.specification.http_spec import HttpSpec
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.http.k6 import K6Files, k6_argv, k6_env, make_plan, write_plan
from fairlap_race.http.load_answers import DROPPED_WARNING, LoadAnswers
from fairlap_race.http.pipes import KeptLog, PipeReader
from fairlap_race.linux import cgroup, process
from fairlap_race.runner.parts import FailedError
from fairlap_race.runner.watching.cost import LOOK_SECONDS, Cost
from fairlap_race.runner.watching.race_clock import RaceClock
from fairlap_race.runner.watching.watchdog import Sighting, Watchdog, WatchVerdict

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.1
INTERRUPT_PATIENCE = 15.0
"""Seconds that k6 gets to end by itself after SIGINT."""
_MOST_WORDS = 800


@dataclass(frozen=True)
class Ground:
    """What all loads of a race share."""

    spec: RaceSpec
    http: HttpSpec
    files: K6Files
    cost: Cost
    publish: Callable[[Progress], None]
    stop: threading.Event
    limit: float
    """the race's deadline on the monotonic clock"""
    clock: RaceClock = field(default_factory=RaceClock)


class K6Run:
    """One load: its number of so many."""

    def __init__(self, ground: Ground, answers: LoadAnswers, number: int, steps: int) -> None:
        self._ground, self._answers = ground, answers
        self._number, self._steps = number, steps
        self._log = KeptLog()

    def to_end(self, requests: Path, lines: int) -> int:
        """Run k6 on the prepared `requests`, of so many `lines` before any draw, and return its exit code.

        Raises FailedError when it ended otherwise than it should; no process of k6 is alive afterwards, and every line
        is read.
        """
        it = self._ground
        write_plan(it.files, make_plan(it.spec, it.http, self._answers.load, requests, lines))
        oom_before = cgroup.read_usage(time.monotonic()).oom_kills or 0
        reader = PipeReader({it.files.lines_pipe: self._answers.add, it.files.log: self._note})
        try:
            running = process.start(
                k6_argv(it.files), k6_env(it.spec, it.files, os.environ), it.files.work, it.files.output
            )
            self._watch(running, reader)
        finally:
            reader.finish()
            with it.files.output.open("a", encoding="utf-8") as output:
                output.writelines(f"{line}\n" for line in self._log.lines)
        if reader.error is not None:
            raise reader.error
        if code := running.returncode:
            killed = (cgroup.read_usage(time.monotonic()).oom_kills or 0) > oom_before
            reason = Reason.LOAD_GENERATOR_OUT_OF_MEMORY if killed else Reason.LOAD_GENERATOR_DIED
            raise FailedError(reason, f"k6 ended with exit code {code} {self._where()}: {self._log_tail()}")
        return 0

    def _watch(self, running: subprocess.Popen[bytes], reader: PipeReader) -> None:
        it, now = self._ground, time.monotonic()
        watchdog = Watchdog(now, it.spec.stall_seconds, max(1.0, it.limit - now))
        next_look = now
        try:
            while running.poll() is None:
                if it.stop.wait(POLL_SECONDS):
                    raise FailedError(Reason.RACE_ABORTED, f"the runner was told to stop {self._where()}")
                if time.monotonic() >= next_look:
                    next_look = time.monotonic() + LOOK_SECONDS
                    self._look(watchdog, reader)
        except BaseException as error:
            LOG.warning("ending k6: %s", error)
            process.end(running, INTERRUPT_PATIENCE)
            raise
        process.kill_all(running.pid)

    def _look(self, watchdog: Watchdog, reader: PipeReader) -> None:
        if reader.error is not None:
            raise reader.error
        self._ground.publish(self._progress())
        if self._answers.sent:
            # Of each load another thread reads: its number stands for a process.
            self._ground.cost.look([(self._number, reader.cpu_seconds)])
        now = time.monotonic()
        verdict = watchdog.look(now, Sighting(position=(self._number, 0, self._answers.sent)))
        if verdict is WatchVerdict.TIMEOUT:
            raise FailedError(Reason.RACE_TIMEOUT, f"the race was not over at its deadline, {self._where()}")
        if verdict is WatchVerdict.STALLED:
            idle = watchdog.idle_seconds(now)
            text = f"nothing moved for {idle:.0f} s {self._where()}; no request came to its end"
            raise FailedError(Reason.RACE_STALLED, text)

    def _percent(self) -> int:
        load, first = self._answers.load, self._answers.first_at
        if first is None:
            return 0
        return max(0, min(100, int(100 * (self._ground.clock.now() - first) / (load.warmup_seconds + load.seconds))))

    def _progress(self) -> Progress:
        first = self._answers.first_at
        return Progress(
            at=timestamp(time.time()),
            stage="preparing" if first is None and self._number == 1 else "racing",
            task=self._answers.load.name,
            percent=self._percent(),
            step=self._number,
            steps=self._steps,
            first_request_at=None if first is None else timestamp(first),
        )

    def _note(self, line: str) -> None:
        self._log.add(line)
        if line.startswith(DROPPED_WARNING):
            self._answers.dropped_any = True

    def _where(self) -> str:
        return f"in step {self._number} of {self._steps}, {self._answers.load.name} at {self._percent()} %"

    def _log_tail(self) -> str:
        said = " ".join(line for line in self._log.lines if not line.startswith(DROPPED_WARNING))
        return said[-_MOST_WORDS:] or "it said nothing"
