"""Which tasks send by a plan of the track's own: their rate tells of the plan, not of Elasticsearch. Pure."""

from __future__ import annotations

from typing import Any

_RALLYS = (None, "deterministic", "poisson")


def follows_own_schedule(task: Any) -> bool:
    """Return whether a scheduler of the track's says when the requests of Rally's `task` are due.

    Without a target throughput Rally asks one only where the schedule is none of its own (scheduler.run_unthrottled).
    """
    return task.target_throughput is None and getattr(task, "schedule", None) not in _RALLYS
