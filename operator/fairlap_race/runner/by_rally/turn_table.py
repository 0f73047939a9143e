"""The table at which races sit down that take turns: it says whose turn it is, and nothing else.

A line of text each, over TCP. `race BLOCK NUMBER` is a race's own connection, open from its begin to its end:
`meet NAME` is answered with `met NAME` when all races have said so, `bye` is said before a good end.
`seat BLOCK NUMBER KIND TASK CLIENT` is one client at one task (in hex), another one each time that it runs it: it hears
`begin` when that client of all races is there, then `go` when it is its turn (`alone` when some of them are over with
the task), and says `done`. Where a race goes away without a word all hear `left NUMBER`, and the seats are taken away.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.specification.turns import KINDS, PLANNED, TURNS_PORT, order_of_round

LOG = logging.getLogger(__name__)
_LONGEST_LINE = 4096
_FIRST_WORD_SECONDS = 10.0
_START_SECONDS = 30.0
_KEEP_ALIVE = {
    socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 10, socket.TCP_KEEPCNT: 6, socket.TCP_USER_TIMEOUT: 90_000,
}  # fmt: skip
"""Seconds of silence, seconds between questions, and how many are left without an answer: a minute and a half.

Nothing is asked while something that was sent is not acknowledged: for that the last one, in milliseconds.
"""


@dataclass
class _SeatGroup:
    """The seats of the same client of all races, at one task."""

    seats: dict[int, asyncio.StreamWriter] = field(default_factory=dict)
    turn: int = -1
    """whose turn it is; -1 before all are there"""
    planned: bool = False
    rounds: int = 0
    to_go: list[int] = field(default_factory=list)
    """who has not had its turn in this round"""
    whole: bool = True
    """whether all were there when this round began"""


class TurnTable:
    """The table of one block, in a thread of its own."""

    def __init__(self, block: str, races: int, host: str | None = None, port: int = TURNS_PORT) -> None:
        """Make one for so many `races`; `host` None means all addresses of this pod."""
        self._block, self._races = block, races
        self._host, self.port = host, port
        self._groups: dict[tuple[str, str], _SeatGroup] = {}
        self._there: dict[int, asyncio.StreamWriter] = {}
        self._arrived: defaultdict[str, set[int]] = defaultdict(set)
        self._left: int | None = None
        self._loop = asyncio.new_event_loop()
        self._up = threading.Event()
        self._problem: OSError | None = None
        self._empty = threading.Event()
        self._empty.set()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="turn-table", daemon=True)

    def open(self) -> None:
        """Begin to let races in; raises OSError where the port is taken or it takes too long."""
        self._thread.start()
        if not self._up.wait(_START_SECONDS):
            raise TimeoutError("the table for turns did not open")
        if self._problem:
            raise self._problem

    def close(self, patience: float) -> None:
        """End when all races have gone away, after `patience` (s) in any case."""
        self._empty.wait(patience)
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(_START_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        try:
            server = await asyncio.start_server(self._welcome, self._host, self.port, limit=_LONGEST_LINE)
        except OSError as error:
            self._problem = error
            self._up.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._up.set()
        await self._closing.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            keep_alive(writer.get_extra_info("socket"))
            words = (await asyncio.wait_for(_line(reader), _FIRST_WORD_SECONDS)).split()
            match words:
                case ["race", self._block, number] if self._is_race(number):
                    await self._race(int(number), reader, writer)
                case ["seat", self._block, number, kind, task, client] if self._is_race(number) and kind in KINDS:
                    await self._seat(int(number), kind, (task, client), reader, writer)
        except (OSError, ValueError, TimeoutError, asyncio.CancelledError) as error:
            LOG.info("a connection to the table for turns ended: %s", error or type(error).__name__)
        finally:
            writer.close()

    def _is_race(self, number: str) -> bool:
        return number.isdecimal() and int(number) < self._races

    async def _race(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the connection of a race until it ends."""
        if number in self._there:
            return
        self._there[number] = writer
        self._empty.clear()
        good_end = False
        try:
            if self._left is not None:
                _send(writer, "left", self._left)
            while line := await _line(reader):
                words = line.split()
                if words[:1] == ["meet"] and len(words) == 2:
                    self._meet(words[1], number)
                good_end = good_end or words == ["bye"]
        finally:
            del self._there[number]
            if not good_end:
                self._abandon(number)
            if not self._there:
                self._empty.set()

    def _meet(self, name: str, number: int) -> None:
        self._arrived[name].add(number)
        if len(self._arrived[name]) == self._races:
            for writer in self._there.values():
                _send(writer, "met", name)

    def _abandon(self, number: int) -> None:
        """Let all know that a race has gone away before its end."""
        if self._left is None:
            self._left = number
            for writer in self._there.values():
                _send(writer, "left", number)
            for group in self._groups.values():
                for writer in group.seats.values():
                    writer.close()

    async def _seat(
        self, number: int, kind: str, key: tuple[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve the connection of a client at a task until it is over with it."""
        group = self._groups.setdefault(key, _SeatGroup())
        if self._left is not None or number in group.seats or group.turn >= 0:
            return
        group.seats[number] = writer
        group.planned = group.planned or kind == PLANNED
        try:
            if len(group.seats) == self._races:
                for each in group.seats.values():
                    _send(each, "begin")
                self._give_turn(group)
            while line := await _line(reader):
                if line.strip() == "done" and group.turn == number:
                    self._give_turn(group)
        finally:
            del group.seats[number]
            if group.turn == number and group.seats:
                self._give_turn(group)
            if not group.seats and self._groups.get(key) is group:
                del self._groups[key]

    def _give_turn(self, group: _SeatGroup) -> None:
        """Let the next one go that is still there."""
        while (following := self._next(group)) not in group.seats:
            pass
        group.turn = following
        _send(group.seats[following], "go" if group.whole else "alone")

    def _next(self, group: _SeatGroup) -> int:
        if not group.to_go:
            group.to_go = order_of_round(self._races, group.rounds if group.planned else 0)
            group.whole = len(group.seats) == self._races
            group.rounds += 1
        return group.to_go.pop(0)


def keep_alive(connection: Any) -> None:
    """Let a socket (or asyncio's view of one) fail soon after the other side's machine has gone away without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _send(writer: asyncio.StreamWriter, *words: object) -> None:
    writer.write((" ".join(map(str, words)) + "\n").encode())


async def _line(reader: asyncio.StreamReader) -> str:
    """Return the next line, "" at the end; raises OSError and ValueError."""
    return (await reader.readline()).decode("ascii")
