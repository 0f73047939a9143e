"""One task for each active Benchmark or Comparison: begun, kept up and ended here.

kopf's daemons would do the same, but force a finalizer on what they work for, and nobody takes that off when the
operator is gone.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

AGAIN_SECONDS: Final = 5.0
"""pause after work on an object broke off"""


class Stop(asyncio.Event):
    """The sign that a task must end: true when it must, and somebody may wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.last_status: Mapping[str, Any] = {}
        """what is kept of the object's status, where it must end since that is over"""

    def __bool__(self) -> bool:
        """Return whether it must end."""
        return self.is_set()


class Driven(Protocol):
    """What is done for one object, and what it knows of it: each event renews the latter."""

    uid: str
    body: Mapping[str, Any]
    indexes: Any
    logger: Any

    def take_over(self, before: Any) -> None:
        """Go on where an earlier one for the same object has ended, which is none of its own."""

    async def run(self, stopped: Stop) -> None:
        """Return when told so, in the end of what is being written just then; it may be told so from the beginning."""


@dataclass
class _Drive:
    scope: str
    driven: Driven
    stop: Stop
    task: asyncio.Task[None]


class ObjectTasks:
    """The tasks, by the object's uid; none goes to work while `allow` says no."""

    def __init__(self) -> None:
        self._allowed = asyncio.Event()
        self._drives: dict[str, _Drive] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._left: dict[str, Driven] = {}
        """what was done in a scope that is listed anew, until an object is seen again or is gone"""
        self._closed = False

    def allow(self, now: bool) -> None:
        """Let all go to work, or let those that begin from now on wait: until every place that is held is known."""
        self._allowed.set() if now else self._allowed.clear()

    def follow(self, scope: str, driven: Driven) -> None:
        """Begin the work on an object; if it is begun already, hand the newest body and indexes over.

        `scope` is where its events came from, for `end_in`.
        """
        if self._closed:
            return
        if there := self._drives.get(driven.uid):
            there.driven.body, there.driven.indexes = driven.body, driven.indexes
            return
        stop = Stop()
        task = self._begin(driven, stop, self._left.pop(driven.uid, None))
        self._drives[driven.uid] = _Drive(scope, driven, stop, task)

    def end(self, uid: str, last_status: Mapping[str, Any] | None = None) -> None:
        """Let the work on an object end, after what it is writing; nothing happens when there is none.

        `last_status`: what is kept of its status, where it is over; that is told also where `end_in` ended the work.
        """
        drive, left = self._drives.pop(uid, None), self._left.pop(uid, None)
        if drive is not None:
            stop, task = drive.stop, drive.task
        elif left is not None and last_status and not self._closed:
            stop = Stop()
            task = self._begin(left, stop)
        else:
            return
        stop.last_status = last_status or {}
        stop.set()
        self._ending[uid] = task
        task.add_done_callback(lambda task: self._ending.pop(uid) if self._ending.get(uid) is task else None)

    def end_in(self, scope: str) -> None:
        """Let the work on all objects of a scope end, which is listed anew: what is over then was seen by no event."""
        for uid, driven in [(uid, drive.driven) for uid, drive in self._drives.items() if drive.scope == scope]:
            self.end(uid)
            self._left[uid] = driven

    async def stop(self, seconds: float) -> None:
        """End all, and begin none any more; a write may take that long."""
        self._closed = True
        for uid in list(self._drives):
            self.end(uid)
        if tasks := list(self._ending.values()):
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _begin(self, driven: Driven, stop: Stop, left: Driven | None = None) -> asyncio.Task[None]:
        going = self._go_on(driven, stop, self._ending.get(driven.uid), left)
        return asyncio.create_task(going, name=f"drive {driven.uid}")

    async def _go_on(self, driven: Driven, stop: Stop, before: asyncio.Task[None] | None, left: Driven | None) -> None:
        if before is not None:  # two at once would write against each other
            await asyncio.wait([before])
        if left is not None:
            driven.take_over(left)
        await _first_of(self._allowed, stop)
        while not stop or stop.last_status:
            told_before = bool(stop)
            try:
                await driven.run(stop)
            except Exception:  # nobody else would tell, and the object must go on
                driven.logger.exception("the work on this object broke off: again in %.0f s", AGAIN_SECONDS)
                if told_before:
                    return
                await _first_of(stop, seconds=AGAIN_SECONDS)
            else:
                return


async def _first_of(*events: asyncio.Event, seconds: float | None = None) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
