"""Rally's clients send their requests in turn with those of other races; for a Comparison's `design.kind: Duet`.

Before a task begins each of its clients sits down at the table (`runner.by_rally.turn_table`) and waits until the
same client of all the other races is there. From then on it asks for its turn before a request, outside of what is
measured, and passes it on when it comes to the next one: what Rally does between two requests disturbs nobody else's.
Where requests are planned (a target throughput, a schedule) it passes it on at once, since it would sleep with it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairlap_race.contract.specification.turns import FREE, PLANNED, TaskTurns, TurnsSpec

TURNS = "turns.json"
"""The file that says where the table is, beside those of `live_files`; there is none where nobody takes turns."""
TAKEN = "turns-taken.jsonl"
"""The file with a line for each client of each task: how its requests were sent."""


@dataclass(frozen=True)
class TablePlace:
    """Where a race sits down."""

    address: str
    port: int
    block: str
    number: int


def write_turns(directory: Path, place: TablePlace) -> None:
    """Let Rally's process take turns at the table that is there."""
    (directory / TURNS).write_text(json.dumps(asdict(place)), encoding="utf-8")


def place_of(spec: TurnsSpec, own_port: int) -> TablePlace:
    """Return where the table of a race is; `own_port`: where it is if the race keeps it itself."""
    if not spec.at:
        return TablePlace("127.0.0.1", own_port, spec.block, spec.number)
    address, _, port = spec.at.rpartition(":")
    return TablePlace(address.strip("[]"), int(port), spec.block, spec.number)


class Seat:
    """One client's place at the table, for one task."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, planned: bool) -> None:
        self._reader, self._writer = reader, writer
        self._has_turn = False
        self.planned = planned
        self.in_turn = self.alone = 0

    @classmethod
    async def taken(cls, place: TablePlace, task: str, client: str, planned: bool = False) -> Seat:
        """Sit down, and return when all the others have; raises OSError where there is no table (any more).

        `client`: its number, and for the how manieth time it runs that task; `planned`: its requests are due at
        moments, the same ones for all races.
        """
        reader, writer = await asyncio.open_connection(place.address, place.port)
        seat = cls(reader, writer, planned)
        kind = PLANNED if planned else FREE
        seat._send("seat", place.block, place.number, kind, task.encode().hex() or "-", client)
        try:
            await seat._hear()
        except BaseException:
            await seat.left()
            raise
        return seat

    async def take_turn(self) -> None:
        """Return when it is this client's turn; raises OSError where there is no table any more."""
        self.pass_on()
        word = await self._hear()
        self._has_turn = True
        self.in_turn += word == "go"
        self.alone += word != "go"

    def pass_on(self) -> None:
        """Let the next one have its turn, if it is this client's."""
        if self._has_turn:
            self._has_turn = False
            self._send("done")

    async def left(self) -> None:
        """Get up."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            return

    def _send(self, *words: object) -> None:
        self._writer.write((" ".join(map(str, words)) + "\n").encode())

    async def _hear(self) -> str:
        line = await self._reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the race that this one takes turns with has ended")
        return line.decode().strip()


_SEAT: ContextVar[Seat | None] = ContextVar("seat", default=None)


def install(directory: Path, driver: Any) -> None:
    """Change Rally's module `driver` where turns are taken."""
    try:
        place = TablePlace(**json.loads((directory / TURNS).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return
    run, execute = driver.AsyncExecutor.__call__, driver.execute_single
    begun: Counter[tuple[str, int]] = Counter()

    async def run_seated(self: Any, *args: Any, **options: Any) -> Any:
        planned = not driver.scheduler.run_unthrottled(self.task)
        # In a parallel element with more clients than it runs with, one runs a task again for each that is missing.
        begun[self.task.name, self.client_id] += 1
        client = f"{self.client_id}.{begun[self.task.name, self.client_id]}"
        seat = await Seat.taken(place, self.task.name, client, planned)
        # Each client is a task of asyncio's, with variables of its own.
        _SEAT.set(seat)
        try:
            return await run(self, *args, **options)
        finally:
            await seat.left()
            note(directory, TaskTurns(self.task.name, seat.in_turn, seat.alone))

    async def execute_in_turn(runner: Any, es: Any, params: Any, on_error: Any) -> Any:
        seat = _SEAT.get()
        if seat is None:
            return await execute(runner, es, params, on_error)
        await seat.take_turn()
        try:
            return await execute(runner, es, params, on_error)
        finally:
            if seat.planned:
                seat.pass_on()

    driver.AsyncExecutor.__call__, driver.execute_single = run_seated, execute_in_turn


def note(directory: Path, taken: TaskTurns) -> None:
    """Add to the file how one client's requests were sent; from several processes at once."""
    line = json.dumps([taken.task, taken.in_turn, taken.alone]) + "\n"
    file = os.open(directory / TAKEN, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def read_taken(directory: Path) -> dict[str, TaskTurns]:
    """Return by task how its requests were sent; none where nobody took turns."""
    found: dict[str, TaskTurns] = {}
    try:
        lines = (directory / TAKEN).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    for line in lines:
        task, in_turn, alone = json.loads(line)
        before = found.get(task, TaskTurns(task))
        found[task] = TaskTurns(task, before.in_turn + in_turn, before.alone + alone)
    return found
