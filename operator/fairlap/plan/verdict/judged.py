"""What follows from a record for the status."""

from typing import NamedTuple

from fairlap.api.base import LONGEST_TEXT
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import Observation
from fairlap_race.contract.reasons import Reason


class Judged(NamedTuple):
    """A status, and what was observed for its conditions."""

    status: BenchmarkStatus
    observed: tuple[Observation, ...] = ()


def mark_failing(status: BenchmarkStatus, reason: Reason, message: str, field: str = "") -> BenchmarkStatus:
    """Return the status of a Benchmark that has failed: what is left to do is cleaning up.

    field: what of the request `message` is about, where a record says so.
    """
    why = {"reason": str(reason), "message": message[:LONGEST_TEXT], "field": field[:63]}
    return status.model_copy(update={"failing": True, **why})
