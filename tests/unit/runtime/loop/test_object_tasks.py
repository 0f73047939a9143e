"""The tasks of active Benchmarks: one each, handed the newest body, begun anew when they broke off, ended in order."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from fairlap.runtime.loop import object_tasks
from fairlap.runtime.loop.object_tasks import ObjectTasks, Stop


class Work:
    """What is done for a Benchmark; notes when it begins and ends."""

    def __init__(self, notes: list[str], version: int = 1, crashes: int = 0) -> None:
        self.uid, self.body, self.indexes, self.logger = "u", {"version": version}, version, logging.getLogger("test")
        self.notes, self.crashes, self.last_write = notes, crashes, asyncio.Event()
        self.last_write.set()

    def take_over(self, before: Any) -> None:
        self.notes.append(f"{self.body['version']} takes over from {before.body['version']}")

    async def run(self, stopped: Stop) -> None:
        self.notes.append(f"begins {self.body['version']}")
        if self.crashes:
            self.crashes -= 1
            raise ValueError("broken")
        await stopped.wait()
        await self.last_write.wait()
        assert stopped
        self.notes.append(f"ends {self.body['version']} {stopped.last_status.get('phase', '')}".rstrip())


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def play(scene: Callable[[ObjectTasks, list[str]], Coroutine[Any, Any, None]], *, allowed: bool = True) -> list[str]:
    """Return what was noted in a scene."""

    async def go() -> list[str]:
        found, notes = ObjectTasks(), list[str]()
        found.allow(allowed)
        await scene(found, notes)
        await found.stop(0.05)
        return notes

    return asyncio.run(go())


def test_one_task_gets_the_newest_body() -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        found.follow("ns", Work(notes))
        await turns()
        found.follow("ns", Work(notes, version=2))

    assert play(scene) == ["begins 1", "ends 2"]


def test_nobody_begins_before_all_places_are_known() -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        found.follow("ns", Work(notes))
        await turns()
        assert not notes
        found.allow(True)
        await turns()

    assert play(scene, allowed=False) == ["begins 1", "ends 1"]


def test_the_end_comes_before_it_was_allowed_to_begin() -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        found.follow("ns", Work(notes))

    assert play(scene, allowed=False) == []


def test_what_broke_off_begins_anew(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(object_tasks, "AGAIN_SECONDS", 0.001)

    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        found.follow("ns", Work(notes, crashes=2))
        await asyncio.sleep(0.1)

    assert play(scene) == ["begins 1"] * 3 + ["ends 1"]
    assert caplog.text.count("ValueError: broken") == 2


def test_a_write_on_its_way_may_finish_before_the_next_begins() -> None:
    """A namespace was lost and came back: two tasks for one Benchmark would write against each other."""

    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        first = Work(notes)
        first.last_write.clear()
        found.follow("ns", first)
        found.follow("other", Work(notes, version=0))
        await turns()
        found.end_in("elsewhere")
        await turns()
        assert notes == ["begins 0"], "the newest body, and the scope that it began in"
        found.end_in("ns")
        found.follow("ns", Work(notes, version=2))
        await turns()
        assert notes == ["begins 0"]
        first.last_write.set()
        await turns()

    assert play(scene) == ["begins 0", "ends 0", "2 takes over from 0", "begins 2", "ends 2"]


def test_who_is_over_ends_with_what_is_kept_of_its_status() -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        found.follow("ns", Work(notes))
        await turns()
        found.end("u", {"phase": "Failed"})
        await turns()

    assert play(scene) == ["begins 1", "ends 1 Failed"]


@pytest.mark.parametrize(("gone", "more"), [(False, ["begins 1", "ends 1 Failed"]), (True, [])])
def test_who_is_over_when_its_scope_is_listed_anew_ends_with_what_is_kept_of_its_status(
    gone: bool, more: list[str]
) -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        work = Work(notes)
        found.follow("ns", work)
        await turns()
        work.last_write.clear()
        found.end_in("ns")
        if gone:
            found.end("u")
        for _ in range(2):
            found.end("u", {"phase": "Failed"})
        await turns()
        work.last_write.set()
        await turns(20)

    assert play(scene) == ["begins 1", "ends 1", *more]


def test_what_breaks_off_when_it_takes_its_end_in_is_left_alone() -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        found.follow("ns", Work(notes, crashes=5))
        found.end("u", {"phase": "Failed"})
        await turns(100)

    assert play(scene) == ["begins 1"]


def test_who_is_over_before_it_was_allowed_to_begin_ends_with_its_status() -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        found.follow("ns", Work(notes))
        found.end("u", {"phase": "Failed"})
        await turns()

    assert play(scene, allowed=False) == ["begins 1", "ends 1 Failed"]


def test_who_does_not_end_is_cancelled_and_nobody_begins_any_more() -> None:
    async def scene(found: ObjectTasks, notes: list[str]) -> None:
        stuck = Work(notes)
        stuck.last_write.clear()
        found.follow("ns", stuck)
        await turns()
        await found.stop(0.01)
        found.follow("ns", Work(notes, version=2))
        await turns()
        found.end("unknown")

    assert play(scene) == ["begins 1"]
