"""What Rally keeps of requests in less memory answers as its own store does, also after its way between processes."""

import datetime
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally import config, metrics
from esrally.driver import driver
from esrally.track import track

from fairlap_race.rally.inside import lean_documents
from fairlap_race.rally.inside.lean_documents import LeanDocument


class Lean(metrics.InMemoryMetricsStore):  # type: ignore[misc]
    pass


lean_documents.install(Lean)
SEARCH = track.Task("search", track.Operation("of logs", "search", param_source="search"))
BULK = track.Task("bulk", track.Operation("bulk", "bulk", param_source="bulk"))
METAS = (
    {"success": True, "hits": 5, "took": 3},
    {"success": False, "error-type": "transport", "http-status": 503, "error-description": "no"},
    {"success": True, "weight": 1.0},
    {"success": True, "weight": 1},
    {"success": True, "weight": True, "shards": {"total": 2}},
)


def samples() -> Iterator[Any]:
    for number in range(300):
        yield driver.Sample(
            client_id=number % 2, absolute_time=1_700_000_000 + number / 7, request_start=number / 7, task_start=0.0,
            task=(SEARCH, BULK)[number % 3 == 0], sample_type=metrics.SampleType(int(number > 40)), throughput=None,
            request_meta_data=dict(METAS[number * 7 % 11 % len(METAS)]), latency=0.01 + number / 1e4, total_ops=1,
            service_time=0.009, processing_time=0.0095 + number / 1e5, total_ops_unit="ops", time_period=number / 7,
            percent_completed=None,
        )  # fmt: skip


def filled(kind: Any) -> Any:
    """Return a store of the race control, filled as a race fills it: with what its driver has sent."""
    settings = config.Config()
    settings.add(config.Scope.application, "system", "env.name", "test")
    settings.add(config.Scope.application, "track", "params", {"documents": 12, "nested": [1, {"a": None}]})
    settings.add(config.Scope.application, "race", "user.tags", {"team": "a"})
    stores = [kind(settings), kind(settings)]
    for store in stores:
        store.open("race", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "t", "c", "car", create=True)
    of_driver, of_race = stores
    post = driver.SamplePostprocessor(of_driver, 1, {}, {})
    every = list(samples())
    for start in range(0, len(every), 100):
        post(every[start : start + 100])
        of_driver.put_value_node_level("node-1", "young_gc", 12, "ms")
        of_driver.put_doc({"name": "ml_processing_time", "job": "j", "min": 1}, level=None)
        of_race.bulk_add(of_driver.to_externalizable(clear=True))
    return of_race


def told(store: Any) -> Any:
    """Return what a store answers to all that Rally asks of it."""
    kinds = (None, *metrics.SampleType)
    names = ("latency", "service_time", "processing_time")
    asked = [(name, task, kind) for name in names for task in (None, "search", "bulk", "other") for kind in kinds]
    return (
        [store.get(name, task, sample_type=kind) for name, task, kind in asked],
        [store.get_percentiles(name, task, sample_type=kind) for name, task, kind in asked],
        [store.get_stats(name, task, sample_type=kind) for name, task, kind in asked],
        [store.get_error_rate(task, sample_type=kind) for task in ("search", "bulk") for kind in kinds],
        [store.get_unit(name, task) for name, task, _ in asked],
        [
            store.get_one(name, task=task, sort_key="relative-time", sort_reverse=True)
            for name, task, _ in asked
            if task != "other"
        ],
        store.get("young_gc", node_name="node-1"),
        [json.loads(json.dumps(dict(it), sort_keys=True)) for it in store.docs],
    )


def test_it_answers_as_rally_does() -> None:
    # Rally's clock is in what was put at no time of a request.
    def timeless(answers: Any) -> Any:
        for document in answers[-1]:
            if document["name"] not in lean_documents.TIMES:
                del document["@timestamp"], document["relative-time"]
        return answers

    assert timeless(told(filled(Lean))) == timeless(told(filled(metrics.InMemoryMetricsStore)))


def test_the_times_of_requests_are_lean_and_nothing_else_is() -> None:
    store = filled(Lean)
    assert {it["name"] for it in store.docs if isinstance(it, LeanDocument)} == lean_documents.TIMES
    assert {it["name"] for it in store.docs if isinstance(it, dict)} == {"throughput", "young_gc", "ml_processing_time"}


def test_what_documents_have_alike_is_there_once() -> None:
    lean = [it for it in filled(Lean).docs if isinstance(it, LeanDocument)]
    assert len(lean) == 900
    assert len({id(it._alike) for it in lean}) == 12, "three times of two tasks, warm-up and measured"
    assert len({id(it._names) for it in lean}) == 4
    three = [it for it in lean if it["@timestamp"] == lean[-1]["@timestamp"]]
    assert len(three) == 3 and len({id(it._meta) for it in three}) == 1


def test_a_lean_document_reads_like_a_dictionary() -> None:
    (document,) = (it for it in filled(Lean).docs[:1] if isinstance(it, LeanDocument))
    assert dict(document) == {key: document[key] for key in document} and len(document) == len(dict(document))
    assert document.get("no-such") is None and "no-such" not in document
    with pytest.raises(KeyError):
        document["no-such"]
