"""How large an index is: the sizes of the segments that searches see, copy by copy of its shards.

Statistics tell the size of a shard's directory as it was looked up last, which they do every ten seconds at most
(`index.store.stats_refresh_interval`): soon after a bulk or a merge they tell what was there before. `_segments` tells
what is there now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairlap_race.contract.recorded.record import IndexRecord, Shard, Totals
from fairlap_race.elasticsearch.answers import dig, in_list, in_mapping, whole_number

PATH = (
    "/_segments?ignore_unavailable=true&expand_wildcards=all&filter_path=indices.*.shards.*.routing,"
    "indices.*.shards.*.segments.*.size_in_bytes,indices.*.shards.*.segments.*.search"
)

_SERVING = ("STARTED", "RELOCATING")
"""Copies of a shard that have segments to tell."""


@dataclass(frozen=True)
class CopySize:
    """One copy of a shard."""

    shard: int | None
    primary: bool
    node: str
    """the name of its node, or its id where the name is not known"""
    size: int
    """in bytes"""


@dataclass(frozen=True)
class SegmentSizes:
    """The copies of the shards of each index; one of which a copy is missing, or that told no segment, is not there."""

    copies: Mapping[str, tuple[CopySize, ...]] = field(default_factory=dict)

    def of_index(self, found: IndexRecord) -> IndexRecord:
        """Return `found` with the sizes that its segments have now, if they are known."""
        copies = self.copies.get(found.name)
        if copies is None:
            return found
        primaries = sum(each.size for each in copies if each.primary)
        return replace(found, primary_bytes=primaries, store_bytes=sum(each.size for each in copies))

    def of_shards(self, found: Iterable[Shard]) -> tuple[Shard, ...]:
        """Return the copies `found` with the sizes that their segments have now, where these are known."""
        known = {
            (index, each.shard, each.primary, each.node): each.size
            for index, own in self.copies.items()
            for each in own
        }

        def sized(it: Shard) -> Shard:
            size = known.get((it.index, it.shard, it.primary, it.node or ""))
            return it if size is None else replace(it, store_bytes=size)

        return tuple(sized(it) for it in found)

    def of_totals(self, found: Totals, indices: Iterable[IndexRecord]) -> Totals:
        """Return `found` with the sum over `indices`, as they are with their sizes now."""
        if found.store_bytes is None:
            return found
        there = sum(each.store_bytes or 0 for each in indices)
        elsewhere = None if found.dataset_bytes is None else found.dataset_bytes - found.store_bytes
        return replace(found, store_bytes=there, dataset_bytes=None if elsewhere is None else there + elsewhere)


def read_sizes(answer: Any, members: Any, shards: Iterable[Shard]) -> SegmentSizes:
    """Return the sizes of the indices that have `shards` from an answer to `PATH` (None: it was refused).

    `members` is the answer to `_cluster/state/nodes`. Of an index all of whose copies that serve are not there, no
    size is known.
    """
    serving = Counter(it.index for it in shards if it.state in _SERVING)
    names = {str(key): str(dig(node, "name") or key) for key, node in (dig(members, "nodes") or {}).items()}
    found = {name: _copies(dig(answer, "indices", name, "shards"), names) for name in serving}
    return SegmentSizes(
        {name: own for name, own in found.items() if len(own) == serving[name] and any(each.size for each in own)}
    )


def _copies(shards: Any, names: Mapping[str, str]) -> tuple[CopySize, ...]:
    listed = shards.items() if isinstance(shards, Mapping) else ()
    found = []
    for number, copies in listed:
        for copy in in_list(copies):
            node = str(dig(copy, "routing", "node") or "")
            found.append(
                CopySize(
                    shard=whole_number(number),
                    primary=dig(copy, "routing", "primary") is True,
                    node=names.get(node, node),
                    # Merged away since the last flush: on the disk until the next one, and seen by no search.
                    size=sum(_size(each) for each in in_mapping(dig(copy, "segments")) if dig(each, "search")),
                )
            )
    return tuple(found)


def _size(segment: Any) -> int:
    return whole_number(dig(segment, "size_in_bytes")) or 0
