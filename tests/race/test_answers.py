"""Whether requests did what they were for, against a real Elasticsearch: each finding, and its good neighbour."""

import json
from pathlib import Path

import pytest

from fairlap.comparison.facts.race_facts import record_facts
from fairlap.plan.verdict.checks import first_violation
from fairlap.plan.verdict.violation import Violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.request_evidence import SearchAnswer

from .proxy import Proxy
from .runner import Ran, Runner, asked
from .server import Elasticsearch
from .test_reasons import produced, reads
from .tracks import BULK, CREATE, DOCUMENTS, Json, search, write

REFRESH: Json = {"operation": "refresh"}
SORTED = {"body": {"query": {"match_all": {}}, "sort": ["n"], "size": 5}}
ALL: Json = {"query": {"match_all": {}}}
NEVER: Json = {"body": {"query": {"term": {"word": "never"}}}}
BY_WORD = {"body": {"query": {"match_all": {}}, "sort": ["word"]}}
# Another index in which the same field cannot be sorted by: its shards fail, and those of t do not.
OTHER: Json = {
    "name": "other",
    "operation": {"operation-type": "raw-request", "name": "put-other", "method": "PUT", "path": "/tt",
                  "body": {"mappings": {"properties": {"word": {"type": "text"}}},
                           "settings": {"number_of_replicas": 0}}},
}  # fmt: skip
TWO = '{"index": "t"}\n{"query": {"match_all": {}}}\n{"index": "nowhere"}\n{"query": {"match_all": {}}}\n'
MULTI = {"operation-type": "raw-request", "name": "m", "method": "POST", "path": "/_msearch", "body": TWO,
         "headers": {"Content-Type": "application/x-ndjson"}}  # fmt: skip
NAMED = [{"index": {"_index": "t", "_id": f"d{number}"}} for number in range(DOCUMENTS)]


def answers(ran: Ran) -> dict[str, SearchAnswer]:
    assert ran.record.requests is not None
    return {it.task: it for it in ran.record.requests.answers if it.when == "after"}


def remarked(ran: Ran, reason: Reason) -> list[str]:
    return [remark.text for remark in ran.remarks() if remark.reason is reason]


@pytest.mark.produces(Reason.SEARCHES_WITHOUT_HITS)
def test_searches_that_do_what_they_are_for(runner: Runner, tmp_path: Path) -> None:
    """A pattern that matches, the order of a field, and one that finds nothing, which is said and voids nothing."""
    schedule = (search(), search("by-n", index="t*", operation=SORTED), search("never", operation=NEVER))
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, *schedule))
    assert first_violation(ran.record, asked()) is None
    found = answers(ran)
    assert set(found) == {"search", "by-n", "never"}
    assert {(it.shards, it.successful, it.failed, it.trouble, it.settled) for it in found.values()} == {
        (1, 1, 0, "", True)
    }
    assert (found["search"].hits, found["by-n"].hits, found["never"].hits) == (DOCUMENTS, DOCUMENTS, 0)
    assert found["search"].content is None and found["by-n"].content, "only a field's order is the same in each race"
    facts = record_facts(ran.record)
    assert facts[f"ran: task by-n: answer to {found['by-n'].request}: hits"] == str(DOCUMENTS)
    # Each request was counted by a shard, and by no other step: what was sent once more is in no count.
    evidence = ran.record.requests
    assert evidence is not None
    requests = {task.task: task.samples.warmup + task.samples.normal for task in ran.record.tasks}
    assert {it.searches: it.queries for it in evidence.steps if it.searches} == {
        (name,): requests[name] for name in found
    }
    assert all(it.writes_rejected == 0 for it in evidence.steps)
    (text,) = remarked(ran, Reason.SEARCHES_WITHOUT_HITS)
    reads(Reason.SEARCHES_WITHOUT_HITS, text.replace("task never", "task search"))
    assert not remarked(ran, Reason.SEARCHES_IN_DOUBT) and not remarked(ran, Reason.REQUESTS_REJECTED)


