"""Watches Rally while it runs: tells progress, ends it when it must end, and measures what it costs."""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import LoadGenerator, Outcome, Progress, timestamp
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.progress import explain_standstill, find_full_disks, get_work
from fairlap_race.linux import cgroup, process
from fairlap_race.rally.live_files import SHUTDOWN, State, actor_pids, read_state
from fairlap_race.runner.watching.cost import LOOK_SECONDS, Cost
from fairlap_race.runner.watching.load_series import LoadSeries
from fairlap_race.runner.watching.race_clock import RaceClock
from fairlap_race.runner.watching.watchdog import Sighting, Watchdog, WatchVerdict

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.1
CPU_SPAN_SECONDS = 10.0
"""Span over which the load generator's own CPU use is averaged: one look could catch a moment's work."""
INTERRUPT_PATIENCE = 30.0
"""Seconds that Rally gets to end by itself after SIGINT."""
MAX_TASK_NAME = 200


@dataclass(frozen=True)
class Ended:
    """How Rally ended."""

    exit_code: int | None
    """None when it was killed"""
    outcome: Outcome
    """a reason only when the runner ended it"""
    exited_at: float
    """seconds since the epoch"""
    state: State | None
    load_generator: LoadGenerator
    oom_killed: bool
    load: LoadSeries = field(default_factory=LoadSeries)
    may_use: float = 0.0
    """cores of the load generator"""
    clock_offset: float | None = None
    """of the race's clock; None where nobody watched"""


@dataclass(frozen=True)
class Watched:
    """What must be known of a race to watch it."""

    sleeps: frozenset[str] = frozenset()
    """tasks that only wait"""
    guest: bool = False
    """it is on a cluster that exists already"""
    others_left: Callable[[], str] = str
    """says that a race which it takes turns with has ended; "" while none has"""
    clock: RaceClock = field(default_factory=RaceClock)


