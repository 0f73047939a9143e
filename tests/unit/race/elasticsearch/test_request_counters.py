"""How Elasticsearch's counters grew between two looks, and when that cannot be told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.cluster_course import TaskCaches
from fairlap_race.elasticsearch.client import ElasticsearchError
from fairlap_race.elasticsearch.request_counters import (
    RequestCounters,
    ask_counters,
    ask_shards,
    caches_between,
    queries_between,
    read_counters,
    rejected_between,
)

Caches = dict[str, dict[str, float]]
COUNTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 99))


def node(writes: int, searches: int, **pressure: int) -> dict[str, Any]:
    found: dict[str, Any] = {"thread_pool": {"write": {"rejected": writes}, "search": {"rejected": searches}}}
    if pressure:
        found["indexing_pressure"] = {"memory": {"total": pressure}}
    return found


def test_reading() -> None:
    stats = {
        "indices": {"t": {"total": {"search": {"query_total": 5}, "segments": {"index_writer_memory_in_bytes": 0}}}}
    }
    nodes = {"nodes": {"x": node(1, 2, coordinating_rejections=3, primary_rejections=4), "y": node(5, 0), "z": {}}}
    found = read_counters(stats, nodes)
    assert found == RequestCounters({"t": 5}, {"t": 0}, {"x": (8, 2), "y": (5, 0)})
    stats["indices"]["t"]["total"]["search"]["suggest_total"] = 40
    assert read_counters(stats, nodes).queries == {"t": 45}, "a search for suggestions alone is counted apart"
    assert read_counters({}, {}) == RequestCounters() == read_counters(None, None)


@pytest.mark.parametrize(
    ("start", "end", "within", "found"),
    [
        ({"t": 5}, {"t": 45}, {"t"}, 40),
        ({"t": 5}, {"t": 45, "new": 3}, {"t", "new"}, 43),
        ({"t": 5, "u": 1}, {"t": 45, "u": 9}, {"t"}, 40),
        ({"t": 5}, {"t": 5}, set(), 0),
        ({"t": 5}, {}, {"t"}, None),
        ({"t": 5, "gone": 0}, {"t": 45}, {"t", "gone"}, None),
        ({"t": 5, "another": 0}, {"t": 45}, {"t"}, 40),
        ({"t": 45}, {"t": 5}, {"t"}, None),
        # Who may search an index and not monitor it is shown no count of it.
        ({"t": 5}, {"t": 45}, {"t", "hidden"}, None),
    ],
)
def test_searches_between(start: Any, end: Any, within: Any, found: int | None) -> None:
    assert queries_between(RequestCounters(start), RequestCounters(end), within) == found


@given(COUNTS, COUNTS, st.sets(st.sampled_from("abc")))
def test_searches_between_are_never_less_than_none(start: Any, end: Any, within: set[str]) -> None:
    found = queries_between(RequestCounters(start), RequestCounters(end), within)
    assert found is None or found >= 0


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        ({"x": (1, 1)}, {"x": (4, 1)}, (3, 0)),
        ({"x": (1, 1), "y": (0, 0)}, {"x": (4, 1), "y": (1, 2)}, (4, 2)),
        ({"x": (9, 0)}, {"x": (1, 0)}, (None, 0)),
        ({"x": (1, 1)}, {"y": (4, 1)}, (None, None)),
        ({}, {}, (None, None)),
    ],
)
def test_rejected_between(start: Any, end: Any, found: Any) -> None:
    assert rejected_between(RequestCounters(rejected=start), RequestCounters(rejected=end)) == found


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        ({"a": {"request_hits": 1.0}}, {"a": {"request_hits": 5.0}}, TaskCaches("t", whole=True, request_hits=4)),
        (
            {"a": {"request_hits": 1.0, "query_hits": 0.0}, "b": {"request_hits": 2.0}},
            {"a": {"request_hits": 2.0, "query_hits": 3.0}, "b": {"request_hits": 4.0}},
            TaskCaches("t", whole=True, request_hits=3, query_hits=3),
        ),
        ({"a": {"request_hits": 5.0}}, {"a": {"request_hits": 1.0}}, None),
        ({"a": {}}, {"b": {}}, None),
        ({}, {}, None),
    ],
)
def test_what_caches_did_between_two_looks(start: Caches, end: Caches, found: TaskCaches | None) -> None:
    assert caches_between(RequestCounters(caches=start), RequestCounters(caches=end), "t") == found


class Old:
    """An Elasticsearch that knows neither hidden indices nor indexing pressure."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, path: str, _: float) -> Any:
        self.asked.append(path)
        if "expand_wildcards" in path or "indexing_pressure" in path:
            raise ElasticsearchError("no", 400)
        if "_search_shards" in path:
            return {"shards": [[{"index": "t"}, {"index": "t"}], [{"index": "t"}], [{"index": "u"}]]}
        return {"nodes": {"x": node(1, 2)}} if path.startswith("/_nodes") else {"indices": {}}


def test_an_old_version_is_asked_for_less() -> None:
    old = Old()
    assert ask_counters(old).rejected == {"x": (1, 2)}  # type: ignore[arg-type]
    assert len(old.asked) == 5


def test_shards_are_counted_once_whatever_their_copies() -> None:
    old = Old()
    path = "/t*/_search?routing=7&request_cache=true"
    assert ask_shards(old, "t*", path) == {"t": 2, "u": 1}  # type: ignore[arg-type]
    assert "routing=7" in old.asked[0] and "request_cache" not in old.asked[0]
