"""A Benchmark whose spec this version of the operator cannot read."""

from datetime import datetime

from fairlap.api.condition_types import ConditionType
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.conditions import Observation, conditions, stamp
from fairlap.plan.transition import one_line, update
from fairlap_race.contract.reasons import Reason

_OVER = ((ConditionType.ACCEPTED, False), (ConditionType.COMPLETE, False), (ConditionType.FAILED, True))


def unreadable(status: BenchmarkStatus, error: str, now: datetime) -> BenchmarkStatus:
    """Return the status of a Benchmark whose spec cannot be read: failed. `error`: why it cannot."""
    message = f"the specification cannot be read by this version of the operator: {error}"[:4096]
    observed = [Observation(kind, holds, Reason.INVALID_SPEC, message) for kind, holds in _OVER]
    return update(
        status,
        conditions=conditions(status, observed, now),
        phase="Failed",
        reason=str(Reason.INVALID_SPEC),
        message=message,
        progress=one_line(message),
        completion_time=stamp(now),
        step=None,
    )
