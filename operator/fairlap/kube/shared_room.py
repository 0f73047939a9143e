"""Room for a few things at once, of which a namespace has a part alone: what hangs there leaves the rest to others."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SharedRoom:
    """Room for `most` at once, `of_one` of them of one namespace; who comes first is in first."""

    def __init__(self, most: int, of_one: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._of_one: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(of_one))

    async def enter(self, namespace: str) -> None:
        """Wait until there is room, and take it; whoever has entered must leave."""
        await self._of_one[namespace].acquire()  # first: who waits for its own namespace keeps nobody else out
        try:
            await self._all.acquire()
        except BaseException:
            self._of_one[namespace].release()
            raise

    def leave(self, namespace: str) -> None:
        """Give back what was taken."""
        self._all.release()
        self._of_one[namespace].release()

    @asynccontextmanager
    async def held(self, namespace: str) -> AsyncIterator[None]:
        """Hold room as long as the context lasts."""
        await self.enter(namespace)
        try:
            yield
        finally:
            self.leave(namespace)
