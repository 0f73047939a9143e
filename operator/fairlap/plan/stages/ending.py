"""The end of a Benchmark: its last status, and the conditions that say how it ended."""

from fairlap.api.base import LONGEST_TEXT
from fairlap.api.condition_types import ConditionType
from fairlap.api.names import KIND
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import Observation, stamp
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.finish import failed_observations
from fairlap.plan.transition import describe_success, one_line, update


def end_succeeded(seen: Seen) -> Plan:
    """Return the plan that ends a Benchmark whose steps have all gone well."""
    reason, message = describe_success(seen.subject.spec, seen.status)
    told = f"{seen.status.races_done} races valid" if seen.subject.spec.repetitions > 0 else message
    observed = (
        Observation(ConditionType.COMPLETE, True, reason, message),
        Observation(ConditionType.FAILED, False, reason, message),
    )
    return Plan(_ended(seen, phase="Succeeded", progress=one_line(told), reason="", message=""), observed=observed)


def end_failed(seen: Seen, reason: str, message: str, *observed: Observation, told: str = "") -> Plan:
    """Return the plan that ends a Benchmark; `told`: the first of several sentences, where `message` has more."""
    progress, kept = one_line(told or message), message[:LONGEST_TEXT]
    status = _ended(seen, phase="Failed", progress=progress, reason=str(reason), message=kept)
    return Plan(status, observed=(*observed, *failed_observations(KIND, reason, message)))


def _ended(seen: Seen, **changes: object) -> BenchmarkStatus:
    return update(seen.status, completion_time=stamp(seen.now), step=None, failing=False, **changes)
