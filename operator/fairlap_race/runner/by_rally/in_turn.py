"""A race's own connection to the table at which it takes turns: it waits for the others, and hears when one leaves.

A race that takes no turns goes through the same calls, and waits for nobody.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import POD_IP_VARIABLE
from fairlap_race.contract.specification.turns import TurnsSpec, address_of
from fairlap_race.rally.inside.taking_turns import TablePlace, place_of, write_turns
from fairlap_race.runner.by_rally.turn_table import TurnTable, keep_alive
from fairlap_race.runner.parts import STOPPED, FailedError

LOG = logging.getLogger(__name__)
Found = TypeVar("Found")
_CONNECT_SECONDS = 60.0
_LOOK_SECONDS = 0.5
_CLOSE_SECONDS = 30.0
"""how long the table is kept for others after the end of the race that keeps it"""
_READY = "ready"


class RaceInTurn:
    """How one race keeps step with the others of its block."""

    def __init__(self, spec: TurnsSpec | None, stop: threading.Event) -> None:
        self._spec, self._stop = spec, stop
        self._table: TurnTable | None = None
        self._connection: socket.socket | None = None
        self._place: TablePlace | None = None
        self._news = threading.Condition()
        self._met: set[str] = set()
        self._closed = False
        self.address = ""
        """where the table is for the others, when this race keeps it"""
        self.left = ""
        """that another race has gone away, as a sentence"""

    def open(self) -> None:
        """Sit down at the table, which one of the races lays; raises FailedError."""
        if (spec := self._spec) is None:
            return
        try:
            if not spec.at:
                self._table = TurnTable(spec.block, spec.races)
                self._table.open()
                self.address = address_of(os.environ.get(POD_IP_VARIABLE, "127.0.0.1"))
            self._place = place_of(spec, self._table.port if self._table else 0)
            self._connection = self._connected(self._place)
            self._send("race", spec.block, spec.number)
        except OSError as error:
            where = spec.at or "here"
            raise FailedError(Reason.RACE_ABORTED, f"the table for turns {where} cannot be reached: {error}") from error
        threading.Thread(target=self._listen, args=(self._connection,), name="in-turn", daemon=True).start()

    def write(self, directory: Path) -> None:
        """Let Rally take turns, if this race does."""
        if self._place:
            write_turns(directory, self._place)

    def await_others(self, waiting: Callable[[], None]) -> None:
        """Return when all races are ready to begin; `waiting` is called while some are not. Raises FailedError."""
        most = self._spec.others_seconds if self._spec else 0.0
        limit = time.monotonic() + most

        def wait() -> None:
            waiting()
            if time.monotonic() > limit:
                text = f"the races that it takes turns with were not ready {most / 60:.0f} minutes after it"
                raise FailedError(Reason.RACE_ABORTED, text)

        if not self.meet(_READY, wait):
            raise FailedError(Reason.RACE_ABORTED, self.left or STOPPED)

    def meet(self, name: str, waiting: Callable[[], None] | None = None) -> bool:
        """Return whether all races have come to the point `name`: False when one has left, or this one is to stop."""
        if self._spec is None:
            return True
        self._send("meet", name)
        while not self._stop.is_set():
            with self._news:
                if name in self._met or self.left:
                    return name in self._met
                self._news.wait(_LOOK_SECONDS)
            if waiting:
                waiting()
        return False

    def one_by_one(self, name: str, work: Callable[[], Found]) -> Found:
        """Return what `work` does, while all the other races wait."""
        if self._spec is None:
            return work()
        for number in range(self._spec.number + 1):
            self.meet(f"{name}-{number}")
        found = work()
        for number in range(self._spec.number + 1, self._spec.races + 1):
            self.meet(f"{name}-{number}")
        return found

    def close(self, finished: bool) -> None:
        """Get up, once; without a word where this race has not `finished`, so that the others hear of it."""
        if self._closed:
            return
        self._closed = True
        if self._connection:
            if finished:
                self._send("bye")
            try:
                self._connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                LOG.info("the table for turns was gone")
            self._connection.close()
        if self._table:
            self._table.close(_CLOSE_SECONDS if finished and not self.left else 0.0)

    def _connected(self, place: TablePlace) -> socket.socket:
        """Return a connection; what lets pods reach each other may come a little later than they do."""
        limit = time.monotonic() + _CONNECT_SECONDS
        while True:
            try:
                found = socket.create_connection((place.address, place.port), timeout=_LOOK_SECONDS * 10)
            except OSError:
                if time.monotonic() > limit or self._stop.wait(_LOOK_SECONDS):
                    raise
            else:
                found.settimeout(None)
                keep_alive(found)
                return found

    def _send(self, *words: object) -> None:
        try:
            if self._connection:
                self._connection.sendall((" ".join(map(str, words)) + "\n").encode())
        except OSError:
            self._others_left("the race that keeps the table for turns has ended")

    def _listen(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("r", encoding="ascii") as lines:
                for line in lines:
                    match line.split():
                        case ["met", name]:
                            with self._news:
                                self._met.add(name)
                                self._news.notify_all()
                        case ["left", number]:
                            self._others_left(f"race {number} of those that this one takes turns with has ended")
        except (OSError, ValueError) as error:
            LOG.info("the table for turns was lost: %s", error)
        self._others_left("the race that keeps the table for turns has ended")

    def _others_left(self, words: str) -> None:
        with self._news:
            self.left = self.left or words
            self._news.notify_all()
