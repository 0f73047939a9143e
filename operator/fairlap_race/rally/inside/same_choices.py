"""What a task draws at random is the same in each race: the moments of `schedule: poisson`, a track's own choices.

Python's generator is seeded by the task's name before Rally makes its source of parameters, and by name and client
before it makes a client's schedule. Clients of one worker draw from one sequence, so that which of them is given which
number of it is a matter of time; a task of one client is the same to the last request.
"""

from __future__ import annotations

import random
from typing import Any


def install(driver: Any, track_package: Any) -> None:
    """Change how Rally's module `driver` makes sources (of `track_package`, which it calls) and schedules."""
    sourced, scheduled = track_package.operation_parameters, driver.schedule_for

    def operation_parameters(track: Any, task: Any) -> Any:
        random.seed(task.name)
        return sourced(track, task)

    def schedule_for(task_allocation: Any, parameter_source: Any) -> Any:
        random.seed(f"{task_allocation.task.name}, client {task_allocation.client_index_in_task}")
        return scheduled(task_allocation, parameter_source)

    track_package.operation_parameters, driver.schedule_for = operation_parameters, schedule_for
