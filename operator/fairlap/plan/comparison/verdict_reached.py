"""How a Comparison ends: with a verdict, whatever it is, or because it could not be raced."""

from collections.abc import Mapping
from dataclasses import replace

from fairlap.api.base import LONGEST_TEXT
from fairlap.api.comparison_status import ComparisonStatus, Verdict
from fairlap.api.condition_types import ComparisonCondition, ComparisonReason
from fairlap.api.names import COMPARISON_KIND
from fairlap.plan.basis.conditions import Observation, stamp
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen
from fairlap.plan.finish import failed_observations
from fairlap.plan.transition import one_line


def changed(status: ComparisonStatus, **changes: object) -> ComparisonStatus:
    """Return the status with these fields changed."""
    return status.model_copy(update=changes)


def complete(
    seen: ComparisonSeen,
    status: ComparisonStatus,
    verdict: Verdict,
    sentence: str,
    *,
    gate_passed: bool | None,
    left_out: Mapping[str, str] | None = None,
) -> ComparisonPlan:
    """Return the plan that ends with a verdict; `gate_passed` None: no gate decides anything.

    `left_out`: who cannot be compared, and why; none of these passes a gate.
    """
    compared = verdict != "NotComparable"
    ended = _ended(seen, status, phase="Complete", verdict=verdict, progress=one_line(sentence))
    observed = (
        Observation(ComparisonCondition.COMPARED, compared, verdict, sentence),
        _gate(verdict, sentence, gate_passed, left_out),
        Observation(ComparisonCondition.COMPLETE, True, verdict, sentence),
        Observation(ComparisonCondition.FAILED, False, verdict, sentence),
    )
    return ComparisonPlan(ended, learn=compared, observed=observed)


def fail(
    seen: ComparisonSeen,
    status: ComparisonStatus,
    reason: ComparisonReason,
    message: str,
    *observed: Observation,
    told: str = "",
) -> ComparisonPlan:
    """Return the plan that ends without a verdict; `told`: the first of several sentences, where `message` has more."""
    kept, progress = message[:LONGEST_TEXT], one_line(told or message)
    ended = _ended(seen, status, phase="Failed", reason=str(reason), message=kept, progress=progress)
    return ComparisonPlan(ended, observed=(*observed, *failed_observations(COMPARISON_KIND, reason, message)))


def refuse(
    seen: ComparisonSeen, status: ComparisonStatus, reason: ComparisonReason, message: str, told: str = ""
) -> ComparisonPlan:
    """Return the plan that ends because what is written cannot be raced; `told` is as for `fail`."""
    refused = Observation(ComparisonCondition.ACCEPTED, False, reason, message)
    return fail(seen, status, reason, message, refused, told=told)


def continued(plan: ComparisonPlan, *observed: Observation) -> ComparisonPlan:
    """Return a plan with what was observed before it was made."""
    return replace(plan, observed=(*observed, *plan.observed))


def _ended(seen: ComparisonSeen, status: ComparisonStatus, **changes: object) -> ComparisonStatus:
    return changed(status, block=None, admitted_time=None, queued_time=None, completion_time=stamp(seen.now), **changes)


def _gate(verdict: Verdict, sentence: str, passed: bool | None, left_out: Mapping[str, str] | None) -> Observation:
    kind = ComparisonCondition.GATE_PASSED
    if verdict == "NotComparable":
        return Observation(kind, False, ComparisonReason.NOT_COMPARABLE, sentence)
    if passed is None:
        return Observation(kind, True, ComparisonReason.NOTHING_TO_DECIDE, f"no gate decides: {sentence}")
    if passed and left_out:
        text = f"not comparable: {', '.join(left_out)}; all others pass: {sentence}; {'; '.join(left_out.values())}"
        return Observation(kind, False, ComparisonReason.NOT_COMPARABLE, text)
    if verdict == "Inconclusive":
        return Observation(kind, passed, ComparisonReason.INCONCLUSIVE, sentence)
    reason = ComparisonReason.ALL_GATES_PASSED if passed else ComparisonReason.GATE_NOT_PASSED
    return Observation(kind, passed, reason, sentence)
