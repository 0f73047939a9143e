"""Documents and pipelines that are not what they seem, on a real Elasticsearch, each beside its good neighbour.

This Elasticsearch has neither data streams nor scripts, and one processor, `set_security_user`: what needs more is made
by a proxy that changes answers.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.applied_settings import not_everywhere
from fairlap.plan.verdict.checks import first_violation
from fairlap.plan.verdict.violation import Violation
from fairlap_race.contract.reasons import Reason

from .proxy import Alter, Proxy
from .runner import Ran, Runner, asked
from .server import Elasticsearch
from .tracks import BULK, CREATE, DOCUMENTS, Json, search, write

OF_INTEREST = {
    *(Reason.DOCUMENTS_NOT_COUNTED, Reason.DOCUMENTS_DIVERTED, Reason.PIPELINE_PARTLY_APPLIED),
    *(Reason.PIPELINE_BYPASSED, Reason.PIPELINE_NOT_VERIFIED),
}
SETS: Json = {"set_security_user": {"field": "user", "properties": ["username"]}}
FAILS: Json = {"set_security_user": {"field": "n.user", "properties": ["username"]}}
"""n is a number, and has no place for anything below it"""
IGNORED: Json = {"set_security_user": {**FAILS["set_security_user"], "ignore_failure": True}}
HANDLED: Json = {"set_security_user": {**FAILS["set_security_user"], "on_failure": [SETS]}}


Run = Callable[..., Ran]


@pytest.fixture
def run(runner: Runner, elasticsearch: Elasticsearch) -> Run:
    """Runs a race against an Elasticsearch that has nothing of an earlier one."""

    def fresh(track: Path, **fields: Any) -> Ran:
        elasticsearch.reset()
        return runner.run(track, **fields)

    return fresh


def put(name: str, *processors: Json) -> Json:
    """Return a task that creates a pipeline."""
    body = {"processors": list(processors)}
    return {"operation": {"operation-type": "put-pipeline", "name": f"put-{name}", "id": name, "body": body}}


def through(pipeline: str) -> Json:
    return {**BULK, "operation": {**BULK["operation"], "pipeline": pipeline}}


def lines(**passing: int) -> list[Json]:
    """Return an action line for each document; the first of them name another pipeline, that many for each."""
    found: list[Json] = []
    for pipeline, count in passing.items():
        found += [{"index": {"_index": "t", "pipeline": pipeline}}] * count
    return [*found, *([{"index": {"_index": "t"}}] * (DOCUMENTS - len(found)))]


def counts(ran: Ran) -> list[tuple[Reason, str]]:
    """Return what is remarked on the documents and pipelines of a race that counts."""
    assert first_violation(ran.record, asked()) is None, first_violation(ran.record, asked())
    return [(it.reason, it.text) for it in ran.remarks() if it.reason in OF_INTEREST]


def said(ran: Ran, reason: Reason) -> str:
    """Return the only remark on documents and pipelines of a race that counts."""
    ((found, text),) = counts(ran)
    assert found is reason, text
    return text


def reads(reason: Reason, text: str) -> None:
    assert looks_like(reason.example, text), f"\n{text}\nis not of the form\n{reason.example}"


@pytest.mark.long
def test_documents_through_an_alias(run: Run, tmp_path: Path) -> None:
    ran = run(write(tmp_path / "t", CREATE, BULK, target="a", index={"aliases": {"a": {}}}))
    assert counts(ran) == []
    assert ran.record.track.expected_documents == {"a": DOCUMENTS}
    (index,) = ran.record.indices or ()
    assert (index.name, index.aliases, index.documents, index.indexed) == ("t", ("a",), DOCUMENTS, DOCUMENTS)


@pytest.mark.produces(Reason.DOCUMENT_COUNT_MISMATCH)
def test_a_document_too_many_behind_an_alias(run: Run, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    track = write(tmp_path / "t", CREATE, BULK, search(seconds=15), target="a", index={"aliases": {"a": {}}})
    ran = run(track, meanwhile=lambda _: elasticsearch.ask("POST", "/t/_doc", {"n": 1}))
    assert ran.violation() == Violation(
        Reason.DOCUMENT_COUNT_MISMATCH, f"index a was to hold {DOCUMENTS} documents, Elasticsearch counts 1001"
    )  # fmt: skip


SLOW = {**BULK, "target-throughput": 20, "clients": 1, "operation": {**BULK["operation"], "bulk-size": 5}}


@pytest.mark.long
def test_a_bulk_that_its_neighbour_ends(run: Run, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    parallel = {"parallel": {"completed-by": "search", "tasks": [SLOW, search(seconds=3)]}}
    ran = run(write(tmp_path / "t", CREATE, parallel))
    text = said(ran, Reason.DOCUMENTS_NOT_COUNTED)
    found = (ran.record.indices or ())[0].documents or 0
    assert 0 < found < DOCUMENTS
    assert text == (
        "the documents of index t have no expected number: task bulk ends when completed-by of its parallel element "
        f"is fulfilled; Elasticsearch counts {found} of at most {DOCUMENTS}"
    )
    # Statistics still tell the size of before the last refresh.
    (copies,) = elasticsearch.ask("GET", "/t/_segments")["indices"]["t"]["shards"].values()
    there = sum(segment["size_in_bytes"] for segment in copies[0]["segments"].values() if segment["search"])
    assert ran.record.totals.store_bytes == (ran.record.indices or ())[0].store_bytes == there > 0


@pytest.mark.long
def test_a_bulk_that_ends_its_neighbour_is_counted(run: Run, tmp_path: Path) -> None:
    parallel = {"parallel": {"completed-by": "bulk", "tasks": [{**BULK, "clients": 2}, search(seconds=120)]}}
    ran = run(write(tmp_path / "t", CREATE, parallel))
    assert counts(ran) == [] and ran.record.track.documents.uncounted == ()
    assert ran.record.track.expected_documents == {"t": DOCUMENTS}


@pytest.mark.long
@pytest.mark.produces(Reason.DOCUMENTS_NOT_COUNTED, Reason.SETTINGS_PARTLY_VERIFIED)
def test_an_index_that_the_schedule_deletes(run: Run, tmp_path: Path) -> None:
    drop = {"name": "drop-it", "operation": {"operation-type": "delete-index", "name": "d"}}
    # The good neighbour is in it: what most tracks begin with.
    first = {"name": "clean", "operation": {"operation-type": "delete-index", "name": "c"}}
    ran = run(write(tmp_path / "t", first, CREATE, BULK, drop))
    reads(Reason.DOCUMENTS_NOT_COUNTED, said(ran, Reason.DOCUMENTS_NOT_COUNTED))
    # Nor can anybody read its settings any more.
    wanted = asked(index={"shards": 3}, nodes=1)
    assert first_violation(ran.record, wanted) is None
    (remark,) = not_everywhere(ran.record, wanted)
    reads(Reason.SETTINGS_PARTLY_VERIFIED, remark.text)


def raw(name: str, method: str, path: str, body: Json | None = None) -> Json:
    """Return a task that sends one raw request."""
    operation = {"operation-type": "raw-request", "name": f"{name}-op", "method": method, "path": path}
    return {"name": name, "operation": operation if body is None else {**operation, "body": body}}


@pytest.mark.long
def test_an_index_that_the_schedule_closes(run: Run, tmp_path: Path) -> None:
    """With it Elasticsearch refuses what is asked of all indices, and nobody can count what is in it."""
    seed, shut = raw("seed", "PUT", "/tt/_doc/1", {"n": 1}), raw("shut", "POST", "/t/_close")
    ran = run(write(tmp_path / "t", CREATE, seed, BULK, search(), shut))
    assert said(ran, Reason.DOCUMENTS_NOT_COUNTED) == "index t is closed: its documents could not be counted"
    assert [(it.name, it.documents, it.closed) for it in ran.record.indices or ()] == [
        ("t", None, True),
        ("tt", 1, False),
    ]


@pytest.mark.long
def test_documents_that_a_request_wrote_before_the_bulk(run: Run, tmp_path: Path) -> None:
    ran = run(write(tmp_path / "t", CREATE, raw("seed", "PUT", "/t/_doc/1", {"n": 1}), BULK))
    assert said(ran, Reason.DOCUMENTS_NOT_COUNTED) == (
        "index t holds 1001 documents, 1 more than the track's bulks send: task seed may have written before them"
    )


@pytest.mark.long
def test_documents_behind_an_alias_of_an_index_that_was_made_again(run: Run, tmp_path: Path) -> None:
    drop, again = raw("drop-it", "DELETE", "/t"), {**CREATE, "name": "again"}
    first, second = {**BULK, "name": "first"}, {**BULK, "name": "second"}
    track = write(tmp_path / "t", CREATE, first, drop, again, second, target="a", index={"aliases": {"a": {}}})
    assert said(run(track), Reason.DOCUMENTS_NOT_COUNTED) == (
        "index a holds 1000 of 2000 documents, and task drop-it deleted indices, which may have stood behind it"
    )


@pytest.mark.long
def test_an_index_beside_the_one_that_is_measured_may_have_other_settings(run: Run, tmp_path: Path) -> None:
    body = {"settings": {"number_of_replicas": 0, "number_of_shards": 1}}
    put = {"operation-type": "raw-request", "name": "put", "method": "PUT", "path": "/lookup", "body": body}
    track = write(tmp_path / "t", CREATE, {"name": "lookup", "operation": put}, BULK, settings={"number_of_shards": 2})
    ran = run(track)
    assert counts(ran) == []
    two, three = (asked(index={"shards": number}, nodes=1) for number in (2, 3))
    assert first_violation(ran.record, two) is None
    assert [it.text for it in not_everywhere(ran.record, two)] == [
        "index lookup: index.number_of_shards was to be 2, Elasticsearch has 1; no bulk names it, and index t has it"
    ]
    assert ran.violation(index={"shards": 3}, nodes=1).reason is Reason.SETTINGS_NOT_APPLIED
    assert not [*not_everywhere(ran.record, three)]


@pytest.mark.long
def test_a_small_index_that_a_request_fills_stands_beside(run: Run, tmp_path: Path) -> None:
    """What a request writes is no bulk of the track's; where it is all that is searched, it is what is measured."""

    def filled(documents: int) -> Ran:
        lines = "".join(f'{{"index": {{"_index": "lookup"}}}}\n{{"n": {n}}}\n' for n in range(documents))
        fill = {"operation-type": "raw-request", "name": "f", "method": "POST", "path": "/_bulk", "body": lines,
                "headers": {"Content-Type": "application/x-ndjson"}}  # fmt: skip
        body = {"settings": {"number_of_replicas": 0, "number_of_shards": 1}}
        make = {"operation-type": "raw-request", "name": "m", "method": "PUT", "path": "/lookup", "body": body}
        schedule = (CREATE, BULK, {"name": "make", "operation": make}, {"name": "fill", "operation": fill})
        return run(write(tmp_path / str(documents), *schedule, settings={"number_of_shards": 2}))

    spec, few, many = asked(index={"shards": 2}, nodes=1), filled(5), filled(500)
    assert first_violation(few.record, spec) is None
    assert "no bulk names it, and index t has it" in next(not_everywhere(few.record, spec)).text
    found = first_violation(many.record, spec)
    assert found is not None and found.reason is Reason.SETTINGS_NOT_APPLIED


