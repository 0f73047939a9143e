"""Which Benchmarks an index still shows although they are gone: none may hold a place in the queue for ever.

kopf lists again when it has lost its watch (410 Gone) and tells of what is there, not of what went meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from .cluster import ApiError

log = logging.getLogger(__name__)


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
        self._task = asyncio.create_task(self._look(seconds), name="vanished Benchmarks")

    def stop(self) -> None:
        """End what `look_every` began."""
        if self._task:
            self._task.cancel()

    async def _look(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            before = set(self._known())  # first: one created between the two questions is not gone
            try:
                gone = before - await self._living()
            except ApiError as error:
                log.info("Benchmarks were not listed: %s", error)
            except Exception:  # this task must go on, and nobody else would tell
                log.exception("Benchmarks were not listed")
            else:
                if gone != self._uids:
                    self._uids = gone
                    self._changed()
