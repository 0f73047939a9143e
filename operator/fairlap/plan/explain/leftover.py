"""What a step has left behind when its time for cleaning up is over."""

from collections.abc import Iterable

from fairlap.api.base import Json
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.seen import Seen
from fairlap_race.contract.reasons import Reason

_LONGEST = 600
# A condition has the first 3500 characters of a failure's message.
_FIRST_WORDS = 2800


def describe_leftovers(seen: Seen, step: str, things: Iterable[tuple[str, Json]]) -> str:
    """Return the sentence for objects that did not go away, given by kind, or "" when there are none."""
    named = [name_leftover(kind, thing) for kind, thing in things]
    if not named:
        return ""
    refused = f"; the API server said: {seen.refusal.message}" if seen.refusal else ""
    return f"still there {seen.settings.cleanup_seconds} s after the end of {step}: {', '.join(named)}{refused}"[
        :_LONGEST
    ]


def report_leftovers(status: BenchmarkStatus, left: str) -> BenchmarkStatus:
    """Return the failing status with what was left over; a reason that it had already is kept."""
    if status.failing:
        return status.model_copy(update={"message": f"{status.message[:_FIRST_WORDS].rstrip('. ')}; {left}"})
    return status.model_copy(update={"failing": True, "reason": str(Reason.CLEANUP_TIMEOUT), "message": left})


def name_leftover(kind: str, thing: Json) -> str:
    """Return kind and name of an object that does not go away, with the finalizers that hold it."""
    finalizers = thing["metadata"].get("finalizers") or ()
    held = f" (finalizers: {', '.join(finalizers)})" if finalizers else ""
    return f"{kind} {thing['metadata']['name']}{held}"
