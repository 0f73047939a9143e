"""The fakes of the API's tests do as real controllers do where a machine stands still at a bad moment."""

import asyncio
import time
from typing import Any

import pytest
from tests.api.fakes import World, create_fresh, owned_by
from tests.api.rest import RestError

JOB = {"metadata": {"name": "cmp-1a-race-1", "uid": "8e09f-1", "namespace": "ns"}}
POD = {"metadata": {"name": "p", "namespace": "ns", "ownerReferences": owned_by(JOB, "Job", "batch/v1")}}
NO_ACCOUNT = RestError(403, 'pods "p" is forbidden: serviceaccount "bm-race-1" not found')


class Rest:
    """An API server that refuses a pod as often as it is told to."""

    def __init__(self, job: dict[str, Any] | None, refusals: int) -> None:
        self.job, self.refusals = job, refusals

    async def create(self, plural: str, namespace: str, body: dict[str, Any]) -> dict[str, Any]:
        assert (plural, namespace) == ("pods", "ns")
        self.refusals -= 1
        if self.refusals >= 0:
            raise NO_ACCOUNT
        return body

    async def get(self, plural: str, namespace: str, name: str) -> dict[str, Any] | None:
        return self.job if (plural, namespace, name) == ("jobs", "ns", "cmp-1a-race-1") else None


def created(job: dict[str, Any] | None, refusals: int) -> dict[str, Any]:
    world = World(Rest(job, refusals))  # type: ignore[arg-type]
    return asyncio.run(create_fresh(world, "pods", POD))


def test_a_pod_waits_for_its_account_while_its_job_is_there() -> None:
    assert created(JOB, 3) is POD


@pytest.mark.parametrize("job", [None, {"metadata": {**JOB["metadata"], "uid": "another"}}])
def test_no_pod_is_waited_for_whose_job_is_gone(job: dict[str, Any] | None) -> None:
    """Deleted with its Benchmark between its start and its pod: its account is gone for good."""
    began = time.monotonic()
    with pytest.raises(RestError, match="404: Job cmp-1a-race-1 is gone"):
        created(job, 10**6)
    assert time.monotonic() - began < 60
