"""An operation's parameters as the request that Rally would send."""

from typing import Any

import pytest

from fairlap_race.contract.planned_search import PlannedSearch
from fairlap_race.track.searches import MOST_CHARACTERS, as_sent, body_text, may_search

ALL: Any = {"query": {"match_all": {}}}
TEXT = '{"query": {"match_all": {}}}'


@pytest.mark.parametrize(
    ("kind", "params", "path", "body", "index"),
    [
        ("search", {"index": "t", "body": ALL}, "/t/_search", TEXT, "t"),
        ("search", {"index": ["a", "b"], "body": ALL}, "/a,b/_search", TEXT, "a,b"),
        ("search", {"index": "t", "type": "doc", "body": ALL}, "/t/doc/_search", TEXT, "t"),
        ("search", {"index": "t", "body": None, "cache": True}, "/t/_search?request_cache=true", None, "t"),
        ("search", {"index": "t", "body": TEXT, "request-params": {"q": "a b", "ignore": 404}}, "/t/_search?q=a+b",
         TEXT, "t"),
        ("paginated-search", {"index": "t", "body": {}, "results-per-page": 7}, "/t/_search", '{"size": 7}', "t"),
        ("scroll-search", {"index": "t", "body": {}, "results-per-page": 7}, "/t/_search?size=7", '{"size": 7}',
         "t"),
        ("composite-agg", {"index": "t", "body": {}, "results-per-page": 7}, "/t/_search", "{}", "t"),
        ("search", {"index": None, "body": ALL}, "/_search", TEXT, "_all"),
        ("search", {"body": ALL}, "/_search", TEXT, "_all"),
        ("raw-request", {"path": "/t/_search", "body": ALL}, "/t/_search", TEXT, "t"),
        ("raw-request", {"path": "/_search?size=0", "request-params": {"a": True}}, "/_search?size=0&a=true", None,
         "_all"),
        ("raw-request", {"path": "/_msearch", "method": "POST", "body": [{}, ALL]}, "/_msearch", f"{{}}\n{TEXT}\n",
         None),
        ("raw-request", {"path": "/t/doc/_search"}, "/t/doc/_search", None, None),
    ],
)  # fmt: skip
def test_as_rally_sends_it(kind: str, params: dict[str, Any], path: str, body: str | None, index: str | None) -> None:
    found = as_sent("find", kind, params)
    assert isinstance(found, PlannedSearch)
    assert (found.task, found.path, found.body, found.index) == ("find", path, body, index)
    assert found.multiple == path.endswith("_msearch")


def test_headers_go_along() -> None:
    found = as_sent("find", "search", {"index": "t", "body": {}, "headers": {"a": 1}, "opaque-id": "x"})
    assert isinstance(found, PlannedSearch) and found.headers == {"a": "1", "x-opaque-id": "x"}


@pytest.mark.parametrize(
    ("kind", "params", "why"),
    [
        ("search", {"index": "t", "with-point-in-time-from": "pit"}, "it searches what another operation has opened"),
        ("composite", {}, "its searches are parts of a composite operation"),
        ("search", {"index": "t", "body": "x" * (MOST_CHARACTERS + 1)}, "its request is longer than"),
        ("raw-request", {"path": "/t/_delete_by_query", "method": "POST"}, ""),
        ("raw-request", {"path": "/t/_search", "method": "DELETE"}, ""),
    ],
)
def test_what_is_not_sent(kind: str, params: dict[str, Any], why: str) -> None:
    found = as_sent("find", kind, params)
    assert isinstance(found, str) and found.startswith(why) and bool(found) == bool(why)


@pytest.mark.parametrize(
    ("kind", "params", "searches"),
    [
        ("search", {}, True),
        ("bulk", {}, False),
        ("raw-request", {"path": "/_msearch?a=b"}, True),
        ("raw-request", {"path": "/_cluster/health"}, False),
        ("raw-request", {}, True),
        ("composite", {"requests": [{"stream": [{"operation-type": "search"}]}]}, True),
        ("composite", {"requests": [{"operation-type": "sleep"}]}, False),
        ("force-merge", {}, False),
    ],
)
def test_operations_that_search(kind: str, params: dict[str, Any], searches: bool) -> None:
    assert may_search(kind, params) is searches


@pytest.mark.parametrize(
    ("body", "text"),
    [(None, None), ("", None), (b"{}\n", "{}\n"), ({"a": 1}, '{"a": 1}'), (["{}", {"a": 1}], '{}\n{"a": 1}\n')],
)
def test_bodies(body: Any, text: str | None) -> None:
    assert body_text(body) == text
