"""Whether the documents in the end are those that a race was to leave, from its record. Pure.

Names are resolved to the indices behind them. What shares an index is counted together, since a document may have come
through the one name or the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from fairlap_race.contract.recorded.failed_bulks import accepted_loss
from fairlap_race.contract.recorded.record import Record, Touch
from fairlap_race.contract.some_of import some_clauses, some_of
from fairlap_race.contract.specification.document_plan import WORDS, DocumentPlan, UncountedTask, WhyUncounted

NOT_DETERMINED = "the documents were not counted against the track: it does not determine how many there will be"
_SHOWN = 5
_ONLY_ADDS = (WhyUncounted.ENDED_BY_OTHER, WhyUncounted.ENDED_BY_TIME, WhyUncounted.PART_OF_CORPUS,
              WhyUncounted.BEGINS_AGAIN)  # fmt: skip


@dataclass(frozen=True)
class CountedDocuments:
    """What the count shows."""

    mismatch: str = ""
    """why the race does not count; empty when nothing speaks against it"""
    uncounted: tuple[str, ...] = ()
    """documents without a number to compare with, and why"""
    diverted: tuple[str, ...] = ()
    """documents that are not where they were to be, and where they are"""


@dataclass(frozen=True)
class _NameGroup:
    """Names whose documents are in the same indices."""

    expected: Mapping[str, int] = field(default_factory=dict)
    uncounted: tuple[UncountedTask, ...] = ()
    indices: frozenset[str] = frozenset()
    found: int = 0
    missing: tuple[str, ...] = ()
    """names that there is nothing behind"""

    @property
    def least(self) -> int:
        return sum(self.expected.values())

    @property
    def most(self) -> int | None:
        bounds = [it.at_most for it in self.uncounted]
        return None if None in bounds else self.least + sum(bound or 0 for bound in bounds)


def count_documents(record: Record) -> CountedDocuments:
    """Return what the documents of a race that ran to its end show; nothing of one of whose indices nothing is known.

    A number that the user states stands before the track's.
    """
    if record.outcome.reason or record.indices is None:
        return CountedDocuments()
    plan, stated = record.track.documents, record.track.documents.stated
    behind = _IndicesBehind(record)
    wrong = [*_stated_mismatches(record, behind)]
    if wrong:
        return CountedDocuments(wrong[0])
    failed = {name: number for name, number in record.failure_stores.items() if number}
    stored = {
        name: f"data stream {name}: {number} documents failed and are in its failure store"
        for name, number in failed.items()
    }
    named = behind.closed if stated.total_documents is not None else behind.shut(stated.documents)
    told = CountedDocuments(uncounted=tuple(filter(None, [_is_closed(named)])), diverted=tuple(stored.values()))
    if stated.total_documents is not None:
        return told
    if unsaid := [text for name, text in stored.items() if name not in stated.documents]:
        return CountedDocuments(unsaid[0])
    if record.track.expected_documents is None and not plan.uncounted:
        return replace(told, uncounted=(*told.uncounted, NOT_DETERMINED))
    behind.forget(index for name in stated.documents for index in behind.indices(name))
    found = _compare(record, behind, [*_groups(record, behind)])
    return CountedDocuments(
        found.mismatch,
        (*told.uncounted, *_deleted(plan.uncounted), *found.uncounted),
        (*told.diverted, *found.diverted),
    )


class _IndicesBehind:
    """The indices behind each name."""

    def __init__(self, record: Record) -> None:
        self.counts = {index.name: index.documents or 0 for index in record.indices or ()}
        self.names: dict[str, set[str]] = {}
        self.forgotten: set[str] = set()
        self.aliased = False
        self.aliases = {alias for index in record.indices or () for alias in index.aliases}
        self.closed = {index.name for index in record.indices or () if index.closed}
        self.unknown = {it.name for it in record.indices or () if it.documents is None and not it.closed}
        for index in record.indices or ():
            for name in filter(None, (index.name, index.data_stream, *index.aliases)):
                self.names.setdefault(name, set()).add(index.name)
                self.aliased = self.aliased or name != index.name

    def forget(self, indices: Iterable[str]) -> None:
        """Leave indices out of everything, and the names with something of them: they are counted already."""
        gone = set(indices)
        self.forgotten |= {name for name, there in self.names.items() if there & gone}
        self.counts = {index: number for index, number in self.counts.items() if index not in gone}
        self.names = {name: there - gone for name, there in self.names.items()}

    def indices(self, name: str) -> frozenset[str]:
        return frozenset(self.names.get(name, ()))

    def shut(self, names: Iterable[str]) -> set[str]:
        """Return the closed indices behind the names."""
        return {index for name in names for index in self.names.get(name, ()) if index in self.closed}

    def is_hidden(self, group: _NameGroup) -> bool:
        """Tell whether an index of a group could not be counted, although none of them is closed."""
        return not group.indices.isdisjoint(self.unknown) and group.indices.isdisjoint(self.closed)

    def unknown_words(self, indices: Iterable[str]) -> str:
        """Return that the documents of these indices could not be counted; "" when all of them could."""
        names = ", ".join(sorted(self.unknown.intersection(indices))[:_SHOWN])
        return f"the documents of index {names} could not be counted" if names else ""

    def found(self, indices: Iterable[str]) -> int:
        return sum(self.counts[index] for index in indices)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def _stated_mismatches(record: Record, behind: _IndicesBehind) -> Iterator[str]:
    stated = record.track.documents.stated
    for name, number in stated.documents.items():
        indices = behind.indices(name)
        if (not indices and number == 0) or behind.shut([name]):
            continue
        if unknown := behind.unknown_words(indices):
            yield f"race.expect.documents: index {name} was to hold {number} documents, but {unknown}"
        elif behind.found(indices) != number or not indices:
            yield f"race.expect.documents: {_was_to_hold(name, number, behind.found(indices) if indices else None)}"
    total, unknown = stated.total_documents, behind.unknown_words(behind.counts)
    if total is not None and (unknown or behind.total != total) and not behind.closed:
        found = f"but {unknown}" if unknown else f"Elasticsearch counts {behind.total}"
        yield f"race.expect.totalDocuments: the race was to leave {total} documents, {found}"


def _was_to_hold(name: str, number: int, found: int | None) -> str:
    what = "no such index" if found is None else found
    return f"index {name} was to hold {number} documents, Elasticsearch counts {what}"


def _deleted(uncounted: Iterable[UncountedTask]) -> Iterator[str]:
    for it in uncounted:
        if it.why is WhyUncounted.DELETED:
            number = "the" if it.at_most is None else f"the {it.at_most}"
            yield f"task {it.task} deleted index {it.target}: {number} documents in it were not counted"


def _groups(record: Record, behind: _IndicesBehind) -> Iterator[_NameGroup]:
    """Yield the expected names and uncounted tasks, grouped by the indices that they share."""
    plan = record.track.documents
    expected = {
        name: number
        for name, number in (record.track.expected_documents or {}).items()
        if name not in plan.stated.documents and name not in behind.forgotten
    }
    uncounted = [
        it for it in plan.uncounted
        if it.why is not WhyUncounted.DELETED and it.target
        and it.target not in plan.stated.documents and it.target not in behind.forgotten
    ]  # fmt: skip
    of_target: dict[str, list[int]] = {}
    for place, it in enumerate(uncounted):
        of_target.setdefault(it.target, []).append(place)
    for names, indices in _sharing((*expected, *of_target), behind):
        yield _NameGroup(
            expected={name: expected[name] for name in names if name in expected},
            uncounted=tuple(uncounted[place] for place in sorted(p for name in names for p in of_target.get(name, ()))),
            indices=indices,
            found=behind.found(indices),
            missing=tuple(name for name in names if not behind.indices(name)),
        )


def _sharing(names: Iterable[str], behind: _IndicesBehind) -> Iterator[tuple[list[str], frozenset[str]]]:
    """Yield the names in groups that share indices, each with all of these; a group in the order of the names.

    In a time that grows with their number alone: a race's pod may have written ten thousand of them.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    of_index: dict[str, list[str]] = {}
    for name in places:
        for index in behind.indices(name):
            of_index.setdefault(index, []).append(name)
    left = dict(places)
    for first in places:
        if first not in left:
            continue
        del left[first]
        group, indices = [first], set[str]()
        for name in group:  # it grows meanwhile
            for index in behind.indices(name) - indices:
                indices.add(index)
                near = [each for each in of_index.pop(index) if each in left]
                for each in near:
                    del left[each]
                group += near
        yield sorted(group, key=places.__getitem__), frozenset(indices)


