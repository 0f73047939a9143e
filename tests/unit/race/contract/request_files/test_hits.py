"""The number of hits in an answer is a count, or it is refused."""

from typing import Any

import pytest

from fairlap_race.contract.request_files.hits import find_hits, may_be_part
from fairlap_race.contract.request_files.probe import PointerError


def elasticsearch(value: Any, relation: str | None = "eq") -> dict[str, Any]:
    return {"hits": {"total": {"value": value, **({"relation": relation} if relation else {})}, "hits": []}}


@pytest.mark.parametrize(
    ("answer", "pointer", "hits"),
    [
        (elasticsearch(7), "/hits/total/value", 7),
        (elasticsearch(10_000), "/hits/total/value", 10_000),
        (elasticsearch(7, None), "/hits/total/value", 7),
        ({"hits": {"total": 7}}, "/hits/total", 7),  # before Elasticsearch 7
        ([[0, 1.0, 0.1], [[[7], [["_key", "ShortText"]]]]], "/1/0/0/0", 7),
        ({"n": 7.0, "relation": "more"}, "/n", 7),
        ({"": 3}, "/", 3),
        ({"timed_out": False, "_shards": {"failed": 0, "skipped": 2}, **elasticsearch(7)}, "/hits/total/value", 7),
        ({"responses": [elasticsearch(7), {"timed_out": True}]}, "/responses/0/hits/total/value", 7),
        ({"timed_out": "no", "_shards": 3, "n": 7}, "/n", 7),
    ],
)
def test_a_count_is_found(answer: Any, pointer: str, hits: int) -> None:
    assert find_hits(answer, pointer) == hits


@pytest.mark.parametrize(
    ("answer", "pointer", "why"),
    [
        (
            elasticsearch(10_000, "gte"),
            "/hits/total/value",
            "/hits/total/value is a lower bound (relation gte), and no",
        ),
        (
            {"timed_out": True, **elasticsearch(7)},
            "/hits/total/value",
            "/hits/total/value counts a part of the hits alone: the search stopped at a timeout (timed_out); write a",
        ),
        (
            {"timed_out": False, "_shards": {"total": 5, "failed": 4}, **elasticsearch(7)},
            "/hits/total/value",
            "/hits/total/value counts a part of the hits alone: shards failed (_shards.failed); send the request by",
        ),
        (
            {"responses": [{"_shards": {"failed": 1}, **elasticsearch(7)}]},
            "/responses/0/hits/total/value",
            "/responses/0/hits/total/value counts a part of the hits alone: shards failed",
        ),
        ({"timed_out": True, "count": 7}, "/count", "/count counts a part of the hits alone"),
        (elasticsearch(1.5), "/hits/total/value", "finds a number that is no count"),
        (elasticsearch(-1), "/hits/total/value", "finds a number that is no count"),
        (elasticsearch("many"), "/hits/total/value", "is a text, and no number"),
        ({}, "/hits/total/value", "the deepest level that exists is the whole answer, an object without 'hits'"),
    ],
)
def test_what_is_no_count_is_refused(answer: Any, pointer: str, why: str) -> None:
    with pytest.raises(PointerError) as refused:
        find_hits(answer, pointer)
    assert why in str(refused.value)


SEARCHED = {"timed_out": False, "_shards": {"failed": 0}, **elasticsearch(7)}
MULTIPLE = "/responses/0/hits/total/value"


@pytest.mark.parametrize(
    ("answer", "pointer", "path", "body", "found"),
    [
        (SEARCHED, "/hits/total/value", "/t/_search?size=0", "{}", True),
        (SEARCHED, "/hits/total/value", "/t/_search?allow_partial_search_results=true", None, True),
        (SEARCHED, "/hits/total/value", "/t/_search?size=0&allow_partial_search_results=false", None, False),
        ({"responses": [SEARCHED]}, MULTIPLE, "/_msearch", '{"index": "t"}\n{}\n', True),
        ({"responses": [SEARCHED]}, MULTIPLE, "/_msearch", '{"allow_partial_search_results": false}\n{}\n', False),
        ({"count": 7, "_shards": {"failed": 0}}, "/count", "/t/_count", None, False),  # it knows no such parameter
        ([[0, 1.0, 0.1], [[[7]]]], "/1/0/0/0", "/d/select?table=t", None, False),
    ],
)
def test_what_elasticsearch_may_answer_in_part(
    answer: Any, pointer: str, path: str, body: str | None, found: bool
) -> None:
    assert may_be_part(answer, pointer, ("GET", path, body, None)) is found
