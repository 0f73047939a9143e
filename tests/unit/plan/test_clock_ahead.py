"""A clock that was ahead has written times that are still to come: they count from now, or nothing would ever end."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from comparison_world import Film
from world import START, cluster, job, later, pod, seen

from fairlap.api.status import BenchmarkStatus, Stage, Step
from fairlap.plan.basis.conditions import moment, stamp
from fairlap.plan.basis.seen import Children, Seen
from fairlap.plan.benchmark import plan
from fairlap.plan.lifetimes.expiry import describe, expires_at, is_due
from fairlap.plan.lifetimes.keep import kept_until
from fairlap.queue.turn import Turn

AHEAD = "2036-01-01T00:00:00Z"


def in_stage(stage: Stage, since: str, **more: Any) -> Seen:
    status = BenchmarkStatus(
        phase="Provisioning",
        start_time=more.pop("start_time", stamp(START)),
        step=Step(name="race-1", stage=stage, since=since, job_uid="job-1", **more),
    )
    children = Children(cluster(phase="ApplyingChanges"), None, None, [pod("es-0", ready=False)])
    if stage in ("Running", "Cleaning"):
        children = replace(children, job=job())
    more_seen = {"warnings": (), "logs": {}, "records": {"race-1": None}}
    return seen(status, children=children, now=later(minutes=1), **more_seen)


@pytest.mark.parametrize("stage", ["Provisioning", "Starting", "Running", "Cleaning"])
def test_a_stage_that_begins_in_years_begins_now(stage: Stage) -> None:
    look = in_stage(stage, AHEAD, job_started=True, job_started_at=AHEAD, start_time=AHEAD)
    todo = plan(look)
    now = stamp(look.now)
    assert (todo.create, todo.delete, todo.start_job) == ((), (), False), "it is written first"
    step = todo.status.step
    assert step and (step.since, step.job_started_at, todo.status.start_time) == (now, now, now)
    assert step.model_copy(update={"since": AHEAD, "job_started_at": AHEAD}) == look.status.step
    again = plan(replace(look, status=todo.status)).status.step
    assert again and (again.since, again.job_started_at) == (now, now), "once"


def test_a_cluster_that_does_not_come_fails_after_all() -> None:
    look = in_stage("Provisioning", AHEAD)
    late = replace(look, status=plan(look).status, now=look.now + timedelta(minutes=16), logs=AnyLog())
    assert plan(late).status.reason == "ProvisioningTimeout"


class AnyLog(dict[Any, str]):
    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, _: object) -> str:
        return ""


def test_two_clocks_that_differ_a_little_are_no_matter() -> None:
    since = stamp(later(minutes=6))
    step = plan(in_stage("Provisioning", since)).status.step
    assert step and step.since == since
    status = BenchmarkStatus(phase="Pending", start_time=since)
    assert plan(seen(status, now=later(minutes=1))).status.start_time == since


def test_an_operator_whose_clock_was_ahead_when_it_began_still_ends_what_is_late() -> None:
    look = in_stage("Starting", stamp(START))
    late = replace(look, taken_up=moment(AHEAD), now=later(minutes=16))
    assert plan(late).status.reason == "ProvisioningTimeout"


def test_a_block_that_begins_in_years_begins_now() -> None:
    film = Film().until("Starting", 1)
    assert film.status.block
    block = film.status.block.model_copy(update={"since": AHEAD})
    film.status = film.status.model_copy(update={"block": block, "start_time": AHEAD})
    todo = film.step()
    assert todo.create is None and todo.status.block
    assert (todo.status.block.since, todo.status.start_time) == (stamp(film.now), stamp(film.now))
    assert film.run().status.verdict


def test_one_that_gave_its_place_up_in_years_lines_up_now() -> None:
    """Else it stands behind all that come until then, and whoever gives way meanwhile behind it."""
    status = BenchmarkStatus(phase="Queued", start_time=stamp(START), queued_time=AHEAD)
    look = seen(status, turn=Turn(may_go=False, ahead=1, behind="ns/other"), now=later(minutes=1))
    assert plan(look).status.queued_time == stamp(look.now)
    behind = stamp(later(minutes=2))  # of one whose clock is a little ahead
    assert plan(replace(look, status=status.model_copy(update={"queued_time": behind}))).status.queued_time == behind
    # As far ahead as those before it are, whom it gave way to: their clock may be the right one.
    for line in ("turn", "check_turn"):
        theirs = Turn(may_go=False, ahead=1, behind="ns/other", after=stamp(later(hours=3)))
        waits = replace(look, turn=Turn(may_go=False), check_turn=Turn(may_go=False))
        todo = plan(replace(waits, **{line: theirs}))
        assert todo.status.queued_time == stamp(later(hours=3, seconds=1))
        assert plan(replace(waits, **{line: theirs}, status=todo.status)).status.queued_time == todo.status.queued_time
    film = Film().until("Starting", 1)
    film.status = film.status.model_copy(update={"block": None, "admitted_time": None, "queued_time": AHEAD})
    assert film.step().status.queued_time == stamp(film.now)


KEPT_AND_EXPIRING = {
    "metadata": {"name": "bm", "namespace": "ns", "uid": "u"},
    "spec": {"keepClusterFor": "24h", "ttlAfterFinished": {"succeeded": "48h"}},
    "status": {"phase": "Succeeded", "conditions": [{"type": "ClusterKept", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("ended", "counted_from"),
    [(AHEAD, START), (stamp(later(minutes=4)), later(minutes=4)), (stamp(later(hours=-9)), later(hours=-9))],
)
def test_what_ended_in_years_is_kept_from_now_on(ended: str, counted_from: datetime) -> None:
    benchmark = {**KEPT_AND_EXPIRING, "status": {**KEPT_AND_EXPIRING["status"], "completionTime": ended}}
    assert kept_until(benchmark, START) == counted_from + timedelta(hours=24)
    assert expires_at(benchmark, START) == is_due(benchmark, START) == counted_from + timedelta(hours=48)
    assert describe(benchmark, START) == ""
