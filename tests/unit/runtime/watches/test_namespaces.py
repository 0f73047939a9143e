"""Watched namespaces: which are followed, left out and taken up again, by what an API server in memory answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairlap.api.kinds import KINDS
from fairlap.kube.api_error import ApiError
from fairlap.runtime.watches import namespaces
from fairlap.runtime.watches.namespaces import CHILD_KINDS, LATE_KINDS, Namespaces

FORBIDDEN = ApiError(403, 'benchmarks is forbidden: User "u" cannot list resource "benchmarks"')
NO_ANSWER = ApiError(0, "no answer from the API server")


class Watched:
    """Namespaces a and b, the API server they are in, and a kopf that says by `notes` when it begins and ends."""

    def __init__(self, *names: str, patience: float = 0.05) -> None:
        self.troubles: dict[str, ApiError] = {}
        self.kinds = {*LATE_KINDS, *CHILD_KINDS}
        self.full: set[str] = set()
        """those with objects of the kind `what`"""
        self.what = "Benchmark"
        self.crashes = 0
        self.notes: list[str] = []
        self.known = False
        self.asked = 0
        self.namespaces = Namespaces(
            names, patience, lambda: self, self._all_known,  # type: ignore[arg-type, return-value]
            lambda name: self.notes.append(f"pause {name}"), lambda name: self.notes.append(f"forget {name}"),
        )  # fmt: skip

    async def has_any(self, kind: str, namespace: str, labels: str = "") -> bool:
        self.asked += 1
        if namespace in self.troubles:
            raise self.troubles[namespace]
        if kind != "Benchmark" and kind not in self.kinds:
            raise ApiError(404, "the server could not find the requested resource")
        assert bool(labels) == (kind not in ("Benchmark", "Comparison"))
        return kind == self.what and namespace in self.full

    def _all_known(self, now: bool) -> None:
        self.known = now

    async def follow(self, name: str) -> None:
        self.notes.append(f"follow {name}")
        if self.crashes:
            self.crashes -= 1
            raise ValueError("kopf broke")
        try:
            await asyncio.Event().wait()
        finally:
            self.notes.append(f"end {name}")

    def play(self, scene: Callable[["Watched"], Awaitable[None]]) -> list[str]:
        """Return what was noted in a scene, with the end."""

        async def go() -> None:
            task = asyncio.create_task(self.namespaces.look_after_all(self.follow))
            try:
                await scene(self)
            finally:
                task.cancel()
                await asyncio.wait([task])

        asyncio.run(go())
        return self.notes


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.001)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_FIRST_PAUSE", 0.001)
    # Ten times a patience of milliseconds is a stall of the machine: behind that nobody is waited for.
    monkeypatch.setattr(namespaces, "_SLOW_LISTS", 3000)


@pytest.mark.parametrize("what", ["Benchmark", "Comparison"])
def test_an_empty_one_is_ready_and_a_full_one_once_a_handler_was_called(what: str) -> None:
    async def scene(watched: Watched) -> None:
        await until(lambda: watched.namespaces.readiness() == {"a": True, "b": False})
        assert watched.namespaces.missing() == ["namespace b: its objects are being listed"] and not watched.known
        watched.namespaces.indexed("b")
        assert watched.known and not watched.namespaces.missing()
        assert watched.namespaces.readiness() == {"a": True, "b": True}

    watched = Watched("a", "b", patience=30)
    watched.full, watched.what = {"b"}, what
    assert sorted(watched.play(scene)) == ["end a", "end b", "follow a", "follow b"]


@pytest.mark.parametrize("error", [FORBIDDEN, ApiError(404, "the server could not find the requested resource")])
def test_one_that_may_not_be_read_is_left_out_and_taken_up_again(error: ApiError) -> None:
    async def scene(watched: Watched) -> None:
        await until(lambda: watched.known)
        assert watched.namespaces.readiness() == {"a": True, "b": False}
        (sentence,) = watched.namespaces.left_out()
        assert sentence == f"namespace b is left out: {error}" and watched.namespaces.readable() == ("a",)
        watched.full = {"b"}
        del watched.troubles["b"]
        await until(lambda: "follow b" in watched.notes)
        assert not watched.known, "its holders count: nobody begins before they are known"
        assert watched.namespaces.missing() and watched.namespaces.readable() == ("a", "b")
        watched.namespaces.indexed("b")
        assert watched.known
        watched.troubles["b"] = error
        await until(lambda: watched.notes.count("forget b") == 2)
        assert watched.namespaces.left_out()
        assert watched.known, "again it holds nobody up"

    watched = Watched("a", "b")
    watched.troubles["b"] = error
    assert [note for note in watched.play(scene) if note.endswith("b")] == ["forget b", "follow b", "end b", "forget b"]


def test_an_api_server_that_does_not_answer_leaves_nobody_out() -> None:
    async def scene(watched: Watched) -> None:
        await until(lambda: watched.asked > 8)
        assert not watched.known and not watched.namespaces.left_out()
        assert watched.namespaces.missing() == [f"namespace a: {NO_ANSWER}"]
        watched.troubles.clear()
        await until(lambda: watched.known)
        watched.troubles["a"] = NO_ANSWER
        asked = watched.asked
        await until(lambda: watched.asked > asked + 4)
        assert watched.namespaces.readiness() == {"a": True}

    watched = Watched("a", patience=0.01)
    watched.troubles["a"] = NO_ANSWER
    assert watched.play(scene) == ["follow a", "end a"]


def test_one_where_a_watch_is_blind_is_listed_anew_once_it_is_known() -> None:
    async def scene(watched: Watched) -> None:
        watched.namespaces.read_anew("a")  # it is being listed for the first time
        await until(lambda: watched.known)
        asked = watched.asked
        await until(lambda: watched.asked > asked + 8)
        assert watched.notes == ["follow a"]
        watched.namespaces.read_anew("a")
        await until(lambda: watched.notes.count("follow a") == 2)
        asked = watched.asked
        await until(lambda: watched.asked > asked + 8)
        assert watched.namespaces.readiness() == {"a": True}

    watched = Watched("a", patience=0.01)
    assert watched.play(scene) == ["follow a", "end a", "pause a", "follow a", "end a"]


@pytest.mark.parametrize("kind", LATE_KINDS)
def test_a_kind_that_comes_later_is_noticed(kind: str) -> None:
    """kopf looks for kinds once: what it does not find then, it never watches."""

    async def scene(watched: Watched) -> None:
        await until(lambda: watched.known)
        watched.kinds.add(kind)
        await until(lambda: watched.notes.count("follow ") == 2 and watched.known)
        watched.kinds.discard(kind)
        asked = watched.asked
        await until(lambda: watched.asked > asked + 4)

    watched = Watched(patience=0.01)
    watched.kinds.discard(kind)
    assert watched.play(scene) == ["follow ", "end ", "pause ", "follow ", "end "]
    assert watched.namespaces.readiness() == {"*": False}, "it has ended"


def test_a_kopf_that_breaks_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(watched: Watched) -> None:
        await until(lambda: watched.notes.count("follow a") == 3)
        await until(lambda: watched.namespaces.readiness()["a"])

    watched = Watched("a")
    watched.crashes = 2
    assert watched.play(scene) == ["follow a", "pause a", "follow a", "pause a", "follow a", "end a"]
    assert caplog.text.count("ValueError: kopf broke") == 2


def test_lists_that_never_end_hold_the_others_up_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_SLOW_LISTS", 2)

    async def scene(watched: Watched) -> None:
        await until(lambda: watched.known)
        assert watched.namespaces.missing() == ["namespace b: its objects are being listed"]

    watched = Watched("a", "b")
    watched.full = {"b"}
    watched.play(scene)


def test_an_operator_that_waited_long_for_its_lease_waits_for_the_lists_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was set up long before it may look: the time until then is none in which the lists did not end."""
    monkeypatch.setattr(namespaces, "_SLOW_LISTS", 10)

    async def scene(watched: Watched) -> None:
        asked = watched.asked
        await until(lambda: watched.asked > asked + 8)
        assert not watched.known and watched.namespaces.missing()
        watched.namespaces.indexed("b")
        await until(lambda: watched.known)

    watched = Watched("a", "b", patience=6)
    watched.full = {"b"}
    for place in watched.namespaces._places.values():
        place.began = min(place.began, time.monotonic() - 100)
    watched.play(scene)


def test_every_kind_that_is_asked_for_is_one_that_kopf_watches() -> None:
    from fairlap.runtime.kopf_handlers import CHILDREN, COMPARISONS  # noqa: PLC0415

    watched = {COMPARISONS[-1], *(child[-1] for child in CHILDREN.values())}
    assert {KINDS[kind].plural for kind in (*LATE_KINDS, *CHILD_KINDS)} == watched