def _compare(record: Record, behind: _IndicesBehind, groups: list[_NameGroup]) -> CountedDocuments:
    """Return why the documents are not those of the plan, and what is to be said of those that may be."""
    plan = record.track.documents
    anywhere = [it for it in plan.uncounted if it.why is not WhyUncounted.DELETED and not it.target]
    hidden = [it for it in groups if behind.is_hidden(it)]
    if lacking := next((it for it in hidden if it.least), None):
        names, unknown = ", ".join([*lacking.expected][:_SHOWN]), behind.unknown_words(lacking.indices)
        return CountedDocuments(f"index {names} was to hold {lacking.least} documents, but {unknown}")
    wrong = [group for group in groups if not _holds(group)]
    if anywhere and (groups or not plan.stated.documents):
        return _compare_all(record, behind, groups, anywhere, wrong)
    groups, wrong = ([it for it in some if not behind.is_hidden(it)] for some in (groups, wrong))
    doubts = tuple(_doubt(group) for group in groups if _holds(group) and _is_open(group))
    doubts = (*(behind.unknown_words(group.indices) for group in hidden), *doubts)
    if not wrong:
        return CountedDocuments(uncounted=doubts)
    gone = _diverted(record, behind, groups, wrong)
    if gone:
        return CountedDocuments("", doubts, (gone,))
    added = _added_to(record) if wrong else {}
    explained = [(group, _explained(plan, behind, group) or _appended(added, group)) for group in wrong]
    doubts = (*doubts, *(why for _, why in explained if why))
    wrong = [group for group, why in explained if not why]
    if not wrong:
        return CountedDocuments(uncounted=doubts)
    lost, fewer = accepted_loss(record), all(group.found <= group.least for group in wrong)
    if fewer and lost.explains(sum(group.least - group.found for group in wrong)):
        return CountedDocuments(uncounted=(*doubts, f"{_shortage(wrong)}: {lost.words}"))
    return CountedDocuments(_mismatch(wrong[0]), doubts)