WRITES = """
class Writes:
    infinite = True
    def __init__(self, track, params, **_):
        self._path = params["to"]
    def partition(self, index, count):
        return self
    def params(self):
        return {"method": "POST", "path": self._path, "body": {"n": 1} if "_doc" in self._path else {}}

def register(registry):
    registry.register_param_source("writes", Writes)
"""


@pytest.mark.long
@pytest.mark.parametrize(("to", "more"), [("/t/_doc", 20), ("/t/_search", 0)], ids=["writes", "reads"])
def test_requests_that_only_their_parameter_source_knows(run: Run, tmp_path: Path, to: str, more: int) -> None:
    operation = {"operation-type": "raw-request", "name": "o", "param-source": "writes", "to": to}
    own = {"name": "own", "operation": operation, "iterations": 20}
    ran = run(write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, own, plugin=WRITES))
    text = (
        "the documents have no expected number: task own may write or remove documents in a way that cannot be told "
        f"beforehand; Elasticsearch counts {DOCUMENTS + more} (t {DOCUMENTS + more})"
    )
    assert counts(ran) == ([(Reason.DOCUMENTS_NOT_COUNTED, text)] if more else [])


class Transforming(Proxy):
    """Answers as an Elasticsearch with transforms: one that was started writes into its index for a second."""

    def answered(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes] | None:
        if not path.startswith("/_transform/"):
            return None
        if path.split("?", maxsplit=1)[0].endswith("/_start"):
            threading.Thread(target=self._work, daemon=True).start()
        return 200, b'{"acknowledged": true}'

    def _work(self) -> None:
        body = {"settings": {"number_of_replicas": 0, "number_of_shards": 1}}
        self.elasticsearch.ask("PUT", "/sums", body)
        for number in range(7):
            self.elasticsearch.ask("POST", "/sums/_doc", {"word": f"w{number}"})
            time.sleep(0.1)


