"""A race over HTTP counts unless something is wrong with it: each row is the smallest change that must be caught."""

from dataclasses import replace

import pytest

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap.plan.verdict.http_checks import HTTP_CHECKS
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HttpAnswers, HttpHost, HttpRecord, RequestHits
from fairlap_race.contract.recorded.record import Counts, Outcome, RallyNumbers, Record, Task, Throughput
from fairlap_race.contract.recorded.track_record import TrackRecord, TrackTask
from fairlap_race.contract.specification.capacity_search import CapacitySearch
from fairlap_race.contract.specification.sweep import SweepSpec, SweepStep

SPEC = BenchmarkSpec.model_validate(
    {
        "elasticsearch": {"version": "8.6.1"},
        "race": {"track": {"configMap": {"name": "t"}}, "allow": {"errorRate": {"c2": 0.01}}},
    }
)
NUMBERS = RallyNumbers(Throughput(mean=100.0, median=100.0), {"p50": 10.0}, error_rate=0.0)
TASK = Task(task="c1", duration_seconds=30.0, samples=Counts(100, 3000), rally=NUMBERS, http=HttpAnswers({"200": 3000}))
GOOD = Record(
    mode="race",
    track=TrackRecord(tasks=tuple(TrackTask(name, reported=True) for name in ("c1", "c2"))),
    tasks=(TASK, replace(TASK, task="c2")),
    http=HttpRecord("1.8.1", 0, 200, 200, (HttpHost("one:10041", 200),)),
)


def test_a_good_race_counts_although_no_elasticsearch_was_asked():
    assert first_violation(GOOD, SPEC, HTTP_CHECKS) is None
    assert remarks(GOOD, [], "") == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"outcome": Outcome(Reason.RACE_TIMEOUT, "late")}, Reason.RACE_TIMEOUT),
        ({"http": None}, Reason.RECORD_MISSING),
        ({"http": replace(GOOD.http, hosts=())}, Reason.RECORD_MISSING),
        ({"http": replace(GOOD.http, exit_code=None)}, Reason.LOAD_GENERATOR_DIED),
        ({"http": replace(GOOD.http, exit_code=107)}, Reason.LOAD_GENERATOR_DIED),
        ({"track": TrackRecord()}, Reason.NO_TASKS),
        ({"tasks": (TASK,)}, Reason.TASK_MISSING),
        ({"tasks": (TASK, replace(TASK, task="c2", samples=Counts(9, 0), rally=None))}, Reason.TASK_MISSING),
        ({"tasks": (TASK, replace(TASK, task="c2", http=None))}, Reason.TASK_MISSING),
        ({"tasks": (replace(TASK, errors=Counts(1, 0)), replace(TASK, task="c2"))}, Reason.ERROR_RATE),
        ({"tasks": (TASK, replace(TASK, task="c2", errors=Counts(0, 40)))}, Reason.ERROR_RATE),
    ],
)  # fmt: skip
def test_what_is_wrong_is_caught(change, reason):
    found = first_violation(replace(GOOD, **change), SPEC, HTTP_CHECKS)
    assert found is not None and found.reason is reason


def test_errors_within_what_is_accepted_are_none():
    few = replace(GOOD, tasks=(TASK, replace(TASK, task="c2", errors=Counts(0, 30))))
    assert first_violation(few, SPEC, HTTP_CHECKS) is None


@pytest.mark.parametrize(("lines", "told"), [((0, 0, 0), True), ((0, 4, 0), False), ((), False)])
def test_requests_that_find_nothing_at_all_are_remarked_on(lines, told):
    """An index that is empty, or not there, answers fast, and with status 200 by some engines."""
    found = remarks(replace(GOOD, http=replace(GOOD.http, hits=RequestHits("/hits", lines))), [], "")
    assert [it.reason for it in found] == ([Reason.SEARCHES_WITHOUT_HITS] if told else [])
    assert not told or "none of the first 3 lines of its file found anything" in found[0].text


@pytest.mark.parametrize(("kept", "reason"), [(False, None), (True, Reason.TASK_MISSING), (None, Reason.TASK_MISSING)])
def test_a_probe_that_drowned_the_engine_is_an_answer(kept, reason):
    """Requests of its warm-up held all clients until its end: nothing was measured, and the rate is not carried."""
    drowned = replace(TASK, task="c2", samples=Counts(100, 0), rally=None)
    search = SweepSpec("c", steps=(SweepStep("c1", kept=True), SweepStep("c2", kept=kept)), search=CapacitySearch())
    of = replace(GOOD, tasks=(TASK, drowned), track=replace(GOOD.track, sweep=search))
    found = first_violation(of, SPEC, HTTP_CHECKS)
    assert (found and found.reason) is reason
