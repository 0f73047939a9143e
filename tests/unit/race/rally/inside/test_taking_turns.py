"""Rally's clients ask for their turn before a request, and pass it on before the next one."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.contract.specification.turns import TaskTurns, TurnsSpec
from fairlap_race.rally.inside import taking_turns
from fairlap_race.rally.inside.taking_turns import TablePlace, install, note, place_of, read_taken, write_turns


def test_where_the_table_is() -> None:
    assert place_of(TurnsSpec("b", 2, 0), 9330) == TablePlace("127.0.0.1", 9330, "b", 0)
    assert place_of(TurnsSpec("b", 2, 1, "10.0.0.7:9330"), 0) == TablePlace("10.0.0.7", 9330, "b", 1)
    assert place_of(TurnsSpec("b", 2, 1, "[fd00::7]:9331"), 0) == TablePlace("fd00::7", 9331, "b", 1)


def test_what_clients_note_is_added_up(tmp_path: Path) -> None:
    assert read_taken(tmp_path) == {}
    for taken in (TaskTurns("a", 5, 1), TaskTurns("b", 2, 0), TaskTurns("a", 4, 0)):
        note(tmp_path, taken)
    assert read_taken(tmp_path) == {"a": TaskTurns("a", 9, 1), "b": TaskTurns("b", 2, 0)}
    assert read_taken(tmp_path)["a"].share == 0.9 and TaskTurns().share == 1


class _Seat:
    """What a seat is asked for, in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.in_turn, self.alone, self.planned = 0, 0, False

    async def take_turn(self) -> None:
        self.log.append("take")
        self.in_turn += 1

    def pass_on(self) -> None:
        self.log.append("pass")

    async def left(self) -> None:
        self.log.append("left")


def rally(seat: _Seat) -> Any:
    class AsyncExecutor:
        def __init__(self, target: object) -> None:
            self.task = SimpleNamespace(name="search", target_throughput=target)
            self.client_id = 3

        async def __call__(self) -> str:
            for _ in range(2):
                await driver.execute_single("runner", "es", "params", "on_error")
            return "done"

    async def execute_single(*words: str) -> str:
        seat.log.append("request")
        return " ".join(words)

    scheduler = SimpleNamespace(run_unthrottled=lambda task: task.target_throughput is None)
    driver = SimpleNamespace(AsyncExecutor=AsyncExecutor, execute_single=execute_single, scheduler=scheduler)
    return driver


@pytest.mark.parametrize(
    ("target", "log"),
    [
        (None, ["take", "request", "take", "request", "left"]),
        (20, ["take", "request", "pass", "take", "request", "pass", "left"]),
    ],
)
def test_a_client_takes_its_turn_for_each_request(
    target: object, log: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, asked = _Seat(), []

    class Seat:
        @staticmethod
        async def taken(*at: object) -> _Seat:
            asked.append(at)
            seat.planned = bool(at[-1])
            return seat

    monkeypatch.setattr(taking_turns, "Seat", Seat)
    driver = rally(seat)
    plain = driver.execute_single
    install(tmp_path, driver)
    assert driver.execute_single is plain, "nothing changes where no turns are taken"
    place = TablePlace("10.0.0.7", 9330, "b", 1)
    write_turns(tmp_path, place)
    install(tmp_path, driver)
    assert asyncio.run(driver.AsyncExecutor(target)()) == "done"
    assert seat.log == log and asked == [(place, "search", "3.1", target is not None)]
    assert read_taken(tmp_path) == {"search": TaskTurns("search", 2, 0)}
    assert asyncio.run(driver.execute_single("outside", "of", "a", "task")) == "outside of a task"


def test_a_client_that_runs_a_task_again_has_another_seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is in a parallel element that has fewer clients than its tasks (Rally's Allocator)."""
    asked: list[object] = []

    class Seat:
        @staticmethod
        async def taken(place: TablePlace, task: str, client: str, planned: bool) -> _Seat:
            asked.append((task, client))
            return _Seat()

    monkeypatch.setattr(taking_turns, "Seat", Seat)
    driver = rally(_Seat())
    write_turns(tmp_path, TablePlace("10.0.0.7", 9330, "b", 1))
    install(tmp_path, driver)
    for name in ("search", "search", "bulk"):
        executor = driver.AsyncExecutor(None)
        executor.task.name = name
        asyncio.run(executor())
    assert asked == [("search", "3.1"), ("search", "3.2"), ("bulk", "3.1")]
