"""When a race stands still. Pure: the clock and everything seen are arguments.

A race moves when Rally's step or percentage changes or a new sample arrives, when Elasticsearch does work (documents,
searches, merges, recoveries, long tasks), or when the load generator itself computes. Log lines are not a movement: a
health check that can never succeed writes one twice a second for ever. A force merge that shows 0 % for an hour is not
standing still, since Elasticsearch merges. A task that only waits is judged by the race's deadline alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WatchVerdict(Enum):
    """What to do about a race that is running."""

    GO_ON = "go on"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    DIED = "died"


@dataclass(frozen=True)
class Sighting:
    """One look at a running race."""

    position: tuple[int, int, int] = (0, 0, 0)
    """step, percent, number of samples"""
    work: tuple[int, ...] | None = None
    """Elasticsearch's work counters; None when not asked or no answer"""
    busy_tasks: int = 0
    """long tasks that run in Elasticsearch"""
    cpu_share: float = 0.0
    """cores that the load generator used since the last look"""
    waiting: bool = False
    """the running task only waits"""
    missing_actors: tuple[str, ...] = ()
    """Rally's processes that are gone while it is not ending"""


class Watchdog:
    """Holds what was seen last and when something moved; times are seconds on any one clock."""

    ASK_AFTER = 10.0
    """Elasticsearch is asked only when Rally has not moved for this long, so a race is not disturbed for nothing."""
    BUSY_CPU = 0.2
    """Cores. Rally's polling while it waits uses a few hundredths of a core."""
    ROOM_AFTER = 60.0
    """Elasticsearch looks at its disks every 30 s: after two looks, nothing that the race does changes its answer."""
    MISSING_GRACE = 10.0
    """A process may be gone for a moment at the regular end."""
    MISSING_LOOKS = 3
    """A machine that stood still lets that moment look long: only looks tell that the others went on meanwhile."""

    def __init__(self, now: float, stall_seconds: float, timeout_seconds: float) -> None:
        self._stall = stall_seconds
        self._deadline = now + timeout_seconds
        self._position: tuple[int, int, int] | None = None
        self._work: tuple[int, ...] | None = None
        self._rally_moved = now
        self._moved = now
        self._missing_since: float | None = None
        self._missing_looks = 0

    def wants_work(self, now: float) -> bool:
        """Tell whether the next look should ask Elasticsearch for its work counters."""
        return now - self._rally_moved >= min(self.ASK_AFTER, self._stall / 3)

    def may_lack_room(self, now: float) -> bool:
        """Tell whether a race stands still for so long that full disks would be the cause."""
        return self.idle_seconds(now) >= min(self.ROOM_AFTER, self._stall / 3)

    def idle_seconds(self, now: float) -> float:
        """Return for how long nothing has moved."""
        return now - self._moved

    def look(self, now: float, seen: Sighting) -> WatchVerdict:
        """Take in one look and return what to do."""
        if now >= self._deadline:
            return WatchVerdict.TIMEOUT
        if seen.missing_actors:
            self._missing_since = now if self._missing_since is None else self._missing_since
            self._missing_looks += 1
            if now - self._missing_since >= self.MISSING_GRACE and self._missing_looks >= self.MISSING_LOOKS:
                return WatchVerdict.DIED
        else:
            self._missing_since = None
            self._missing_looks = 0
        if seen.position != self._position:
            self._position = seen.position
            self._rally_moved = self._moved = now
        if seen.work is not None:
            if seen.work != self._work:
                # The first answer is only what later ones are compared with.
                if self._work is not None:
                    self._moved = now
                self._work = seen.work
            if seen.busy_tasks:
                self._moved = now
        if seen.cpu_share >= self.BUSY_CPU or seen.waiting:
            self._moved = now
        return WatchVerdict.STALLED if now - self._moved >= self._stall else WatchVerdict.GO_ON
