"""The record of a race can be made at any moment, from the parts that are known by then."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import (
    EnvironmentRecord,
    Fresh,
    IndexRecord,
    LoadGenerator,
    LoadGeneratorHost,
    Node,
    Outcome,
    Pipeline,
    Rally,
    Record,
    TargetReport,
    Task,
    Totals,
    Touch,
)
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.request_files.probe import ProbeRecord
from fairlap_race.contract.specification.race_spec import TargetSpec
from fairlap_race.elasticsearch.evidence import After, Before
from fairlap_race.runner.guest import Load, Site
from fairlap_race.runner.parts import Host, Numbers, Parts, assemble
from fairlap_race.runner.supervise import Ended
from fairlap_race.runner.telling.telemetry_kept import KeptTelemetry

BASE = Record(mode="race", race_id="x", started_at="2026-01-01T00:00:00.000Z")
KNOWN: dict[str, Any] = {
    "host": Host(LoadGeneratorHost(pod_name="p", cores=2), 2, 2.5, Rally(version="2.13.0", poll_intervals={"a": 1.0})),
    "before": Before(EnvironmentRecord(version="9.0.0", nodes=(Node("n"),)), Fresh(("old",), 3), {}, {}),
    "track": TrackRecord(name="t", digest="sha256:1"),
    "site": Site(
        None,  # type: ignore[arg-type] - nothing is asked here
        TargetSpec(),
        TargetReport("c", "u", touches=(Touch("index", "logs", creates=True, existing=("logs",)),)),
        Load(),
    ),
    "ended": Ended(0, Outcome(), 5.0, None, LoadGenerator(cpu_share=0.5), oom_killed=False),
    "numbers": Numbers(
        Outcome(Reason.REQUEST_ERRORS, "no"), "2026-01-01T00:00:01.000Z", (Task("bulk"),), True,
        LoadGenerator(cpu_share=0.5, saturated=True), ("a warning",),
    ),
    "probes": (ProbeRecord("hits"),),
    "telemetry": KeptTelemetry("packed", ("2 of 9 documents of gc",), ("jfr",)),
    "after": After((IndexRecord("logs"),), (), (Pipeline("p", 3),), ("n",), Totals(store_bytes=7)),
}  # fmt: skip


def test_nothing_is_known() -> None:
    assert assemble(BASE, Parts()) == BASE


def test_everything_is_known() -> None:
    found = assemble(BASE, Parts(**KNOWN))
    assert found.environment == EnvironmentRecord(
        version="9.0.0", nodes=(Node("n"),), load_generator=LoadGeneratorHost(pod_name="p", cores=2)
    )
    assert found.rally == Rally("2.13.0", 0, {"a": 1.0}, ("a warning", "the telemetry device jfr collected nothing"))
    assert found.left_out == ("2 of 9 documents of gc",) and found.probes == KNOWN["probes"]
    assert found.fresh == Fresh(("logs",)), "on a target, only what the track touches is in the way"
    assert found.target == KNOWN["site"].report and found.track.name == "t"
    assert found.rally_exited_at == "1970-01-01T00:00:05.000Z"
    assert found.outcome.reason is Reason.REQUEST_ERRORS and found.samples_dropped
    assert found.load_generator.saturated and found.tasks == (Task("bulk"),)
    assert found.indices == (IndexRecord("logs"),) and found.nodes_restarted == ("n",) and found.totals.store_bytes == 7


@given(st.sets(st.sampled_from(sorted(KNOWN))))
def test_any_parts_make_a_record_that_says_no_more_than_they_know(names: set[str]) -> None:
    found = assemble(BASE, Parts(**{name: KNOWN[name] for name in names}))
    assert Record.from_json(found.to_json()) == found
    assert (found.environment.version is None) is ("before" not in names)
    assert (found.rally.version is None) is ("host" not in names)
    assert (found.indices is None) is ("after" not in names)
    assert (found.target is None) is ("site" not in names)
    assert (found.fresh is None) is ({"site", "before"}.isdisjoint(names))
    assert (found.outcome == Outcome()) is ("numbers" not in names)


@given(st.lists(st.sets(st.sampled_from(sorted(KNOWN)))))
def test_of_what_is_known_nothing_gets_lost(steps: list[set[str]]) -> None:
    parts = Parts()
    for names in steps:
        parts = parts.joined(Parts(**{name: KNOWN[name] for name in names}))
    assert parts == Parts(**{name: KNOWN[name] for names in steps for name in names})


def test_what_is_known_better_takes_the_place_of_what_was_known() -> None:
    first, second = TrackRecord(name="t"), TrackRecord(name="t", digest="sha256:1")
    assert Parts(track=first, probes=KNOWN["probes"]).joined(Parts(track=second)) == Parts(
        track=second, probes=KNOWN["probes"]
    )


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_each_part_shows(name: str) -> None:
    assert assemble(BASE, Parts(**{name: KNOWN[name]})) != BASE


def test_that_documents_are_left_to_rally_is_told_before_rallys_own_warnings() -> None:
    numbers = Numbers(warnings=("a warning",), left_to_rally="the corpora are left to Rally")
    told = assemble(BASE, Parts(numbers=numbers)).rally.warnings
    assert told == ("the corpora are left to Rally", "a warning")
    assert assemble(BASE, Parts(numbers=Numbers(warnings=("a warning",)))).rally.warnings == ("a warning",)