@pytest.mark.long
@pytest.mark.produces(Reason.SEARCHES_HIT_NOTHING)
def test_a_pattern_that_matches_nothing(runner: Runner, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, BULK, REFRESH, search("nothing", index="nope-*"))
    produced(Reason.SEARCHES_HIT_NOTHING, runner.run(track).violation())


def raw(name: str, path: str, body: object = None) -> Json:
    """Return a task that sends one raw request again and again."""
    operation = {"operation-type": "raw-request", "name": f"{name}-op", "method": "GET" if body is None else "POST"}
    operation |= {"path": path, **({} if body is None else {"body": body})}
    if path.endswith("_msearch"):
        operation["headers"] = {"Content-Type": "application/x-ndjson"}
    return {"name": name, "operation": operation, "iterations": 20}


@pytest.mark.long
@pytest.mark.produces(Reason.SEARCHES_HIT_NOTHING)
def test_a_raw_request_to_a_pattern_that_matches_nothing(runner: Runner, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, BULK, REFRESH, raw("nothing", "/nope-*/_search", ALL))
    produced(Reason.SEARCHES_HIT_NOTHING, runner.run(track).violation())


@pytest.mark.long
def test_fields_of_a_pattern_that_matches_nothing(runner: Runner, tmp_path: Path) -> None:
    """What has no hits and is counted by no shard names the indices that it looked into."""

    def fields(name: str, index: str) -> Json:
        return {"name": name, "operation": {"operation-type": "field-caps", "name": f"{name}-op", "index": index},
                "iterations": 20}  # fmt: skip

    schedule = (fields("fields", "t*"), fields("nothing", "nope-*"))
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, *schedule))
    assert {name: (it.shards, it.hits) for name, it in answers(ran).items()} == {
        "fields": (1, None),
        "nothing": (0, None),
    }
    assert ran.violation() == Violation(
        Reason.SEARCHES_HIT_NOTHING,
        "task nothing: its 20 searches of nope-* reached no shard, there is no such index: correct the index that the "
        "task names",
    )
    assert remarked(ran, Reason.SEARCHES_IN_DOUBT) == [
        "task nothing: its search reached no shard, sent once more after the task"
    ]
    assert not remarked(ran, Reason.SEARCHES_WITHOUT_HITS)


@pytest.mark.long
def test_raw_requests_that_do_what_they_are_for(runner: Runner, tmp_path: Path) -> None:
    """Those that match, several in one of which a part reaches or finds nothing, and one that is no search."""
    several = [{"index": "t"}, {**ALL, "timeout": "10s"}, {"index": "nope-*"}, ALL, {"index": "t*"}, NEVER["body"]]
    lines = "".join(f"{json.dumps(line)}\n" for line in several)
    schedule = (raw("match", "/t*/_search", ALL), raw("several", "/_msearch", lines), raw("cat", "/_cat/indices"))
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, REFRESH, *schedule))
    assert first_violation(ran.record, asked()) is None
    found = answers(ran)
    assert {name: (it.shards, it.hits) for name, it in found.items()} == {
        "match": (1, DOCUMENTS), "several": (2, DOCUMENTS)
    }  # fmt: skip
    assert (found["several"].items, found["several"].items_nowhere, found["several"].items_without_hits) == (3, 1, 1)
    evidence = ran.record.requests
    assert evidence is not None
    assert {it.others: it.anywhere for it in evidence.steps if it.others} == {("match",): 20, ("several",): 40}
    assert remarked(ran, Reason.SEARCHES_IN_DOUBT) == [
        "task several: 1 of 3 searches in it reached no shard, sent once more after the task"
    ]
    assert remarked(ran, Reason.SEARCHES_WITHOUT_HITS) == [
        "task several: 1 of 3 searches in it found nothing, sent once more after the task"
    ]
    assert not remarked(ran, Reason.MACHINE_FIGURES_INCOMPLETE)


