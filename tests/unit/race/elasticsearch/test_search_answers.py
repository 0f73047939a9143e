"""What the answer to a search is worth, and which of it two races may be compared by."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.elasticsearch.search_answers import (
    Part,
    described,
    parts_of,
    read_answer,
    send_search,
    sorts_by_fields,
)

ABOUT = {"task": "t"}
SUGGESTING = ("suggest", "options")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["_shards", "hits", "total", "responses", "failures", "value", "_id", "sort", "error", *SUGGESTING]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


def answer(*hits: dict[str, Any], total: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "timed_out": False,
        "_shards": {"total": 2, "successful": 2, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(hits), "relation": "eq"} if total is None else total, "hits": list(hits)},
        **more,
    }


def hit(name: str, *sort: Any) -> dict[str, Any]:
    return {"_id": name, **({"sort": list(sort)} if sort else {})}


def test_a_whole_answer() -> None:
    found = read_answer(ABOUT, answer(hit("b"), hit("a")))
    assert found.complete and (found.shards, found.failed, found.hits, found.hits_exact) == (2, 0, 2, True)
    assert found.hit_ids == read_answer(ABOUT, answer(hit("a"), hit("b"))).hit_ids


@pytest.mark.parametrize(
    ("changes", "complete"),
    [
        ({}, True),
        ({"timed_out": True}, False),
        ({"_shards": {"total": 2, "successful": 1, "failed": 1}}, False),
        ({"_shards": {"total": 2, "successful": 2, "skipped": 2, "failed": 0}}, True),
        ({"responses": [answer(), {"error": {"type": "index_not_found_exception"}, "status": 404}]}, False),
        ({"responses": [answer(), answer()]}, True),
        ({"responses": [answer(), answer(timed_out=True)]}, False),
    ],
)
def test_what_is_no_whole_answer(changes: dict[str, Any], complete: bool) -> None:
    assert read_answer(ABOUT, answer(**changes)).complete is complete


def test_parts_of_a_multi_search_that_reached_or_found_nothing_are_counted() -> None:
    none = {"total": 0, "successful": 0, "skipped": 0, "failed": 0}
    parts = [answer(hit("a")), answer(_shards=none), answer(), {"error": {"type": "index_not_found_exception"}}]
    found = read_answer(ABOUT, {"responses": parts})
    assert (found.items, found.items_failed, found.items_nowhere, found.items_without_hits) == (4, 1, 1, 1)
    assert (found.shards, found.hits) == (4, 1)


def test_the_first_failure_is_a_name_and_no_other_words() -> None:
    for given_type, found in (("illegal_argument_exception", "illegal_argument_exception"), ("The word x!", None)):
        shards = {"total": 1, "successful": 0, "failed": 1, "failures": [{"reason": {"type": given_type}}]}
        assert read_answer(ABOUT, answer(_shards=shards)).first_failure == found


@pytest.mark.parametrize(
    ("total", "hits", "exact"),
    [
        ({"value": 7, "relation": "eq"}, 7, True),
        ({"value": 10000, "relation": "gte"}, 10000, False),
        (7, 7, True),
        ({}, None, False),
    ],
)
def test_the_number_of_hits_in_every_version(total: Any, hits: int | None, exact: bool) -> None:
    found = read_answer(ABOUT, answer(total=total))
    assert (found.hits, found.hits_exact) == (hits, exact)


UNCOUNTED = {"_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}, "timed_out": False}
"""what is left of an answer without hits, to a search that does not count them"""


@pytest.mark.parametrize(
    ("found", "lists", "hits"),
    [
        (UNCOUNTED, True, 0),
        (UNCOUNTED, False, None),  # aggregations alone, or a later page
        ({**UNCOUNTED, "hits": {"hits": [hit("a")]}}, True, None),
    ],
)
def test_a_search_that_does_not_count_may_show_that_it_found_nothing(found: Any, lists: bool, hits: int | None) -> None:
    alone = read_answer(ABOUT, found, lists=lists)
    assert (alone.hits, alone.hits_exact) == (hits, False)
    both = read_answer(ABOUT, {"responses": [found, answer(hit("a"))]}, parts=(Part(False, False, lists),) * 2)
    assert (both.items_without_hits, both.hits) == (int(hits == 0), None if hits is None else 1)


@pytest.mark.parametrize(
    ("path", "body", "lists"),
    [
        ("/i/_search", '{"track_total_hits": false}', True),
        ("/i/_search?q=a", None, True),
        ("/i/_search", '{"size": 0}', False),
        ("/i/_search", '{"from": 10}', False),
        ("/i/_search", '{"search_after": [1]}', False),
        ("/i/_search?size=0", "{}", False),
        ("/i/_search", "{", True),  # Elasticsearch refuses it
    ],
)
def test_a_search_whose_answer_lists_its_first_hits(path: str, body: str | None, lists: bool) -> None:
    sent = send_search(Answering(UNCOUNTED), PlannedSearch("t", "GET", path, body), "after", settled=True)  # type: ignore[arg-type]
    assert (sent.hits == 0) is lists


class Answering:
    """Answers every request alike."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def send(self, *_: Any) -> Any:
        return self._found


