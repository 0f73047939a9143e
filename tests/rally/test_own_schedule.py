"""Which tasks send by a plan of the track's own is what Rally itself makes of them."""

from __future__ import annotations

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally.driver import scheduler
from esrally.track import Operation, Task

from fairlap_race.rally.inside.own_schedule import follows_own_schedule


@pytest.mark.parametrize("target", [None, 5])
@pytest.mark.parametrize("schedule", [None, "deterministic", "poisson", "daily-pattern"])
def test_it_is_a_task_that_rally_neither_lets_run_free_nor_has_a_rate_for(
    schedule: str | None, target: int | None
) -> None:
    operation = Operation("s", "search", {}, "search")
    params = {"target-throughput": target} if target else {}
    task = Task("s", operation, schedule=schedule, params=params)
    planned_by_rally = not scheduler.run_unthrottled(task)
    assert follows_own_schedule(task) is (planned_by_rally and target is None)
