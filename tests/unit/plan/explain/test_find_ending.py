"""Why a load generator's pod ended without a record."""

from typing import Any

import pytest
from world import pod

from fairlap.plan.explain.trouble import find_ending


def failed(reason: str, message: str, **more: Any) -> dict[str, Any]:
    return pod("bm-race-1-x", "load-generator", phase="Failed", reason=reason, message=message, **more)


@pytest.mark.parametrize(
    ("reason", "message", "said"),
    [
        ("OutOfcpu", "Pod was rejected: no cpu", "pod bm-race-1-x: OutOfcpu: Pod was rejected: no cpu"),
        ("NodeAffinity", "", "pod bm-race-1-x: NodeAffinity"),
    ],
)
def test_a_pod_that_its_machine_would_not_start_says_why(reason: str, message: str, said: str) -> None:
    assert find_ending([failed(reason, message, containerStatuses=[])]) == ("Unschedulable", said, None)


def test_what_its_container_says_comes_first() -> None:
    ended = [{"name": "race", "state": {"terminated": {"exitCode": 1}}}]
    reason, words, _ = find_ending([failed("DeadlineExceeded", "too long", containerStatuses=ended)])
    assert (reason, words) == ("RecordMissing", "pod bm-race-1-x ended with exit code 1")


def test_a_pod_that_is_gone_says_nothing() -> None:
    assert find_ending([]) == ("JobLost", "the race's Job ended and its pod is gone", None)
