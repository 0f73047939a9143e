"""What Elasticsearch's answers say of its course; the answers are those of real servers, cut to what is read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.cluster_course import NodeRequests, Recovery
from fairlap_race.elasticsearch import course
from fairlap_race.elasticsearch.course import Mark, NodeMark

AT = 1_800_000_000.0
PY, OWN = "elasticsearch-py/8.6.1 (Python/3.11.2; elastic-transport/8.4.1)", "python-urllib3/2.2"


def node(name: str, requests: int | None = 5, full: int | None = 1, ahead: float = 0.0, opened: int = 3) -> Any:
    http: dict[str, Any] = {"total_opened": opened}
    if requests is not None:
        http["clients"] = [{"agent": PY, "request_count": requests}, {"agent": OWN, "request_count": 99}, {"id": 7}]
    states = {} if full is None else {"published_cluster_states": {"full_states": full, "incompatible_diffs": 0}}
    return {"name": name, "timestamp": int((AT + ahead) * 1000), "http": http, "discovery": states}


def mark(*nodes: Any, term: int = 2, master: str = "es-0") -> Mark:
    listed = {"nodes": {it["name"]: it for it in nodes}}
    return course.read_mark(listed, {"master_node": master, "metadata": {"cluster_coordination": {"term": term}}}, AT)


def test_a_mark_and_what_grew_since() -> None:
    start, end = mark(node("es-0"), node("es-1", 7)), mark(node("es-0", 105), node("es-1", 3, opened=1), term=4)
    assert start.nodes["es-0"] == NodeMark(5, 3, 1, 0.0)
    assert course.requests(start, end) == (NodeRequests("es-0", 100, 0), NodeRequests("es-1", 3, 1))
    assert course.elections(start, end) == 2 and course.elections(Mark(), end) is None
    (old,) = course.requests(mark(node("es-0", None)), mark(node("es-0", None, opened=9)))
    assert old == NodeRequests("es-0", None, 6)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (mark(node("es-0", full=9), node("es-1")), ()),  # a master sends itself what it likes
        (mark(node("es-0"), node("es-1", full=2)), ("es-1",)),
        (mark(node("es-0"), node("es-1", full=None)), None),
        (mark(node("es-0"), node("es-1"), node("es-2")), ()),  # a new one
        (mark(node("es-0"), node("es-1"), master=""), ()),
        (Mark(), None),
    ],
)
def test_nodes_that_joined_again(end: Mark, expected: tuple[str, ...] | None) -> None:
    assert course.rejoined(mark(node("es-0"), node("es-1")), end) == expected


def test_copies_that_are_not_started() -> None:
    rows = [
        {"index": "t", "prirep": "r", "state": "UNASSIGNED", "unassigned.reason": "INDEX_CREATED"},
        {"index": "t", "prirep": "r", "state": "INITIALIZING", "unassigned.reason": "INDEX_CREATED"},
        {"index": "t", "prirep": "p", "state": "STARTED", "unassigned.reason": None},
        {"index": "t", "prirep": "p", "state": "RELOCATING", "unassigned.reason": None},
        {"index": "u", "prirep": "p", "state": "INITIALIZING", "unassigned.reason": None},
    ]
    assert course.read_missing(rows) == {("t", False, "INDEX_CREATED"): 2, ("u", True, ""): 1}
    assert course.read_missing({"error": {}}) == {}
    more = [*rows, {"index": "no-primary", "prirep": "r", "state": "UNASSIGNED"}]
    assert course.read_sizes(more) == {"t": (2, 1), "u": (1, 0)} and course.read_sizes({"error": {}}) == {}


def test_recoveries_during_the_race_by_this_clock() -> None:
    def shard(kind: str, began: float, **more: Any) -> Any:
        millis = int((AT + began) * 1000)
        about = {"id": 0, "type": kind, "primary": True, "start_time_in_millis": millis}
        return {**about, "stop_time_in_millis": millis + 500, "source": {}, "target": {"name": "es-0"}, **more}

    answer = {
        "t": {"shards": [shard("EMPTY_STORE", 10), shard("PEER", 12, source={"name": "es-1"}), shard("PEER", 1)]},
        "u": {"shards": [shard("existing_store", 15, stop_time_in_millis=0)]},
    }
    found = course.read_recoveries(answer, AT + 5, mark(node("es-0", ahead=2.0)))
    assert [(it.index, it.kind, it.source, it.target) for it in found] == [
        ("t", "PEER", "es-1", "es-0"), ("u", "EXISTING_STORE", None, "es-0"),
    ]  # fmt: skip
    assert found[0].began_at == "2027-01-15T08:00:10.000Z" and found[0].ended_at == "2027-01-15T08:00:10.500Z"
    assert found[1].ended_at is None
    assert course.read_recoveries([], AT, Mark()) == ()
    assert all(isinstance(it, Recovery) for it in found)


def test_caches_and_merges() -> None:
    counters = {"request_cache": {"hit_count": 5, "miss_count": 2, "evictions": 0}, "query_cache": {"hit_count": 1}}
    stats = {"nodes": {"a": {"name": "es-0", "indices": counters}}}
    assert course.read_caches(stats) == {
        "es-0": {"request_hits": 5, "request_misses": 2, "request_evictions": 0, "query_hits": 1}
    }
    merges = {"indices": {name: {"total": {"merges": {"current": 2}}} for name in ("t", "other")}}
    assert course.read_merging(merges, lambda name: name == "t") == 2 and course.read_merging({}, bool) == 0


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("10.0.0.3:9200", "10.0.0.3"), ("localhost/127.0.0.1:9200", "127.0.0.1"), ("[fd00::1]:9200", "fd00::1"),
        ("es.local/[fd00::1]:9200", "fd00::1"),
    ],
)  # fmt: skip
def test_addresses(told: str, address: str) -> None:
    def at(name: str, where: str) -> Any:
        return {"name": name, "http": {"publish_address": where}}

    nodes = {"nodes": {"x": at("es-10", told), "y": at("es-2", "10.9.9.9:9200"), "z": {"name": "es-1"}}}
    assert course.read_addresses(nodes) == ("10.9.9.9", address)


@given(st.lists(st.text(st.characters(categories=["Nd", "Ll", "Pd"])), unique=True))
def test_any_names_have_an_order(names: list[str]) -> None:
    nodes = {"nodes": {f"{n}": {"name": name, "http": {"publish_address": f"10.0.0.{n}:1"}}
                       for n, name in enumerate(names)}}  # fmt: skip
    assert len(course.read_addresses(nodes)) == len(names)


ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("nodes", "a", "name", "http", "clients", "shards", "indices")), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(ANSWERS)
def test_odd_answers_are_no_answers(answer: Any) -> None:
    found = course.read_mark(answer, answer, AT) if not isinstance(answer, dict) else None
    assert found is None or found.nodes == {}
    course.read_missing(answer)
    course.read_sizes(answer)
