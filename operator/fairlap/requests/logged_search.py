"""Which entries of a slow log are of one search: it has one for each shard and phase. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

SLACK_SECONDS = 2.0
"""Entries of one search are at most so far apart: a shard waits for a thread, and the fetch for the last query."""
_MOST_OPEN = 64
"""Searches alike that are under way at one time; more would be looked through for each entry."""
ShardPlace = tuple[str, int]
"""an index and the number of its shard"""


class LogEntry(NamedTuple):
    """What one shard did in one phase."""

    line: int
    place: ShardPlace
    fetch: bool
    source: str
    sender: tuple[str, str]
    shards: int | None
    """that the whole search had, in all its indices; None where that is not logged"""
    ended: float
    """seconds since any moment"""
    took: float


class Search:
    """One search, put together from its entries."""

    def __init__(self, first: LogEntry, fewest: int) -> None:
        self.first = first
        self.indices: set[str] = set()
        self.incomplete = False
        """the log has fewer shards than it searched, and perhaps not all of its indices"""
        self.mixed = False
        """it may have indices of another search alike"""
        self._places: set[ShardPlace] = set()
        self._phases: set[tuple[ShardPlace, bool]] = set()
        self._fewest = 0
        self._from, self._to = first.ended - first.took, first.ended
        self.add(first, fewest)

    def add(self, entry: LogEntry, fewest: int) -> None:
        """Take an entry, whose index has so many shards at the fewest."""
        if entry.place[0] not in self.indices:
            self.indices.add(entry.place[0])
            self._fewest += fewest
        self._places.add(entry.place)
        self._phases.add((entry.place, entry.fetch))
        self._from, self._to = min(self._from, entry.ended - entry.took), max(self._to, entry.ended)

    def has(self, place: ShardPlace) -> bool:
        """Return whether it has an entry of this shard."""
        return place in self._places

    def takes(self, entry: LogEntry, fewest: int) -> bool:
        """Return whether the entry may be of this search."""
        near = self._near(entry.ended - entry.took, entry.ended)
        if not near or (entry.place, entry.fetch) in self._phases:
            return False
        if entry.place in self._places:
            return True
        if entry.shards is None:  # nothing says that it had more than one index
            return entry.place[0] in self.indices
        return len(self._places) < entry.shards and (
            entry.place[0] in self.indices or self._fewest + fewest <= entry.shards
        )

    def judge(self) -> None:
        """Tell whether all its indices are known: all its shards are, or its indices have no more of them."""
        self.incomplete = self.first.shards not in (len(self._places), self._fewest)

    def mix(self, other: Search) -> None:
        """Mark both where they were at about the same time, one of them over several indices and not the same."""
        if self.indices != other.indices and len(self.indices) + len(other.indices) > 2:
            near = self._near(other._from, other._to)
            self.mixed, other.mixed = self.mixed or near, other.mixed or near

    def _near(self, start: float, end: float) -> bool:
        return start - SLACK_SECONDS <= self._to and self._from - SLACK_SECONDS <= end


def gather(entries: Sequence[LogEntry]) -> Iterator[Search | int]:
    """Yield the line of each entry that is of a search known already, then the searches by the time of their first.

    Entries of one search have the same source, sender and number of shards, are near in time, and name no shard twice
    in one phase. So many shards as were searched are in it, and no index of which the log knows more. Of entries alike,
    as many are different searches as any one shard has in any one phase.
    """
    fewest: dict[str, int] = defaultdict(int)
    for entry in entries:
        fewest[entry.place[0]] = max(fewest[entry.place[0]], entry.place[1] + 1)
    alike: dict[tuple[object, ...], list[Search]] = defaultdict(list)
    under_way: dict[tuple[object, ...], deque[Search]] = defaultdict(lambda: deque(maxlen=_MOST_OPEN))
    searches: list[Search] = []
    for entry in sorted(entries, key=lambda it: it.ended):
        key, least = (entry.source, entry.sender, entry.shards), fewest[entry.place[0]]
        if (search := _taker(under_way[key], entry, least)) is not None:
            search.add(entry, least)
            yield entry.line
            continue
        search = Search(entry, least)
        under_way[key].append(search)
        alike[key].append(search)
        searches.append(search)
    for each in alike.values():
        for one, other in pairwise(each):
            one.mix(other)
    for search in searches:
        search.judge()
        yield search


def _taker(under_way: deque[Search], entry: LogEntry, fewest: int) -> Search | None:
    """Return the first search that has this shard already, in its other phase, else the first that may have it."""
    takers = [search for search in under_way if search.takes(entry, fewest)]
    return next((it for it in takers if it.has(entry.place)), takers[0] if takers else None)
