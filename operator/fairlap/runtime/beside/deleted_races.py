"""What was deleted in the middle of a race keeps its place until what it has built is gone, for a bounded time.

Kubernetes' garbage collector takes the children after their owner, and a load generator has a minute to end: who got
the place meanwhile would race beside it, or find its indices on a host that both name.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)
_LOOK_AGAIN_SECONDS: Final = 1.0


class DeletedRaces:
    """One task for each, which looks once a second whether anything is left."""

    def __init__(self, seconds: float, has_left: Callable[[str, str], bool], free: Callable[[str], None]) -> None:
        self._seconds, self._has_left, self._free = seconds, has_left, free
        self._tasks: set[asyncio.Task[None]] = set()

    def look_after(self, namespace: str, uid: str) -> None:
        """Begin to wait for the end of what a Benchmark has left, which was deleted in its place."""
        task = asyncio.create_task(self._wait(namespace, uid), name=f"deleted {uid}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """End everything; a new operator knows of none of them."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self, namespace: str, uid: str) -> None:
        end = time.monotonic() + self._seconds
        try:
            while self._has_left(namespace, uid) and time.monotonic() < end:  # noqa: ASYNC110 - it is many events
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        except Exception:  # others wait for the place, and nobody else would free it
            log.exception("what is left of the deleted Benchmark %s in %s is not waited for", uid, namespace)
        self._free(uid)
