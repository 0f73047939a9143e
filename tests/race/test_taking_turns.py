"""Races of a Duet on real Rally: one request of each in turn, and all end when one does."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.api.spec import BenchmarkSpec, InTurn
from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.specification.turns import TURNS_PORT, TaskTurns

from .another_pod import another_pod
from .runner import Race, Ran, Runner, asked, rally_turn
from .server import Elasticsearch
from .test_measurements import OWN_RUNNER, waits
from .tracks import Json, write

NOTES_MOMENTS = """
import asyncio, time

async def noted(es, params):
    with open(params["file"], "a") as file:
        file.write(f"{time.time()}\\n")
    es.on_request_start()
    await asyncio.sleep(0.01)
    es.on_request_end()
    return params["work"], params["unit"]

def register(registry):
    registry.register_runner("noted", noted, async_runner=True)
"""


def in_turn(number: int) -> Json:
    found: Json = {"block": "ns-upgrade-1", "races": 2, "number": number}
    return found | ({"at": f"127.0.0.1:{TURNS_PORT}"} if number else {})


def judged() -> BenchmarkSpec:
    return asked().model_copy(update={"in_turn": InTurn(block="b", races=2, number=0)})


class Pair:
    """Two runners at a time, as in two pods; the second begins when the first says where they meet."""

    def __init__(self, runner: Runner, pod: Callable[[int], list[str]], one: Path, other: Path) -> None:
        def spec(number: int, track: Path) -> Json:
            return {**runner.defaults, "track": {"path": str(track)}, "turns": in_turn(number)}

        self.races = [Race(runner.folder, spec(0, one))]
        self._await_table()
        self.races.append(Race(runner.folder, spec(1, other), before=pod))

    def _await_table(self) -> None:
        end = time.monotonic() + 60
        while not (told := self.races[0].progress()).get("meetsAt"):
            assert time.monotonic() < end, told
            time.sleep(0.1)
        assert told["meetsAt"] == f"127.0.0.1:{TURNS_PORT}"

    def results(self) -> list[Ran]:
        return [race.result(300) for race in self.races]

    def end(self) -> None:
        for race in self.races:
            race.end()


@pytest.fixture
def pod(elasticsearch: Elasticsearch, tmp_path: Path) -> Iterator[Callable[[int], list[str]]]:
    """What lets a command run in a network of its own, where Elasticsearch and the table for turns are found."""
    with another_pod(tmp_path / "pod", (elasticsearch.port, TURNS_PORT)) as before:
        yield before


def of(ran: Ran, name: str) -> Task:
    (found,) = (task for task in ran.record.tasks if task.task == name)
    return found


@pytest.mark.produces(Reason.NOT_IN_TURN)
def test_one_request_of_each_in_turn(runner: Runner, pod: Callable[[int], list[str]], tmp_path: Path) -> None:
    def track(name: str, takes: float, more: int) -> Path:
        even = waits("even", takes, clients=2, **{"warmup-iterations": 10, "iterations": 60})
        return write(tmp_path / name, even, waits("search", takes, iterations=40 + more), plugin=OWN_RUNNER)

    with rally_turn(alone=False):
        pair = Pair(runner, pod, track("a", 0.02, 20), track("b", 0.04, 0))
        try:
            fast, slow = pair.results()
        finally:
            pair.end()
    assert not fast.record.outcome.reason and not slow.record.outcome.reason, fast.record.outcome
    for ran, takes in ((fast, 20), (slow, 40)):
        task = of(ran, "even")
        assert task.turns == TaskTurns("even", 140, 0)
        assert task.rally and takes <= task.rally.service_time_millis["p50"] < takes * 1.5
        assert task.rate and task.rate < 2 / 0.06, "each of two clients waits for the other race's"
        assert task.windows and "in turn" in task.windows.left_out
    assert first_violation(slow.record, judged()) is None
    violation = first_violation(fast.record, judged())
    assert violation and violation.reason is Reason.NOT_IN_TURN
    assert looks_like(Reason.NOT_IN_TURN.example, violation.message), violation.message
    turns = of(fast, "search").turns
    assert turns and turns.in_turn in (40, 41) and turns.in_turn + turns.alone == 60
    assert first_violation(fast.record, asked()) is None, "it is looked at only where turns were to be taken"


@pytest.mark.long
def test_who_goes_first_with_planned_requests_changes(
    runner: Runner, pod: Callable[[int], list[str]], tmp_path: Path
) -> None:
    """All are due at one moment; the second finds a machine that is awake, and would be faster for it in each race."""
    plans = {"ops": (1, 10), "docs": (100, 1000)}
    """work of a request, and work a second: ten requests"""

    def track(race: str) -> Path:
        tasks: list[Json] = []
        for unit, (work, rate) in plans.items():
            more = {"file": str(tmp_path / f"{race}-{unit}"), "work": work, "unit": unit}
            operation = {"operation-type": "noted", "name": f"{unit}-op", **more}
            plan = {"iterations": 35, "warmup-iterations": 5, "target-throughput": f"{rate} {unit}/s"}
            tasks.append({"name": unit, "operation": operation, **plan})
        return write(tmp_path / race, *tasks, plugin=NOTES_MOMENTS)

    with rally_turn(alone=False):
        pair = Pair(runner, pod, track("a"), track("b"))
        try:
            both = pair.results()
        finally:
            pair.end()
    for ran in both:
        assert not ran.record.outcome.reason, ran.record.outcome
        assert all((turns := of(ran, unit).turns) and turns.share > 0.95 for unit in plans)
    for unit in plans:
        first, second = ([float(each) for each in (tmp_path / f"{race}-{unit}").read_text().split()] for race in "ab")
        firsts = "".join("a" if one < other else "b" for one, other in zip(first, second, strict=True))
        assert firsts == "abba" * 10, firsts


@pytest.mark.long
def test_when_one_race_ends_the_others_do(runner: Runner, pod: Callable[[int], list[str]], tmp_path: Path) -> None:
    tracks = [write(tmp_path / name, waits("search", 0.02, **{"time-period": 120}), plugin=OWN_RUNNER) for name in "ab"]
    with rally_turn(alone=False):
        pair = Pair(runner, pod, *tracks)
        try:
            for race in pair.races:
                race.await_racing()
            pair.races[1].process.terminate()
            first, second = pair.results()
        finally:
            pair.end()
    assert first.record.outcome.reason is second.record.outcome.reason is Reason.RACE_ABORTED
    assert "race 1 of those that this one takes turns with has ended" in first.record.outcome.message
    assert "the runner was told to stop" in second.record.outcome.message


@pytest.mark.long
def test_one_that_fails_by_itself_lets_the_others_go(
    runner: Runner, pod: Callable[[int], list[str]], tmp_path: Path
) -> None:
    """Nobody waits at a task for the requests of a race that sends no more."""
    task = waits("search", 0.02, iterations=30)
    good = write(tmp_path / "a", task, waits("term", 0.02, iterations=3000), plugin=OWN_RUNNER)
    bad = write(tmp_path / "b", task, waits("term", "soon", iterations=3000), plugin=OWN_RUNNER)
    with rally_turn(alone=False):
        pair = Pair(runner, pod, good, bad)
        try:
            first, second = pair.results()
        finally:
            pair.end()
    assert first.record.outcome.reason is Reason.RACE_ABORTED, first.record.outcome
    assert "race 1 of those that this one takes turns with has ended" in first.record.outcome.message
    assert second.record.outcome.reason is Reason.RALLY_FAILED, second.record.outcome
