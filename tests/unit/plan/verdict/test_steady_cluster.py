"""What was seen of the cluster while a task was measured, and what follows from it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.message_form import looks_like
from world import good_record, spec

from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.cluster_course import (
    ClusterCourse,
    MissingCopies,
    NodeRequests,
    Recovery,
    TaskCaches,
)
from fairlap_race.contract.recorded.record import Counts, IndexRecord, Node, Outcome, Record, timestamp
from fairlap_race.contract.recorded.request_evidence import RequestEvidence, SearchAnswer

TWO = (Node("race-0", version="9.0.0"), Node("race-1", version="9.0.0"))
ASKED = {"version": "9.0.0", "nodes": 2}
BEGAN = 1_800_000_000.0


def moment(seconds: float) -> str:
    return timestamp(BEGAN + seconds)


def raced(course: ClusterCourse, *, nodes: tuple[Node, ...] = TWO, replicas: int = 1, **task: Any) -> Record:
    """A good race whose task `bulk` was measured from second 10 to second 110, on an index t of two shards."""
    good = good_record()
    (bulk,) = good.tasks
    bulk = replace(
        bulk, started_at=moment(5), measured_from=moment(10), ended_at=moment(110), **{"type": "search", **task}
    )
    track = replace(good.track, expected_documents={}, pipelines=())
    return replace(
        good, tasks=(bulk,), course=course, track=track, environment=replace(good.environment, nodes=nodes),
        indices=(IndexRecord("t", shards=2, replicas=replicas, health="green", documents=1),),
    )  # fmt: skip


def missing(since: float, until: float, why: str = "INDEX_CREATED", copies: int = 2, **changes: Any) -> ClusterCourse:
    return ClusterCourse(missing=(MissingCopies("t", False, copies, why, moment(since), moment(until)),), **changes)


@pytest.mark.parametrize(
    ("course", "replicas", "voided"),
    [
        (missing(0, 60), 1, True),
        (missing(0, 11.5), 1, True),
        (missing(0, 10.5), 1, False),  # a moment
        (missing(0, 9), 1, False),  # before it was measured
        (missing(111, 200), 1, False),
        (missing(0, 60, "REPLICA_ADDED"), 1, False),
        (missing(0, 60, "NODE_LEFT", 1), 1, True),
        (missing(0, 110, copies=2), 2, False),  # two of four can be nowhere: one node too few
        (missing(0, 110, copies=3), 2, True),
    ],
)
def test_replicas(course: ClusterCourse, replicas: int, voided: bool) -> None:
    record = raced(course, replicas=replicas)
    found = first_violation(record, spec(elasticsearch=ASKED))
    assert (found.reason if found else None) == (Reason.REPLICAS_MISSING if voided else None)
    if found:
        assert "replica(s) not started for" in found.message and "in which task bulk was measured" in found.message


def test_a_replica_that_one_node_cannot_hold_voids_only_what_asked_for_it() -> None:
    record = raced(missing(0, 110), nodes=TWO[:1])
    assert first_violation(record, spec()) is None
    assert Reason.SHARDS_IN_MOTION not in {it.reason for it in remarks(record, [], "")}
    gone = replace(record, indices=())
    assert first_violation(gone, spec()) is None
    violation = first_violation(record, spec(elasticsearch={"index": {"replicas": 1}}))
    assert violation is not None and violation.reason is Reason.REPLICAS_MISSING


@pytest.mark.parametrize(
    ("course", "words"),
    [
        (ClusterCourse(rejoined=("race-1",)), "joined it again: race-1"),
        (ClusterCourse(fewest_nodes=1), "had 1 of its 2 nodes"),
        (ClusterCourse(elections=1), "elected another, 1 time(s)"),
        (ClusterCourse(rejoined=(), fewest_nodes=2, elections=0), ""),
        (ClusterCourse(), ""),
    ],
)
def test_nodes_that_left(course: ClusterCourse, words: str) -> None:
    found = first_violation(raced(course), spec(elasticsearch=ASKED))
    assert (found is not None) == bool(words)
    assert found is None or (found.reason is Reason.NODE_LEFT and words in found.message)


def requests(*counts: int | None) -> ClusterCourse:
    return ClusterCourse(requests=tuple(NodeRequests(f"race-{n}", count, 1) for n, count in enumerate(counts)))


def caches(hits: int, misses: int, kind: str = "request") -> ClusterCourse:
    return ClusterCourse(caches=(TaskCaches("bulk", **{f"{kind}_hits": hits, f"{kind}_misses": misses}),))


TOLD = ClusterCourse(looks=9, recoveries=(), rejoined=(), elections=0, merging=0)
RECOVERED = Recovery("t", 0, True, "PEER", "race-0", "race-1", moment(20), moment(21))


@pytest.mark.parametrize(
    ("course", "task", "reason"),
    [
        (ClusterCourse(recoveries=(RECOVERED,)), {}, Reason.SHARDS_IN_MOTION),
        (ClusterCourse(recoveries=(replace(RECOVERED, ended_at=None),)), {}, Reason.SHARDS_IN_MOTION),
        (ClusterCourse(recoveries=(replace(RECOVERED, began_at=moment(1), ended_at=moment(9)),)), {}, None),
        (missing(0, 60, "REPLICA_ADDED"), {}, Reason.SHARDS_IN_MOTION),
        (missing(0, 10.5), {}, Reason.SHARDS_IN_MOTION),
        (requests(900, 100), {}, Reason.REQUESTS_UNEVEN),
        (requests(520, 480), {}, None),
        (requests(90, 1), {}, None),  # too few to tell
        (requests(900, None), {}, None),
        (caches(200, 10), {}, Reason.CACHE_MEASURED),
        (caches(900, 10, "query"), {}, Reason.CACHE_MEASURED),
        (caches(100, 110), {}, None),
        (caches(9, 1), {}, None),  # of 210 requests
        (caches(200, 10), {"type": "bulk"}, None),
        (ClusterCourse(merging=2), {}, Reason.MERGES_RUNNING),
        (ClusterCourse(merging=0), {}, None),
        (ClusterCourse(looks=0), {}, Reason.MACHINE_FIGURES_INCOMPLETE),
        (ClusterCourse(looks=9, unlisted=2), {}, Reason.MACHINE_FIGURES_INCOMPLETE),
        (TOLD, {}, None),
        (ClusterCourse(), {"clock_shift_seconds": 30.0}, Reason.CLOCK_STEPPED),
        (ClusterCourse(), {"clock_shift_seconds": 0.06}, None),  # of 105 s: as a clock that is kept right
        (replace(TOLD, recoveries=None), {}, Reason.MACHINE_FIGURES_INCOMPLETE),
        (replace(TOLD, rejoined=None), {}, Reason.MACHINE_FIGURES_INCOMPLETE),
        (replace(TOLD, elections=None), {}, Reason.MACHINE_FIGURES_INCOMPLETE),
        (replace(TOLD, merging=None), {}, Reason.MACHINE_FIGURES_INCOMPLETE),
        (ClusterCourse(), {}, None),  # nobody looked
    ],
)  # fmt: skip
def test_what_is_said(course: ClusterCourse, task: dict[str, Any], reason: Reason | None) -> None:
    record = raced(course, **task)
    assert first_violation(record, spec(elasticsearch=ASKED)) is None
    ours = (
        *(Reason.SHARDS_IN_MOTION, Reason.REQUESTS_UNEVEN, Reason.CACHE_MEASURED, Reason.MERGES_RUNNING),
        *(Reason.CLOCK_STEPPED, Reason.MACHINE_FIGURES_INCOMPLETE),
    )
    said = [it for it in remarks(record, [], "") if it.reason in ours]
    assert [it.reason for it in said] == ([reason] if reason else [])
    for it in said:
        text = it.text.replace("task bulk", "task search")
        assert any(
            words in text for words in ("replica(s) not started", "query", "copies", "did not tell")
        ) or looks_like(it.reason.example, text), text


def set_between(*tasks: tuple[str, float, float | None, float | None]) -> list[str]:
    """Return what is said of the clock; tasks: name, begin, by how much it had been set, and was while it ran."""
    record = raced(ClusterCourse())
    (bulk,) = record.tasks
    of_tasks = tuple(
        replace(bulk, task=name, started_at=moment(begin), measured_from=moment(begin), ended_at=moment(begin + 50),
                clock_set_seconds=by, clock_shift_seconds=within)
        for name, begin, by, within in tasks
    )  # fmt: skip
    said = remarks(replace(record, tasks=of_tasks), [], "")
    return [it.text.partition(":")[0] for it in said if it.reason is Reason.CLOCK_STEPPED]


def test_a_clock_that_is_set_between_two_tasks_is_said_with_both_and_once() -> None:
    set_by = "the load generator's clock was set"
    assert set_between(("a", 0, None, None), ("b", 60, -90.0, None), ("c", 120, -90.0, None)) == [
        f"{set_by} back by 90.00 s between the beginnings of task a and of task b"
    ]
    assert set_between(("b", 60, None, None), ("a", 0, 2.5, None)) == [
        f"{set_by} forward by 2.50 s between the beginnings of the race and of task a",
        f"{set_by} back by 2.50 s between the beginnings of task a and of task b",
    ]
    assert set_between(("a", 0, None, 90.0), ("b", 60, -90.3, None)) == ["task a"]
    assert set_between(("a", 0, None, None), ("b", 60, None, None)) == []


@pytest.mark.parametrize(
    ("version", "course", "text"),
    [
        (
            "9.0.0",
            replace(TOLD, recoveries=None, merging=None),
            "Elasticsearch did not tell which copies of shards were made, whether merges still ran when the size of "
            "the data was read",
        ),
        (
            "6.8.23",
            replace(TOLD, elections=None),
            "Elasticsearch did not tell how often a master was elected (versions before 7 do not count elections)",
        ),
        (
            "6.8.23",
            replace(TOLD, unlisted=2, rejoined=None),
            "at 2 look(s) copies of shards were missing that could not be listed; Elasticsearch did not tell whether a "
            "node left and came back",
        ),
    ],
)
def test_what_elasticsearch_did_not_tell_is_named_once(version: str, course: ClusterCourse, text: str) -> None:
    good = raced(course)
    record = replace(good, environment=replace(good.environment, version=version))
    found = [it.text for it in remarks(record, [], "") if it.reason is Reason.MACHINE_FIGURES_INCOMPLETE]
    assert found == [text]
    ended = replace(record, outcome=Outcome(Reason.RACE_STALLED, "stood"), course=replace(course, unlisted=0))
    assert Reason.MACHINE_FIGURES_INCOMPLETE not in {it.reason for it in remarks(ended, [], "")}


MOMENTS = st.floats(0, 120)


@given(MOMENTS, MOMENTS, st.sampled_from(("INDEX_CREATED", "REPLICA_ADDED", "NODE_LEFT")))
def test_only_a_gap_inside_the_measured_time_counts(since: float, until: float, why: str) -> None:
    record = raced(missing(since, until, why))
    found = first_violation(record, spec(elasticsearch=ASKED))
    inside = min(until, 110) - max(since, 10)
    if inside <= 0.99 or why == "REPLICA_ADDED":
        assert found is None
    elif inside > 1.01:
        assert found is not None and found.reason is Reason.REPLICAS_MISSING


@pytest.mark.parametrize("task", [{"type": "cluster-health"}, {"type": "wait-for-recovery"}, {"task": "create-index"}])
def test_a_task_that_waits_for_the_cluster_or_has_no_numbers_measures_no_gap(task: dict[str, Any]) -> None:
    course = missing(0, 60, recoveries=(Recovery("t", 0, False, "PEER", "a", "b", moment(20), moment(40)),))
    record = raced(course, **task)
    assert first_violation(raced(course), spec(elasticsearch=ASKED)) is not None
    assert Reason.SHARDS_IN_MOTION not in {it.reason for it in remarks(record, [], "")}
    assert getattr(first_violation(record, spec(elasticsearch=ASKED)), "reason", None) is not Reason.REPLICAS_MISSING


@pytest.mark.parametrize(("drawn", "remarked"), [(False, True), (True, False), (None, False)])
def test_a_raw_request_that_repeats_its_search_measured_the_cache(drawn: bool | None, remarked: bool) -> None:
    answers = () if drawn is None else (SearchAnswer("bulk", drawn=drawn, shards=1, hits=1),)
    record = replace(raced(caches(200, 10), type="raw-request"), requests=RequestEvidence(answers=answers))
    assert (Reason.CACHE_MEASURED in {it.reason for it in remarks(record, [], "")}) is remarked


@pytest.mark.parametrize(
    ("kind", "drawn", "remarked"),
    [
        ("query", (True, True), False),  # of searches that differ, a filter that they share is no repetition
        ("query", (False,), True),
        ("query", (), True),
        ("request", (True, True), True),
    ],
)
def test_which_cache_is_judged_of_searches_that_are_drawn(kind: str, drawn: tuple[bool, ...], remarked: bool) -> None:
    answers = tuple(SearchAnswer("bulk", drawn=it, shards=1, hits=1, request=str(n)) for n, it in enumerate(drawn))
    record = replace(raced(caches(900, 10, kind)), requests=RequestEvidence(answers=answers))
    assert (Reason.CACHE_MEASURED in {it.reason for it in remarks(record, [], "")}) is remarked


def test_a_task_without_requests_is_no_cause() -> None:
    record = raced(caches(5, 0), samples=Counts())
    assert Reason.CACHE_MEASURED not in {it.reason for it in remarks(record, [], "")}


def test_dedicated_masters_hold_no_replica() -> None:
    masters = tuple(Node(f"master-{number}", version="9.0.0", holds_data=False) for number in range(2))
    asked = {**ASKED, "nodes": 3}
    record = raced(missing(0, 110), nodes=(*TWO[:1], *masters))
    assert first_violation(record, spec(elasticsearch=asked)) is None
    assert Reason.SHARDS_IN_MOTION not in {it.reason for it in remarks(record, [], "")}
    third = raced(missing(0, 110), nodes=(*TWO, *masters[:1]))
    found = first_violation(third, spec(elasticsearch=asked))
    assert found is not None and found.reason is Reason.REPLICAS_MISSING


@pytest.mark.parametrize(("replicas", "voided"), [(1, True), (2, False), (None, True)])
def test_of_an_index_that_is_only_searched_the_list_of_shards_tells_what_it_was_to_have(
    replicas: int | None, voided: bool
) -> None:
    course = missing(0, 110, copies=1)
    of = replace(course.missing[0], shards=replicas and 1, replicas=replicas)
    record = replace(raced(replace(course, missing=(of,))), indices=())
    found = first_violation(record, spec(elasticsearch=ASKED))
    assert (found is not None and found.reason is Reason.REPLICAS_MISSING) is voided
