"""An operation's parameters as the request that Rally would send."""

from typing import Any

import pytest

from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.track.searches import MOST_CHARACTERS, as_sent, body_text, matters, may_search

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
        ("field-caps", {"index": "t*"}, "/t*/_field_caps?fields=%2A", None, "t*"),
        ("field-caps", {"fields": ["a", "b"], "index_filter": ALL, "request-params": {"ignore_unavailable": True}},
         "/_all/_field_caps?ignore_unavailable=true&fields=a%2Cb", '{"index_filter": {"query": {"match_all": {}}}}',
         "_all"),
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
        ("raw-request", {"path": "/t/_count?q=a"}, "no _count is sent once more"),
        ("raw-request", {"path": "/_msearch/template", "method": "POST"}, "no _msearch/template is sent once more"),
        ("raw-request", {"path": "/_sql", "method": "POST"}, "no _sql is sent once more"),
        ("raw-request", {"path": "/_sql/translate", "method": "POST"}, ""),
        ("raw-request", {"path": "/t/_field_caps?fields=*"}, "no _field_caps is sent once more"),
        ("sql", {"body": {}}, "no sql is sent once more"),
        ("esql", {"query": "FROM t"}, "no esql is sent once more"),
        ("submit-async-search", {}, "no submit-async-search is sent once more"),
        ("run-until", {"path": "/t/_search"}, "no run-until is sent once more"),
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
        ("composite", {"requests": [{"stream": [{"operation-type": "submit-async-search"}]}]}, True),
        ("composite", {"requests": [{"operation-type": "raw-request", "path": "/t/_search"}]}, True),
        ("composite", {"requests": [{"operation-type": "raw-request", "path": "/_cat/nodes"}]}, False),
        ("composite", {}, True),  # its parameter source says what is in it
        ("sql", {}, True),
        ("field-caps", {}, True),
        ("esql", {}, True),
        ("submit-async-search", {}, True),
        ("get-async-search", {}, False),
        ("raw-request", {"path": "/t/_async_search"}, True),
        ("run-until", {"path": "/_cluster/health"}, False),
        ("of-the-track", {}, True),
        *((kind, {}, False) for kind in ("refresh", "create-index", "cluster-health", "sleep", "put-pipeline")),
    ],
)
def test_operations_that_search(kind: str, params: dict[str, Any], searches: bool) -> None:
    assert may_search(kind, params) is searches


@pytest.mark.parametrize(
    ("kind", "reported", "named"),
    [
        ("search", False, True),
        ("raw-request", True, True),
        ("of-the-track", True, True),
        ("of-the-track", False, False),  # no number of it is shown
        ("bulk", True, False),
    ],
)
def test_what_is_to_be_named_when_it_is_not_known(kind: str, reported: bool, named: bool) -> None:
    assert matters(kind, reported=reported) is named


@pytest.mark.parametrize(
    ("body", "text"),
    [(None, None), ("", None), (b"{}\n", "{}\n"), ({"a": 1}, '{"a": 1}'), (["{}", {"a": 1}], '{}\n{"a": 1}\n')],
)
def test_bodies(body: Any, text: str | None) -> None:
    assert body_text(body) == text
