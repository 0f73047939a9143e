"""Elasticsearch nodes that their own CPU limit held back while a task was measured."""

from collections.abc import Iterator
from typing import Final

from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.resources import ELASTICSEARCH, Machine, MachineTable, Usage

THROTTLED_SHARE: Final = 0.01
"""Of the task's time, or of the kernel's periods in it, as with the load generator; less is in the table alone."""
PERIODS_A_SECOND: Final = 10.0
"""The kernel's CFS period is 100 ms unless somebody sets another (Documentation/scheduler/sched-bwc)."""


def remarks(table: MachineTable | None) -> Iterator[RaceRemark]:
    """Yield one remark for each task in which a node was throttled for more than a hundredth of its time."""
    for machine in table.machines if table else ():
        if machine.role == ELASTICSEARCH:
            for task in machine.tasks:
                if _is_throttled(task.usage):
                    yield RaceRemark(Reason.ELASTICSEARCH_THROTTLED, _sentence(machine, task.task, task.usage))


def _is_throttled(usage: Usage) -> bool:
    seconds, periods = usage.throttled_seconds or 0.0, (usage.throttled_periods or 0.0) / PERIODS_A_SECOND
    return usage.seconds > 0 and max(seconds, periods) > THROTTLED_SHARE * usage.seconds


def _sentence(machine: Machine, task: str, usage: Usage) -> str:
    limit = "" if machine.cpu_limit is None else f" of {machine.cpu_limit:g} CPUs"
    time = "" if usage.throttled_seconds is None else f" for {usage.throttled_seconds:.1f} s of {usage.seconds:.0f} s"
    periods = "" if usage.throttled_periods is None else f", in {usage.throttled_periods:.0f} periods"
    return f"task {task}: node {machine.name} was throttled by its CPU limit{limit}{time}{periods}"