def test_suggestions_are_found_without_a_hit() -> None:
    some = {"a": [{"text": "w", "options": [{"text": "w1"}, {"text": "w2"}]}, {"options": []}], "b": [{}]}
    found = read_answer(ABOUT, answer(suggest=some))
    assert (found.hits, found.hits_exact) == (2, False)
    assert read_answer(ABOUT, answer(suggest={"a": [{"text": "w"}]})).hits == 0
    assert read_answer(ABOUT, answer(hit("x"), suggest=some)).hits == 1, "beside a query its hits are what is counted"


GENERATED = "AVrXx3tGz9dM4nq1abcd"


@pytest.mark.parametrize(
    ("found", "by_fields", "comparable"),
    [
        pytest.param(answer(hit("a"), hit("b")), False, True, id="all hits, with the track's identifiers"),
        pytest.param(answer(hit(GENERATED)), False, False, id="identifiers are others in each race"),
        pytest.param(answer(hit("a"), total={"value": 9, "relation": "eq"}), False, False, id="some of equal hits"),
        pytest.param(answer(hit(GENERATED, 1), total=9), True, True, id="in the order of a field"),
        pytest.param(answer(hit(GENERATED, 1.5), total=9), False, False, id="in the order of a score"),
        pytest.param(answer(total=0), True, False, id="nothing found"),
    ],
)
def test_what_the_data_alone_decides(found: Any, by_fields: bool, comparable: bool) -> None:
    assert (read_answer(ABOUT, found, by_fields=by_fields).content is not None) is comparable


def test_other_values_are_another_content() -> None:
    contents = {
        read_answer(ABOUT, answer(hit(name, *values), total=9), by_fields=True).content
        for name, values in (("a", (1, "x")), ("b", (1, "x")), ("a", (2, "x")))
    }
    assert len(contents) == 2, "which of two equal ones is in the answer is left to chance"


@pytest.mark.parametrize(
    ("sort", "fields"),
    [
        (["n"], True), ("n", True), ({"n": "desc"}, True), ([{"n": {"order": "desc"}}, "m"], True),
        (["_doc"], False), (["n", "_score"], False), ([{"_shard_doc": "asc"}], False), (None, False), ([7], False),
    ],
)  # fmt: skip
def test_sorting_by_fields(sort: Any, fields: bool) -> None:
    assert sorts_by_fields({"sort": sort}) is fields
    assert not sorts_by_fields(None) and not sorts_by_fields({})


@pytest.mark.parametrize(
    ("body", "settled"),
    [
        ({"query": {"match_all": {}}}, True),
        ({"query": {"range": {"@timestamp": {"gte": "now-1h"}}}}, False),
        ({"query": {"range": {"@timestamp": {"lt": "now"}}}}, False),
        ({"query": {"term": {"word": "nowhere"}}}, True),
        ({"query": {"match_all": {}}, "terminate_after": 10}, False),
        ({"knn": {"field": "v"}}, False),
    ],
)
def test_a_search_that_finds_something_else_another_time(body: Any, settled: bool) -> None:
    search = PlannedSearch("t", "GET", "/i/_search", json.dumps(body))
    assert described(search, "after", settled=True)["settled"] is settled
    assert described(search, "after", settled=False)["settled"] is False


