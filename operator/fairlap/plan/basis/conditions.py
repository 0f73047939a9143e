"""Conditions and times in the form that all of Kubernetes uses.

What decisions find out are observations; `conditions` alone makes conditions of them, once a pass, at its end.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, NamedTuple, Protocol

from fairlap.api.base import LONGEST_TEXT
from fairlap.api.condition_types import ComparisonCondition, ConditionType
from fairlap.api.status import Condition


class HasConditions(Protocol):
    """A status of whatever kind."""

    @property
    def conditions(self) -> list[Condition]:
        """What was observed before."""

    @property
    def observed_generation(self) -> int | None:
        """The generation of the spec that it speaks of."""


class Observation(NamedTuple):
    """What a pass has found out: whether a condition holds, and why."""

    type: ConditionType | ComparisonCondition
    holds: bool
    reason: str
    """a Reason of the contract, or a ConditionReason when nothing is wrong"""
    message: str


def stamp(now: datetime) -> str:
    """Return a time as Kubernetes writes it: UTC, whole seconds, Z."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    """Return the time that `stamp` (or the API server) wrote."""
    return datetime.fromisoformat(text)


def conditions(status: HasConditions, observed: Iterable[Observation], now: datetime) -> list[Condition]:
    """Return the status's conditions after what a pass has observed; of two observations of a type the last counts.

    lastTransitionTime moves only when the truth of a condition changes. What was not observed stays as it is, and is
    said of the status's generation, too: kubectl wait takes a condition of an older one for not met.
    """
    found = {known.type: known for known in status.conditions}
    for it in observed:
        old = condition(status, it.type)
        truth: Literal["True", "False"] = "True" if it.holds else "False"
        found[it.type] = Condition(
            type=it.type.value,
            status=truth,
            reason=str(it.reason),
            message=it.message[:LONGEST_TEXT],
            last_transition_time=old.last_transition_time if old and old.status == truth else stamp(now),
        )
    return [each.model_copy(update={"observed_generation": status.observed_generation}) for each in found.values()]


def condition(status: HasConditions, kind: str) -> Condition | None:
    """Return the condition of that type, if it is there."""
    return next((c for c in status.conditions if c.type == kind), None)
