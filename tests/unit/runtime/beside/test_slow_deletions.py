"""A deletion that hangs: the place is given back after a time, once, and what holds it is named."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.conditions import stamp
from fairlap.queue.summary import summarize
from fairlap.runtime.beside.slow_deletions import is_collected, seconds_left
from fairlap.runtime.loop.state import Operator
from fairlap.settings import Settings

Json = dict[str, Any]
SINCE = "2026-01-01T00:00:00Z"
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
FOREGROUND = ["foregroundDeletion"]


def body(name: str, status: Json | None = None, **meta: Any) -> Json:
    there = {"name": name, "namespace": "n", "uid": name, "creationTimestamp": SINCE, **meta}
    return {"metadata": there, "spec": {}, "status": status or {"phase": "Pending", "finishedStep": "check"}}


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({}, False),
        ({"deletionTimestamp": SINCE, "finalizers": FOREGROUND}, True),
        ({"deletionTimestamp": SINCE, "finalizers": ["x", "orphan"]}, True),
        ({"deletionTimestamp": SINCE, "finalizers": ["x"]}, False),
        ({"deletionTimestamp": SINCE}, False),
        ({"finalizers": FOREGROUND}, False),
    ],
)
def test_what_is_deleted_children_first(meta: Json, expected: bool) -> None:
    """One that others hold is driven on, and so is one that carries the finalizer and was not deleted."""
    assert is_collected(body("a", **meta)) is expected


@pytest.mark.parametrize(
    ("deleted", "left"),
    [("2026-01-01T00:01:00Z", 600), (SINCE, 540), ("2025-12-31T00:00:00Z", 0), ("2026-01-01T09:00:00Z", 600)],
)
def test_how_long_it_may_still_take(deleted: str, left: float) -> None:
    """A clock that is wrong makes it no longer."""
    assert seconds_left(body("a", deletionTimestamp=deleted), 600, NOW) == left


class Server:
    """What is there of a Benchmark that was deleted: a record that somebody holds, and one of another's."""

    def __init__(self) -> None:
        self.error: ApiError | None = None
        self.events: list[Json] = []

    async def list_metadata(self, kind: str, namespaces: list[str], query: Json) -> list[Json]:
        if self.error:
            raise self.error
        if kind != "ConfigMap":
            return []
        assert (namespaces, query) == (["n"], {"labelSelector": "fairlap.dev/uid=held"})
        owners = [[{"uid": uid, "controller": True}] for uid in ("held", "other")]
        metas = [{"name": f"r-{o[0]['uid']}", "ownerReferences": o, "finalizers": ["x.example/y"]} for o in owners]
        return [{"metadata": meta} for meta in metas]

    async def create(self, event: Json) -> None:
        self.events.append(event)


def deleted(ago: float = 3600.0, **status: Any) -> Json:
    since = stamp(datetime.now(UTC) - timedelta(seconds=ago))
    return body("held", status or None, deletionTimestamp=since, finalizers=FOREGROUND)


def play(tell: Callable[[Operator], None], server: Server, seconds: float = 0.1) -> Operator:
    async def work() -> Operator:
        operator = Operator(Settings(race_image="race", cleanup_seconds=60))
        operator.api_server = server  # type: ignore[assignment]
        operator.places.observe(summarize(body("next")))
        tell(operator)
        await asyncio.sleep(seconds)
        await operator.slow_deletions.stop()
        await operator.events.flush(1)
        return operator

    return asyncio.run(work())


HOLDS = {"phase": "Racing", "admittedTime": SINCE, "step": {"name": "race-1", "stage": "Running", "since": SINCE}}


@pytest.mark.parametrize("status", [HOLDS, {}], ids=["holds a place", "in line"])
def test_one_that_does_not_go_away_gives_its_place_back_and_says_what_holds_it(status: Json) -> None:
    """As a new operator finds it, too: the time runs since the deletion. Later events tell nothing again."""

    def tell(operator: Operator) -> None:
        told = deleted(**status)
        operator.places.observe(summarize(told))
        assert not operator.places.turn("next").may_go or not status
        operator.slow_deletions.look("Benchmark", told)
        asyncio.get_running_loop().call_later(0.05, operator.slow_deletions.look, "Benchmark", told)

    server = Server()
    operator = play(tell, server)
    assert operator.places.turn("next").may_go and not operator.places.holders()
    (event,) = server.events
    assert (event["reason"], event["type"], event["involvedObject"]["name"]) == ("PlaceGivenBack", "Warning", "held")
    words = "deleted 60 s ago and not gone yet: it holds no place any more; still there: "
    assert event["message"] == f"{words}ConfigMap r-held (finalizers: x.example/y)"


def test_what_is_still_there_need_not_be_known() -> None:
    server = Server()
    server.error = ApiError(403, "no")
    play(lambda operator: operator.slow_deletions.look("Benchmark", deleted()), server)
    assert server.events[0]["message"].endswith("still there: (not listed: no)")


def test_a_comparison_gives_its_place_back_as_well() -> None:
    server = Server()
    server.error = ApiError(0, "no answer")
    play(lambda operator: operator.slow_deletions.look("Comparison", deleted()), server)
    assert server.events[0]["involvedObject"]["kind"] == "Comparison"


@pytest.mark.parametrize(
    "then",
    [
        lambda operator, told: None,
        lambda operator, told: operator.slow_deletions.forget("held"),
        lambda operator, told: operator.slow_deletions.look("Benchmark", body("held")),
    ],
    ids=["in time", "gone", "not collected any more"],
)
def test_the_place_is_kept_for_a_deletion_that_ends_in_time(then: Callable[[Operator, Json], None]) -> None:
    def tell(operator: Operator) -> None:
        told = deleted(30, **HOLDS)
        operator.places.observe(summarize(told))
        operator.slow_deletions.look("Benchmark", told)
        then(operator, told)

    server = Server()
    operator = play(tell, server)
    assert operator.places.holders() == {"held"} and not server.events
