"""Which of Kubernetes' warnings are about a step, and which one is told."""

from collections.abc import Iterable
from typing import Any

import pytest
from world import START, cluster, job, later, pod, seen

from fairlap.api.status import BenchmarkStatus, Step
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Children, Seen, Warned
from fairlap.plan.explain.warned import event_time, newest_first, warning_of, why_not_ready

STATUS = BenchmarkStatus(step=Step(name="race-1", stage="Provisioning", since=stamp(START)))


def select_warnings(found: Seen, events: Iterable[dict[str, Any]]) -> tuple[Warned, ...]:
    own = warning_of(found)
    return newest_first(each for event in events if (each := own(event)) is not None)


def event(kind: str, name: str, uid: str, seconds: float = 10, **more: Any) -> dict[str, Any]:
    about = {"kind": kind, "name": name, "uid": uid}
    time = stamp(later(seconds=seconds))
    return {"metadata": {"creationTimestamp": time}, "involvedObject": about, "reason": "R", "message": "m", **more}


@pytest.mark.parametrize(
    ("found", "ours"),
    [
        (event("Pod", "es-0", "es-0"), True),
        (event("Pod", "es-0", "of-an-earlier-one"), False),
        (event("Job", "bm-race-1", "job-1"), True),
        (event("Job", "bm-race-1", "job-0"), False),
        (event("Elasticsearch", "bm-race-1", "es"), True),
        (event("StatefulSet", "bm-race-1-es-default", "any"), True),
        (event("StatefulSet", "bm-race-1-es-default", "any", seconds=-10), False),
        (event("StatefulSet", "bm-race-2-es-default", "any"), False),
        (event("Node", "n1", "n1"), False),
        ({"metadata": {"creationTimestamp": stamp(START)}, "involvedObject": {}}, False),
    ],
)
def test_only_the_events_of_the_step_count(found: dict[str, Any], ours: bool) -> None:
    elasticsearch = cluster()
    elasticsearch["metadata"]["creationTimestamp"] = stamp(START)
    children = Children(elasticsearch=elasticsearch, job=job(), pods=[pod("es-0")])
    assert bool(select_warnings(seen(STATUS, children=children), [found])) is ours


def test_of_a_long_message_no_more_is_kept_than_a_status_has_room_for() -> None:
    (found,) = select_warnings(
        seen(STATUS, children=Children(pods=[pod("es-0")])), [event("Pod", "es-0", "es-0", message="m " * 500_000)]
    )
    assert len(found.message) < 4096


def test_the_newest_comes_first_whichever_way_its_time_is_written() -> None:
    stamps = [stamp(later(seconds=n)) for n in (30, 50, 40)]
    events = [
        event("Pod", "es-0", "es-0", message="created\n  only"),
        event("Pod", "es-0", "es-0", message="counted", lastTimestamp=stamps[0]),
        event("Pod", "es-0", "es-0", message="a series", series={"lastObservedTime": stamps[1]}, lastTimestamp=None),
        event("Pod", "es-0", "es-0", message="new style", eventTime=stamps[2], lastTimestamp=None),
    ]
    assert event_time(events[1]) == later(seconds=30)
    found = select_warnings(seen(STATUS, children=Children(pods=[pod("es-0")])), events)
    assert [warned.message for warned in found] == ["a series", "new style", "counted", "created only"]
    assert select_warnings(seen(), events) == (), "between two steps nothing is ours"


@pytest.mark.parametrize(
    "odd",
    [
        {"involvedObject": None},
        {"involvedObject": {}},
        {"involvedObject": {"kind": "StatefulSet"}},
        {"involvedObject": {"kind": "StatefulSet", "name": None}},
        {"involvedObject": {"kind": "StatefulSet", "name": "bm-race-1-es-default"}},
        {"involvedObject": {"kind": "Pod", "uid": "es-0"}},
    ],
)
@pytest.mark.parametrize(
    "times",
    [
        {"lastTimestamp": "0000-01-01T00:00:00Z"},
        {"lastTimestamp": None, "eventTime": "0000-01-01T00:00:00.000000Z"},
        {"series": {"lastObservedTime": "0000-01-01T00:00:00Z"}},
        {"series": None, "metadata": {"creationTimestamp": None}},
        {"metadata": {}},
        {"lastTimestamp": "2024-01-01T00:00:00"},
    ],
)
def test_what_a_tenant_writes_as_an_event_hides_no_other(odd: dict[str, Any], times: dict[str, Any]) -> None:
    elasticsearch = cluster()
    elasticsearch["metadata"]["creationTimestamp"] = stamp(START)
    children = Children(elasticsearch=elasticsearch, pods=[pod("es-0")])
    events = [{**event("Pod", "n", "n"), **odd, **times}, event("Pod", "es-0", "es-0", message="a real one")]
    assert select_warnings(seen(STATUS, children=children), events)[0].message == "a real one"


READY, UNREADY = pod("es-0"), pod("es-1", ready=False)
OF_READY = Warned("Pod", "es-0", "es-0", "Unhealthy", "before it was ready")
OF_UNREADY = Warned("Pod", "es-1", "es-1", "FailedMount", "secret not found. ")
REFUSED = Warned("StatefulSet", "s", "s", "FailedCreate", "quota")
OF_ECK = Warned("Elasticsearch", "bm-race-1", "es", "ReconciliationError", "denied")


@pytest.mark.parametrize(
    ("warnings", "wanted", "words"),
    [
        ((), 2, ""),
        ((OF_READY,), 2, ""),
        ((OF_READY, OF_UNREADY), 2, "Pod es-1: FailedMount: secret not found"),
        ((OF_ECK, OF_UNREADY), 2, "Pod es-1: FailedMount: secret not found"),
        ((OF_ECK,), 2, "Elasticsearch bm-race-1: ReconciliationError: denied"),
        ((OF_UNREADY, REFUSED), 3, "StatefulSet s: FailedCreate: quota"),
        ((REFUSED, OF_UNREADY), 2, "Pod es-1: FailedMount: secret not found"),
        ((REFUSED,), 2, ""),
        ((Warned("Job", "j", "j", "FailedCreate", "of the load generator"),), 3, ""),
    ],
)
def test_the_warning_that_explains_is_told(warnings: tuple[Warned, ...], wanted: int, words: str) -> None:
    assert why_not_ready(warnings, [READY, UNREADY], wanted, ("Elasticsearch", "StatefulSet")) == words
