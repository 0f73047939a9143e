"""Rally's next step begins when the one before is over and put away, and not when a clock says so.

Rally's worker looks every few seconds whether its task is over, and its driver then lets a second pass before the next
step, in which the race control adds the step's samples to its store. Here the task's end wakes its worker, and the race
control's answer starts the next step. While a task runs nothing is done that Rally does not do, and nothing more often:
what wakes the worker is written once, after its last client has ended.

Raises RuntimeError, when installed, for a Rally whose code is not the one that this was written for.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from fairlap_race.contract.rally_releases import RELEASES


class StepKept:
    """Says to Rally's driver that the race control has what the last step measured."""


def digest(sources: Iterable[str]) -> str:
    """Return a short digest of source code, whatever white space ends its lines."""
    lines = [line.rstrip() for source in sources for line in source.rstrip().splitlines()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def install(version: str, grace: float) -> None:
    """Change Rally in this process and its forks; `grace` (s) is what its workers need to hear of the next step.

    Raises RuntimeError when the installed Rally of that version has other code than expected.
    """
    from esrally import racecontrol  # noqa: PLC0415
    from esrally.driver import driver  # noqa: PLC0415

    changed = (driver.Worker, driver.DriverActor, driver.Driver.move_to_next_task, racecontrol.BenchmarkActor)
    found = digest(inspect.getsource(each) for each in changed)
    known = next((release.step_code for release in RELEASES if release.rally == version), "(none)")
    if found != known:
        names = ", ".join(each.__name__ for each in changed)
        raise RuntimeError(
            f"Rally {version} has other code between two steps than expected: compare its {names} with what {__name__} "
            f"changes, which was written for code of digest {known} and not {found}"
        )
    tell_workers(driver.Worker)
    follow_at_once(driver.DriverActor, racecontrol.BenchmarkActor, driver.Drive, grace)


def tell_workers(worker: Any) -> None:
    """Make Rally's class of workers go on when their task has ended; what it was to be woken for then is void."""
    from thespian.actors import ThespianWatch, WakeupMessage  # noqa: PLC0415

    made, received = worker.__init__, worker.receiveMessage
    driven, woken, asked = worker.drive, worker.receiveMsg_WakeupMessage, worker.wakeupAfter

    def make(self: Any) -> None:
        made(self)
        self.told, self.turn = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC), 0

    def receive(self: Any, message: Any, sender: Any) -> Any:
        received(self, message, sender)
        # Thespian forgets with each message what is to be watched.
        return ThespianWatch([self.told])

    def drive(self: Any) -> None:
        driven(self)
        if self.executor_future is not None:
            self.executor_future.add_done_callback(lambda _: os.eventfd_write(self.told, 1))

    def wakeup_after(self: Any, period: Any, payload: Any = None) -> None:
        self.turn += 1
        asked(self, period, self.turn)

    def wakeup(self: Any, message: Any, sender: Any) -> Any:
        # An older one would start the next step before its time, and be followed by others for ever.
        return woken(self, message, sender) if message.payload == self.turn else None

    def go_on(self: Any, _: Any, sender: Any) -> Any:
        try:
            os.eventfd_read(self.told)
        except BlockingIOError:
            return None
        if self.executor_future is None or not self.executor_future.done():
            return None
        self.turn += 1
        return woken(self, WakeupMessage(None, self.turn), sender)

    worker.__init__, worker.receiveMessage, worker.drive = make, receive, drive
    worker.wakeupAfter, worker.receiveMsg_WakeupMessage, worker.receiveMsg_WatchMessage = wakeup_after, wakeup, go_on


def follow_at_once(driver: Any, race_control: Any, drive: Callable[[float], Any], grace: float) -> None:
    """Make Rally's classes of the driver and the race control start a step once the samples of the last are kept."""
    made, finished, kept = driver.__init__, driver.on_task_finished, race_control.receiveMsg_TaskFinished

    def make(self: Any) -> None:
        made(self)
        self.grace, self.waiting = grace, []

    def on_task_finished(self: Any, metrics: Any, next_task_scheduled_in: float) -> None:
        self.grace = min(grace, next_task_scheduled_in)
        finished(self, metrics, self.grace)

    def drive_at(self: Any, worker: Any, _: float) -> None:
        self.waiting.append(worker)

    def go_on(self: Any, *_: Any) -> None:
        # All are in this pod, where the clock is one.
        workers, self.waiting, start = self.waiting, [], time.perf_counter() + self.grace
        for worker in workers:
            self.send(worker, drive(start))

    def keep(self: Any, message: Any, sender: Any) -> None:
        kept(self, message, sender)
        self.send(sender, StepKept())

    driver.__init__, driver.on_task_finished, driver.drive_at = make, on_task_finished, drive_at
    driver.receiveMsg_StepKept, race_control.receiveMsg_TaskFinished = go_on, keep
