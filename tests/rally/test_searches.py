"""A search that is sent once more is what Rally itself sends, from a parameter source of the track or of Rally's."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally.driver import runner
from esrally.track import OperationType

from fairlap_race.contract.recorded.request_evidence import FIELD_CAPS, NO_SEARCHES, OTHER_SEARCHES, SEARCHES
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.track.load import Request
from fairlap_race.track.searches import MOST_DRAWN, SearchesOfTrack, as_sent, describe_searches

ANSWER = {"took": 1, "timed_out": False, "hits": {"total": {"value": 0, "relation": "eq"}, "hits": []}}
PLUGIN = """
import random

class Lot:
    infinite = True
    def __init__(self, track, params, **_):
        self.params_given = params
    def partition(self, index, count):
        return self
    def params(self):
        return {"index": "t", "body": {"query": {"term": {"n": random.randrange(10**9)}}}, "request-params": {}}

class Several(Lot):
    sent = -1
    def params(self):
        self.sent += 1
        paths = ["/_cat/indices", *(f"/t{number}/_search" for number in range(20))]
        return {"method": "GET", "path": paths[self.sent // 2 % len(paths)]}

class Two(Several):
    def params(self):
        if self.sent > 1:
            raise StopIteration()
        return super().params()

class Broken(Lot):
    def params(self):
        raise RuntimeError("no words")

class Over(Lot):
    def params(self):
        raise StopIteration()

def register(registry):
    registry.register_param_source("lot", Lot)
    registry.register_param_source("several", Several)
    registry.register_param_source("two", Two)
    registry.register_param_source("broken", Broken)
    registry.register_param_source("over", Over)
    registry.register_runner("scroll-search", lambda es, params: None)
"""


class Client:
    """An Elasticsearch client that keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any], Any]] = []

    def options(self, **_: Any) -> Client:
        return self

    def return_raw_response(self) -> None:
        """Do as a real one: nothing that is seen here."""

    async def perform_request(
        self, *, method: str, path: str, params: Any = None, body: Any = None, headers: Any = None
    ) -> Any:
        self.asked.append((method, path, dict(params or {}), body))
        return io.BytesIO(json.dumps(ANSWER).encode())


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("search", {"index": "t*", "body": {"query": {"match_all": {}}}}),
        ("search", {"index": "t", "type": "doc", "body": {}, "cache": False, "request-params": {"routing": "a b"}}),
        ("search", {"index": None, "body": {"query": {"match_all": {}}}}),
        ("search", {"index": "t", "body": {}, "results-per-page": 5}),
        ("paginated-search", {"index": "t", "body": {"sort": ["n"]}, "pages": 1, "results-per-page": 5}),
        ("scroll-search", {"index": "t", "body": {}, "pages": 1, "results-per-page": 5}),
        (
            "raw-request",
            {"method": "POST", "path": "/t/_search", "body": {}, "request-params": {"request_cache": "true"}},
        ),
    ],
)
def test_it_is_what_rally_sends(kind: str, params: dict[str, Any]) -> None:
    ours = as_sent("find", kind, json.loads(json.dumps(params)))
    client, given = Client(), {"operation-type": kind, **json.loads(json.dumps(params))}
    one = runner.RawRequest() if kind == "raw-request" else runner.Query()
    asyncio.run(one(client, given))
    method, path, query, body = client.asked[0]
    for added in ("sort", "scroll"):  # what makes pages of it
        query.pop(added, None)
    assert isinstance(ours, PlannedSearch)
    assert ours.method == method and ours.path == path + (f"?{urlencode(query)}" if query else "")
    assert json.loads(ours.body or "null") == body


def task(name: str, **operation: Any) -> dict[str, Any]:
    return {"name": name, "operation": {"name": f"{name}-op", "operation-type": "search", **operation}, "iterations": 1}


def test_some_of_the_searches_that_a_task_draws(tmp_path: Path) -> None:
    """Distinct ones, and no request of another kind."""
    raw = {"operation-type": "raw-request"}
    found = asked(
        tmp_path / "a", task("many", **raw, **{"param-source": "several"}),
        task("few", **raw, **{"param-source": "two"}), task("one", **raw, path="/t/_search"),
    )  # fmt: skip
    assert [(it.task, it.path, it.drawn) for it in found.searches] == [
        *(("many", f"/t{number}/_search", True) for number in range(MOST_DRAWN)),
        ("few", "/t0/_search", True),
        ("one", "/t/_search", False),
    ]
    assert not found.unknown


def test_what_may_search_and_is_not_sent_is_named(tmp_path: Path) -> None:
    found = asked(
        tmp_path / "a", task("esql", **{"operation-type": "esql", "query": "FROM t"}),
        task("mine", **{"operation-type": "of-the-track"}),
        task("hidden", **{"operation-type": "of-the-track", "include-in-reporting": False}),
        task("count", **{"operation-type": "raw-request", "path": "/t/_count"}),
        task("fields", **{"operation-type": "field-caps", "param-source": "lot"}),
        task("force", **{"operation-type": "force-merge"}),
        task("bracket", **{"operation-type": "raw-request", "path": "//[x/_search"}),
    )  # fmt: skip
    assert found == SearchesOfTrack(
        unknown={
            "esql": "no esql is sent once more",
            "mine": "the track has a runner of its own for of-the-track",
            "count": "no _count is sent once more",
            "fields": "its parameter source may draw others, which no shard counts",
        }
    )


def test_every_operation_of_rally_is_known() -> None:
    """Those that certainly do not search are listed: what Rally adds may search, until somebody has looked."""
    known = SEARCHES | OTHER_SEARCHES | NO_SEARCHES | {FIELD_CAPS, "raw-request", "composite", "run-until"}
    assert known == {it.to_hyphenated_string() for it in OperationType}
    assert not (SEARCHES | OTHER_SEARCHES) & NO_SEARCHES


def asked(folder: Path, *schedule: dict[str, Any]) -> SearchesOfTrack:
    track = {"version": 2, "description": "d", "indices": [{"name": "t"}], "schedule": list(schedule)}
    folder.mkdir()
    (folder / "track.json").write_text(json.dumps(track))
    (folder / "track.py").write_text(PLUGIN)
    return describe_searches(Request(track_path=str(folder), data_cache=str(folder / "data"), downloads=True))


def test_searches_of_a_track(tmp_path: Path) -> None:
    schedule = (
        task("plain", body={"query": {"match_all": {}}}),
        {"parallel": {"tasks": [task("lot", **{"param-source": "lot"}), task("over", **{"param-source": "over"})]}},
        task("broken", **{"param-source": "broken"}),
        task("multi", **{"operation-type": "raw-request", "method": "POST", "path": "/_msearch", "body": "{}\n{}\n"}),
        task("own", **{"operation-type": "scroll-search", "body": {}, "pages": 1, "results-per-page": 5}),
        task("health", **{"operation-type": "cluster-health"}),
    )
    found = asked(tmp_path / "a", *schedule)
    assert [(it.task, it.drawn) for it in found.searches] == [("plain", False), ("lot", True), ("multi", False)]
    assert found.searches[0].path == "/t/_search", "the track has one index only"
    assert found.unknown == {
        "over": "its parameter source is at its end before it began",
        "broken": "its parameter source could not be asked: RuntimeError: no words",
        "own": "the track has a runner of its own for scroll-search",
    }
    # Drawn by lot, and the same lot in each race.
    assert asked(tmp_path / "b", *schedule).searches == found.searches
