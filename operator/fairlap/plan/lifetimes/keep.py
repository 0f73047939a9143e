"""How long a kept cluster stays: decided by what the record says, so that any operator at any time decides the same."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fairlap.api.condition_types import ConditionType
from fairlap.api.phases import is_over
from fairlap.api.quantity import parse_duration
from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.basis.deadline import Deadline, ended_by

KEPT = ConditionType.CLUSTER_KEPT
_LATEST = datetime.max.replace(tzinfo=UTC, microsecond=0)
_DEFAULT = BenchmarkSpec.model_fields["keep_cluster_for"].default


def end_of_keeping(spec: Mapping[str, Any], ended: datetime) -> datetime:
    """Return when the cluster of a Benchmark that ended at `ended` is to be removed.

    Raises ValueError when the spec has no duration there.
    """
    try:
        return Deadline(ended, parse_duration(str(spec.get("keepClusterFor") or _DEFAULT))).end
    except OverflowError:  # there is no such date
        return _LATEST


def has_kept_cluster(benchmark: Mapping[str, Any]) -> bool:
    """Return whether the cluster of a Benchmark stays there after its end.

    Raises KeyError or TypeError for a record that no operator has written so.
    """
    conditions = (benchmark.get("status") or {}).get("conditions") or ()
    return any(each["type"] == KEPT and each["status"] == "True" for each in conditions)


def kept_until(benchmark: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return when the operator is to remove the cluster of a Benchmark that is over; None when it keeps none.

    Raises ValueError, KeyError or TypeError for a record that no operator has written so.
    """
    status = benchmark.get("status") or {}
    if not has_kept_cluster(benchmark) or not is_over(benchmark) or not status.get("completionTime"):
        return None
    return end_of_keeping(benchmark.get("spec") or {}, ended_by(now, status["completionTime"]))
