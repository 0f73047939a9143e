"""Whether requests did what they were for: what voids a race, what is remarked, and the good neighbours of both."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import good_record, spec

from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.request_evidence import BulkTrouble, RequestEvidence, SearchAnswer, StepCounters
from fairlap_race.contract.recorded.track_record import TrackTask

GOOD = good_record()
BULK = GOOD.tasks[0]
FIND = replace(BULK, task="find", type="search", unit="ops/s", samples=rec.Counts(10, 30))
SEARCHING = replace(
    GOOD,
    track=replace(GOOD.track, tasks=(*GOOD.track.tasks, TrackTask("find", type="search", reported=True))),
    tasks=(BULK, FIND),
)
STEP = StepCounters(3, ("find",), {"find": 1}, 40, (), 0, 0)
ANSWER = SearchAnswer(
    "find", index="t", request="a1", shards=1, successful=1, skipped=0, failed=0, hits=7, hits_exact=True, settled=True
)


NOWHERE = replace(ANSWER, shards=0, successful=0, hits=0)
RAW = StepCounters(3, others=("find",))


def record(step: StepCounters | None = STEP, answer: SearchAnswer | None = ANSWER, **more: Any) -> rec.Record:
    evidence = RequestEvidence((step,) if step else (), (answer,) if answer else (), **more)
    return replace(SEARCHING, requests=evidence)


def said(found: rec.Record) -> list[Reason]:
    of_measurement = (Reason.FEW_SAMPLES, Reason.SHORT_MEASUREMENT, Reason.NO_WARMUP)
    return [remark.reason for remark in remarks(found, [], "") if remark.reason not in of_measurement]


def test_searches_that_did_their_work() -> None:
    assert first_violation(record(), spec()) is None and not said(record())


@pytest.mark.parametrize(
    ("step", "answer", "reason"),
    [
        (replace(STEP, shards={"find": 0}, queries=0), ANSWER, Reason.SEARCHES_HIT_NOTHING),
        (replace(STEP, queries=0), ANSWER, Reason.SEARCHES_HIT_NOTHING),
        (replace(STEP, queries=0), None, Reason.SEARCHES_HIT_NOTHING),
        (STEP, replace(ANSWER, failed=1), Reason.SEARCHES_INCOMPLETE),
        (STEP, replace(ANSWER, timed_out=True), Reason.SEARCHES_INCOMPLETE),
        (STEP, replace(ANSWER, items=2, items_failed=1), Reason.SEARCHES_INCOMPLETE),
        (STEP, replace(ANSWER, items=2, items_failed=1, parts_wanted=True), Reason.SEARCHES_INCOMPLETE),
        (STEP, replace(ANSWER, failed=1, timeout_wanted=True), Reason.SEARCHES_INCOMPLETE),
        (replace(STEP, shards={"find": 0}, queries=None), NOWHERE, Reason.SEARCHES_HIT_NOTHING),
        (replace(STEP, shards={}, queries=None, anywhere=9), NOWHERE, Reason.SEARCHES_HIT_NOTHING),
        (replace(RAW, shards={"find": 0}), NOWHERE, Reason.SEARCHES_HIT_NOTHING),
        (replace(RAW, anywhere=9), replace(NOWHERE, index=None, items=2, items_nowhere=2), Reason.SEARCHES_HIT_NOTHING),
        (replace(RAW, anywhere=0), replace(NOWHERE, drawn=True), Reason.SEARCHES_HIT_NOTHING),
        (replace(RAW, shards={"find": 0}, anywhere=0), replace(NOWHERE, hits=None), Reason.SEARCHES_HIT_NOTHING),
        (replace(STEP, queries=0, anywhere=0), replace(ANSWER, drawn=True), Reason.SEARCHES_HIT_NOTHING),
        (
            replace(STEP, shards={"find": 0}, queries=0, anywhere=0),
            replace(NOWHERE, drawn=True),
            Reason.SEARCHES_HIT_NOTHING,
        ),
        (None, NOWHERE, Reason.SEARCHES_HIT_NOTHING),
    ],
)
def test_what_voids_a_race(step: StepCounters | None, answer: SearchAnswer | None, reason: Reason) -> None:
    violation = first_violation(record(step, answer), spec())
    assert violation is not None and violation.reason is reason and "task find" in violation.message


@pytest.mark.parametrize(
    ("step", "answer", "reason"),
    [
        (STEP, replace(ANSWER, hits=0), Reason.SEARCHES_WITHOUT_HITS),
        (replace(STEP, queries=0), replace(ANSWER, hits=0, skipped=1), Reason.SEARCHES_WITHOUT_HITS),
        (STEP, replace(ANSWER, failed=1, parts_wanted=True), Reason.SEARCHES_IN_DOUBT),
        (STEP, replace(ANSWER, timed_out=True, timeout_wanted=True), Reason.SEARCHES_IN_DOUBT),
        (replace(STEP, queries=39), ANSWER, Reason.SEARCHES_IN_DOUBT),
        (STEP, SearchAnswer("find", trouble="HTTP 404"), Reason.SEARCHES_IN_DOUBT),
        (STEP, None, Reason.SEARCHES_IN_DOUBT),
        (replace(STEP, searches_rejected=3), ANSWER, Reason.REQUESTS_REJECTED),
        (replace(STEP, writes_rejected=3), ANSWER, Reason.REQUESTS_REJECTED),
        (replace(STEP, queries=None), NOWHERE, Reason.SEARCHES_IN_DOUBT),  # there was one before
        (RAW, NOWHERE, Reason.SEARCHES_IN_DOUBT),  # an index was deleted meanwhile
        (replace(RAW, anywhere=9), replace(NOWHERE, drawn=True), Reason.SEARCHES_IN_DOUBT),
        (replace(RAW, anywhere=0), replace(NOWHERE, index="far:t", drawn=True), Reason.SEARCHES_IN_DOUBT),
        (
            replace(STEP, shards={"find": 0}, queries=0, anywhere=40),
            replace(NOWHERE, drawn=True),
            Reason.SEARCHES_IN_DOUBT,
        ),
        (replace(STEP, queries=20, anywhere=39), replace(ANSWER, drawn=True), Reason.SEARCHES_IN_DOUBT),
        (RAW, replace(ANSWER, items=2, items_nowhere=1), Reason.SEARCHES_IN_DOUBT),
        (RAW, replace(ANSWER, items=2, items_without_hits=1), Reason.SEARCHES_WITHOUT_HITS),
        (replace(STEP, queries=None, trouble="down"), ANSWER, Reason.MACHINE_FIGURES_INCOMPLETE),
        (replace(STEP, trouble="a node came or went"), ANSWER, Reason.MACHINE_FIGURES_INCOMPLETE),
    ],
)
def test_what_is_remarked(step: StepCounters, answer: SearchAnswer | None, reason: Reason) -> None:
    found = record(step, answer)
    assert first_violation(found, spec()) is None and said(found) == [reason]


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        pytest.param(replace(STEP, queries=None), ANSWER, id="the count went with an index that was deleted"),
        pytest.param(replace(STEP, shards={}, queries=None), ANSWER, id="on another cluster"),
        pytest.param(replace(STEP, queries=4000), ANSWER, id="many shards, or pages"),
        pytest.param(replace(STEP, writes_rejected=None, searches_rejected=None), ANSWER, id="a node came or went"),
        pytest.param(STEP, replace(ANSWER, hits=None), id="told not to count"),
        pytest.param(replace(STEP, queries=20, anywhere=40), replace(ANSWER, drawn=True), id="by turns in two indices"),
        pytest.param(replace(STEP, queries=0, anywhere=40), replace(ANSWER, drawn=True), id="mostly elsewhere"),
        pytest.param(RAW, ANSWER, id="a raw request"),
        pytest.param(replace(RAW, anywhere=0), replace(ANSWER, index="far:t"), id="a raw request to another cluster"),
        pytest.param(RAW, replace(ANSWER, items=2, items_nowhere=0, items_without_hits=0), id="a multi-search"),
        pytest.param(STEP, replace(ANSWER, skipped=1, shards=2, successful=2), id="a shard that has nothing of it"),
    ],
)
def test_good_neighbours(step: StepCounters, answer: SearchAnswer) -> None:
    found = record(step, answer)
    assert first_violation(found, spec()) is None and not said(found)


def measured(answers: tuple[SearchAnswer, ...] = (ANSWER,), **said: Any) -> rec.Record:
    """Return a record of searches of which Rally read this while it measured them."""
    evidence = RequestEvidence((STEP,), answers, {} if answers else {"find": "because"})
    return replace(SEARCHING, tasks=(BULK, replace(FIND, **said)), requests=evidence)


@pytest.mark.parametrize(
    ("answers", "seen", "words"),
    [
        ((ANSWER,), {"timed_out": 20}, "20 of its 30 measured searches timed out"),
        ((ANSWER,), {"shards_failed": 1, "timed_out": 20}, "1 of its 30 measured searches had failed shards"),
        ((), {"timed_out": 20}, "20 of its 30 measured searches timed out"),
        (
            (replace(ANSWER, parts_wanted=True),),
            {"shards_failed": 2, "timed_out": 1},
            "1 of its 30 measured searches timed out",
        ),
    ],
)
def test_measured_searches_that_were_answered_in_part_void_a_race(
    answers: tuple[SearchAnswer, ...], seen: dict[str, int], words: str
) -> None:
    violation = first_violation(measured(answers, **seen), spec())
    assert violation is not None and violation.reason is Reason.SEARCHES_INCOMPLETE
    assert violation.message == f"task find: {words}; Rally counts such an answer as success"


@pytest.mark.parametrize(
    ("answer", "seen", "words"),
    [
        (replace(ANSWER, parts_wanted=True), {"shards_failed": 2}, "2 of its 30 measured searches had failed shards"),
        (replace(ANSWER, timeout_wanted=True), {"timed_out": 3}, "3 of its 30 measured searches timed out"),
    ],
)
def test_measured_searches_that_may_be_answered_in_part_are_remarked(
    answer: SearchAnswer, seen: dict[str, int], words: str
) -> None:
    found = measured((answer, replace(ANSWER, drawn=True)), **seen)
    assert first_violation(found, spec()) is None
    assert [it.text for it in remarks(found, [], "") if it.reason is Reason.SEARCHES_IN_DOUBT] == [
        f"task find: {words}, which the search allows"
    ]


@pytest.mark.parametrize(
    ("kind", "answers", "most", "told"),
    [
        ("search", (replace(ANSWER, drawn=True),), 0, True),
        ("search", (ANSWER,), 1, False),
        ("search", (ANSWER,), None, False),
        ("search", (), 0, False),  # Rally says 0, too, where Elasticsearch was told not to count
        ("search", (replace(ANSWER, hits=None, hits_exact=False),), 0, False),
        ("search", (replace(ANSWER, hits=2, hits_exact=False),), 0, False),  # suggestions, which are no hits
        ("paginated-search", (), 0, True),
    ],
)
def test_measured_searches_of_which_none_found_anything_are_remarked(
    kind: str, answers: tuple[SearchAnswer, ...], most: int | None, told: bool
) -> None:
    found = measured(answers, type=kind, most_hits=most)
    assert first_violation(found, spec()) is None
    assert [it.text for it in remarks(found, [], "") if it.reason is Reason.SEARCHES_WITHOUT_HITS] == (
        ["task find: none of its 40 searches found anything while it ran"] if told else []
    )


def test_searches_that_never_find_anything_are_remarked_once() -> None:
    (text,) = (
        it.text
        for it in remarks(measured((replace(ANSWER, hits=0),), most_hits=0), [], "")
        if it.reason is Reason.SEARCHES_WITHOUT_HITS
    )
    assert text == "task find: its search found nothing in t, sent once more after the task"


def test_an_answer_before_a_task_decides_nothing() -> None:
    before = replace(ANSWER, when="before", failed=1, hits=0)
    found = replace(SEARCHING, requests=RequestEvidence((STEP,), (before, ANSWER)))
    assert first_violation(found, spec()) is None and not said(found)


def test_a_search_that_nobody_looked_at_is_said_with_its_reason() -> None:
    told = remarks(record(answer=None, not_looked_at={"find": "it searches what another operation has opened"}), [], "")
    (remark,) = (each for each in told if each.reason == Reason.SEARCHES_IN_DOUBT)
    assert remark.text == "task find: its search was not looked at: it searches what another operation has opened"
    for kind, words in (("esql", "its search"), ("of-the-track", "its search, if it is one,")):
        track = replace(GOOD.track, tasks=(TrackTask("find", type=kind, reported=True),))
        found = replace(SEARCHING, track=track, requests=RequestEvidence(not_looked_at={"find": "because"}))
        (text,) = (it.text for it in remarks(found, [], "") if it.reason == Reason.SEARCHES_IN_DOUBT)
        assert text == f"task find: {words} was not looked at: because"
    assert said(replace(SEARCHING, requests=None)) == [Reason.SEARCHES_IN_DOUBT], "a record of an older runner"
    assert not said(GOOD) and not said(replace(SEARCHING, outcome=rec.Outcome(Reason.RACE_STALLED, "stood")))


def test_lost_documents_void_a_race_whatever_number_was_expected() -> None:
    lost = replace(BULK, bulk_trouble=BulkTrouble(retried=1, retries=2, item_errors=3, lost=2))
    for expected in (None, {}, {"logs": 1000}):
        found = replace(GOOD, tasks=(lost,), track=replace(GOOD.track, expected_documents=expected))
        violation = first_violation(found, spec())
        assert violation is not None and violation.reason is Reason.DOCUMENTS_LOST
    again = replace(BULK, bulk_trouble=BulkTrouble(retried=1, retries=2, item_errors=3))
    found = replace(GOOD, tasks=(again,))
    assert first_violation(found, spec()) is None and said(found) == [Reason.REQUESTS_REJECTED]


def test_one_of_several_requests_that_reached_nothing_is_said() -> None:
    answers = (replace(ANSWER, drawn=True), replace(NOWHERE, drawn=True), replace(ANSWER, drawn=True, hits=0))
    found = replace(SEARCHING, requests=RequestEvidence((replace(RAW, anywhere=0),), answers))
    assert first_violation(found, spec()) is None
    texts = {it.reason: it.text for it in remarks(found, [], "")}
    assert texts[Reason.SEARCHES_IN_DOUBT] == (
        "task find: 1 of 3 of its searches reached no shard, sent once more after the task"
    )
    assert texts[Reason.SEARCHES_WITHOUT_HITS] == (
        "task find: 1 of 3 of its searches found nothing, sent once more after the task"
    )


def test_counters_that_could_not_be_read_are_named() -> None:
    steps = (
        StepCounters(1, bulks=("bulk",), trouble="HTTP 503"),
        replace(STEP, queries=None, trouble="HTTP 503"),
        replace(STEP, trouble="a node came or went"),
    )
    found = replace(SEARCHING, requests=RequestEvidence(steps, (ANSWER,)))
    (text,) = (it.text for it in remarks(found, [], "") if it.reason is Reason.MACHINE_FIGURES_INCOMPLETE)
    assert text.split("; ") == [
        "how many requests were rejected while bulk ran could not be read: HTTP 503",
        "how many requests were rejected, and how often shards were searched, while find ran could not be read: HTTP "
        "503",
        "how many requests were rejected while find ran could not be read: a node came or went",
    ]


def test_many_findings_are_one_remark() -> None:
    answers = tuple(replace(ANSWER, task=f"find-{number}", hits=0) for number in range(30))
    (remark,) = remarks(replace(GOOD, requests=RequestEvidence((), answers)), [], "")
    assert remark.reason is Reason.SEARCHES_WITHOUT_HITS and remark.text.endswith("; and 20 more")


NUMBER = st.none() | st.integers(0, 50)
STEPS = st.builds(
    StepCounters, st.integers(1, 9), st.just(("find",)), st.dictionaries(st.just("find"), st.integers(0, 3)), NUMBER,
    st.just(("bulk",)), NUMBER, NUMBER,
)  # fmt: skip


@given(st.lists(STEPS, max_size=3))
def test_searches_that_a_shard_counted_are_never_called_nothing(steps: list[StepCounters]) -> None:
    found = first_violation(replace(SEARCHING, requests=RequestEvidence(tuple(steps), (ANSWER,))), spec())
    certain = any(it.queries is not None and (it.queries == 0 or it.shards.get("find") == 0) for it in steps)
    assert (found is not None) == certain and (found is None or found.reason is Reason.SEARCHES_HIT_NOTHING)


def test_the_evidence_survives_the_record() -> None:
    found = record(not_looked_at={"x": "because"})
    assert rec.Record.from_json(found.to_json()) == found
    assert rec.Record.from_json(SEARCHING.to_json()) == SEARCHING, "without any"
