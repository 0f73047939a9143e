"""The last of each look, and of each life: conditions are made once, and what has failed says so in all of them."""

from collections.abc import Iterable
from datetime import datetime

from fairlap.api.condition_types import ComparisonCondition, ConditionType
from fairlap.api.names import COMPARISON_KIND
from fairlap.plan.basis.conditions import Observation, conditions
from fairlap.plan.outdated_crd import Status, observe
from fairlap_race.contract.reasons import Reason

_LONGEST_BEFORE_CURE = 3500
_UNTRUE_OF_A_COMPARISON = (
    ComparisonCondition.COMPARED,
    ComparisonCondition.GATE_PASSED,
    ComparisonCondition.COMPLETE,
)


def finish(
    status: Status, observed: Iterable[Observation], generation: int, pruned: frozenset[str] | None, now: datetime
) -> Status:
    """Return a status that was decided, with its generation and the conditions of what was observed on the way.

    pruned: fields of the status that the API server does not store; None when nothing was written yet.
    """
    # Of a spec nothing but suspend changes, so that all that was said of an older generation holds.
    status = status.model_copy(update={"observed_generation": generation})
    found = conditions(status, (*observed, *observe(pruned, status)), now)
    return status.model_copy(update={"conditions": found})


def failed_observations(kind: str, reason: str, message: str) -> tuple[Observation, ...]:
    """Return what is observed of a Benchmark, or an object of another `kind`, that has failed.

    message: why, in sentences; where the reason is of the closed list, its cure follows in the condition Failed.
    """
    untrue = _UNTRUE_OF_A_COMPARISON if kind == COMPARISON_KIND else (ConditionType.COMPLETE,)
    # A status that an older operator wrote may have a reason that this one does not know.
    cure = next((known.cure for known in Reason if known == reason), "")
    told = f"{message[:_LONGEST_BEFORE_CURE].rstrip('. ')}. What to do: {cure}" if cure else message
    return (
        *(Observation(each, False, reason, message) for each in untrue),
        Observation(ConditionType.FAILED, True, reason, told),
    )
