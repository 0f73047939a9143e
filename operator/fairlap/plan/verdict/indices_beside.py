"""Which indices a race is about, and which only stand beside them: a setting must hold for the former. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from fairlap_race.contract.document_count import count_documents
from fairlap_race.contract.document_plan import WhyUncounted
from fairlap_race.contract.record import IndexRecord, Record

_SMALL: Final = 100
"""One document of so many, at most, may be in indices that bulks write to and that still only stand beside."""


class Excused(NamedTuple):
    """Indices that are not what the race measures."""

    indices: list[IndexRecord]
    why: str


def deleted(record: Record) -> list[str]:
    """Return what bulks wrote to, the schedule deleted, and is not there in the end."""
    plan = record.track.documents
    there = {name for index in record.indices or () for name in _names(index)}
    gone = [it.target for it in plan.uncounted if it.why is WhyUncounted.DELETED]
    if plan.deletes_indices:  # they may be what stood behind an alias
        gone += [*(record.track.expected_documents or {}), *(it.target for it in plan.uncounted if it.target)]
    return list(dict.fromkeys(name for name in gone if name not in there))


def beside(record: Record, has: Callable[[IndexRecord], bool]) -> Iterator[Excused]:
    """Yield the indices for which `has` does not hold and need not, since it does for the indices of the bulks."""
    targets = _targets(record)
    if targets is None:
        return
    indices = record.indices or ()
    main = [index for index in indices if _names(index) & targets]
    without = [index for index in main if not has(index)]
    others = [index for index in indices if index not in main and not has(index)]
    with_it = next((index.name for index in main if index not in without), None)
    if with_it is None and (main or not deleted(record)):
        return
    shown = f"index {with_it} has it" if with_it else "those that bulks name were deleted"
    made = [index for index in others if _names(index) & set(record.track.documents.of_transforms)]
    if made:
        yield Excused(made, f"a transform makes it, and {shown}")
    others = [index for index in others if index not in made]
    # What a pipeline sent elsewhere is in indices that no bulk names; what else writes may write what is measured.
    if others and not count_documents(record).diverted and (not _others_write(record) or _few(others, indices)):
        yield Excused(others, f"no bulk names it, and {shown}")
    if without and _few(without, main):
        yield Excused(without, f"it holds {_documents(without)} of {_documents(main)} documents, and {shown}")


def _targets(record: Record) -> set[str] | None:
    """Return what bulks wrote to and was not deleted; None when that is not known."""
    no_bulk = (WhyUncounted.DELETED, WhyUncounted.OTHER_WRITES)
    left = [it.target for it in record.track.documents.uncounted if it.why not in no_bulk]
    gone = deleted(record)
    targets = {*(record.track.expected_documents or {}), *left} - set(gone)
    there = {name for index in record.indices or () for name in _names(index)}
    return None if not (targets or gone) or targets - there else targets


def _others_write(record: Record) -> bool:
    return any(it.why is WhyUncounted.OTHER_WRITES for it in record.track.documents.uncounted)


def _few(indices: Sequence[IndexRecord], of: Sequence[IndexRecord]) -> bool:
    """Tell whether some indices hold so few of the documents of all that they do not count."""
    few, all_of = _documents(indices), _documents(of)
    return few is not None and bool(all_of) and few * _SMALL <= (all_of or 0)


def _names(index: IndexRecord) -> set[str]:
    return {name for name in (index.name, index.data_stream, *index.aliases) if name}


def _documents(indices: Sequence[IndexRecord]) -> int | None:
    counts = [index.documents for index in indices]
    return None if None in counts else sum(count or 0 for count in counts)