def _is_closed(indices: Iterable[str]) -> str:
    names = ", ".join(sorted(indices)[:_SHOWN])
    return f"index {names} is closed: its documents could not be counted" if names else ""


def _explained(plan: DocumentPlan, behind: _IndicesBehind, group: _NameGroup) -> str:
    """Return in a sentence why a group may hold other documents than it was to; empty when nothing explains it."""
    if closed := _is_closed(group.indices & behind.closed):
        return closed
    tasks = ", ".join(plan.deletes_indices[:_SHOWN])
    if tasks and not group.indices:
        return (
            f"there is nothing behind {', '.join(group.missing)} any more, and task {tasks} deleted indices: the "
            f"{group.least} documents for it were not counted"
        )
    if tasks and group.found < group.least and not behind.aliases.isdisjoint(group.expected):
        return f"{_shortage([group])}, and task {tasks} deleted indices, which may have stood behind it"
    if plan.writes_before and group.most is not None and group.found > group.most and _is_there(group):
        names = ", ".join([*group.expected][:_SHOWN]) or group.uncounted[0].target
        more, early = group.found - group.most, ", ".join(plan.writes_before[:_SHOWN])
        text = f"index {names} holds {group.found} documents, {more} more than the track's bulks send"
        return f"{text}: task {early} may have written before them"
    return ""


def _added_to(record: Record) -> dict[str, list[Touch]]:
    """Return by index what an existing cluster held there before, which the track adds to and does not delete first."""
    touches = record.target.touches if record.target else ()
    gone = {name for touch in touches if touch.deletes for name in touch.existing}
    found: dict[str, list[Touch]] = {}
    for touch in touches:
        if touch.creates and touch.documents and gone.isdisjoint(touch.existing):
            for name in touch.existing:
                found.setdefault(name, []).append(touch)
    return found


def _appended(added: Mapping[str, list[Touch]], group: _NameGroup) -> str:
    """Return in a sentence that there were documents of a group before the race; else empty."""
    before = {touch.existing: touch.documents or 0 for index in group.indices for touch in added.get(index, ())}
    held = sum(before.values())
    if not held or group.found < group.least or (group.most is not None and group.found > group.most + held):
        return ""
    names = ", ".join(sorted(name for existing in before for name in existing)[:_SHOWN])
    return f"index {names} holds {group.found} documents, and held {held} before the race, which added to them"


def _holds(group: _NameGroup) -> bool:
    """Tell whether the documents of a group may be what the plan says."""
    if not _is_there(group):
        return False
    if not group.uncounted:
        return group.found == group.least
    only_adds = all(it.why in _ONLY_ADDS for it in group.uncounted)
    return (not only_adds or group.found >= group.least) and (group.most is None or group.found <= group.most)


def _is_there(group: _NameGroup) -> bool:
    """Tell whether there is something behind every name that was to have documents."""
    return not any(group.expected.get(name) for name in group.missing)


def _is_open(group: _NameGroup) -> bool:
    """Tell whether the documents of a group might as well be others; all that there can be are all there should be."""
    return bool(group.uncounted) and group.found != group.most


