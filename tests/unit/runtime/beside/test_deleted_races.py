"""A Benchmark that is deleted in the middle of its race keeps its place until what it has built is gone."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from fairlap.queue.summary import summarize
from fairlap.runtime.beside import deleted_races
from fairlap.runtime.beside.deleted_races import DeletedRaces
from fairlap.runtime.kopf_handlers import CHILDREN, build_registry
from fairlap.runtime.loop.state import Operator
from fairlap.settings import Settings

Json = dict[str, Any]
SINCE = "2026-01-01T00:00:00Z"
HOLDS = {"phase": "Racing", "admittedTime": SINCE, "step": {"name": "race-1", "stage": "Running", "since": SINCE}}
WAITS = {"phase": "Pending", "finishedStep": "check"}
PATIENCE = 500
"""hundredths of a second for what takes one; machines stall"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleted_races, "_LOOK_AGAIN_SECONDS", 0.01)


def body(name: str, status: Json) -> Json:
    meta = {"name": name, "namespace": "n", "uid": name, "creationTimestamp": SINCE, "resourceVersion": "1"}
    return {"metadata": meta, "spec": {}, "status": status}


def thing(namespace: str = "n") -> Json:
    return {"metadata": {"name": "first-race-1", "namespace": namespace, "uid": "t"}}


async def until(so: Callable[[], bool]) -> bool:
    for _ in range(PATIENCE):
        if so():
            return True
        await asyncio.sleep(0.01)
    return False


@pytest.mark.parametrize("seconds", [60, 0])
def test_a_place_is_kept_while_anything_is_left_and_no_longer_than_allowed(seconds: float) -> None:
    left, freed = ["pod"], list[str]()

    async def work() -> None:
        races = DeletedRaces(seconds, lambda *_: bool(left), freed.append)
        races.look_after("n", "first")
        await asyncio.sleep(0.05)
        assert freed == ([] if seconds else ["first"])
        left.clear()
        assert await until(lambda: freed == ["first"])
        await races.stop()

    asyncio.run(work())


def test_nothing_is_waited_for_once_the_operator_ends() -> None:
    freed: list[str] = []

    async def work() -> None:
        races = DeletedRaces(60, lambda *_: True, freed.append)
        races.look_after("n", "first")
        await asyncio.sleep(0.02)
        await races.stop()

    asyncio.run(work())
    assert freed == []


def test_an_error_that_nobody_foresaw_frees_the_place(caplog: pytest.LogCaptureFixture) -> None:
    """The task ended with it, and the place stayed taken until a restart."""
    asked, freed = list[str](), list[str]()

    def has_left(_: str, uid: str) -> bool:
        asked.append(uid)
        if len(asked) > 1:
            raise TypeError("no metadata")
        return True

    async def work() -> None:
        races = DeletedRaces(60, has_left, freed.append)
        races.look_after("n", "first")
        assert await until(lambda: freed == ["first"])
        await races.stop()

    asyncio.run(work())
    assert len(asked) == 2 and "no metadata" in caplog.text


async def delete(operator: Operator, name: str, **indexes: Json) -> None:
    """Let kopf's handler take in that a Benchmark was deleted, with these objects still there."""
    handlers = build_registry(operator, "n")._watching.get_all_handlers()
    changed: Any = next(each for each in handlers if each.id == "benchmark_changed").fn
    there = body(name, HOLDS)
    children = {kind: indexes.get(kind, {}) for kind in CHILDREN}
    event = {"type": "DELETED", "object": body(name, HOLDS)}
    await changed(uid=name, body=there, event=event, logger=logging.getLogger("test"), **children)


@pytest.mark.parametrize("kind", ["pods", "jobs", "elasticsearches"])
def test_who_waits_goes_on_when_all_of_a_deleted_race_is_gone(kind: str) -> None:
    """Its load generator has a minute to end: the next one raced beside it, or met its indices on the same host."""

    async def work() -> None:
        operator = Operator(Settings(race_image="race", namespaces=("n",)))
        for name, status in (("first", HOLDS), ("next", WAITS)):
            operator.places.observe(summarize(body(name, status)))
        index = {"first": [thing()]}
        await delete(operator, "first", **{kind: index})
        await asyncio.sleep(0.05)
        assert operator.places.holders() == {"first"} and not operator.places.turn("next").may_go
        index.clear()
        assert await until(lambda: operator.places.turn("next").may_go)
        assert not operator.places.holders()
        await operator.deleted_races.stop()

    asyncio.run(work())


def test_what_somebody_of_another_namespace_labels_holds_nothing() -> None:
    async def work() -> None:
        operator = Operator(Settings(race_image="race", namespaces=("n",)))
        for name, status in (("first", HOLDS), ("next", WAITS)):
            operator.places.observe(summarize(body(name, status)))
        await delete(operator, "first", pods={"first": [thing("other")]})
        assert await until(lambda: operator.places.turn("next").may_go)
        await operator.deleted_races.stop()

    asyncio.run(work())
