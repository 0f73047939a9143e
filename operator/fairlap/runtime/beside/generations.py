"""The newest generation in the status of what is over: who waits by it would take it for unfinished otherwise.

Of a spec `suspend` may change at any time, also in the manifests that a controller applies for all at once. Nothing
else of a record that is over is ever written, and of thousands that a start lists only those that are behind.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.phases import is_over
from fairlap.kube.api_server import ApiServer
from fairlap.kube.shared_room import SharedRoom
from fairlap.runtime.beside.chores import do_patiently
from fairlap.runtime.objects.reads import find_run
from fairlap.runtime.objects.writes import replace_status

_AT_ONCE: Final = 8, 4
"""altogether, and of one namespace: a record takes 0.1 MiB, and one patch may name thousands"""


def is_behind(body: Mapping[str, Any]) -> bool:
    """Return whether a Benchmark or a Comparison is over, and its status of an older generation than its spec.

    One that is being deleted is not: its deletion is a generation of its own.
    """
    observed, meta = (body.get("status") or {}).get("observedGeneration"), body["metadata"]
    if not is_over(body) or observed is None or meta.get("deletionTimestamp"):
        return False
    return bool(observed < meta.get("generation", 0))


def caught_up(body: Json) -> Json:
    """Return the status of what is over, as if its newest generation had been there at the end."""
    newest = {"observedGeneration": body["metadata"]["generation"]}
    status = {**body["status"], **newest}
    if "conditions" in status:
        status["conditions"] = [{**each, **newest} for each in status["conditions"]]
    return status


class Generations:
    """What is being written, by uid: one task for each, of two requests."""

    def __init__(self, connection: Callable[[], ApiServer]) -> None:
        self._connection = connection
        self._room = SharedRoom(*_AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def look(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take in what an event shows of an object of a kind; begin to write where it is over and behind."""
        uid = str(body["metadata"]["uid"])
        if not is_behind(body) or uid in self._tasks:
            return
        named = {"metadata": {key: body["metadata"][key] for key in ("name", "namespace", "uid")}}
        # What is refused for good, as a record that no schema takes any more, is tried again by the next event.
        doing = do_patiently(partial(self._catch_up, kind), named, again=False)
        task = asyncio.create_task(doing, name=f"generation {uid}")
        self._tasks[uid] = task
        task.add_done_callback(lambda _: self._tasks.pop(uid, None))

    def forget(self, uid: str) -> None:
        """End what was begun for an object that is gone, or cannot be read."""
        if task := self._tasks.pop(uid, None):
            task.cancel()

    def running(self) -> list[asyncio.Task[None]]:
        """Return the tasks that are not done yet."""
        return [*self._tasks.values()]

    async def stop(self) -> None:
        """End everything; another operator begins it again."""
        for task in self.running():
            task.cancel()
        await asyncio.gather(*self.running(), return_exceptions=True)

    async def _catch_up(self, kind: str, record: Json) -> None:
        """Write the generation by the version that is there now. Raises ApiError."""
        meta = record["metadata"]
        async with self._room.held(meta["namespace"]):
            found = await find_run(self._connection(), kind, meta["namespace"], meta["name"])
            if found is not None and found["metadata"]["uid"] == meta["uid"] and is_behind(found):
                await replace_status(self._connection(), found, caught_up(found), kind)