def _mismatch(group: _NameGroup) -> str:
    names = list(group.expected) or [it.target for it in group.uncounted]
    found = None if group.missing and not group.indices else group.found
    number = group.least if not group.uncounted or group.found < group.least else group.most
    text = _was_to_hold(", ".join(names[:_SHOWN]), number or 0, found)
    return text if not group.uncounted else text.replace("was to hold", "was to hold about", 1)


def _doubt(group: _NameGroup) -> str:
    name = ", ".join(dict.fromkeys(it.target for it in group.uncounted))
    return f"the documents of index {name} have no expected number: {_why(group.uncounted)}; {_counted_words(group)}"


def _counted_words(group: _NameGroup) -> str:
    found = f"Elasticsearch counts {group.found}"
    return found if group.most is None else f"{found} of at most {group.most}"


def _why(uncounted: Iterable[UncountedTask]) -> str:
    return some_clauses(dict.fromkeys(f"task {it.task} {WORDS[it.why]}" for it in uncounted), _SHOWN)


def _compare_all(
    record: Record,
    behind: _IndicesBehind,
    groups: list[_NameGroup],
    anywhere: list[UncountedTask],
    wrong: list[_NameGroup],
) -> CountedDocuments:
    """Compare all documents together, since tasks write to indices that cannot be told."""
    every = _NameGroup(
        expected={name: number for group in groups for name, number in group.expected.items()},
        uncounted=(*anywhere, *(it for group in groups for it in group.uncounted)),
        indices=frozenset(behind.counts),
        found=behind.total,
    )
    unknown = behind.unknown_words(behind.counts)
    exact = not unknown and every.most is not None and every.found == every.most
    untouched = not (unknown or wrong) and not any(map(_is_open, groups)) and all(
        it.why is WhyUncounted.OTHER_WRITES for it in anywhere
    )  # fmt: skip
    if exact or (untouched and groups and every.found == every.least):
        return CountedDocuments()
    if every.most is not None and every.found > every.most and record.target is None:
        early = tuple(UncountedTask(task) for task in record.track.documents.writes_before)
        if not early:
            text = f"the race was to leave at most {every.most} documents, Elasticsearch counts {every.found}"
            return CountedDocuments(text)
        every = replace(every, uncounted=(*early, *every.uncounted))
    found = some_of((f"{name} {number}" for name, number in behind.counts.items()), _SHOWN) or "none"
    known = "" if every.most is None else f" of at most {every.most}"
    counted = unknown or f"Elasticsearch counts {every.found}{known} ({found})"
    text = f"the documents have no expected number: {_why(every.uncounted)}; {counted}"
    return CountedDocuments(uncounted=(text,))


def _diverted(record: Record, behind: _IndicesBehind, groups: list[_NameGroup], wrong: list[_NameGroup]) -> str:
    """Return in a sentence where documents are that are not where they were to be; empty when that is not known."""
    ran = [it for it in record.pipelines or () if it.count and it.work]
    droppers = {it.name: it.work.dropped for it in ran if it.work and it.work.dropped}
    hidden = [it.name for it in ran if it.work and "drop" in it.work.hidden]
    senders = [it.name for it in ran if it.work and (it.work.rerouted or "reroute" in it.work.hidden)]
    dropped = sum(droppers.values())
    short = sum(group.least - group.found for group in wrong)
    total = sum(group.least for group in groups)
    what = _shortage(wrong)
    drops = f"drop processors of ingest pipeline {', '.join(droppers)} dropped {dropped}"
    is_open = any(group.uncounted for group in groups)  # then some of what was dropped is missing nowhere
    fewer = all(group.found <= group.least for group in wrong)
    if fewer and dropped and (short == dropped or (is_open and short < dropped)):
        return f"{what}: {drops}"
    moved = bool(ran) or behind.aliased or any(group.missing for group in wrong)
    if moved and not is_open and behind.total + dropped == total:
        elsewhere = sorted(set(behind.counts) - {index for group in groups for index in group.indices})
        places = f"indices {', '.join(elsewhere[:_SHOWN])}" if elsewhere else "other indices of the race"
        return f"{what}: the others are in {places}{f', and {drops}' if dropped else ''}"
    if fewer and hidden and short > dropped:
        return f"{what}: ingest pipeline {', '.join(hidden)} may drop documents where they are not counted (on_failure)"
    if fewer and senders and (is_open or record.target is not None):
        return f"{what}: ingest pipeline {', '.join(senders)} sends documents to other indices"
    return ""


def _shortage(groups: list[_NameGroup]) -> str:
    expected, found = sum(group.least for group in groups), sum(group.found for group in groups)
    names = ", ".join(list(dict.fromkeys(name for group in groups for name in group.expected))[:_SHOWN])
    return f"index {names} holds {found} of {expected} documents"
