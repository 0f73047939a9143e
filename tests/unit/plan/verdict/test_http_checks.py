"""A race over HTTP counts unless something is wrong with it: each row is the smallest change that must be caught."""

import json
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
    found = remarks(replace(GOOD, http=replace(GOOD.http, requests=3, hits=RequestHits("/hits", lines))), [], "")
    assert [it.reason for it in found] == ([Reason.SEARCHES_WITHOUT_HITS] if told else [])
    assert not told or "none of the first 3 lines of its file found anything" in found[0].text


@pytest.mark.parametrize(
    ("hits", "told"),
    [(RequestHits("/n", (1,) * 200, read=200), ""), (RequestHits("/n", (1,) * 3, "late", read=3), "the first 3 of"),
     (RequestHits("/n", (1,) * 200), ""), (RequestHits("/n", (1,) * 3, "late"), "the first 3 of the 200 lines")],
)  # fmt: skip
def test_lines_whose_hits_were_not_read_are_remarked_on(hits, told):
    found = remarks(replace(GOOD, http=replace(GOOD.http, hits=hits)), [], "")
    assert [it.reason for it in found] == ([Reason.SEARCHES_IN_DOUBT] if told else [])
    assert all(told in it.text for it in found)


@pytest.mark.parametrize("hits", [RequestHits("/n", (1, None), "x"), RequestHits("/n", (1, 2), "x", 3, 1)])
def test_an_answer_that_cannot_be_read_voids_the_race_behind_the_kept_lines_too(hits):
    race = {"requests": {"configMap": {"name": "q"}, "hits": "/n"}, "load": {}}
    spec = BenchmarkSpec.model_validate({"target": {"kind": "http", "hosts": ["http://e:9200"]}, "race": race})
    found = first_violation(replace(GOOD, http=replace(GOOD.http, hits=hits)), spec, HTTP_CHECKS)
    assert found is not None and found.reason is Reason.PROBE_UNREADABLE


@pytest.mark.parametrize(("kept", "reason"), [(False, None), (True, Reason.TASK_MISSING), (None, Reason.TASK_MISSING)])
def test_a_probe_that_drowned_the_engine_is_an_answer(kept, reason):
    """Requests of its warm-up held all clients until its end: nothing was measured, and the rate is not carried."""
    drowned = replace(TASK, task="c2", samples=Counts(100, 0), rally=None)
    search = SweepSpec("c", steps=(SweepStep("c1", kept=True), SweepStep("c2", kept=kept)), search=CapacitySearch())
    of = replace(GOOD, tasks=(TASK, drowned), track=replace(GOOD.track, sweep=search))
    found = first_violation(of, SPEC, HTTP_CHECKS)
    assert (found and found.reason) is reason


def test_searches_that_may_have_been_answered_in_part_are_remarked_on():
    hits = RequestHits("/n", (1,) * 200, read=200, parts_allowed=True)
    (found,) = remarks(replace(GOOD, http=replace(GOOD.http, hits=hits)), [], "")
    assert found.reason is Reason.SEARCHES_IN_DOUBT and "allow_partial_search_results=false" in found.text


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"opened": None}, ""),
        ({"opened": 0}, ""),
        ({"opened": 29, "opened_again": 29, "dropped": 0}, ""),
        ({"opened": 30, "dropped": 0}, "c1 30 of 3000"),
        ({"opened": 8}, ""),
        ({"opened": 2, "opened_again": 1}, "c1 2 of 3000 (1 of them again)"),
    ],
)
def test_requests_that_opened_connections_are_remarked_on(answers, told):
    """From 1 % of them on; in a closed loop wherever a client that had a connection had to open one again."""
    opened = replace(TASK, http=replace(TASK.http, **answers))
    record = replace(GOOD, tasks=(opened, replace(TASK, task="c2")))
    assert first_violation(record, SPEC, HTTP_CHECKS) is None
    found = [(it.reason, it.text) for it in remarks(record, [], "")]
    text = f"measured requests opened a connection first: {told}"
    assert found == ([(Reason.CONNECTIONS_OPENED, text)] if told else [])


def test_a_clock_that_is_set_is_no_clock_of_what_is_measured_over_http():
    stepped = replace(TASK, clock_shift_seconds=30.0)
    (found,) = remarks(replace(GOOD, tasks=(stepped, replace(TASK, task="c2"))), [], "")
    assert found.reason is Reason.CLOCK_STEPPED and "its figures are by another clock" in found.text
    assert "Rally" not in found.text


@pytest.mark.parametrize(
    ("addresses", "told"),
    [
        ((None, None), ""),
        ((1, 1), ""),
        ((3, 1), "h0:1 has 3 addresses, and k6 draws one for each connection"),
        ((3, 2), "h0:1 has 3 addresses, h1:1 has 2 addresses, and k6 draws one for each connection"),
    ],
)
def test_a_name_of_several_addresses_is_remarked_on(addresses, told):
    """What each of the machines behind it got is not known, and seldom even."""
    hosts = tuple(HttpHost(f"h{number}:1", 200, addresses=count) for number, count in enumerate(addresses))
    found = remarks(replace(GOOD, http=replace(GOOD.http, hosts=hosts)), [], "")
    assert [it.reason for it in found] == ([Reason.REQUESTS_UNEVEN] if told else [])
    assert all(it.text.startswith(told) and "as a host of its own" in it.text for it in found)


def test_a_record_of_an_older_runner_says_nothing_of_addresses():
    older = json.loads(GOOD.to_json())
    older["http"]["hosts"][0].pop("addresses", None)
    assert Record.from_json(json.dumps(older)) == GOOD


@pytest.mark.parametrize(("mode", "told"), [("race", [Reason.SCHEDULE_NOT_KEPT]), ("smoke", [])])
def test_two_seconds_tell_nothing_of_a_schedule(mode, told):
    """At a request a second one that is missing is half of them."""
    half = replace(TASK, target_throughput=1.0, schedule_share=0.5)
    assert [it.reason for it in remarks(replace(GOOD, mode=mode, tasks=(half,)), [], "")] == told
