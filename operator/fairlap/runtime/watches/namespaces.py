"""Which of the watched namespaces can be read, are read, or are left out: none of them holds up another.

Each is followed by a kopf of its own, since one kopf handles nothing before each kind is listed in every namespace, and
asks for ever where it may not. Here its beginning and end are decided, by the API server's answers to short questions.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairlap.api.kinds import CONFIG_MAP, ELASTICSEARCH, ENDPOINT_SLICE, JOB, POD
from fairlap.api.names import COMPARISON_KIND, KIND, MANAGED_BY, MANAGER
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.kube.backoff import doubled

log = logging.getLogger(__name__)
CHILD_KINDS: Final = (JOB.kind, CONFIG_MAP.kind, POD.kind, ENDPOINT_SLICE.kind)
CLUSTER_KIND: Final = ELASTICSEARCH.kind
LATE_KINDS: Final = {CLUSTER_KIND: "Elasticsearch of ECK", COMPARISON_KIND: "Comparison"}
"""kinds that may come after the operator, and what they are called; Helm adds none when it upgrades a chart"""
EVERYWHERE: Final = ""
"""the one entry of an operator that watches all namespaces together"""

_FIRST_PAUSE: Final = 0.5
_SLOW_LISTS: Final = 10
"""how many times the patience others wait at the most for the lists of one that answers"""

Follow = Callable[[str], Coroutine[Any, Any, None]]


@dataclass
class _Place:
    name: str
    ready: bool = False
    """whether all that was there when it was first read is known"""
    trouble: str = ""
    refused_since: float | None = None
    left_out: bool = False
    following: asyncio.Task[None] | None = None
    kinds: frozenset[str] = frozenset()
    """those of LATE_KINDS that were there when kopf began to follow"""
    began: float = math.inf
    """when it was first waited for; not before the Lease is held"""
    looks: int = 0
    """how often it was looked at since something went wrong or began"""
    blind: bool = False
    """whether a watch there is open and tells of nothing"""

    @property
    def called(self) -> str:
        return f"namespace {self.name}" if self.name else "every namespace"


@dataclass
class Namespaces:
    """The watched namespaces, in the care of `look_after_all`."""

    names: tuple[str, ...]
    """none: all, together"""
    patience: float
    """seconds after which one that may not be read is left out"""
    api_server: Callable[[], ApiServer]
    all_known: Callable[[bool], None]
    """told whether the Benchmarks and Comparisons of all that can be read are known"""
    pause: Callable[[str], None]
    """ends the work on what is in one that is about to be read anew; its Benchmarks keep their places"""
    forget: Callable[[str], None]
    """ends that work and drops what is known of one that is left out"""

    def __post_init__(self) -> None:
        """Begin with none read."""
        self._places = {name: _Place(name) for name in self.names or (EVERYWHERE,)}

    def readable(self) -> tuple[str, ...]:
        """Return those that are not left out, as names for lists: none at all means that there is nothing to list."""
        return tuple(name for name, place in self._places.items() if not place.left_out)

    def readiness(self) -> Mapping[str, bool]:
        """Return for each whether its Benchmarks are known and followed; * stands for all."""
        return {name or "*": place.ready for name, place in self._places.items()}

    def missing(self) -> list[str]:
        """Return a sentence for each that is neither read nor left out."""
        return [
            f"{place.called}: {place.trouble or 'its objects are being listed'}"
            for place in self._places.values()
            if not (place.ready or place.left_out)
        ]

    def left_out(self) -> list[str]:
        """Return a sentence for each that is left out."""
        return [f"{place.called} is left out: {place.trouble}" for place in self._places.values() if place.left_out]

    def read_anew(self, name: str) -> None:
        """List all in one anew at its next look, since a watch tells of nothing there; not while it is listed."""
        self._places[name].blind = self._places[name].ready

    def indexed(self, name: str) -> None:
        """Take in that a handler was called for a Benchmark there: kopf calls none before all are indexed."""
        place = self._places[name]
        if not place.ready and place.following is not None and not place.left_out:
            self._is_ready(place)

    async def look_after_all(self, follow: Follow) -> None:
        """Begin `follow` for each that can be read, end it where it cannot any more; until cancelled."""
        for place in self._places.values():
            place.began = time.monotonic()
        tasks = [
            asyncio.create_task(self._look_after(place, follow), name=place.called) for place in self._places.values()
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_after(self, place: _Place, follow: Follow) -> None:
        try:
            while True:
                try:
                    await self._look(place, follow)
                except ApiError as error:
                    await self._refused(place, error)
                except Exception:  # nobody else would tell, and the others go on
                    log.exception("%s could not be looked after", place.called)
                await self._pause(place)
        finally:
            await self._end(place)

    async def _look(self, place: _Place, follow: Follow) -> None:
        kinds, is_empty = await self._ask(place)
        if place.left_out:
            log.info("%s can be read again", place.called)
            place.left_out, place.looks, place.began = False, 0, time.monotonic()
        place.refused_since, place.trouble = None, ""
        if place.following is not None and (place.blind or not kinds <= place.kinds):
            if place.blind:
                log.warning("%s: a watch on its Benchmarks or Comparisons tells of nothing: listed anew", place.called)
            else:
                log.info("%s: %s is there now", place.called, _called(kinds - place.kinds))
            await self._end(place)
            self.pause(place.name)
        if place.following is None:
            place.kinds, place.blind = kinds, False
            if missing := LATE_KINDS.keys() - kinds:
                log.warning("%s: the API server has no %s (yet)", place.called, _called(missing))
            place.following = asyncio.create_task(follow(place.name), name=f"follow {place.called}")
        if is_empty and not place.ready:
            self._is_ready(place)
        self._tell_whether_all_known()

    async def _ask(self, place: _Place) -> tuple[frozenset[str], bool]:
        """Return which of the late kinds are there, and whether there is nothing to drive. Raises ApiError."""
        api_server, ours = self.api_server(), f"{MANAGED_BY}={MANAGER}"
        is_empty, kinds = not await api_server.has_any(KIND, place.name), set[str]()
        for kind in LATE_KINDS:
            try:
                there = await api_server.has_any(kind, place.name, ours if kind == CLUSTER_KIND else "")
            except ApiError as error:
                if error.status != 404:
                    raise
                continue
            kinds.add(kind)
            is_empty = is_empty and not (there and kind == COMPARISON_KIND)
        if not place.ready:
            for kind in CHILD_KINDS:
                await api_server.has_any(kind, place.name, ours)
        return frozenset(kinds), is_empty

    async def _refused(self, place: _Place, error: ApiError) -> None:
        place.trouble = str(error)
        if error.status not in (403, 404):  # the API server has a trouble of its own, which is everybody's
            place.refused_since = None
            return
        now = time.monotonic()
        if place.refused_since is None:
            place.refused_since, place.looks = now, 0
        if not place.left_out and now - place.refused_since >= self.patience:
            log.warning("%s is left out until it can be read: %s", place.called, error)
            place.left_out = True
            await self._end(place)
            self.forget(place.name)
            self._tell_whether_all_known()

    async def _end(self, place: _Place) -> None:
        task, place.following, place.ready = place.following, None, False
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    async def _pause(self, place: _Place) -> None:
        steady = place.left_out or (place.ready and place.refused_since is None)
        seconds = self.patience / 2 if steady else doubled(_FIRST_PAUSE, place.looks, self.patience / 2)
        place.looks += 1
        if place.following is None:
            await asyncio.sleep(seconds)
            return
        await asyncio.wait([place.following], timeout=seconds)
        if place.following.done():
            error = place.following.exception()
            log.error("%s: what followed it has ended and begins anew: %r", place.called, error, exc_info=error)
            await self._end(place)
            self.pause(place.name)
            await asyncio.sleep(doubled(_FIRST_PAUSE, place.looks, self.patience))

    def _is_ready(self, place: _Place) -> None:
        place.ready = True
        log.info("%s: all Benchmarks are known", place.called)
        self._tell_whether_all_known()

    def _tell_whether_all_known(self) -> None:
        late = time.monotonic() - _SLOW_LISTS * self.patience
        self.all_known(all(place.ready or place.left_out or place.began < late for place in self._places.values()))


def _called(kinds: Collection[str]) -> str:
    return " or ".join(words for kind, words in LATE_KINDS.items() if kind in kinds)
