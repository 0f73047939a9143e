"""A check that another Benchmark has made: what is taken over is what a check of its own would have found."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import START, good_record, job, progress, seen, spec

from fairlap.api.spec import BenchmarkSpec, Race
from fairlap.api.status import BenchmarkStatus, Step, TargetStatus
from fairlap.plan.basis.conditions import condition, stamp
from fairlap.plan.basis.seen import Checker, Children, Plan, Seen
from fairlap.plan.basis.steps import CHECK, PROBE, steps
from fairlap.plan.benchmark import plan
from fairlap.plan.verdict.checked_by import OF_NO_MATTER
from fairlap.queue.turn import Turn
from fairlap_race.contract.recorded.record import Outcome, Record, TargetReport, Touch

Json = dict[str, Any]
RACE: Json = {"params": {"bulk_size": 100}}
HERE = TargetStatus(cluster_name="shop", cluster_uuid="uuid-1", build_hash="abc", nodes=3, rally="2.13")
TARGET: Json = {"hosts": ["https://shop:9200"]}


def of_kind(guest: bool, **changes: Any) -> BenchmarkSpec:
    race = {"track": {"builtin": "log_ingest"}, **RACE, **changes.pop("race", {})}
    place = {"target": TARGET} if guest else {"elasticsearch": {"version": "9.0.0"}}
    return BenchmarkSpec.model_validate({**place, "race": race, **changes})


def before_check(of: BenchmarkSpec) -> Seen:
    """The Benchmark when its check is what comes next."""
    begun = plan(seen(of=of)).status
    if of.target:
        begun = begun.model_copy(
            update={"target": HERE, "version": "8.11.0", "finished_step": PROBE, "admitted_time": stamp(START)}
        )
    return seen(begun, of, turn=Turn(may_go=True))


def checked(of: BenchmarkSpec, record: Record) -> BenchmarkStatus:
    """The status after a check of its own, which was cleaned up."""
    look = before_check(of)
    step = Step(name=CHECK, stage="Running", since=stamp(START), job_uid="job-1")
    children = Children(job=job(), progress=progress("done"))
    running = look.status.model_copy(update={"step": step})
    collected = plan(replace(look, status=running, children=children, records={CHECK: record}))
    gone = plan(replace(look, status=collected.status, turn=Turn(may_go=False, behind="x"), records={}))
    assert gone.status.step is None
    return gone.status


def taken(of: BenchmarkSpec, checker: Checker, **changes: Any) -> Plan:
    look = replace(before_check(of), **changes)
    first = plan(look)
    assert first.look == ("checker",) and first.status == look.status, "it is looked at before anything is said"
    return plan(replace(look, checker=checker))


def fields(status: BenchmarkStatus) -> Json:
    """All that a check may write: the place where it is made, and words, are others."""
    gone = {"conditions", "step", "progress", "phase", "queued_time", "admitted_time"}
    return status.model_dump(exclude=gone)


def is_taken(todo: Plan) -> bool:
    return todo.status.finished_step == CHECK and todo.status.step is None


numbers = st.integers(0, 10**9)
names = st.text("abc-_", min_size=1, max_size=8)
codecs = st.sampled_from((None, "best_compression"))


@given(
    target=st.booleans(),
    challenge=st.none() | names,
    documents=st.none() | st.dictionaries(names, numbers, max_size=3),
    revision=st.none() | st.text("0123456789abcdef", min_size=40, max_size=40),
    codec=codecs,
    carrier=st.sampled_from(("", "index_settings", "codec")),
)
def test_what_is_taken_over_is_what_a_check_finds(
    target: bool, challenge: Any, documents: Any, revision: Any, codec: Any, carrier: str
) -> None:
    index = {"codec": codec} if codec else {}
    where: Json = {"target": {**TARGET, "index": index}} if target else {}
    where = where or {"elasticsearch": {"version": "9.0.0", "index": index}}
    of = of_kind(target, **where)
    track = replace(
        good_record(CHECK).track, challenge=challenge, expected_documents=documents, revision=revision,
        passed_as={"index.codec": carrier} if codec else {},
    )  # fmt: skip
    report = TargetReport(touches=(Touch("index", "logs", creates=True),)) if target else None
    own = checked(of, replace(good_record(CHECK), track=track, target=report))
    asks = of.model_copy(update={"checked_by": "first"})
    todo = taken(asks, Checker(of, own))
    assert is_taken(todo)
    assert fields(todo.status) == fields(own)
    told, known = condition(todo.status, "Accepted"), condition(own, "Accepted")
    assert told and known and (told.status, told.reason) == ("True", "CheckedByOther")
    assert told.message == f"checked by first: {known.message}"
    assert {each.type for each in todo.status.conditions} == {each.type for each in own.conditions}
    again = plan(seen(todo.status, asks, turn=Turn(may_go=True)))
    assert again.status.step and again.status.step.name == "smoke", "and it goes on"


OWN = checked(of_kind(False), good_record(CHECK))
ASKS = of_kind(False, checkedBy="first")
CHECKER = Checker(of_kind(False), OWN)


def test_it_needs_no_place_and_no_job() -> None:
    todo = taken(ASKS, CHECKER, check_turn=Turn(may_go=False, behind="ns/x"), turn=Turn(may_go=False, behind="ns/x"))
    assert is_taken(todo) and not todo.create and todo.status.admitted_time is None
    assert todo.status.progress == "track check: that of first holds"


def changed(**changes: Any) -> BenchmarkStatus:
    return OWN.model_copy(update=changes)


def refused() -> BenchmarkStatus:
    return checked(of_kind(False), replace(good_record(CHECK), outcome=Outcome("TrackInvalid", "no")))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "checker",
    [
        Checker(),
        Checker(of_kind(False), BenchmarkStatus()),
        Checker(of_kind(False), changed(finished_step=None)),
        Checker(of_kind(False), changed(conditions=[])),
        Checker(of_kind(False), refused()),
        Checker(spec(), plan(seen()).status.model_copy(update={"finished_step": "smoke"})),
        Checker(of_kind(False, race={"params": {"bulk_size": 101}}), OWN),
        Checker(of_kind(False, race={"challenge": "ramp-up"}), OWN),
        Checker(of_kind(False, race={"excludeTasks": ["x"]}), OWN),
        Checker(of_kind(False, race={"track": {"builtin": "percolator"}}), OWN),
        Checker(of_kind(False, elasticsearch={"version": "9.0.0", "index": {"codec": "default"}}), OWN),
        Checker(of_kind(True), OWN),
        Checker(of_kind(False, racedAgain=["search"]), OWN),
    ],
)
def test_in_every_other_case_the_track_is_checked(checker: Checker) -> None:
    todo = taken(ASKS, checker)
    assert todo.status.step and todo.status.step.name == CHECK
    waits = taken(ASKS, checker, check_turn=Turn(may_go=False, ahead=1, behind="ns/x"))
    assert waits.status.step is None and "ns/x" in waits.status.progress, "in its turn"


@pytest.mark.parametrize(
    "ours",
    [
        {"race": {"scheduling": {"machines": ["a"]}}},
        {"race": {"resources": {"limits": {"cpu": "4"}}}},
        {"race": {"userTags": {"block": "3"}}},
        {"elasticsearch": {"version": "8.11.0", "index": {}, "scheduling": {"machines": ["a"]}}},
        {"repetitions": 3, "smokeTest": False},
    ],
)
def test_what_changes_nothing_in_a_check(ours: Json) -> None:
    assert is_taken(taken(of_kind(False, checkedBy="first", **ours), CHECKER))


def test_every_other_field_of_the_race_matters() -> None:
    assert set(Race.model_fields) > OF_NO_MATTER
    assert {"track", "challenge", "params", "include_tasks", "exclude_tasks", "corpora", "offline"}.isdisjoint(
        OF_NO_MATTER
    )


def test_tasks_that_were_not_required_there_are_not_checked() -> None:
    def asks(*tasks: str) -> BenchmarkSpec:
        return of_kind(False, checkedBy="first", race={"requireTasks": tasks})

    there = Checker(of_kind(False, race={"requireTasks": ["a", "b"]}), OWN)
    assert is_taken(taken(asks("b"), there)) and is_taken(taken(asks(), there))
    assert not is_taken(taken(asks("a", "c"), there))


def test_a_check_that_was_taken_over_itself() -> None:
    second = Checker(ASKS, taken(ASKS, CHECKER).status)
    told = condition(taken(of_kind(False, checkedBy="second"), second).status, "Accepted")
    assert told and told.message.startswith("checked by second: checked by first: track log_ingest")


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"version": "8.12.0"}, False),
        ({"target": None}, False),
        ({"target": HERE.model_copy(update={"cluster_uuid": "uuid-2"})}, False),
        ({"target": HERE.model_copy(update={"rally": "2.3"})}, False),
        ({"conditions": "no TargetChecked"}, False),
    ],
)
def test_a_target_is_the_same_cluster(change: Json, holds: bool) -> None:
    own = checked(of_kind(True), replace(good_record(CHECK), target=TargetReport()))
    if change.get("conditions"):
        change = {"conditions": [each for each in own.conditions if each.type != "TargetChecked"]}
    asks = of_kind(True, checkedBy="first")
    assert steps(asks)[:2] == (PROBE, CHECK), "it is looked at in any case"
    todo = taken(asks, Checker(of_kind(True), own.model_copy(update=change)))
    assert is_taken(todo) is holds
    if holds:
        said = condition(todo.status, "TargetChecked")
        assert said and said.message.endswith("(found by the check of first)")


@pytest.mark.parametrize("theirs", [{"keepCluster": "Always"}, {"target": {**TARGET, "overwrite": True}}])
def test_a_target_is_treated_the_same(theirs: Json) -> None:
    own = checked(of_kind(True), replace(good_record(CHECK), target=TargetReport()))
    assert not is_taken(taken(of_kind(True, checkedBy="first"), Checker(of_kind(True, **theirs), own)))
