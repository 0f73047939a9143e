"""What is written of an object, and what is said where the API server did not store all of it."""

import logging
from datetime import UTC, datetime, timedelta

from fairlap.api.status import BenchmarkStatus, Step
from fairlap.plan.basis.conditions import condition, stamp
from fairlap.queue.places import Places
from fairlap.runtime.loop.announce import Announcement
from fairlap.runtime.loop.own_place import OwnPlace
from fairlap.runtime.loop.status_writer import StatusWriter
from fairlap.runtime.objects.writes import status_json
from fairlap.runtime.reconcilers.benchmark_reconciler import BenchmarkReconciler

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