def test_what_a_search_wants() -> None:
    def about(path: str, body: Any) -> dict[str, Any]:
        return described(PlannedSearch("t", "GET", path, json.dumps(body)), "after", settled=True)

    assert not about("/i/_search", {})["timeout_wanted"] and not about("/i/_search", {})["parts_wanted"]
    assert (
        about("/i/_search?timeout=1s", {})["timeout_wanted"]
        and about("/i/_search", {"timeout": "1s"})["timeout_wanted"]
    )
    assert about("/i/_search?allow_partial_search_results=true", {})["parts_wanted"]
    assert not about("/i/_search?allow_partial_search_results=false", {})["parts_wanted"]
    assert about("/i/_search", {"a": 1, "b": 2})["request"] == about("/i/_search", {"b": 2, "a": 1})["request"]
    assert about("/i/_search", {"a": 1})["request"] != about("/i/_search", {"a": 2})["request"]


PARTLY = {"total": 2, "successful": 1, "skipped": 0, "failed": 1}
LATE, SOME, WHOLE = answer(timed_out=True), answer(_shards=PARTLY), answer()
ALLOWS, TIMEOUT = '{"index":"t","allow_partial_search_results":true}', '{"timeout":"1s"}'


@pytest.mark.parametrize(
    ("lines", "responses", "timeout", "parts"),
    [
        (["{}", TIMEOUT, "{}", "{}"], [LATE, WHOLE], True, False),
        (["{}", TIMEOUT, "{}", "{}"], [WHOLE, LATE], False, False),
        (["{}", TIMEOUT, "{}", "{}"], [LATE, LATE], False, False),
        (["{}", TIMEOUT, "", TIMEOUT], [LATE, LATE], True, False),  # a header may be empty
        (["", "{}", TIMEOUT, "{}", "{}"], [LATE, WHOLE], True, False),
        ([ALLOWS, "{}", "{}", "{}"], [SOME, WHOLE], False, True),
        ([ALLOWS, "{}", "{}", "{}"], [SOME, SOME], False, False),
        ([ALLOWS.replace("true", '"true"'), "{}"], [SOME], False, True),
        ([ALLOWS.replace("true", "false"), "{}"], [SOME], False, False),
        (["{", TIMEOUT], [LATE], True, False),
        (["{}", TIMEOUT], [LATE, LATE], False, False),  # these are not its searches
    ],
)
def test_what_each_part_of_a_multi_search_wants(
    lines: list[str], responses: list[Any], timeout: bool, parts: bool
) -> None:
    search = PlannedSearch("t", "POST", "/_msearch", "".join(f"{line}\n" for line in lines))
    about = described(search, "after", settled=True)
    found = read_answer(about, {"responses": responses}, parts=parts_of(search))
    assert (found.timeout_wanted, found.parts_wanted) == (timeout, parts)
    assert found.timed_out is (LATE in responses) and bool(found.failed) is (SOME in responses)


def test_a_search_alone_has_no_parts() -> None:
    assert parts_of(PlannedSearch("t", "GET", "/t/_search", TIMEOUT)) == ()


@given(JSON, st.booleans())
def test_any_answer_can_be_read(found: Any, by_fields: bool) -> None:
    read_answer(ABOUT, found, by_fields=by_fields, lists=by_fields)
    read_answer(ABOUT, {"suggest": found}, lists=by_fields)
    read_answer(ABOUT, {"responses": found}, by_fields=by_fields)
    read_answer(ABOUT, {"hits": found, "_shards": found}, by_fields=by_fields)


@pytest.mark.parametrize(("answer", "shards"), [({"indices": ["t", "u"]}, 2), ({"indices": []}, 0), ({}, None)])
def test_the_fields_of_indices_have_indices_and_no_hits(answer: Any, shards: int | None) -> None:
    class Client:
        def send(self, method: str, path: str, *_: Any) -> Any:
            assert "indices" in path
            return answer

    planned = PlannedSearch("fields", "GET", "/nope-*/_field_caps?fields=*", index="nope-*")
    found = send_search(Client(), planned, "after", settled=True)  # type: ignore[arg-type]
    assert found.complete and (found.shards, found.hits, found.content) == (shards, None, None)
