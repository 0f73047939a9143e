"""The Lease: one holder at a time, whatever the order of events, and none that trusts it for too long."""

import asyncio
import copy
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.kube.lease import Lease

Json = dict[str, Any]


class Server:
    """Keeps one Lease, as the API server does."""

    def __init__(self) -> None:
        self.there: Json | None = None
        self.down = False

    async def find(self, kind: str, *_: str) -> Json | None:
        assert kind == "Lease"
        self._up()
        return copy.deepcopy(self.there)

    async def create(self, lease: Json) -> Json:
        assert "resourceVersion" not in lease["metadata"]
        return await self.replace(lease)

    async def replace(self, lease: Json) -> Json:
        self._up()
        version = lease["metadata"].get("resourceVersion")
        if version != (self.there or {"metadata": {}})["metadata"].get("resourceVersion"):
            raise ApiError(409, "changed")
        lease["metadata"]["resourceVersion"] = str(int(version or 0) + 1)
        self.there = copy.deepcopy(lease)
        return lease

    def _up(self) -> None:
        if self.down:
            raise ApiError(0, "no answer")

    @property
    def holder(self) -> str:
        return str((self.there or {"spec": {}})["spec"].get("holderIdentity"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Time that passes only while somebody sleeps."""
    now = {"now": 1000.0}

    async def sleep(seconds: float) -> None:
        now["now"] += seconds

    monkeypatch.setattr("fairlap.kube.lease.time.monotonic", lambda: now["now"])
    monkeypatch.setattr("fairlap.kube.lease.asyncio.sleep", sleep)
    return now


def lease(server: Server, holder: str) -> Lease:
    return Lease(server, "ns/fairlap", holder, 15)  # type: ignore[arg-type]


def run(work: Any) -> Any:
    return asyncio.run(work)


def test_the_first_has_it_at_once_and_the_second_when_it_ran_out(clock: dict[str, float]) -> None:
    server = Server()
    one, two = lease(server, "one"), lease(server, "two")
    run(one.acquire())
    assert one.valid() and server.holder == "one" and clock["now"] == 1000.0
    run(two.acquire())
    assert server.holder == "two" and two.valid()
    assert 1015 < clock["now"] < 1020 and not one.valid(), "one no longer trusted it before two had it"


def test_released_it_is_free_at_once(clock: dict[str, float]) -> None:
    server = Server()
    one, two = lease(server, "one"), lease(server, "two")
    run(one.acquire())
    run(one.release())
    assert not one.valid()
    run(two.acquire())
    assert server.holder == "two" and clock["now"] == 1000.0
    assert server.there and server.there["spec"]["leaseTransitions"] == 1


def test_the_same_holder_goes_on_at_once(clock: dict[str, float]) -> None:
    server = Server()
    run(lease(server, "pod").acquire())
    run(lease(server, "pod").acquire())
    assert clock["now"] == 1000.0


def test_holding_ends_in_time_when_the_server_is_away(clock: dict[str, float]) -> None:
    server = Server()
    one = lease(server, "one")
    run(one.acquire())
    server.down = True
    run(one.hold())
    assert not one.valid() and 1010 <= clock["now"] < 1015, "before anybody else may take it"


def test_who_finds_another_holder_no_longer_trusts_it(clock: dict[str, float]) -> None:
    """Somebody has written another name into it, before it ran out: two would lead for up to two thirds of it."""
    server = Server()
    one, two = lease(server, "one"), lease(server, "two")
    run(one.acquire())
    assert server.there
    server.there["spec"]["holderIdentity"] = ""
    run(two.acquire())
    assert one.valid(), "it cannot know yet"
    began = clock["now"]
    run(one.hold())
    assert not one.valid() and clock["now"] - began == 3.0, "it ends at its next renewal"
    run(one.release())
    assert server.holder == "two"


def test_an_outage_that_is_short_is_survived(clock: dict[str, float]) -> None:
    server = Server()
    one = lease(server, "one")
    run(one.acquire())
    server.down = True
    clock["now"] += 8
    assert one.valid()
    server.down = False
    run(one.renew())
    clock["now"] += 9
    assert one.valid()


def test_it_is_not_taken_from_one_that_renews(clock: dict[str, float]) -> None:
    server = Server()
    one, two = lease(server, "one"), lease(server, "two")
    run(one.acquire())
    for _ in range(20):
        clock["now"] += 5
        run(one.renew())
        assert not run(two.renew())
    assert server.holder == "one"
