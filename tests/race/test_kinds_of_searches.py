"""Searches of each kind that Rally sends, for real: pages, suggestions, ones that draw their index, with a timeout.

A search of a small index ends before any timeout: that one did not is said by a proxy.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap.plan.verdict.violation import Violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.recorded.request_evidence import RequestEvidence

from .proxy import Proxy
from .runner import Runner, asked
from .server import Elasticsearch
from .test_answers import ALL, OTHER, REFRESH, answers, remarked
from .tracks import BULK, CREATE, DOCUMENTS, Json, search, write

OF_SEARCHES = (Reason.SEARCHES_IN_DOUBT, Reason.SEARCHES_WITHOUT_HITS)
BY_TURNS = """
class ByTurns:
    infinite = True
    def __init__(self, track, params, **_):
        self._params, self._sent = params, 0
    def partition(self, index, count):
        return self
    def params(self):
        self._sent += 1
        among = self._params["indices"]
        body = {"query": {"match_all": {}}}
        return {"index": among[(self._sent - 1) % len(among)], "body": body, "request-params": {}}

def register(registry):
    registry.register_param_source("by-turns", ByTurns)
"""


def pages(kind: str, index: str = "t") -> Json:
    """A task that reads three pages of ten hits in each of its requests."""
    body = {**ALL, **({"sort": [{"n": "asc"}]} if kind == "paginated-search" else {})}
    operation = {"operation-type": kind, "name": f"{kind}-op", "index": index, "body": body}
    return {"name": kind, "operation": {**operation, "pages": 3, "results-per-page": 10}, "iterations": 20}


def several(name: str, **operation: object) -> Json:
    """A search that is sent twenty times, at no rate."""
    task = search(name, operation=operation)
    return {"name": name, "operation": task["operation"], "iterations": 20}


def by_turns(name: str, *indices: str) -> Json:
    return several(name, **{"param-source": "by-turns", "indices": list(indices)})


def only(record: Record, task: str) -> Record:
    """Return the record as it would be of a race in which no other task searched."""
    found = record.requests or RequestEvidence()
    steps = tuple(it for it in found.steps if task in it.searches)
    mine = tuple(it for it in found.answers if it.task == task)
    return replace(
        record,
        requests=RequestEvidence(steps, mine),
        tasks=tuple(it for it in record.tasks if it.task in (task, "bulk")),
        track=replace(record.track, tasks=tuple(it for it in record.track.tasks if it.name in (task, "bulk"))),
    )


BUCKETS: Json = {"aggs": {"words": {"composite": {"sources": [{"word": {"terms": {"field": "word"}}}]}}}}
SUGGEST: Json = {
    "suggest": {"near": {"text": "w9", "term": {"field": "word", "min_word_length": 2, "prefix_length": 1}}}
}
GOOD = (
    pages("scroll-search"),
    pages("paginated-search"),
    {
        **several("buckets"),
        "operation": {"operation-type": "composite-agg", "name": "b", "index": "t", "body": BUCKETS},
    },
    several("suggest", body=SUGGEST),
    several("uncounted", body={**ALL, "track_total_hits": False}),
    by_turns("two", "t", "tt"),
    by_turns("some-nowhere", "nope-*", "t"),
)


def test_searches_of_every_kind_that_do_what_they_are_for(runner: Runner, tmp_path: Path) -> None:
    """One draws among patterns of which one matches nothing, which is said and voids nothing."""
    put = {"operation-type": "raw-request", "name": "one", "method": "PUT", "path": "/tt/_doc/1", "body": {"word": "w"}}
    schedule = (CREATE, OTHER, {"name": "put-one", "operation": put}, BULK, REFRESH, *GOOD)
    ran = runner.run(write(tmp_path / "t", *schedule, plugin=BY_TURNS))
    assert first_violation(ran.record, asked()) is None
    found = answers(ran)
    assert set(found) == {str(it["name"]) for it in GOOD}
    assert all(it.complete for it in found.values()), found
    hits = {name: it.hits for name, it in found.items()}
    suggested = hits.pop("suggest")
    assert suggested is not None and 1 <= suggested <= 7, "w0 to w6 are one letter away"
    assert hits == {
        "scroll-search": DOCUMENTS, "paginated-search": DOCUMENTS, "buckets": DOCUMENTS, "uncounted": None,
        "two": DOCUMENTS, "some-nowhere": 0,
    }  # fmt: skip
    assert ran.record.requests is not None
    counted = {it.searches[0]: (it.queries, it.anywhere) for it in ran.record.requests.steps if it.searches}
    # Each page is a search of its own to a shard; what goes to the other index is counted there.
    assert counted["scroll-search"] == counted["paginated-search"] == (60, 60)
    assert counted["suggest"] == (20, 20) and counted["two"] == (10, 20) and counted["some-nowhere"] == (0, 10)
    assert remarked(ran, Reason.SEARCHES_WITHOUT_HITS) == []
    (doubt,) = remarked(ran, Reason.SEARCHES_IN_DOUBT)
    assert set(doubt.split("; ")) == {
        "task some-nowhere: its search reached no shard, sent once more after the task",
        "step 12 (some-nowhere): shards counted 10 searches for 20 requests",
    }


@pytest.mark.long
def test_searches_of_every_kind_that_reach_or_find_nothing(runner: Runner, tmp_path: Path) -> None:
    nowhere = (
        pages("scroll-search", "nope-*"),
        pages("paginated-search", "nope-*"),
        by_turns("drawn", "nope-*", "no-*"),
    )
    never = {"query": {"term": {"word": "never"}}, "track_total_hits": False}
    nothing = {"suggest": {"near": {"text": "quite another", "term": {"field": "word"}}}}
    without = (several("uncounted", body=never), several("suggest", body=nothing))
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, *nowhere, *without, plugin=BY_TURNS))
    for task in (str(it["name"]) for it in nowhere):
        violation = first_violation(only(ran.record, task), asked())
        assert violation == Violation(
            Reason.SEARCHES_HIT_NOTHING,
            f"task {task}: its 20 searches of nope-* reached no shard, there is no such index: correct the index that "
            "the task names",
        )
    for task in ("uncounted", "suggest"):
        record = only(ran.record, task)
        assert first_violation(record, asked()) is None
        (text,) = (it.text for it in remarks(record, [], "") if it.reason in OF_SEARCHES)
        assert text == f"task {task}: its search found nothing in t, sent once more after the task"


@pytest.mark.long
def test_a_search_that_timed_out(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """The proxy says so of each search of t, and not of one whose pattern matches it."""

    def alter(path: str, status: int, content: bytes) -> tuple[int, bytes]:
        if not path.startswith("/t/_search"):
            return status, content
        return status, json.dumps({**json.loads(content), "timed_out": True}).encode()

    short, long = {**ALL, "timeout": "1ms"}, {**ALL, "timeout": "10s"}
    schedule = (several("late"), several("bounded", body=short), several("in-time", index="t*", body=long))
    proxy = Proxy(elasticsearch, alter=alter)
    try:
        track = write(tmp_path / "t", CREATE, BULK, REFRESH, *schedule)
        ran = runner.run(track, hosts=[proxy.host], caFile=None)
    finally:
        proxy.shutdown()
        proxy.server_close()
    violation = ran.violation()
    assert violation.reason is Reason.SEARCHES_INCOMPLETE
    assert violation.message.startswith("task late: its search was sent once more after the task, and it timed out; ")
    # A search that names a timeout may mean it.
    said = {}
    for task in ("bounded", "in-time"):
        record = only(ran.record, task)
        assert first_violation(record, asked()) is None
        said[task] = [it.text for it in remarks(record, [], "") if it.reason in OF_SEARCHES]
    text = "task bounded: its search ended at the timeout that it names: its times are that timeout"
    assert said == {"bounded": [text], "in-time": []}
