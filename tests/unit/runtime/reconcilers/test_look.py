"""What is read for a decision: what only adds to a race must not end it."""

import asyncio
from typing import Any

import pytest
from world import START, good_record, seen

from fairlap.api.status import BenchmarkStatus, Step
from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.conditions import stamp
from fairlap.runtime.reconcilers import look
from fairlap_race.contract.recorded.record import KEY_RECORD

SEEN = seen(BenchmarkStatus(step=Step(name="race-1", stage="Running", since=stamp(START))))


class Server:
    """Has the record of the step."""

    async def find(self, *_: str) -> dict[str, Any]:
        owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "name": "bm", "uid": SEEN.subject.uid}
        owner["controller"] = True
        meta = {"labels": {"fairlap.dev/uid": SEEN.subject.uid}, "ownerReferences": [owner], "namespace": "ns"}
        return {"metadata": meta, "data": {KEY_RECORD: good_record().to_json()}}


@pytest.mark.parametrize("error", [ValueError("figures"), OverflowError("too large"), RecursionError()])
def test_figures_that_cannot_be_had_are_a_remark(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def complete(*_: Any) -> None:
        raise error

    monkeypatch.setattr(look, "complete_table", complete)
    server: Any = Server()
    found = asyncio.run(look.look_at("records", SEEN, server, None))
    table = found.resources["race-1"]
    assert table is not None and table.remarks[-1].endswith(f"complete the table: {type(error).__name__}")
    assert found.records == {"race-1": good_record()}


def test_an_api_server_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def complete(*_: Any) -> None:
        raise ApiError(0, "no answer")

    monkeypatch.setattr(look, "complete_table", complete)
    server: Any = Server()
    with pytest.raises(ApiError):
        asyncio.run(look.look_at("records", SEEN, server, None))
