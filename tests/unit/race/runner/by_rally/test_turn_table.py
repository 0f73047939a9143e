"""At the table one client of each race goes after the other, and all hear of it when a race goes away."""

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlap_race.contract.specification.turns import MOST_RACES, TurnsSpec, order_of_round
from fairlap_race.rally.inside.taking_turns import Seat, TablePlace
from fairlap_race.runner.by_rally import in_turn
from fairlap_race.runner.by_rally.in_turn import RaceInTurn
from fairlap_race.runner.by_rally.turn_table import TurnTable
from fairlap_race.runner.parts import FailedError

HERE = "127.0.0.1"


@pytest.fixture
def table() -> Iterator[TurnTable]:
    made = TurnTable("b", 2, HERE, 0)
    made.open()
    yield made
    made.close(0)


async def searches(
    place: TablePlace, task: str, count: int, said: list[str], client: str = "0", planned: bool = False
) -> Seat:
    seat = await Seat.taken(place, task, client, planned)
    for _ in range(count):
        await seat.take_turn()
        said.append(f"{place.number}{client}")
        await asyncio.sleep(0)
    await seat.left()
    return seat


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.lists(st.integers(0, 12), min_size=4, max_size=4), st.booleans())
def test_one_goes_after_the_other_and_who_is_left_goes_on_alone(races: int, counts: list[int], planned: bool) -> None:
    table = TurnTable("b", races, HERE, 0)
    table.open()
    said: list[str] = []

    async def all_of_them() -> list[Seat]:
        places = [TablePlace(HERE, table.port, "b", number) for number in range(races)]
        return await asyncio.gather(*(searches(it, "search", counts[it.number], said, "0", planned) for it in places))

    try:
        seats = asyncio.run(asyncio.wait_for(all_of_them(), 30))
    finally:
        table.close(0)
    least = min(counts[:races])
    orders = [order_of_round(races, round if planned else 0) for round in range(least)]
    assert said[: least * races] == [f"{number}0" for order in orders for number in order]
    for seat, count in zip(seats, counts, strict=False):
        assert seat.in_turn + seat.alone == count and seat.in_turn in (least, min(least + 1, count))
    assert len(set(counts[:races])) > 1 or not any(seat.alone for seat in seats)


def test_of_planned_requests_each_place_falls_to_each_race_alike() -> None:
    assert [order_of_round(2, number) for number in range(5)] == [[0, 1], [1, 0], [1, 0], [0, 1], [0, 1]]
    for races in range(2, MOST_RACES + 1):
        rounds = [order_of_round(races, number) for number in range(2 * races)]
        assert all(sorted(order) == list(range(races)) for order in rounds)
        for place in range(races):
            assert Counter(order[place] for order in rounds) == dict.fromkeys(range(races), 2)


def test_each_client_has_turns_of_its_own(table: TurnTable) -> None:
    said: list[str] = []

    async def all_of_them() -> None:
        places = [TablePlace(HERE, table.port, "b", number) for number in range(2)]
        await asyncio.gather(*(searches(it, "a task, named", 5, said, client) for it in places for client in "012"))

    asyncio.run(asyncio.wait_for(all_of_them(), 30))
    for client in "012":
        assert [who for who in said if who[1] == client] == [f"0{client}", f"1{client}"] * 5


def test_nobody_begins_before_all_are_there(table: TurnTable) -> None:
    async def early() -> None:
        one = asyncio.create_task(Seat.taken(TablePlace(HERE, table.port, "b", 1), "search", "0"))
        done, _ = await asyncio.wait([one], timeout=0.3)
        assert not done
        other = await Seat.taken(TablePlace(HERE, table.port, "b", 0), "search", "0")
        seat = await asyncio.wait_for(one, 10)
        waits = asyncio.create_task(seat.take_turn())
        done, _ = await asyncio.wait([waits], timeout=0.3)
        assert not done, "the first one begins"
        await other.take_turn()
        other.pass_on()
        await asyncio.wait_for(waits, 10)
        for each in (seat, other):
            await each.left()

    asyncio.run(early())


@pytest.mark.parametrize(
    "line",
    [
        "seat other 0 free aa 0", "seat b 2 free aa 0", "seat b x free aa 0", "seat b 0 late aa 0", "seat b 0 aa 0",
        "race b 7", "hello", "", "é", "x" * 9000,
    ],
)  # fmt: skip
def test_who_does_not_belong_there_is_not_let_in(table: TurnTable, line: str) -> None:
    with socket.create_connection((HERE, table.port), timeout=10) as stranger:
        stranger.sendall(f"{line}\n".encode())
        try:
            assert stranger.recv(100) == b""
        except ConnectionResetError:
            return


