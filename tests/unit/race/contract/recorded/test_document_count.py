"""The documents in the end against those that a race was to leave: what voids a race, what is said, what passes."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.document_count import NOT_DETERMINED, CountedDocuments, count_documents
from fairlap_race.contract.recorded.ingest_record import ProcessorWork
from fairlap_race.contract.recorded.record import IndexRecord, Outcome, Pipeline, Record, TargetReport, Touch
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.document_plan import DocumentPlan, ExpectedByUser, UncountedTask, WhyUncounted

ENDED = UncountedTask("bulk", "t", WhyUncounted.ENDED_BY_OTHER, 1000)
RAW_BULK = UncountedTask("own", "", WhyUncounted.RAW_BULK)
LINES = UncountedTask("bulk", "", WhyUncounted.ACTION_LINES, 1000)
OTHER = UncountedTask("own", "", WhyUncounted.OTHER_WRITES)


def index(
    name: str, documents: int | None, *aliases: str, stream: str | None = None, closed: bool = False
) -> IndexRecord:
    return IndexRecord(name=name, documents=documents, aliases=aliases, data_stream=stream, closed=closed)


def record(
    expected: dict[str, int] | None,
    *indices: IndexRecord,
    uncounted: Any = (),
    stated: Any = None,
    deletes: tuple[str, ...] = (),
    before: tuple[str, ...] = (),
    **more: Any,
) -> Record:
    said = stated or ExpectedByUser()
    plan = DocumentPlan(uncounted=tuple(uncounted), stated=said, deletes_indices=deletes, writes_before=before)
    return Record(track=TrackRecord(expected_documents=expected, documents=plan), indices=indices, **more)


def pipeline(name: str = "p", **work: Any) -> Pipeline:
    return Pipeline(name, 1000, work=ProcessorWork(processors=1, **work))


@pytest.mark.parametrize(
    "good",
    [
        record({"t": 1000}, index("t", 1000)),
        record({}, index("t", 5)),
        record({"t": 0}, index("t", 0)),
        # Aliases and data streams stand for what is behind them.
        record({"a": 1000}, index("t", 1000, "a")),
        record({"a": 1000}, index("t-1", 600, "a"), index("t-2", 400, "a")),
        record({"a": 500, "t": 500}, index("t", 1000, "a")),
        record({"s": 1000}, index(".ds-s-2026.01.01-000001", 400, stream="s"), index("shrunk", 600, stream="s")),
        # As many as there can be at most are as many as there should be.
        record({}, index("t", 1000), uncounted=[ENDED]),
        record({}, index("t", 600), index("u", 400), uncounted=[LINES]),
        record({"v": 7}, index("t", 1000), index("v", 7), uncounted=[LINES]),
        record({"t": 1000}, index("t", 1000), uncounted=[OTHER]),
        # What else was written went elsewhere, or is not there any more.
        record({"t": 1000}, index("t", 1000), index("u", 1), before=("seed",)),
        record({}, index("t", 1000), uncounted=[LINES], before=("seed",)),
        # Who knows better.
        record({"t": 1000}, index("t", 7), stated=ExpectedByUser({"t": 7})),
        record({"a": 1000}, index("t", 7, "a"), stated=ExpectedByUser({"t": 7})),
        record({"t": 1000}, index("t", 7), index("u", 8), stated=ExpectedByUser({}, 15)),
        record({}, index("t", 7), uncounted=[LINES], stated=ExpectedByUser({"t": 7})),
        record(None, index("t", 7), stated=ExpectedByUser({}, 7)),
        record({"t": 1}, stated=ExpectedByUser({"t": 0})),
        record({"t": 5}, index("t", 5), failure_stores={"s": 0}),
        record({"t": 5}, index("t", 5), index("beside", None)),
    ],
)
def test_what_passes_without_a_word(good: Record) -> None:
    assert count_documents(good) == CountedDocuments()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (record({"t": 1000}, index("t", 999)), "index t was to hold 1000 documents, Elasticsearch counts 999"),
        (record({"t": 1000}, index("t", 1001)), "counts 1001"),
        (record({"t": 1000}), "index t was to hold 1000 documents, Elasticsearch counts no such index"),
        # What could not be counted is not said to be nothing.
        (
            record({"t": 1000}, index("t", None)),
            "index t was to hold 1000 documents, but the documents of index t could not be counted",
        ),
        (record({"a": 1000}, index("t-1", 600, "a"), index("t-2", None, "a")), "documents of index t-2 could not be"),
        (record({"t": 9}, index("t", None), uncounted=[OTHER]), "but the documents of index t could not be counted"),
        (record({"t": 9}, index("t", None), uncounted=[ENDED]), "but the documents of index t could not be counted"),
        (record({"t": 9}, index("t", None), pipelines=(pipeline(dropped=9),)), "of index t could not be counted"),
        (
            record({"t": 9}, index("t", None), stated=ExpectedByUser({"t": 8})),
            "race.expect.documents: index t was to hold 8 documents, but the documents of index t could not be",
        ),
        (
            record({"t": 9}, index("t", 9), index("u", None), stated=ExpectedByUser({}, 9)),
            "race.expect.totalDocuments: the race was to leave 9 documents, but the documents of index u could not be",
        ),
        # What was deleted explains a name with nothing behind it, and nothing else.
        (record({"t": 1000}, index("t", 999), deletes=("drop-it",)), "counts 999"),
        (record({"a": 9, "t": 1000}, index("t", 999), deletes=("drop-it",)), "index t was to hold 1000 documents"),
        (record({"a": 500, "t": 500}, index("t", 999, "a")), "index a, t was to hold 1000 documents"),
        (record({"a": 1000}, index("t", 1001, "a"), deletes=("drop-it",)), "counts 1001"),
        (record({"t": 9, "u": 9}, index("t", None, closed=True), index("u", 8)), "index u was to hold 9 documents"),
        # What was written before the bulks explains more documents, and nothing else.
        (record({"t": 1000}, index("t", 999), before=("seed",)), "counts 999"),
        (record({"t": 1000, "u": 9}, index("t", 1001), before=("seed",)), "index u was to hold 9 documents"),
        (record({"t": 1000}, before=("seed",)), "no such index"),
        (record({"t": 500}, index("t", 400), uncounted=[ENDED]), "was to hold about 500 documents"),
        (record({}, index("t", 1001), uncounted=[ENDED]), "hold about 1000 documents, Elasticsearch counts 1001"),
        (record({}, index("t", 1001), uncounted=[LINES]), "to leave at most 1000 documents, Elasticsearch counts 1001"),
        (record({"t": 9}, index("t", 9), stated=ExpectedByUser({"t": 8})), "race.expect.documents: index t was to"),
        (record({"t": 9}, index("t", 9), stated=ExpectedByUser({"u": 8})), "no such index"),
        (record({"t": 9, "u": 9}, index("t", 9), stated=ExpectedByUser({"t": 9})), "index u was to hold 9"),
        (record({"t": 9}, index("t", 9), stated=ExpectedByUser({}, 8)), "race.expect.totalDocuments"),
        (record({"s": 9}, index("i", 9, stream="s"), failure_stores={"s": 3}), "data stream s: 3 documents failed"),
        # Fewer than the drop processors account for, or more.
        (record({"t": 1000}, index("t", 980), pipelines=(pipeline(dropped=10),)), "counts 980"),
        (record({"t": 1000}, index("t", 995), pipelines=(pipeline(dropped=10),)), "counts 995"),
    ],
)  # fmt: skip
def test_what_voids_a_race(bad: Record, words: str) -> None:
    assert words in count_documents(bad).mismatch


@pytest.mark.parametrize(
    ("doubtful", "words"),
    [
        (record(None, index("t", 5)), NOT_DETERMINED),
        (record({}, index("t", 600), uncounted=[ENDED]), "Elasticsearch counts 600 of at most 1000"),
        (record({}, index("t", 600, "a"), uncounted=[UncountedTask("b", "a", WhyUncounted.ENDED_BY_TIME, 700)]), "600"),
        (record({}, index("t", 600), uncounted=[LINES]), "Elasticsearch counts 600 of at most 1000 (t 600)"),
        (record({"t": 1000}, index("t", 600), uncounted=[OTHER]), "task own may write or remove documents"),
        (record({}, uncounted=[UncountedTask("d", "t", WhyUncounted.DELETED, 9)]), "task d deleted index t: the 9"),
        (
            record({"a": 1000}, deletes=("drop-it",)),
            "there is nothing behind a any more, and task drop-it deleted indices: the 1000 documents for it were not",
        ),
        (record({"a": 9, "t": 1000}, index("t", 1000), deletes=("drop-it",)), "nothing behind a any more"),
        (
            record({"a": 2000}, index("t", 1000, "a"), deletes=("drop-it",)),
            "index a holds 1000 of 2000 documents, and task drop-it deleted indices, which may have stood behind it",
        ),
        (record({"t": 1000}, index("t", None, closed=True)), "index t is closed: its documents could not be counted"),
        (record({"a": 1000}, index("t", None, "a", closed=True), index("u", 7, "a")), "index t is closed"),
        (record({"t": 9}, index("t", None, closed=True), stated=ExpectedByUser({"t": 8})), "index t is closed"),
        (record({"t": 9}, index("t", None, closed=True), stated=ExpectedByUser({}, 9)), "index t is closed"),
        (
            record({"t": 1000}, index("t", 1003), before=("seed", "own")),
            "index t holds 1003 documents, 3 more than the track's bulks send: task seed, own may have written before",
        ),
        (record({}, index("t", 1001), uncounted=[ENDED], before=("seed",)), "1 more than the track's bulks send"),
        (
            record({}, index("t", 1000), index("u", 1), uncounted=[LINES], before=("seed",)),
            "task seed may write or remove documents in a way that cannot be told beforehand; task bulk sends",
        ),
        (
            record({}, uncounted=[UncountedTask("d", "t", WhyUncounted.DELETED)]),
            "index t: the documents in it were not",
        ),
        (record({}, index("t", 2000), uncounted=[LINES], target=TargetReport()), "counts 2000 of at most 1000"),
        (record({"t": 0}, index("t", None)), "the documents of index t could not be counted"),
        (record({}, index("t", None), uncounted=[ENDED]), "the documents of index t could not be counted"),
        (record({}, index("t", 600), index("u", None), uncounted=[LINES]), "documents of index u could not be counted"),
        (record({"t": 5}, index("t", 5), index("u", None), uncounted=[OTHER]), "index u could not be counted"),
        (record({"a": 9}, index("t", None, "a", closed=True), index("u", None, "a")), "index t is closed"),
    ],
)
def test_what_cannot_be_counted_is_said(doubtful: Record, words: str) -> None:
    found = count_documents(doubtful)
    assert found.mismatch == "" and found.diverted == ()
    (text,) = found.uncounted
    assert words in text


HIDDEN = pipeline(hidden=("drop",))


@pytest.mark.parametrize(
    ("diverted", "words"),
    [
        (record({"t": 1000}, index("t", 990), pipelines=(pipeline(dropped=10),)), "ingest pipeline p dropped 10"),
        # Beside a bulk that ends early what was dropped may have been its documents, too.
        (record({"t": 1000}, index("t", 600), uncounted=[ENDED], pipelines=(pipeline(dropped=900),)), "p dropped 900"),
        (
            record({"t": 1000}, index("t", 0), index("u", 1000), pipelines=(pipeline(rerouted=1000),)),
            "index t holds 0 of 1000 documents: the others are in indices u",
        ),
        (record({"<t-{now/d}>": 9}, index("t-2026.01.01", 9)), "the others are in indices t-2026.01.01"),
        (record({"a": 5, "b": 5}, index("a", 4), index("b", 6), pipelines=(pipeline(),)), "other indices of the race"),
        (
            record({"t": 1000}, index("t", 0), index("u", 990), pipelines=(pipeline(dropped=10),)),
            "in indices u, and drop processors of ingest pipeline p dropped 10",
        ),
        (record({"t": 1000}, index("t", 990), pipelines=(HIDDEN,)), "may drop documents where they are not counted"),
        (
            record({"t": 9}, index("t", 3), pipelines=(pipeline(rerouted=6),), target=TargetReport()),
            "sends documents to other indices",
        ),
        (
            record({"s": 9}, index("i", 9, stream="s"), failure_stores={"s": 3}, stated=ExpectedByUser({"s": 9})),
            "data stream s: 3 documents failed and are in its failure store",
        ),
    ],
)
def test_documents_that_are_elsewhere_are_said(diverted: Record, words: str) -> None:
    found = count_documents(diverted)
    assert found.mismatch == "" and found.uncounted == ()
    (text,) = found.diverted
    assert words in text


def test_documents_that_change_places_without_a_cause_void_a_race() -> None:
    assert count_documents(record({"a": 5, "b": 5}, index("a", 4), index("b", 6))).mismatch


def test_a_race_that_failed_is_not_counted() -> None:
    failed = record({"t": 9}, index("t", 1), outcome=Outcome(Reason.RACE_STALLED, "stood"))
    assert count_documents(failed) == CountedDocuments()
    assert count_documents(Record(indices=None)) == CountedDocuments()


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 20), max_size=4),
    st.dictionaries(st.sampled_from("abcdxy"), st.integers(0, 20), max_size=5),
)
def test_without_aliases_and_pipelines_each_name_must_hold_its_number(
    expected: dict[str, int], counts: dict[str, int]
) -> None:
    found = count_documents(record(expected, *(index(name, number) for name, number in counts.items())))
    agree = all(counts.get(name, 0 if number == 0 else None) == number for name, number in expected.items())
    gone = any(name not in counts and number for name, number in expected.items())
    if agree:
        assert found == CountedDocuments()
    elif not gone or sum(counts.values()) != sum(expected.values()):
        assert found.mismatch
    else:
        assert found.mismatch == "" and found.diverted


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), max_size=3),
    st.dictionaries(st.sampled_from("abcxy"), st.none() | st.integers(1, 9), max_size=5),
    st.sampled_from([(), (LINES,), (OTHER,)]),
)
def test_what_could_not_be_counted_is_never_said_to_be_nothing(
    expected: dict[str, int], counts: dict[str, int | None], uncounted: tuple[UncountedTask, ...]
) -> None:
    indices = (index(name, number) for name, number in counts.items())
    found = count_documents(record(expected, *indices, uncounted=uncounted))
    if counts and None in counts.values():
        assert not any("counts 0" in text for text in (found.mismatch, *found.uncounted, *found.diverted))
    if any(counts.get(name, 0) is None and number for name, number in expected.items()):
        assert "could not be counted" in found.mismatch


@given(st.data())
def test_the_same_documents_behind_any_names_pass(data: st.DataObject) -> None:
    """Each index has some aliases; each document comes through any of the names."""
    indices, expected = [], {}
    for name in "tuv":
        aliases = data.draw(st.lists(st.sampled_from(["a", "b", f"{name}-1"]), unique=True))
        numbers = data.draw(st.lists(st.integers(0, 9), min_size=len(aliases) + 1, max_size=len(aliases) + 1))
        for each, number in zip((name, *aliases), numbers, strict=True):
            expected[each] = expected.get(each, 0) + number
        indices.append(index(name, sum(numbers), *aliases))
    assert count_documents(record(expected, *indices)) == CountedDocuments()


def test_bulks_whose_answers_nobody_reads_are_told_even_where_nothing_is_missing() -> None:
    """With every document of theirs refused all indices hold exactly what the others brought."""
    found = count_documents(record({"t": 1000}, index("t", 1000), uncounted=[RAW_BULK]))
    assert not found.mismatch and "task own sends bulks as raw requests" in found.uncounted[0]


HELD = Touch("index", "t", creates=True, existing=("t",), documents=400)


@pytest.mark.parametrize(
    ("touches", "found", "counts"),
    [
        ((HELD,), 1400, True), ((HELD,), 1000, True), ((HELD,), 1200, True), ((HELD,), 999, False),
        ((HELD,), 1401, False),
        ((replace(HELD, deletes=True),), 1400, False), ((replace(HELD, documents=None),), 1400, False),
        ((replace(HELD, name="a", existing=("t",)),), 1400, True), ((), 1400, False),
        ((replace(HELD, existing=("other",)),), 1400, False),
    ],
)  # fmt: skip
def test_what_an_existing_cluster_held_is_added_to(touches: tuple[Touch, ...], found: int, counts: bool) -> None:
    """With overwrite: true, where the track does not delete first; documents with ids of their own are replaced."""
    of = record({"t": 1000}, index("t", found), target=TargetReport(touches=touches))
    counted = count_documents(of)
    assert (not counted.mismatch) is counts, counted
    assert found == 1000 or not counts or "held 400 before the race" in counted.uncounted[0]


@pytest.mark.parametrize(
    ("indices", "work", "words"),
    [
        ((index("t", 10), index("u", 500)), {"dropped": 900}, "drop processors of ingest pipeline p dropped 900"),
        ((index("t", 10), index("u", 500), index("v", 500)), {"rerouted": 500}, "pipeline p sends documents to other"),
    ],
)
def test_beside_a_bulk_that_ends_early_documents_may_be_elsewhere(
    indices: tuple[IndexRecord, ...], work: dict[str, int], words: str
) -> None:
    """What a pipeline drops or sends elsewhere may be of the one or of the other."""
    found = count_documents(record({"u": 1000}, *indices, uncounted=[ENDED], pipelines=(pipeline(**work),)))
    assert found.mismatch == "" and "task bulk ends when completed-by" in found.uncounted[0]
    (text,) = found.diverted
    assert text.startswith("index u holds 500 of 1000 documents: ") and words in text
