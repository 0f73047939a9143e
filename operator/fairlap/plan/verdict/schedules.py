"""What is remarked on tasks whose requests were not sent when they were planned."""

from collections.abc import Iterator

from fairlap.plan.verdict.measurement import probes_beyond
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import SCHEDULE_KEPT, Record, Task
from fairlap_race.contract.recorded.schedule_record import CLIENT_KEPT, ScheduleRecord
from fairlap_race.contract.specification.race_spec import Mode


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield one remark for each task that did not keep its schedule; of a smoke test none, which is too short."""
    if record.mode == Mode.SMOKE:
        return
    # A search goes beyond what can be carried, to find where that is.
    beyond = probes_beyond(record)
    for task in record.tasks:
        if not task.keeps_schedule and task.task not in beyond:
            yield RaceRemark(Reason.SCHEDULE_NOT_KEPT, _behind(task))


def _behind(task: Task) -> str:
    plan, share = task.schedule or ScheduleRecord(), task.schedule_share
    if share is not None and task.fell_behind:
        target = "" if task.target_throughput is None else f" {task.target_throughput:g}"
        some = f"; {_slow(plan)}" if 0 < plan.slow_clients < plan.clients else ""
        return f"task {task.task} reached {as_percent(share, SCHEDULE_KEPT)} of its target throughput{target}{some}"
    found = [_slow(plan)] if plan.has_slow_client else []
    if plan.has_backlog:
        found.append(
            f"{plan.backlog_requests} of {plan.sent} measured requests waited for what the warm-up had left, "
            f"{plan.backlog_seconds or 0:.2g} s on average, and that wait is in the latencies"
        )
    return f"task {task.task}: {'; '.join(found)}"


def _slow(plan: ScheduleRecord) -> str:
    return (
        f"{plan.slow_clients} of {plan.clients} clients sent less than {as_percent(CLIENT_KEPT)} of their requests in "
        f"time, the slowest {as_percent(plan.slowest_share or 0.0, CLIENT_KEPT)}; all of them sent {plan.sent} of "
        f"{plan.planned} planned"
    )
