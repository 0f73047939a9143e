"""What is deleted children first and does not go away gives its place back after a time.

A finalizer on a record, or a pod on a machine that is lost, may hold such a deletion for ever, and nobody drives what
is being deleted.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.names import COMPARISON_KIND, COMPARISON_LABEL, KIND, UID_LABEL
from fairlap.api.owners import controller
from fairlap.api.small_metadata import FOREGROUND
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.basis.conditions import moment
from fairlap.plan.explain.leftover import name_leftover
from fairlap.runtime.beside.chores import MOST_NAMES, PostEvent
from fairlap_race.contract.some_of import some_of

log = logging.getLogger(__name__)
GIVEN_BACK: Final = "PlaceGivenBack"
_CHILDREN: Final[Mapping[str, tuple[str, ...]]] = {
    KIND: ("Elasticsearch", "Job", "ConfigMap"),
    COMPARISON_KIND: (KIND, "ConfigMap"),
}


def is_collected(body: Mapping[str, Any]) -> bool:
    """Return whether an object is being deleted children first: the finalizer alone may be anybody's.

    What others hold runs to its end.
    """
    meta = body["metadata"]
    return bool(meta.get("deletionTimestamp")) and bool(FOREGROUND & set(meta.get("finalizers") or ()))


def seconds_left(body: Mapping[str, Any], seconds: float, now: datetime) -> float:
    """Return how long a deletion may still take of so many seconds, which are the most whatever the clocks say."""
    taken = (now - moment(body["metadata"]["deletionTimestamp"])).total_seconds()
    return min(max(seconds - taken, 0.0), seconds)


class SlowDeletions:
    """What is being deleted children first, by uid: one task for each, which sleeps nearly always."""

    def __init__(
        self,
        seconds: float,
        set_aside: Callable[[str], None],
        connection: Callable[[], ApiServer],
        post_event: PostEvent,
    ) -> None:
        self._seconds, self._set_aside = seconds, set_aside
        self._connection, self._post_event = connection, post_event
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def look(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take in what an event shows of an object that is not over."""
        uid = str(body["metadata"]["uid"])
        if not is_collected(body):
            self.forget(uid)
        elif uid not in self._tasks:  # it stays there when it is done, so that it is told once
            meta = {key: body["metadata"][key] for key in ("name", "namespace", "uid")}
            left = seconds_left(body, self._seconds, datetime.now(UTC))
            self._tasks[uid] = asyncio.create_task(self._give_back(kind, meta, left), name=f"collected {uid}")

    def forget(self, uid: str) -> None:
        """End what was begun for an object that is gone, or over."""
        if task := self._tasks.pop(uid, None):
            task.cancel()

    async def stop(self) -> None:
        """End everything; another operator begins it again."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _give_back(self, kind: str, meta: Json, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._set_aside(meta["uid"])
        try:
            left = await self._left(kind, meta)
        except ApiError as error:  # it only explains
            left = f"(not listed: {error.message})"
        held = f"deleted {self._seconds:.0f} s ago and not gone yet: it holds no place any more; still there: {left}"
        log.warning("%s %s/%s: %s", kind, meta["namespace"], meta["name"], held)
        self._post_event({"kind": kind, "metadata": meta}, "Warning", GIVEN_BACK, held)

    async def _left(self, kind: str, meta: Json) -> str:
        """Return the names of the children that are still there, with what holds them. Raises ApiError."""
        of = f"{COMPARISON_LABEL}={meta['name']}" if kind == COMPARISON_KIND else f"{UID_LABEL}={meta['uid']}"
        named: list[str] = []
        for child in _CHILDREN[kind]:
            there = await self._connection().list_metadata(child, [meta["namespace"]], {"labelSelector": of})
            named += [name_leftover(child, each) for each in there if controller(each).get("uid") == meta["uid"]]
        return some_of(named, MOST_NAMES) or "nothing of its own"
