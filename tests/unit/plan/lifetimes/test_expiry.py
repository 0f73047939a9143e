"""When records go: by the end and the spec alone, and never before the time of a kept cluster."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fairlap.plan.lifetimes.expiry import EXPIRED, describe, expires_at, is_due, summary_for_expiry, takes_benchmark

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def over(phase: str = "Succeeded", kept: bool = False, **ttl: Any) -> dict[str, Any]:
    conditions = [{"type": "ClusterKept", "status": "True"}] if kept else []
    return {
        "metadata": {"name": "bm", "namespace": "ns", "uid": "u", "managedFields": ["large"]},
        "spec": {"ttlAfterFinished": ttl, "keepClusterFor": "24h", "race": {}},
        "status": {
            "phase": phase,
            "completionTime": "2026-01-01T00:00:00Z",
            "conditions": conditions,
            "results": {"tasks": ["large"]},
        },
    }


@pytest.mark.parametrize(
    ("benchmark", "day"),
    [
        (over(succeeded="48h"), 3),
        (over("Failed", failed="24h"), 2),
        (over("Failed", succeeded="24h"), None),
        (over(failed="24h"), None),
        (over("Racing", succeeded="24h", failed="24h"), None),
        (over(), None),
        (over(kept=True, succeeded="1h"), 2),
    ],
)
def test_when_records_go(benchmark: dict[str, Any], day: int | None) -> None:
    due = datetime(2026, 1, day, tzinfo=UTC) if day else None
    assert expires_at(benchmark, NOW) == expires_at(summary_for_expiry(benchmark), NOW) == is_due(benchmark, NOW) == due
    assert "large" not in str(summary_for_expiry(benchmark))


def test_what_has_gone_is_not_due_again() -> None:
    benchmark = over(succeeded="1h")
    benchmark["metadata"]["annotations"] = {EXPIRED: "2026-01-01T01:00:00Z"}
    assert is_due(benchmark, NOW) is None
    assert is_due({**over(succeeded="1h"), "metadata": {"deletionTimestamp": "x"}}, NOW) is None


def test_the_benchmark_goes_only_when_asked_for() -> None:
    assert takes_benchmark(over(succeeded="1h", benchmark=True))
    assert not takes_benchmark(over(succeeded="1h")) and not takes_benchmark({"spec": {}})


def test_who_looks_for_an_expired_record_is_told() -> None:
    said = describe(over(succeeded="1h"), datetime(2026, 1, 2, tzinfo=UTC))
    assert said == (
        "the records of bm expired at 2026-01-01T01:00:00Z: its ttlAfterFinished.succeeded is 1h; "
        "its status has the results"
    )
    assert describe(over(succeeded="1h"), datetime(2026, 1, 1, tzinfo=UTC)) == describe(over(), datetime.now(UTC)) == ""
