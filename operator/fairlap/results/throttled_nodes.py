"""Elasticsearch nodes that their own CPU limit held back while a task was measured."""

from collections.abc import Collection, Iterator
from typing import Final

from fairlap.results.remarks import RaceRemark
from fairlap.wording.durations import tenths_of_seconds
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.resources import ELASTICSEARCH, Machine, MachineTable, Usage

THROTTLED_SHARE: Final = 0.01
"""Of the task's time, or of the kernel's periods in it; less is in the table alone."""
PERIODS_A_SECOND: Final = 10.0
"""The kernel's CFS period is 100 ms unless somebody sets another (Documentation/scheduler/sched-bwc)."""


def remarks(table: MachineTable | None, unread: Collection[str] = ()) -> Iterator[RaceRemark]:
    """Yield one remark for each task in which a node was throttled for more than a hundredth of its time or periods.

    `unread`: tasks whose numbers nobody reads, such as the pause between two steps of a sweep.
    """
    for machine in table.machines if table else ():
        if machine.role == ELASTICSEARCH:
            for task in machine.tasks:
                usage = task.usage
                if task.task not in unread and matters(usage.seconds, usage.throttled_seconds, usage.throttled_periods):
                    yield RaceRemark(Reason.ELASTICSEARCH_THROTTLED, _sentence(machine, task.task, usage))


def matters(wall: float | None, throttled: float | None, periods: float | None) -> bool:
    """Return whether a container was throttled for so much of `wall` seconds that it is to be said."""
    most = max(throttled or 0.0, (periods or 0.0) / PERIODS_A_SECOND)
    return wall is not None and 0 < THROTTLED_SHARE * wall < most


def _sentence(machine: Machine, task: str, usage: Usage) -> str:
    limit = "" if machine.cpu_limit is None else f" of {machine.cpu_limit:g} CPUs"
    known = usage.throttled_seconds
    time = "" if known is None else f" for {tenths_of_seconds(known)} s of {usage.seconds:.0f} s"
    periods = "" if usage.throttled_periods is None else f", in {usage.throttled_periods:.0f} periods"
    return f"task {task}: node {machine.name} was throttled by its CPU limit{limit}{time}{periods}"