@pytest.mark.long
def test_a_transform_that_works_in_the_background(run: Run, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """Its documents are no bulk's, and its index need not be as the track's was to be."""
    pivot = {"group_by": {"word": {"terms": {"field": "word"}}}, "aggregations": {"n": {"avg": {"field": "n"}}}}
    body = {"source": {"index": "t"}, "dest": {"index": "sums"}, "pivot": pivot}
    create = {"operation-type": "create-transform", "name": "c", "transform-id": "x", "body": body}
    start = {"operation-type": "start-transform", "name": "s", "transform-id": "x"}
    schedule = (CREATE, BULK, {"operation": "refresh"}, {"name": "create-it", "operation": create},
                {"name": "start-it", "operation": start}, search(seconds=4))  # fmt: skip
    proxy = Transforming(elasticsearch)
    try:
        track = write(tmp_path / "t", *schedule, settings={"number_of_shards": 2})
        ran = run(track, hosts=[proxy.host], caFile=None)
    finally:
        proxy.shutdown()
        proxy.server_close()
    spec = asked(index={"shards": 2}, nodes=1)
    assert first_violation(ran.record, spec) is None
    assert [it.text for it in not_everywhere(ran.record, spec)] == [
        "index sums: index.number_of_shards was to be 2, Elasticsearch has 1; a transform makes it, and index t has it"
    ]
    text = said(ran, Reason.DOCUMENTS_NOT_COUNTED)
    assert "task create-it may write" in text and "task start-it may write" in text
    assert text.endswith(f"Elasticsearch counts {DOCUMENTS + 7} (sums 7, t {DOCUMENTS})")


@pytest.mark.long
def test_action_lines_are_counted_together(run: Run, tmp_path: Path) -> None:
    same = [{"index": {"_index": "t", "_id": str(number // 2)}} for number in range(DOCUMENTS)]
    text = said(run(write(tmp_path / "same", CREATE, BULK, actions=same)), Reason.DOCUMENTS_NOT_COUNTED)
    assert text.endswith("Elasticsearch counts 500 of at most 1000 (t 500)") and "task bulk sends documents" in text
    assert counts(run(write(tmp_path / "each", CREATE, BULK, actions=lines()))) == []


@pytest.mark.produces(Reason.DOCUMENTS_DIVERTED)
def test_documents_elsewhere(run: Run, tmp_path: Path) -> None:
    """Elasticsearch makes a date of the name, as a reroute or date_index_name processor does of a document's."""
    ran = run(write(tmp_path / "t", BULK, target="<other-{now/d}>"))
    text = said(ran, Reason.DOCUMENTS_DIVERTED)
    assert text.startswith("index <other-{now/d}> holds 0 of 1000 documents: the others are in indices other-")
    reads(Reason.DOCUMENTS_DIVERTED, text.replace("<other-{now/d}>", "t").split("other-2")[0] + "other")


@pytest.mark.long
def test_a_user_knows_better(run: Run, tmp_path: Path) -> None:
    same = [{"index": {"_index": "t", "_id": str(number // 2)}} for number in range(DOCUMENTS)]
    track = write(tmp_path / "t", CREATE, BULK, actions=same)
    ran = run(track, expect={"documents": {"t": 500}})
    assert counts(ran) == [] and ran.record.track.documents.stated.documents == {"t": 500}
    assert run(track, expect={"totalDocuments": 501}).violation() == Violation(
        Reason.DOCUMENT_COUNT_MISMATCH,
        "race.expect.totalDocuments: the race was to leave 501 documents, Elasticsearch counts 500",
    )


DEFAULT: Json = {"settings": {"index.default_pipeline": "p"}}


@pytest.mark.long
@pytest.mark.produces(Reason.PIPELINE_NOT_APPLIED)
def test_a_default_pipeline_that_every_document_passes_by(run: Run, tmp_path: Path) -> None:
    ran = run(write(tmp_path / "t", put("p", SETS), CREATE, BULK, actions=lines(_none=DOCUMENTS), **DEFAULT))
    assert ran.violation() == Violation(
        Reason.PIPELINE_NOT_APPLIED,
        "ingest pipeline p, default_pipeline of index t, processed none of the 1000 documents indexed there",
    )


@pytest.mark.long
@pytest.mark.produces(Reason.PIPELINE_BYPASSED)
def test_a_default_pipeline_that_some_documents_pass_by(run: Run, tmp_path: Path) -> None:
    schedule = (put("p", SETS), put("q", SETS), CREATE, BULK)
    ran = run(write(tmp_path / "t", *schedule, actions=lines(_none=60, q=40), **DEFAULT))
    reads(Reason.PIPELINE_BYPASSED, said(ran, Reason.PIPELINE_BYPASSED))
    # Their good neighbours: the same index without such lines, and a request that names another pipeline.
    assert counts(run(write(tmp_path / "u", *schedule, **DEFAULT))) == []
    assert counts(run(write(tmp_path / "v", *schedule[:-1], through("q"), **DEFAULT))) == []


@pytest.mark.long
def test_a_final_pipeline_is_counted(run: Run, tmp_path: Path) -> None:
    track = write(tmp_path / "t", put("p", SETS), CREATE, BULK, settings={"index.final_pipeline": "p"})
    ran = run(track)
    assert counts(ran) == []
    (pipeline,) = (it for it in ran.record.pipelines or () if it.name == "p")
    assert pipeline.count == DOCUMENTS and pipeline.work is not None and pipeline.work.done == DOCUMENTS


@pytest.mark.long
@pytest.mark.produces(Reason.PIPELINE_NOT_APPLIED)
def test_a_pipeline_whose_failures_are_all_ignored(run: Run, tmp_path: Path) -> None:
    ran = run(write(tmp_path / "t", put("p", IGNORED), CREATE, through("p")))
    assert ran.violation() == Violation(
        Reason.PIPELINE_NOT_APPLIED,
        "ingest pipeline p did nothing for its 1000 documents: processor 1 (set_security_user) failed for 1000 of 1000 "
        "documents, which is ignored or handled",
    )


@pytest.mark.long
@pytest.mark.produces(Reason.PIPELINE_PARTLY_APPLIED)
def test_a_pipeline_of_which_a_part_fails(run: Run, tmp_path: Path) -> None:
    ran = run(write(tmp_path / "t", put("p", IGNORED, SETS, HANDLED), CREATE, through("p")))
    text = said(ran, Reason.PIPELINE_PARTLY_APPLIED)
    reads(Reason.PIPELINE_PARTLY_APPLIED, text)
    assert "processor 1 (set_security_user) failed" in text and "processor 3 (set_security_user) failed" in text
    whole = run(write(tmp_path / "u", put("p", SETS), CREATE, through("p")))
    assert counts(whole) == []
    # Action lines may name it, too.
    lined = run(write(tmp_path / "v", put("p", IGNORED, SETS), CREATE, BULK, actions=lines(p=DOCUMENTS)))
    assert "processor 1 (set_security_user) failed for 1000" in said(lined, Reason.PIPELINE_PARTLY_APPLIED)


@pytest.mark.long
@pytest.mark.produces(Reason.PIPELINE_NOT_VERIFIED)
def test_a_pipeline_without_processors(run: Run, tmp_path: Path) -> None:
    ran = run(write(tmp_path / "t", put("p"), CREATE, through("p")))
    reads(Reason.PIPELINE_NOT_VERIFIED, said(ran, Reason.PIPELINE_NOT_VERIFIED))
    request = {"operation-type": "raw-request", "method": "DELETE", "path": "/_ingest/pipeline/p"}
    deletes = {"name": "gone", "operation": {**request, "name": "d"}}
    ran = run(write(tmp_path / "u", put("p", SETS), CREATE, through("p"), deletes))
    assert said(ran, Reason.PIPELINE_NOT_VERIFIED).endswith("a task deletes it, and its counters with it")


@pytest.mark.long
def test_a_hundred_and_one_pipelines_count(run: Run, tmp_path: Path) -> None:
    names = [f"p{number:03}" for number in range(101)]
    put_one = {"operation-type": "raw-request", "method": "PUT", "body": {"processors": [SETS]}}
    requests = [{**put_one, "name": f"put-{name}", "path": f"/_ingest/pipeline/{name}"} for name in names]
    puts = {"name": "puts", "operation": {"operation-type": "composite", "requests": requests}}
    actions: list[Json] = [{"index": {"_index": "t", "pipeline": name}} for name in names]
    documents: list[Json] = [{"n": number} for number in range(len(names))]
    track = write(tmp_path / "t", puts, CREATE, BULK, actions=actions, documents=documents)
    ran = run(track)
    assert counts(ran) == []
    done = {it.name: it.count for it in ran.record.pipelines or () if it.name in names}
    assert done == dict.fromkeys(names, 1)


@contextmanager
def altered(elasticsearch: Elasticsearch, alter: Alter) -> Iterator[Json]:
    """Give the fields of a race's spec that lead it through a proxy, which changes answers."""
    proxy = Proxy(elasticsearch, alter=alter)
    try:
        yield {"hosts": [proxy.host], "caFile": None}
    finally:
        proxy.shutdown()
        proxy.server_close()


@pytest.mark.long
def test_documents_that_a_drop_processor_dropped(run: Run, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """The proxy calls the first processor drop, says that it ran for ten documents, and that so many are missing."""

    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path.startswith("/t/_count"):
            return status, body.replace(b'"count":1000', b'"count":990')
        if not path.startswith("/_nodes/stats/ingest"):
            return status, body
        answer: Any = json.loads(body)
        for node in answer["nodes"].values():
            for it in (node["ingest"]["pipelines"].get("p") or {}).get("processors") or ():
                it["set_security_user"] = {"type": "drop", "stats": {**it["set_security_user"]["stats"], "count": 10}}
        return status, json.dumps(answer).encode()

    track = write(tmp_path / "t", put("p", SETS), CREATE, through("p"))
    with altered(elasticsearch, alter) as way:
        text = said(run(track, **way), Reason.DOCUMENTS_DIVERTED)
    assert text == "index t holds 990 of 1000 documents: drop processors of ingest pipeline p dropped 10"


@pytest.mark.long
@pytest.mark.produces(Reason.DOCUMENT_COUNT_MISMATCH)
def test_documents_in_a_failure_store(run: Run, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """The proxy shows a data stream that has a failure store with twelve documents, and one without any."""
    name, twelve = ".fs-logs-2026.01.01-000001", {"number": 12}

    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path.startswith("/_data_stream"):
            stream = {"name": "logs", "indices": [], "failure_store": {"indices": [{"index_name": name}]}}
            return 200, json.dumps({"data_streams": [stream]}).encode()
        if path.startswith(f"/{name}/"):
            return 200, json.dumps({"count": twelve["number"], "_shards": {"failed": 0}}).encode()
        return status, body

    track = write(tmp_path / "t", CREATE, BULK)
    with altered(elasticsearch, alter) as way:
        assert run(track, **way).violation() == Violation(
            Reason.DOCUMENT_COUNT_MISMATCH, "data stream logs: 12 documents failed and are in its failure store"
        )  # fmt: skip
        twelve["number"] = 0
        ran = run(track, **way)
    assert counts(ran) == [] and ran.record.failure_stores == {"logs": 0}


@pytest.mark.long
@pytest.mark.parametrize(("idle", "words"), [(1, "processor 1 (set_security_user) never ran, for its `if`"), (2, "")])
def test_processors_whose_condition_never_holds(
    run: Run, elasticsearch: Elasticsearch, tmp_path: Path, idle: int, words: str
) -> None:
    """A condition is a script: the proxy says of the first, or of both processors, that it never ran."""

    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if not path.startswith("/_nodes/stats/ingest"):
            return status, body
        answer: Any = json.loads(body)
        for node in answer["nodes"].values():
            for it in ((node["ingest"]["pipelines"].get("p") or {}).get("processors") or ())[:idle]:
                it["set_security_user"]["stats"]["count"] = 0
        return status, json.dumps(answer).encode()

    track = write(tmp_path / "t", put("p", SETS, SETS), CREATE, through("p"))
    with altered(elasticsearch, alter) as way:
        ran = run(track, **way)
    if words:
        assert words in said(ran, Reason.PIPELINE_PARTLY_APPLIED)
    else:
        violation = ran.violation()
        assert violation.reason is Reason.PIPELINE_NOT_APPLIED and "did nothing for its 1000" in violation.message


@pytest.mark.long
def test_documents_through_a_data_stream(run: Run, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """The proxy shows as a data stream what is an alias, and no alias."""

    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path.startswith("/_data_stream"):
            stream = {"name": "s", "indices": [{"index_name": "t", "index_uuid": "u"}]}
            return 200, json.dumps({"data_streams": [stream]}).encode()
        return (200, b"{}") if path.startswith("/_all/_alias") else (status, body)

    track = write(tmp_path / "t", CREATE, BULK, target="s", index={"aliases": {"s": {}}})
    with altered(elasticsearch, alter) as way:
        ran = run(track, **way)
    assert counts(ran) == []
    (index,) = ran.record.indices or ()
    assert (index.name, index.data_stream, index.aliases) == ("t", "s", ())
