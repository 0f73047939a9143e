"""Rally's side of the page_cache track: searches for random documents and terms, at an even rate over all clients."""

from __future__ import annotations

import copy
import random
from typing import Any

# As in the generator.
MULTIPLIERS = (1000003, 1000033, 1000037, 1000039, 1000081, 1000099, 1000117, 1000121, 1000133, 1000151)


class RandomSearch:
    """Searches for something of a random document; the base of both parameter sources.

    The sequence is decided by the operation's `seed` and `stream` and by the client's number alone: every race
    asks for the same documents. No two clients or steps have the same sequence, but all draw from all documents.
    """

    infinite = True

    def __init__(self, track: Any, params: dict[str, Any], **_: Any) -> None:
        self._index: str = params["index"]
        self._total = int(params["documents"])
        self._seed = int(params["seed"])
        self._stream = int(params["stream"])
        self._assertions = params["assertions"]
        # In test mode fewer are there than were generated.
        self._there = sum(each.number_of_documents for corpus in track.corpora for each in corpus.documents)
        self.client = 0
        self._uniform = random.Random(0).random  # noqa: S311  # the point is that it can be repeated

    def partition(self, partition_index: int, total_partitions: int) -> RandomSearch:
        """Return what client `partition_index` sends."""
        mine = copy.copy(self)
        mine.client = partition_index
        mine._uniform = random.Random((self._seed << 32) + (self._stream << 12) + partition_index).random  # noqa: S311
        return mine

    def params(self) -> dict[str, Any]:
        """Return the next search."""
        return {
            "index": self._index,
            "detailed-results": True,
            "body": self.body(int(self._uniform() * self._there)),
            "assertions": self._assertions,
        }

    def body(self, number: int) -> dict[str, Any]:
        """Return a search that finds the document `number`."""
        raise NotImplementedError


class RandomDocument(RandomSearch):
    """Fetches one document by its key."""

    def body(self, number: int) -> dict[str, Any]:
        """Return a search that finds the document `number` alone."""
        return {"query": {"term": {"key": f"d{number:010d}"}}}


class RandomTerm(RandomSearch):
    """Searches for a term that about ten documents have, scattered over the index, and fetches these."""

    def body(self, number: int) -> dict[str, Any]:
        """Return a search for one of the terms of the document `number`."""
        multiplier = MULTIPLIERS[int(self._uniform() * len(MULTIPLIERS))]
        return {"query": {"term": {"terms": f"t{(number + 1) * multiplier % self._total:010d}"}}}


class Evenly:
    """Spreads the requests of all clients evenly over time.

    Rally's own deterministic schedule starts all clients at once and keeps them in step, so that what should be one
    request every 10 ms is a burst of eight every 80 ms.
    """

    def __init__(self, task: Any) -> None:
        self._rate = float(task.target_throughput.value)
        self._clients = int(task.clients)
        self._started = False
        self.parameter_source: Any = None
        """set by Rally"""

    def before_request(self, now: float) -> None:
        """Do nothing: answers do not change the schedule."""

    def after_request(self, now: float, weight: float, unit: str, request_meta_data: Any) -> None:
        """Do nothing: answers do not change the schedule."""

    def next(self, current: float) -> float:
        """Return when this client's next request is due, in seconds since the start."""
        if self._started:
            return current + self._clients / self._rate
        self._started = True
        return float(self.parameter_source.client / self._rate)


def register(registry: Any) -> None:
    """Tell Rally the names of the parameter sources and of the schedule."""
    registry.register_param_source("random-document", RandomDocument)
    registry.register_param_source("random-term", RandomTerm)
    registry.register_scheduler("evenly", Evenly)
