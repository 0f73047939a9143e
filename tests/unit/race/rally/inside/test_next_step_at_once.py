"""Rally's workers and driver, as far as they wait for each other, by stand-ins that act like them in one thread."""

# ruff: noqa: N802 - the names are those of Rally and its actors

from __future__ import annotations

import os
import select
import sys
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.rally.inside import next_step_at_once


class Wakeup:
    def __init__(self, delay: Any, payload: Any = None) -> None:
        self.payload = payload


@pytest.fixture(autouse=True)
def thespian(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rally's actor system is not installed beside the operator."""
    actors = SimpleNamespace(ThespianWatch=lambda filenos: filenos, WakeupMessage=Wakeup)
    monkeypatch.setitem(sys.modules, "thespian", SimpleNamespace(actors=actors))
    monkeypatch.setitem(sys.modules, "thespian.actors", actors)


def told_worker() -> Any:
    """Return a worker like Rally's, whose task is a future, and that was changed."""

    class Worker:
        def __init__(self) -> None:
            self.executor_future: Future[None] | None = None
            self.start_driving, self.did, self.alarms = False, list[str](), list[Any]()

        def wakeupAfter(self, period: float, payload: Any = None) -> None:
            self.alarms.append(payload)

        def receiveMessage(self, message: Any, sender: Any) -> Any:
            return getattr(self, f"receiveMsg_{type(message).__name__}")(message, sender)

        def receiveMsg_Wakeup(self, message: Any, sender: Any) -> None:
            self.receiveMsg_WakeupMessage(message, sender)

        def receiveMsg_SimpleNamespace(self, message: Any, sender: Any) -> None:
            self.receiveMsg_WatchMessage(message, sender)  # type: ignore[attr-defined]

        def receiveMsg_WakeupMessage(self, message: Any, sender: Any) -> None:
            if self.start_driving:
                self.start_driving = False
                self.drive()
            elif self.executor_future is not None and self.executor_future.done():
                self.executor_future = None
                self.did.append("join point")
            else:
                self.did.append("look")
                self.wakeupAfter(1)

        def receiveMsg_int(self, message: Any, sender: Any) -> None:
            """Stand for Drive."""
            self.start_driving = True
            self.wakeupAfter(message)

        def drive(self) -> None:
            self.executor_future = Future()
            self.did.append("task")
            self.wakeupAfter(1)

    next_step_at_once.tell_workers(Worker)
    return Worker()


def is_told(watched: list[int]) -> bool:
    return bool(select.select(watched, [], [], 0)[0])


def test_the_end_of_a_task_is_told_once_and_nothing_before_it() -> None:
    worker = told_worker()
    watched = worker.receiveMessage(0, None)
    worker.receiveMessage(Wakeup(0, worker.alarms[-1]), None)
    assert worker.did == ["task"] and not is_told(watched), "while the task runs nothing happens"
    worker.receiveMessage(Wakeup(1, worker.alarms[-1]), None)
    assert worker.did == ["task", "look"] and not is_told(watched), "but what Rally does once in a while"
    worker.executor_future.set_result(None)
    assert is_told(watched)
    assert worker.receiveMessage(SimpleNamespace(), None) == watched, "it goes on being watched"
    assert worker.did == ["task", "look", "join point"] and not is_told(watched)


def test_an_alarm_of_the_last_task_starts_nothing() -> None:
    worker = told_worker()
    worker.receiveMessage(0, None)
    worker.receiveMessage(Wakeup(0, worker.alarms[-1]), None)
    late = worker.alarms[-1]
    worker.executor_future.set_result(None)
    worker.receiveMessage(SimpleNamespace(), None)
    worker.receiveMessage(Wakeup(1, late), None)
    assert worker.did == ["task", "join point"]
    worker.receiveMessage(0, None)
    worker.receiveMessage(Wakeup(1, late), None)
    assert worker.did == ["task", "join point"] and worker.start_driving, "not before the time of the next step"
    worker.receiveMessage(Wakeup(0, worker.alarms[-1]), None)
    assert worker.did[-1] == "task"
    worker.receiveMessage(Wakeup(1, late), None)
    assert worker.did[-1] == "task" and len(worker.alarms) == 4, "nor is there a second chain of looks"


def test_a_word_without_an_end_is_ignored() -> None:
    worker = told_worker()
    worker.receiveMessage(SimpleNamespace(), None)
    worker.receiveMessage(0, None)
    worker.receiveMessage(Wakeup(0, worker.alarms[-1]), None)
    os.eventfd_write(worker.told, 1)
    worker.receiveMessage(SimpleNamespace(), None)
    assert worker.did == ["task"]


class Mail:
    """What both sides sent, by receiver."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def send(self, receiver: str, message: Any) -> None:
        self.sent.append((receiver, message))


def sides() -> tuple[Any, Any]:
    """Return a driver and a race control like Rally's that were changed."""

    class DriverActor(Mail):
        def on_task_finished(self, metrics: Any, next_task_scheduled_in: float) -> None:
            self.send("race control", next_task_scheduled_in)

        def drive_at(self, worker: str, at: float) -> None:
            self.send(worker, "too early")

    class RaceControl(Mail):
        def receiveMsg_TaskFinished(self, message: Any, sender: str) -> None:
            self.send("mechanic", "reset")

    next_step_at_once.follow_at_once(DriverActor, RaceControl, float, 0.1)
    return DriverActor(), RaceControl()


@pytest.mark.parametrize(("wait", "grace"), [(1.0, 0.1), (0, 0)])
def test_the_next_step_begins_when_the_last_one_is_kept(wait: float, grace: float) -> None:
    driver, control = sides()
    driver.on_task_finished("metrics", wait)
    for worker in ("a", "b"):
        driver.drive_at(worker, 5.0)
    assert driver.sent == [("race control", grace)]
    control.receiveMsg_TaskFinished("metrics", "driver")
    (_, (receiver, word)) = control.sent
    assert receiver == "driver" and isinstance(word, next_step_at_once.StepKept)
    before = time.perf_counter()
    driver.receiveMsg_StepKept(word, "race control")
    (_, (a, start), (b, same)) = driver.sent
    assert (a, b) == ("a", "b") and start == same and before + grace <= start <= time.perf_counter() + grace
    driver.receiveMsg_StepKept(word, "race control")
    assert len(driver.sent) == 3, "each is told once a step"


def test_the_digest_knows_code_from_its_layout() -> None:
    assert next_step_at_once.digest(["a\n  b \n", "c"]) == next_step_at_once.digest(["a\n  b", "c\n\n"])
    assert next_step_at_once.digest(["a\n  b"]) != next_step_at_once.digest(["a\nb"])