@pytest.mark.produces(Reason.SEARCHES_INCOMPLETE)
@pytest.mark.parametrize(
    "multiple", [pytest.param(False, id="shards"), pytest.param(True, id="multi-search", marks=pytest.mark.long)]
)
def test_an_answer_in_part(runner: Runner, tmp_path: Path, *, multiple: bool) -> None:
    partial = search(index="t,tt", operation=BY_WORD)
    several = {"name": "search", "operation": MULTI, "iterations": 20}
    ran = runner.run(write(tmp_path / "t", CREATE, OTHER, BULK, REFRESH, several if multiple else partial))
    if multiple:
        violation = ran.violation()
        assert violation.reason is Reason.SEARCHES_INCOMPLETE
        assert "1 of 2 searches in it failed (index_not_found_exception)" in violation.message
    else:
        produced(Reason.SEARCHES_INCOMPLETE, ran.violation())


@pytest.mark.long
@pytest.mark.produces(Reason.SEARCHES_IN_DOUBT)
def test_an_answer_in_part_that_the_search_allows(runner: Runner, tmp_path: Path) -> None:
    allowed = {**BY_WORD, "request-params": {"allow_partial_search_results": "true"}}
    ran = runner.run(write(tmp_path / "t", CREATE, OTHER, BULK, REFRESH, search(index="t,tt", operation=allowed)))
    assert first_violation(ran.record, asked()) is None
    (text,) = remarked(ran, Reason.SEARCHES_IN_DOUBT)
    reads(Reason.SEARCHES_IN_DOUBT, text)


class Refusing:
    """Says of the first bulk that some of its documents were refused: with 429, and with 400 for `bad` of them."""

    def __init__(self, bad: int) -> None:
        self._bad, self._looks = bad, 0
        self.done = False

    def __call__(self, path: str, status: int, content: bytes) -> tuple[int, bytes]:
        if path.startswith("/_nodes/stats/thread_pool"):
            self._looks += 1
            answer = json.loads(content)
            for node in answer["nodes"].values():
                node["thread_pool"]["write"]["rejected"] += 3 * self._looks
        elif path.startswith("/_bulk") and not self.done:
            self.done, answer = True, json.loads(content)
            answer["errors"] = True
            for number in range(self._bad + 1):
                (result,) = answer["items"][number].values()
                result["status"] = 400 if number < self._bad else 429
                result["error"] = {"type": "rejected", "reason": "because"}
        else:
            return status, content
        return status, json.dumps(answer).encode()


@pytest.mark.produces(Reason.DOCUMENTS_LOST, Reason.REQUESTS_REJECTED)
@pytest.mark.parametrize("bad", [pytest.param(0, marks=pytest.mark.long), 2], ids=["taken", "lost"])
def test_bulks_that_are_sent_again(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path, bad: int) -> None:
    """Documents with names of their own: sending one again changes nothing, and the track says no number of them."""
    bulk = {**BULK, "operation": {**BULK["operation"], "retries_on_429": 3}}
    track = write(tmp_path / "t", CREATE, bulk, actions=NAMED)
    proxy = Proxy(elasticsearch, alter=Refusing(bad))
    try:
        ran = runner.run(track, hosts=[proxy.host], caFile=None)
    finally:
        proxy.shutdown()
        proxy.server_close()
    (task,) = (it for it in ran.record.tasks if it.task == "bulk")
    assert task.errors.normal == 0 and task.units_done == DOCUMENTS - bad, "Rally counts the bulk as success"
    if bad:
        produced(Reason.DOCUMENTS_LOST, ran.violation())
    else:
        assert first_violation(ran.record, asked()) is None
    (text,) = remarked(ran, Reason.REQUESTS_REJECTED)
    reads(Reason.REQUESTS_REJECTED, text)


@pytest.mark.long
def test_the_smoke_test_looks_before_each_search_too(runner: Runner, tmp_path: Path) -> None:
    early = search("early", operation=SORTED)
    ran = runner.run(write(tmp_path / "t", CREATE, early, BULK, REFRESH, search()), mode="smoke")
    assert first_violation(ran.record, asked()) is None
    assert ran.record.requests is not None
    found = {(it.task, it.when): it.hits for it in ran.record.requests.answers}
    every = {("early", "before"): 0, ("early", "after"): 0, ("search", "before"): DOCUMENTS}
    assert found == {**every, ("search", "after"): DOCUMENTS}
    (text,) = remarked(ran, Reason.SEARCHES_WITHOUT_HITS)
    assert "task early" in text and "task search" not in text
