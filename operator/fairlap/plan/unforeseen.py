"""A Benchmark that cannot go on for a reason that no stage knows: when that is believed, and the last word about it.

Its status may be what is wrong with it, so the last word is made from what is stored, as JSON, and not from a model.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from fairlap.api.base import LONGEST_TEXT, Json
from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.names import COMPARISON_KIND, KIND
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import Observation, condition, conditions, stamp
from fairlap.plan.finish import failed_observations
from fairlap.plan.newer_crd import unknown_fields
from fairlap.plan.transition import one_line
from fairlap_race.contract.reasons import Reason

PAUSES: Final = (5.0, 20.0)
"""seconds between the attempts: what passes by itself, as an object half written, has passed after the third"""
_UNTRUE_AT_THE_END: Final = {
    KIND: ("step", "failing", "field"),
    COMPARISON_KIND: ("block", "admittedTime", "queuedTime"),
}
"""fields of a stored status that are no longer so once it is over, by kind"""
_LONGEST: Final = 300
_CREDENTIALS = re.compile(r"//[^/@\s]*@")


class Ending(NamedTuple):
    """Why a Benchmark ends at once."""

    reason: Reason
    message: str


def pause_after(errors: int) -> float | None:
    """Return the seconds until the next attempt after so many errors in a row; None when there is none any more."""
    return PAUSES[errors - 1] if errors <= len(PAUSES) else None


def unreadable(error: ValidationError) -> Ending:
    """Return the ending of a Benchmark whose spec this version of the operator cannot read."""
    message = f"the specification cannot be read by this version of the operator: spec.{_first_line(error)}"
    if unknown := unknown_fields(error):
        message = (
            f"spec.{', spec.'.join(unknown)}: not known to this version of the operator, which is older than the "
            "CustomResourceDefinition: upgrade the operator, or leave it out"
        )
    return Ending(Reason.INVALID_SPEC, message[:LONGEST_TEXT])


def internal_error(error: Exception, kind: str = KIND) -> Ending:
    """Return the ending of a Benchmark, or another `kind`, that the operator met this error with, again and again."""
    words = f"the operator cannot go on with this {kind}: {type(error).__name__}: {_first_line(error)}"
    return Ending(Reason.INTERNAL_ERROR, words.rstrip(": "))


def left_behind(ending: Ending, left: Iterable[str], error: Exception | None) -> Ending:
    """Return an ending that says, too, what is still there when the time for its removal is over; `error`: why."""
    if error is not None:
        return ending._replace(message=f"{ending.message}; not all that it has could be removed: {_first_line(error)}")
    names = ", ".join(left)
    return ending._replace(message=f"{ending.message}; still there: {names[:_LONGEST]}") if names else ending


def last_word(stored: Mapping[str, Any], ending: Ending, now: datetime, kind: str = KIND) -> Json:
    """Return the status of a Benchmark, or an object of another `kind`, that ends at once: what is stored, and why.

    An empty `stored` gives the smallest status that says so.
    """
    earlier = f"; before that {stored.get('reason')}: {stored.get('message')}" if stored.get("failing") else ""
    message = f"{ending.message}{earlier}"[:LONGEST_TEXT]
    kept = {key: value for key, value in stored.items() if key not in _UNTRUE_AT_THE_END[kind]}
    return {
        **kept,
        "phase": "Failed",
        "reason": str(ending.reason),
        "message": message,
        "progress": one_line(ending.message),
        "completionTime": stamp(now),
        "conditions": _conditions(stored, kind, ending.reason, message, now),
    }


def _conditions(stored: Mapping[str, Any], kind: str, reason: Reason, message: str, now: datetime) -> list[Json]:
    known = ("conditions", "observedGeneration")
    try:
        status = BenchmarkStatus.model_validate({key: stored[key] for key in known if key in stored})
    except ValidationError:
        status = BenchmarkStatus()
    observed = [*failed_observations(kind, reason, message)]
    if reason == Reason.INVALID_SPEC:
        observed.insert(0, Observation(ConditionType.ACCEPTED, False, reason, message))
    if condition(status, ConditionType.CLUSTER_READY):
        text = "the cluster is removed"
        observed.append(Observation(ConditionType.CLUSTER_READY, False, ConditionReason.CLUSTER_REMOVED, text))
    return [found.to_json() for found in conditions(status, observed, now)]


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        # Its own words hold what was read, which may be long and is nobody's business.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        text = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    else:
        text = next(iter(str(error).strip().splitlines()), "")
    shown = "".join(char if char.isprintable() else " " for char in _CREDENTIALS.sub("//…@", text[: 10 * _LONGEST]))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
