"""What a task draws at random is the same in each race, and another one for each task and client."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally import track as track_package
from esrally.driver import driver
from esrally.track import params, track

from fairlap_race.rally.inside import same_choices

SOURCE = "drawn-terms"


class DrawnTerms(params.ParamSource):
    """Draws when it is made and for each request, as sources of tracks do."""

    def __init__(self, the_track: Any, its_params: Any, **kwargs: Any) -> None:
        super().__init__(the_track, its_params, **kwargs)
        self.first = random.random()

    def partition(self, partition_index: int, total_partitions: int) -> Any:
        return self

    def params(self) -> dict[str, float]:
        return {"first": self.first, "term": random.random()}


async def ignored(*_: Any) -> None:
    """Stand for the runner of a search that is never sent."""


@pytest.fixture(autouse=True)
def changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "schedule_for", driver.schedule_for)
    monkeypatch.setattr(track_package, "operation_parameters", track_package.operation_parameters)
    params.register_param_source_for_name(SOURCE, DrawnTerms)
    driver.runner.register_runner("search", ignored, async_runner=True)
    same_choices.install(driver, track_package)


def raced(name: str = "term", client: int = 0) -> list[tuple[float, dict[str, float]]]:
    """Return when five requests of a client are due, and what they ask for, in a process that has drawn before."""
    random.seed()
    operation = track.Operation(name, "search", params={"index": "logs"}, param_source=SOURCE)
    task = track.Task(
        name, operation, iterations=5, clients=2, schedule="poisson", params={"target-throughput": 20, "clients": 2}
    )
    source = driver.track.operation_parameters(track.Track(name="t"), task)
    handle = driver.schedule_for(driver.TaskAllocation(task, client, client, 2), source)

    async def requests() -> list[tuple[float, dict[str, float]]]:
        handle.start()
        found = []
        async for due, _, _, _, asked in handle():
            found.append((due, asked))
            handle.after_request(due, 1, "ops", {})  # the rate counts from the first answer, which tells its unit
        return found

    return asyncio.run(requests())


def test_each_race_sends_the_same_at_the_same_moments() -> None:
    first, second = raced(), raced()
    assert first == second and len(first) == 5
    assert len({due for due, _ in first}) >= 4 and len({asked["term"] for _, asked in first}) == 5


def test_another_task_and_another_client_draw_for_themselves() -> None:
    first, other_task, other_client = raced(), raced("phrase"), raced(client=1)
    for other in (other_task, other_client):
        assert not {asked["term"] for _, asked in first} & {asked["term"] for _, asked in other}
    assert first[0][1]["first"] == other_client[0][1]["first"], "a source is made once a task, for all its clients"
    assert first[0][1]["first"] != other_task[0][1]["first"]