def race(table: TurnTable | None, number: int, monkeypatch: pytest.MonkeyPatch) -> RaceInTurn:
    """Return a race that sits down at a table which is there."""
    made = RaceInTurn(TurnsSpec("b", 2, number, "" if number == 0 else f"{HERE}:1"), threading.Event())
    monkeypatch.setattr(
        in_turn, "place_of", lambda spec, _port: TablePlace(HERE, table.port if table else 1, "b", number)
    )
    monkeypatch.setattr(in_turn, "TurnTable", lambda *_: TurnTable("unused", 2, HERE, 0))
    made.open()
    return made


def test_a_connection_notices_a_machine_that_has_gone(table: TurnTable, monkeypatch: pytest.MonkeyPatch) -> None:
    made = race(table, 1, monkeypatch)
    told = (socket.TCP_KEEPIDLE, socket.TCP_USER_TIMEOUT)
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE), *((socket.IPPROTO_TCP, option) for option in told)]
    assert made._connection and [made._connection.getsockopt(*option) for option in options] == [1, 30, 90_000]
    limit = time.monotonic() + 30
    while not table._there:
        assert time.monotonic() < limit
        time.sleep(0.01)
    (at_the_table,) = table._there.values()
    assert [at_the_table.get_extra_info("socket").getsockopt(*option) for option in options] == [1, 30, 90_000]
    made.close(finished=True)


def together(*work: Any) -> list[Any]:
    found: list[Any] = [None] * len(work)

    def do(number: int) -> None:
        found[number] = work[number]()

    threads = [threading.Thread(target=do, args=(number,)) for number in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return found


def test_races_meet_and_do_one_by_one_what_must_not_be_disturbed(
    table: TurnTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = race(table, 0, monkeypatch), race(table, 1, monkeypatch)
    alone, order = threading.Lock(), []

    def work(name: str) -> str:
        assert alone.acquire(blocking=False)
        order.append(name)
        alone.release()
        return name

    together(lambda: one.await_others(lambda: None), lambda: other.await_others(lambda: None))
    assert together(
        lambda: other.one_by_one("canary", lambda: work("other")), lambda: one.one_by_one("canary", lambda: work("one"))
    ) == ["other", "one"]
    assert order == ["one", "other"]
    assert together(lambda: one.meet("raced"), lambda: other.meet("raced")) == [True, True]
    other.close(finished=True)
    other.close(finished=False)  # once
    assert together(lambda: table._empty.wait(0.3)) == [False] and not one.left, "a good end is no loss"
    one.close(finished=True)
    assert table._empty.wait(10)


def test_a_race_that_goes_away_is_heard_of_by_all(table: TurnTable, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = race(table, 0, monkeypatch), race(table, 1, monkeypatch)
    heard: list[str] = []

    async def sitting() -> None:
        places = [TablePlace(HERE, table.port, "b", number) for number in range(2)]
        seats = await asyncio.gather(*(Seat.taken(it, "search", "0") for it in places))
        await seats[0].take_turn()
        await asyncio.to_thread(other.close, finished=False)
        with pytest.raises(ConnectionError, match="takes turns with has ended"):
            await seats[1].take_turn()
            await seats[1].take_turn()
        heard.append("seat")
        for seat in seats:
            await seat.left()

    asyncio.run(asyncio.wait_for(sitting(), 30))
    assert heard and one.meet("raced") is False
    assert one.left == "race 1 of those that this one takes turns with has ended"
    with pytest.raises(FailedError, match="race 1 of those"):
        one.await_others(lambda: None)
    one.close(finished=False)


def test_a_race_does_not_wait_for_ever(table: TurnTable, monkeypatch: pytest.MonkeyPatch) -> None:
    one = race(table, 0, monkeypatch)
    one._spec = TurnsSpec("b", 2, 0, others_seconds=0.0)
    with pytest.raises(FailedError, match="were not ready 0 minutes after it"):
        one.await_others(lambda: None)
    one._stop.set()
    assert one.meet("anything") is False
    one.close(finished=False)


def test_who_takes_no_turns_waits_for_nobody() -> None:
    nobody = RaceInTurn(None, threading.Event())
    nobody.open()
    nobody.await_others(lambda: None)
    assert nobody.meet("raced") and nobody.one_by_one("canary", lambda: 7) == 7
    assert (nobody.address, nobody.left) == ("", "")
    nobody.close(finished=True)


def test_a_table_that_cannot_be_reached_ends_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_turn, "_CONNECT_SECONDS", 0.0)
    with pytest.raises(FailedError, match=r"the table for turns 127\.0\.0\.1:1 cannot be reached"):
        race(None, 1, monkeypatch)
