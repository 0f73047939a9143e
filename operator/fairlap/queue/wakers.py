"""Who sleeps until there is a reason to look again: one alarm for each active Benchmark or Comparison."""

import asyncio


class Wakers:
    """The alarms, by the object's uid."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}

    def waker(self, uid: str) -> asyncio.Event:
        """Return the alarm of an object, made when there is none; whoever waits for it clears it."""
        return self._events.setdefault(uid, asyncio.Event())

    def wake(self, uid: str) -> None:
        """Let one object look again; nothing happens when nobody looks after it."""
        if event := self._events.get(uid):
            event.set()

    def wake_everyone(self) -> None:
        """Let every active object look again."""
        for event in self._events.values():
            event.set()

    def drop(self, uid: str) -> None:
        """Forget the alarm of an object that is over."""
        self._events.pop(uid, None)
