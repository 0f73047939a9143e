"""Which Benchmarks an index still shows although they are gone: none may hold a place in the queue for ever.

kopf lists again when it has lost its watch (410 Gone) and tells of what is there, not of what went meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from fairlap.kube.repeat import again


class Vanished:
    """The uids of such Benchmarks; `uid in vanished` asks for one."""

    def __init__(
        self, known: Callable[[], Iterable[str]], living: Callable[[], Awaitable[set[str]]], changed: Callable[[], None]
    ) -> None:
        """`known` gives the uids of the index, `living` the API server's; `changed` is called when some have gone."""
        self._known, self._living, self._changed = known, living, changed
        self._uids: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def __contains__(self, uid: object) -> bool:
        """Return whether a Benchmark is known to be gone."""
        return uid in self._uids

    def look_every(self, seconds: float) -> None:
        """Look again and again until `stop`."""
        self._task = again(seconds, self._look, "vanished Benchmarks were not looked for")

    def stop(self) -> None:
        """End what `look_every` began."""
        if self._task:
            self._task.cancel()

    async def _look(self) -> None:
        before = set(self._known())  # first: one created between the two questions is not gone
        gone = before - await self._living()
        if gone != self._uids:
            self._uids = gone
            self._changed()
