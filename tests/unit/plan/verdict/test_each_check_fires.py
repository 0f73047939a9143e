"""Each check of both tables voids the one record that is a lie to it: a check that never fires has no row here."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.plan.verdict.test_http_checks import GOOD as GOOD_OVER_HTTP
from tests.unit.plan.verdict.test_http_checks import SPEC as OVER_HTTP
from tests.unit.plan.verdict.test_http_checks import TASK as LOAD
from tests.unit.plan.verdict.test_probes_met import PLAIN as PROBE
from tests.unit.plan.verdict.test_requests_done import ANSWER, STEP
from tests.unit.plan.verdict.test_requests_done import record as searched
from tests.unit.plan.verdict.test_steady_cluster import ASKED as TWO_NODES
from tests.unit.plan.verdict.test_steady_cluster import missing, raced
from world import good_record, spec

from fairlap.api.spec import BenchmarkSpec, InTurn
from fairlap.plan.verdict.checks import CHECKS, Check, first_violation
from fairlap.plan.verdict.http_checks import HTTP_CHECKS
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.cluster_course import ClusterCourse
from fairlap_race.contract.recorded.request_evidence import BulkTrouble
from fairlap_race.contract.recorded.track_record import TrackTask

GOOD = good_record()
BULK = GOOD.tasks[0]
INDEX = (GOOD.indices or ())[0]
REFRESH = replace(BULK, task="refresh", type="refresh", samples=rec.Counts(0, 1), rally=None)
LOSING = BulkTrouble(retried=1, retries=2, item_errors=3, lost=2)


def name_of(check: Check) -> str:
    return f"{check.__module__.rpartition('.')[2]}.{check.__name__}"


LIES: dict[str, tuple[rec.Record, BenchmarkSpec]] = {
    "checks._ran_to_its_end": (replace(GOOD, rally=rec.Rally(exit_code=64)), spec()),
    "checks._elasticsearch_answered": (replace(GOOD, indices=None), spec()),
    "checks._version_is_as_asked": (replace(GOOD, environment=replace(GOOD.environment, version="9.0.1")), spec()),
    "checks._java_is_as_asked": (GOOD, spec(elasticsearch={"java": 17})),
    "checks._heap_is_as_asked": (GOOD, spec(elasticsearch={"heap": "1g"})),
    "checks._jvm_options_are_as_asked": (GOOD, spec(elasticsearch={"jvmOptions": ["-XX:-UseG1GC"]})),
    "checks._cluster_was_fresh": (replace(GOOD, fresh=rec.Fresh(("old",), 0)), spec()),
    "checks._nothing_restarted": (replace(GOOD, nodes_restarted=("es-0",)), spec()),
    "steady_cluster.nodes_stayed": (replace(GOOD, course=ClusterCourse(elections=1)), spec()),
    "checks._something_ran": (replace(GOOD, tasks=()), spec()),
    "request_errors.violation": (replace(GOOD, tasks=(replace(BULK, errors=rec.Counts(normal=1)),)), spec()),
    "checks._every_task_has_numbers": (replace(GOOD, tasks=(replace(BULK, task="other"),)), spec()),
    "measurement.violation": (
        replace(GOOD, tasks=(REFRESH,), track=replace(GOOD.track, tasks=(TrackTask("refresh"),), pipelines=())),
        spec(),
    ),
    "checks._no_sample_was_dropped": (replace(GOOD, samples_dropped=True), spec()),
    "checks._turns_were_taken": (GOOD, spec().model_copy(update={"in_turn": InTurn(block="b", races=2, number=0)})),
    "requests_done.documents_lost": (replace(GOOD, tasks=(replace(BULK, bulk_trouble=LOSING),)), spec()),
    "requests_done.searches_hit_nothing": (searched(replace(STEP, queries=0)), spec()),
    "requests_done.searches_incomplete": (searched(answer=replace(ANSWER, failed=1)), spec()),
    "checks._documents_are_all_there": (replace(GOOD, indices=(replace(INDEX, documents=999),)), spec()),
    "applied_pipelines.violation": (replace(GOOD, pipelines=()), spec()),
    "applied_settings.violation": (GOOD, spec(elasticsearch={"index": {"shards": 2}})),
    "steady_cluster.replicas_were_there": (raced(missing(0, 60)), spec(elasticsearch=TWO_NODES)),
    "probes_met.violation": (GOOD, spec(race={"probes": [PROBE]})),
}
"""By check: a record that only this check, or this one first, refuses, and what was asked for."""

_NONE_REPORTED = tuple(replace(task, reported=False) for task in GOOD_OVER_HTTP.track.tasks)
_FILE = {"configMap": {"name": "r"}, "hits": "/hits/total/value"}


def over_http(**race: object) -> BenchmarkSpec:
    return OVER_HTTP.model_copy(update={"race": BenchmarkSpec.model_validate({"race": race}).race})


HTTP_LIES: dict[str, tuple[rec.Record, BenchmarkSpec]] = {
    "http_checks._ran_to_its_end": (replace(GOOD_OVER_HTTP, http=None), OVER_HTTP),
    "request_errors.violation": (
        replace(GOOD_OVER_HTTP, tasks=(replace(LOAD, errors=rec.Counts(1, 0)), replace(LOAD, task="c2"))),
        OVER_HTTP,
    ),
    "http_checks._every_load_has_numbers": (replace(GOOD_OVER_HTTP, tasks=(LOAD,)), OVER_HTTP),
    "measurement.violation": (
        replace(GOOD_OVER_HTTP, track=replace(GOOD_OVER_HTTP.track, tasks=_NONE_REPORTED)),
        OVER_HTTP,
    ),
    "probes_met.violation": (GOOD_OVER_HTTP, over_http(requests=_FILE, probes=[PROBE])),
    "http_checks._hits_were_read": (GOOD_OVER_HTTP, over_http(requests=_FILE)),
}

ONLY_BY_RALLY = {
    "checks._ran_to_its_end": "http_checks has one of its own, which asks k6",
    "checks._elasticsearch_answered": "what answers over HTTP is asked nothing but the requests",
    "checks._version_is_as_asked": "an HTTP target is what it is",
    "checks._java_is_as_asked": "an HTTP target is what it is",
    "checks._heap_is_as_asked": "an HTTP target is what it is",
    "checks._jvm_options_are_as_asked": "an HTTP target is what it is",
    "checks._cluster_was_fresh": "its indices are not known",
    "checks._nothing_restarted": "its nodes are not known",
    "steady_cluster.nodes_stayed": "its nodes are not known",
    "steady_cluster.replicas_were_there": "its indices are not known",
    "checks._something_ran": "http_checks._every_load_has_numbers",
    "checks._every_task_has_numbers": "http_checks._every_load_has_numbers",
    "checks._no_sample_was_dropped": "the queue is Rally's",
    "checks._turns_were_taken": "only clients of Rally are raced in turn",
    "requests_done.documents_lost": "Rally's bulks",
    "requests_done.searches_hit_nothing": "Elasticsearch's counters",
    "requests_done.searches_incomplete": "Elasticsearch's answers",
    "checks._documents_are_all_there": "no track says how many there are to be",
    "applied_pipelines.violation": "Elasticsearch's pipelines",
    "applied_settings.violation": "its indices are not known",
}
"""By check of a race by Rally: why it is none of a race over HTTP, or what stands for it there."""

BY_RALLY = {name_of(check): check for check in CHECKS}
BY_HTTP = {name_of(check): check for check in HTTP_CHECKS}


def test_each_check_has_a_row() -> None:
    assert list(LIES) == list(BY_RALLY)
    assert list(HTTP_LIES) == list(BY_HTTP)


@pytest.mark.parametrize("name", BY_RALLY)
def test_the_check_fires_and_no_other_before_it(name: str) -> None:
    record, asked = LIES[name]
    found = BY_RALLY[name](record, asked)
    assert found is not None and found == first_violation(record, asked)


@pytest.mark.parametrize("name", BY_HTTP)
def test_the_check_fires_over_http_and_no_other_before_it(name: str) -> None:
    record, asked = HTTP_LIES[name]
    found = BY_HTTP[name](record, asked)
    assert found is not None and found == first_violation(record, asked, HTTP_CHECKS)


def test_each_check_stands_in_the_table_of_what_must_be_true() -> None:
    text = (Path(__file__).parents[4] / "docs" / "concepts.md").read_text(encoding="utf-8")
    table = text.partition("## What must be true")[2].partition("### ")[0]
    found = {BY_RALLY[name](*lie) for name, lie in LIES.items()}
    # Of a race that did not come to its end the reason is the runner's.
    reasons = {str(each.reason) for each in found if each} - {"RallyFailed"}
    assert {reason for reason in reasons if f"`{reason}`" not in table} == set()


def test_of_each_check_it_is_said_whether_it_holds_over_http() -> None:
    assert set(BY_RALLY) - set(BY_HTTP) == set(ONLY_BY_RALLY)
