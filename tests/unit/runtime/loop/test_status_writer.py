"""What is written of an object, and what is said where the API server did not store all of it."""

import asyncio
import copy
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlap.api.base import Json
from fairlap.api.status import BenchmarkStatus, Step
from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.conditions import condition, stamp
from fairlap.plan.unforeseen import Ending
from fairlap.queue.places import Places
from fairlap.runtime.loop.announce import Announcement
from fairlap.runtime.loop.own_place import OwnPlace
from fairlap.runtime.loop.status_writer import StatusWriter
from fairlap.runtime.objects.writes import status_json
from fairlap.runtime.reconcilers.benchmark_reconciler import BenchmarkReconciler
from fairlap_race.contract.reasons import Reason

BEFORE = BenchmarkStatus(phase="Racing", progress="between two steps")
AFTER = BEFORE.model_copy(update={"step": Step(name="race-1", stage="Provisioning", since="2026-01-01T00:00:00Z")})
NEXT_PASS = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def new_writer() -> StatusWriter[BenchmarkStatus]:
    places = Places(1, lambda _: None, lambda: None)
    return StatusWriter(BenchmarkReconciler.kind, OwnPlace(places, "u"), logging.getLogger("test"))


def write_without(writer: StatusWriter[BenchmarkStatus], after: BenchmarkStatus, *lost: str) -> list[Announcement]:
    """Return what is announced after a status was written of which these fields were not stored."""
    writer.written = {"status": {key: value for key, value in status_json(after).items() if key not in lost}}
    told: list[Announcement] = []
    writer.announce(BEFORE, after, told.append)
    return told


def test_a_condition_about_what_is_not_stored_is_of_the_pass_that_writes_it() -> None:
    writer = new_writer()
    assert [it.reason for it in write_without(writer, AFTER, "step")] == ["CRDOutdated"] and writer.intended == AFTER
    said = writer.said_again(NEXT_PASS)
    assert said and said.step == AFTER.step and said.progress.startswith("CRDOutdated: ")
    outdated = condition(said, "CRDOutdated")
    assert outdated and outdated.status == "True" and outdated.last_transition_time == stamp(NEXT_PASS)


def test_what_is_said_again_and_again_has_been_so_since_the_first_time() -> None:
    writer = new_writer()
    write_without(writer, AFTER, "step")
    first = writer.said_again(NEXT_PASS)
    assert first and not write_without(writer, first, "step"), "it was told"
    assert writer.said_again(NEXT_PASS + timedelta(hours=1)) == first


def test_nothing_is_said_again_that_stands_or_that_nothing_is_decided_by() -> None:
    writer = new_writer()
    for lost in ((), ("progress",)):
        write_without(writer, AFTER, *lost)
        assert writer.intended is None and writer.said_again(NEXT_PASS) is None


class Server:
    """Has one Benchmark; answers the next read and the next writes with these errors, or as it should."""

    def __init__(self, read: int | None, *writes: int) -> None:
        self.read, self.writes = read, [*writes]

    async def find(self, *_: str) -> Json:
        if self.read is not None:
            raise ApiError(self.read, "no answer")
        return copy.deepcopy(BODY)

    async def replace(self, manifest: Json, _: str) -> Json:
        if self.writes:
            raise ApiError(self.writes.pop(0), "no answer")
        return {**BODY, "status": manifest["status"]}


META = {"name": "bm", "namespace": "ns", "uid": "u", "resourceVersion": "1", "generation": 1}
BODY: Json = {"metadata": META, "spec": {}, "status": {"phase": "Pending"}}
PENDING = BenchmarkStatus(phase="Pending")
RACING = BenchmarkStatus(phase="Racing", progress="begins", admitted_time="2026-01-01T00:00:00Z")
LATER = RACING.model_copy(update={"progress": "begins later", "admitted_time": "2026-01-01T00:00:01Z"})
LAST = Ending(Reason.INTERNAL_ERROR, "odd")
Sent = tuple[BenchmarkStatus | Ending, int | None, tuple[int, ...]]
FIRST: Sent = (RACING, None, (0,))


@pytest.mark.parametrize(
    ("sent", "stands", "told"),
    [
        ([FIRST], RACING, ["begins"]),
        ([FIRST], PENDING, []),
        ([FIRST, (LATER, None, (0,))], RACING, ["begins"]),
        ([FIRST, (LATER, None, (504,))], LATER, ["begins later"]),
        ([FIRST, *[(LATER, None, (0,))] * 20], RACING, ["begins"]),
        ([FIRST, (LATER, None, (409,))], RACING, ["begins"]),
        ([FIRST, (LATER, None, ())], RACING, []),
        ([FIRST, (LAST, 0, ())], RACING, ["begins"]),
        ([FIRST, (LAST, 503, ())], "Failed", []),
        ([FIRST, (LAST, None, (0,))], "Failed", ["InternalError: odd"]),
        ([FIRST, (LAST, None, (0,))], RACING, ["begins"]),
        ([FIRST, (LAST, None, (422, 504))], "Failed", ["InternalError: odd"]),
        ([FIRST, (LAST, None, ())], "Failed", []),
    ],
)
def test_of_all_that_was_sent_without_an_answer_the_one_that_stands_is_told_once(
    sent: list[Sent], stands: BenchmarkStatus | str, told: list[str]
) -> None:
    """`sent`: statuses and last words, and what a read before them and the writes are answered with."""
    writer, events = new_writer(), list[Announcement]()
    writer.rate.wait = lambda _: 0.0  # type: ignore[method-assign]

    async def send(what: BenchmarkStatus | Ending, server: Any) -> None:
        if isinstance(what, Ending):
            await writer.end(server, META, what, lambda _: None)
        else:
            await writer.write(server, BODY, PENDING, what)

    for what, read, writes in sent:
        with suppress(ApiError):
            asyncio.run(send(what, Server(read, *writes)))
    for _ in range(2):
        json = {"phase": stands} if isinstance(stands, str) else status_json(stands)
        writer.announce_unanswered(json, events.append)
    assert [event.message for event in events] == told
    assert len(writer.unanswered) <= 4
