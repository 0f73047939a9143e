"""How the operator's process is put together."""

import asyncio
from typing import Any

import pytest

from fairlap import __main__ as program
from fairlap.settings import Settings


class Connection:
    """Counts itself, and whether it was closed."""

    made: list["Connection"]

    def __init__(self) -> None:
        self.closed = False
        self.made.append(self)

    async def close(self) -> None:
        self.closed = True


class Lease:
    """Is held at once."""

    connections: list[Any]

    def __init__(self, connection: Any, *_: Any) -> None:
        self.connections.append(connection)

    def valid(self) -> bool:
        return True

    async def acquire(self) -> None:
        pass

    async def hold(self) -> None:
        await asyncio.sleep(60)

    async def release(self) -> None:
        pass


class Served:
    async def cleanup(self) -> None:
        pass


@pytest.mark.parametrize("lease", ["", "ns/fairlap"])
def test_the_lease_never_waits_behind_what_benchmarks_have_to_say(lease: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection carries twenty requests at once, and thousands that were woken have each something to write."""
    Connection.made, Lease.connections = [], []
    worked_with: list[Any] = []

    class Api:
        @staticmethod
        async def connect() -> Connection:
            return Connection()

    async def work(operator: Any) -> None:
        worked_with.append(operator.api_server)

    async def serve(*_: Any) -> Served:
        return Served()

    for name, stand_in in {"ApiServer": Api, "Lease": Lease, "run_handlers": work, "serve": serve}.items():
        monkeypatch.setattr(program, name, stand_in)
    monkeypatch.setattr(program, "end_by_signal", lambda _: None)
    asyncio.run(program.run(Settings(race_image="race", lease=lease)))
    assert len(Connection.made) == 1 + bool(lease) and all(each.closed for each in Connection.made)
    assert worked_with == Connection.made[:1] and Lease.connections == Connection.made[1:]
