"""Which indices a race is about, and which only stand beside them: a setting must hold for the former. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from enum import Enum, auto
from functools import cached_property
from typing import Final, NamedTuple

from fairlap_race.contract.recorded.document_count import count_documents
from fairlap_race.contract.recorded.record import IndexRecord, Record
from fairlap_race.contract.specification.document_plan import WhyUncounted

_SMALL: Final = 100
"""One document of so many, at most, may be in indices that bulks write to and that still only stand beside."""


class Group(Enum):
    """What an index is to a race."""

    MAIN = auto()
    """bulks wrote to it"""
    MADE = auto()
    """a transform wrote to it"""
    OTHER = auto()


class Excused(NamedTuple):
    """Indices of a group that do not have a setting, and are not what the race measures."""

    group: Group
    first: IndexRecord
    number: int
    why: str


class _Some(NamedTuple):
    """Indices of a group that do not have a setting."""

    first: IndexRecord
    number: int
    documents: int | None


class _Held(NamedTuple):
    """What indices hold."""

    documents: int
    unknown: int
    """indices whose documents could not be counted"""

    @property
    def known(self) -> int | None:
        return None if self.unknown else self.documents


def deleted(record: Record) -> list[str]:
    """Return what bulks wrote to, the schedule deleted, and is not there in the end."""
    plan = record.track.documents
    there = {name for index in record.indices or () for name in _names(index)}
    gone = [it.target for it in plan.uncounted if it.why is WhyUncounted.DELETED]
    if plan.deletes_indices:  # they may be what stood behind an alias
        gone += [*(record.track.expected_documents or {}), *(it.target for it in plan.uncounted if it.target)]
    return list(dict.fromkeys(name for name in gone if name not in there))


class IndicesBeside:
    """The indices of a race in groups, found once for all settings.

    What a setting takes grows with the indices that have it: a race's pod may have written ten thousand of both.
    """

    def __init__(self, record: Record) -> None:
        self._record, self._indices, self._gone = record, record.indices or (), deleted(record)
        targets, made = _targets(record, self._gone), frozenset(record.track.documents.of_transforms)
        self._is_known = targets is not None
        self.groups = [_group(_names(index), targets or frozenset(), made) for index in self._indices]
        self._places: dict[Group, list[int]] = {group: [] for group in Group}
        for place, group in enumerate(self.groups):
            self._places[group].append(place)
        self._held = {group: self._documents(places) for group, places in self._places.items()}
        self._all = self._documents(range(len(self._indices)))
        self._others_write = any(it.why is WhyUncounted.OTHER_WRITES for it in record.track.documents.uncounted)

    def excused(self, having: Set[int]) -> Iterator[Excused]:
        """Yield the indices without a setting that need not have it, since the indices of the bulks have it.

        `having`: the places of those that have it.
        """
        with_it = min((place for place in having if self.groups[place] is Group.MAIN), default=None)
        if not self._is_known or (with_it is None and (self._places[Group.MAIN] or not self._gone)):
            return
        shown = "those that bulks name were deleted"
        if with_it is not None:
            shown = f"index {self._indices[with_it].name} has it"
        made, others, main = (self._without(group, having) for group in (Group.MADE, Group.OTHER, Group.MAIN))
        if made:
            yield Excused(Group.MADE, made.first, made.number, f"a transform makes it, and {shown}")
        # What a pipeline sent elsewhere is in indices that no bulk names; what else writes may write what is measured.
        if others and not self._are_diverted and (not self._others_write or _few(others.documents, self._all.known)):
            yield Excused(Group.OTHER, others.first, others.number, f"no bulk names it, and {shown}")
        of_main = self._held[Group.MAIN].known
        if main and _few(main.documents, of_main):
            why = f"it holds {main.documents} of {of_main} documents, and {shown}"
            yield Excused(Group.MAIN, main.first, main.number, why)

    def _without(self, group: Group, having: Set[int]) -> _Some | None:
        places, has = self._places[group], [place for place in having if self.groups[place] is group]
        if len(places) == len(has):
            return None
        first = next(place for place in places if place not in having)
        held, not_these = self._held[group], self._documents(has)
        left = _Held(held.documents - not_these.documents, held.unknown - not_these.unknown)
        return _Some(self._indices[first], len(places) - len(has), left.known)

    def _documents(self, places: Iterable[int]) -> _Held:
        counts = [self._indices[place].documents for place in places]
        return _Held(sum(count or 0 for count in counts), counts.count(None))

    @cached_property
    def _are_diverted(self) -> bool:
        return bool(count_documents(self._record).diverted)


def _group(names: Set[str], targets: Set[str], made: Set[str]) -> Group:
    if names & targets:
        return Group.MAIN
    return Group.MADE if names & made else Group.OTHER


def _targets(record: Record, gone: Iterable[str]) -> frozenset[str] | None:
    """Return what bulks wrote to and was not deleted; None when that is not known."""
    no_bulk = (WhyUncounted.DELETED, WhyUncounted.OTHER_WRITES)
    left = [it.target for it in record.track.documents.uncounted if it.why not in no_bulk]
    targets = frozenset({*(record.track.expected_documents or {}), *left}.difference(gone))
    there = {name for index in record.indices or () for name in _names(index)}
    return None if not (targets or gone) or targets - there else targets


def _few(few: int | None, all_of: int | None) -> bool:
    """Tell whether some documents are so few of all that they do not count."""
    return few is not None and bool(all_of) and few * _SMALL <= (all_of or 0)


def _names(index: IndexRecord) -> set[str]:
    return {name for name in (index.name, index.data_stream, *index.aliases) if name}