class Supervisor:
    """Watches one Rally process until it has ended."""

    def __init__(
        self,
        running: subprocess.Popen[bytes],
        live: Path,
        client: ElasticsearchClient,
        watchdog: Watchdog,
        publish: Callable[[Progress], None],
        stop: threading.Event,
        about: Watched,
    ) -> None:
        self._running = running
        self._live = live
        self._client = client
        self._watchdog = watchdog
        self._publish = publish
        self._stop = stop
        self._sleeps = about.sleeps
        self._guest = about.guest
        self._others_left = about.others_left
        self._clock = about.clock
        self._cost = Cost(clock=about.clock)
        self._cpu: tuple[float, dict[int, float]] = (time.monotonic(), {})
        self._cpu_share = 0.0
        self._oom_before = cgroup.read_usage(time.monotonic()).oom_kills or 0

    def watch(self, may_use: float) -> Ended:
        """Return how Rally ended; `may_use`: cores of the load generator. No process of Rally is alive afterwards.

        Raises what interrupts it, once Rally has ended.
        """
        try:
            outcome = self._look_until_over()
        except BaseException:
            process.end(self._running, INTERRUPT_PATIENCE)  # or it would go on loading the cluster
            raise
        if self._others_left() and (outcome.reason is None) and self._running.returncode != 0:
            # Its clients hear of it, too, and Rally may have ended by itself.
            outcome = Outcome(Reason.RACE_ABORTED, f"{self._others_left()}, {self._where()}")
        if outcome.reason is None:
            code: int | None = self._running.returncode
            process.kill_all(self._running.pid)
        else:
            LOG.warning("ending Rally: %s: %s", outcome.reason, outcome.message)
            # A race without its driver can't end by itself: waiting would only prolong the load.
            patience = 3.0 if outcome.reason is Reason.LOAD_GENERATOR_DIED else INTERRUPT_PATIENCE
            code = process.end(self._running, patience)
        usage = cgroup.read_usage(time.monotonic())
        return Ended(
            exit_code=code,
            outcome=outcome,
            exited_at=time.time(),
            state=read_state(self._live),
            load_generator=self._cost.result(may_use),
            oom_killed=(usage.oom_kills or 0) > self._oom_before,
            load=self._cost.series,
            may_use=may_use,
            clock_offset=self._clock.offset,
        )

    def _look_until_over(self) -> Outcome:
        """Return why Rally must be ended; no reason when it has ended, or another race has."""
        outcome = Outcome()
        next_look = time.monotonic()
        while self._running.poll() is None and outcome.reason is None and not self._others_left():
            if self._stop.wait(POLL_SECONDS):
                outcome = Outcome(Reason.RACE_ABORTED, f"the runner was told to stop {self._where()}")
            elif time.monotonic() >= next_look:
                next_look = time.monotonic() + LOOK_SECONDS
                outcome = self._look()
        return outcome

    def _look(self) -> Outcome:
        state = read_state(self._live) or State()
        ending = (self._live / SHUTDOWN).exists()
        self._publish(progress_of(state, ending))
        if state.step > 0 and not ending:
            self._cost.look()
        process.reap(keep=self._running.pid)
        now = time.monotonic()
        work, busy = self._ask(now)
        missing = () if ending else tuple(n for n, pid in actor_pids(self._live).items() if not process.alive(pid))
        verdict = self._watchdog.look(
            now,
            Sighting(
                position=(state.step, state.percent, state.samples),
                work=work,
                busy_tasks=busy,
                cpu_share=self._rally_cpu(now),
                waiting=bool(self._sleeps & set(state.tasks)),
                missing_actors=missing,
            ),
        )
        return self._outcome(verdict, now, missing)

    def _ask(self, now: float) -> tuple[tuple[int, ...] | None, int]:
        if not self._watchdog.wants_work(now):
            return None, 0
        try:
            return get_work(self._client)
        except ElasticsearchError as error:
            LOG.info("Elasticsearch did not say what it works on: %s", error)
            return None, 0

    def _rally_cpu(self, now: float) -> float:
        """Return the cores that Rally's processes used in the last full span; 0 before the first is over."""
        since, before = self._cpu
        if now - since >= CPU_SPAN_SECONDS or not before:
            used = {pid: process.cpu_seconds(pid) or 0.0 for pid in process.descendants()}
            grown = sum(seconds - before.get(pid, 0.0) for pid, seconds in used.items())
            self._cpu_share = max(0.0, grown) / (now - since) if before else 0.0
            self._cpu = (now, used)
        return self._cpu_share

    def _outcome(self, verdict: WatchVerdict, now: float, missing: tuple[str, ...]) -> Outcome:
        if verdict is WatchVerdict.TIMEOUT:
            return Outcome(Reason.RACE_TIMEOUT, f"the race was not over at its deadline, {self._where()}")
        if verdict is WatchVerdict.DIED:
            return Outcome(Reason.LOAD_GENERATOR_DIED, f"Rally's {' and '.join(missing)} process ended {self._where()}")
        if verdict is WatchVerdict.STALLED:
            idle = self._watchdog.idle_seconds(now)
            cause = explain_standstill(self._client)
            reason = Reason.DISK_WATERMARK if cause.full_disks else Reason.RACE_STALLED
            return Outcome(reason, f"nothing moved for {idle:.0f} s {self._where()}; {cause.sentence}")
        # On a cluster of its own nobody else makes room; on another's, the shard may be somebody else's.
        if not self._guest and self._watchdog.may_lack_room(now) and (why := find_full_disks(self._client)):
            return Outcome(Reason.DISK_WATERMARK, f"no node takes a shard {self._where()}; {why}")
        return Outcome()

    def _where(self) -> str:
        state = read_state(self._live)
        if state is None or state.step == 0:
            return "while Rally prepared the race"
        return f"in step {state.step} of {state.steps}, {','.join(state.tasks)} at {state.percent} %"


def progress_of(state: State, ending: bool) -> Progress:
    """Return the progress to tell for what Rally's driver said last."""
    first = None if state.first_request_at is None else timestamp(state.first_request_at)
    racing = state.step > 0
    return Progress(
        at=timestamp(time.time()),
        stage="collecting" if ending and racing else "racing" if racing else "preparing",
        task=",".join(state.tasks)[:MAX_TASK_NAME] if racing else None,
        percent=state.percent if racing else None,
        step=state.step if racing else None,
        steps=state.steps or None,
        first_request_at=first,
    )
