"""Conditions and times in the form that all of Kubernetes uses."""

from datetime import UTC, datetime
from typing import Literal

from fairlap.api.status import BenchmarkStatus, Condition

Truth = Literal["True", "False", "Unknown"]


def stamp(now: datetime) -> str:
    """Return a time as Kubernetes writes it: UTC, whole seconds, Z."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    """Return the time that `stamp` (or the API server) wrote."""
    return datetime.fromisoformat(text)


def with_condition(
    status: BenchmarkStatus, kind: str, truth: Truth, reason: str, message: str, now: datetime
) -> BenchmarkStatus:
    """Return the status with one condition set; lastTransitionTime moves only when its truth changes."""
    old = condition(status, kind)
    since = old.last_transition_time if old and old.status == truth else stamp(now)
    new = Condition(
        type=kind,
        status=truth,
        reason=reason,
        message=message[:4096],
        last_transition_time=since,
        observed_generation=status.observed_generation,
    )
    updated = [new if c.type == kind else c for c in status.conditions] if old else [*status.conditions, new]
    return status.model_copy(update={"conditions": updated})


def condition(status: BenchmarkStatus, kind: str) -> Condition | None:
    """Return the condition of that type, if it is there."""
    return next((c for c in status.conditions if c.type == kind), None)


def is_true(status: BenchmarkStatus, kind: str) -> bool:
    """Return whether the condition is there and True."""
    found = condition(status, kind)
    return found is not None and found.status == "True"
