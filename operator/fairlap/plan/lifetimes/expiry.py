"""When what a Benchmark leaves behind goes: decided by what the record says, so that any operator decides the same."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fairlap.api.base import Json
from fairlap.api.names import GROUP
from fairlap.api.phases import is_over
from fairlap.api.quantity import parse_duration
from fairlap.plan.basis.deadline import Deadline, ended_by
from fairlap.plan.lifetimes.keep import KEPT, kept_until

EXPIRED = f"{GROUP}/expired"
"""annotation of a Benchmark whose records were removed: when its time was over"""


def expires_at(benchmark: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return when the records of a Benchmark go, a kept cluster never before its own time; None when they stay."""
    status, wanted = benchmark.get("status") or {}, (benchmark.get("spec") or {}).get("ttlAfterFinished") or {}
    allowed = wanted.get("succeeded" if status.get("phase") == "Succeeded" else "failed")
    if not is_over(benchmark) or not allowed or not status.get("completionTime"):
        return None
    try:
        due = Deadline(ended_by(now, status["completionTime"]), parse_duration(str(allowed))).end
    except (OverflowError, ValueError):  # there is no such date: for ever
        return None
    kept = kept_until(benchmark, now)
    return max(due, kept) if kept else due


def is_due(benchmark: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return when the operator is to remove the records; None when they stay, or went already."""
    meta = benchmark["metadata"]
    if EXPIRED in (meta.get("annotations") or {}) or meta.get("deletionTimestamp"):
        return None
    return expires_at(benchmark, now)


def takes_benchmark(benchmark: Mapping[str, Any]) -> bool:
    """Return whether the Benchmark itself goes with its records."""
    return bool(((benchmark.get("spec") or {}).get("ttlAfterFinished") or {}).get("benchmark"))


def summary_for_expiry(benchmark: Mapping[str, Any]) -> Json:
    """Return what must be kept of a Benchmark while its time runs: thousands wait at once."""
    meta, spec, status = benchmark["metadata"], benchmark.get("spec") or {}, benchmark.get("status") or {}
    kept = [dict(each) for each in status.get("conditions") or () if each["type"] == KEPT]
    return {
        "apiVersion": benchmark.get("apiVersion"),
        "kind": benchmark.get("kind"),
        "metadata": {key: meta[key] for key in ("name", "namespace", "uid")},
        "spec": {key: spec[key] for key in ("ttlAfterFinished", "keepClusterFor") if key in spec},
        "status": {"phase": status.get("phase"), "completionTime": status.get("completionTime"), "conditions": kept},
    }


def describe(benchmark: Mapping[str, Any], now: datetime) -> str:
    """Return the sentence for who looks for a record that expired; "" when it did not."""
    due = expires_at(benchmark, now)
    if due is None or now < due:
        return ""
    which = "succeeded" if benchmark["status"]["phase"] == "Succeeded" else "failed"
    return (
        f"the records of {benchmark['metadata']['name']} expired at {due:%Y-%m-%dT%H:%M:%SZ}: its "
        f"ttlAfterFinished.{which} is {benchmark['spec']['ttlAfterFinished'][which]}; its status has the results"
    )
