"""The record of a race over HTTP can be made at any moment, from the parts that are known by then."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.http_record import HttpHost, HttpRecord, RequestHits
from fairlap_race.contract.recorded.kept_samples import KeptSamples
from fairlap_race.contract.recorded.record import EnvironmentRecord, LoadGeneratorHost, Record, Task
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.request_files.probe import ProbeRecord
from fairlap_race.http.requests import ReadyRequests
from fairlap_race.runner.over_http.http_parts import HttpParts, assemble_http

BASE = Record(mode="race", race_id="x", started_at="2026-01-01T00:00:00.000Z")
KNOWN: dict[str, Any] = {
    "host": LoadGeneratorHost(pod_name="p"),
    "k6_version": "1.0",
    "requests": ReadyRequests(Path("/requests.json"), (), 7, 5, "sha256:1"),
    "schedule": TrackRecord(name="terms.txt", digest="sha256:1"),
    "hosts": (HttpHost("h:1", 200),),
    "exit_code": 0,
    "first_at": 1.0,
    "tasks": (Task("c1"),),
    "probes": (ProbeRecord("hits"),),
    "hits": RequestHits("/hits", (3,)),
    "sample_file": KeptSamples(rows=2),
}
BESIDE = {"canary_before", "canary_after"}
"""what stands beside the record"""


def test_of_a_race_of_which_nothing_is_known_it_is_known_that_it_was_over_http() -> None:
    assert assemble_http(BASE, HttpParts()) == Record(**{**vars(BASE), "http": HttpRecord()})


def test_everything_is_known() -> None:
    assert {*KNOWN, *BESIDE} == set(vars(HttpParts()))
    found = assemble_http(BASE, HttpParts(**KNOWN))
    assert found == Record(
        mode="race",
        race_id="x",
        started_at=BASE.started_at,
        environment=EnvironmentRecord(load_generator=KNOWN["host"]),
        track=KNOWN["schedule"],
        first_request_at="1970-01-01T00:00:01.000Z",
        tasks=(Task("c1"),),
        probes=KNOWN["probes"],
        sample_file=KNOWN["sample_file"],
        http=HttpRecord("1.0", 0, 7, 5, KNOWN["hosts"], KNOWN["hits"]),
    )


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_each_part_shows(name: str) -> None:
    assert assemble_http(BASE, HttpParts(**{name: KNOWN[name]})) != assemble_http(BASE, HttpParts())


@given(st.sets(st.sampled_from(sorted(KNOWN))))
def test_any_parts_make_a_record_that_says_no_more_than_they_know(names: set[str]) -> None:
    found = assemble_http(BASE, HttpParts(**{name: KNOWN[name] for name in names}))
    assert Record.from_json(found.to_json()) == found
    assert (found.environment.load_generator.pod_name is None) is ("host" not in names)
    assert (found.track.name is None) is ("schedule" not in names)
    assert (found.first_request_at is None) is ("first_at" not in names)
    assert (found.http and found.http.requests) == (7 if "requests" in names else None)
    assert (found.tasks == ()) is ("tasks" not in names) and (found.probes == ()) is ("probes" not in names)
