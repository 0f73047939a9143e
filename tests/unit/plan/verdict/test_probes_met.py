"""Conditions on the system under test: what voids a race, and that both values are named."""

from dataclasses import replace
from typing import Any

import pytest
from world import good_record, spec

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.request_files.probe import ProbeReading, ProbeRecord

GOOD = good_record()
RATE = {"name": "rate", "path": "/d", "pointer": "/r", "weight": "/n", "between": [40, 60]}
SHARE = {"name": "rate", "path": "/d", "part": "/h", "rest": "/m", "between": [40, 60]}
PLAIN = {"name": "rate", "path": "/d", "pointer": "/r", "between": [40, 60]}
HOST = ProbeReading("h:1", 80, 65, 50, 100)


def judged(probe: dict[str, Any], found: ProbeRecord | None, mode: str = "race") -> tuple[Reason, str] | None:
    record = replace(GOOD, mode=mode, probes=(found,) if found else ())
    violation = first_violation(record, spec(race={"probes": [probe]}))
    return violation and (violation.reason, violation.message)


def of(own: float | None, *hosts: ProbeReading, **more: Any) -> ProbeRecord:
    return ProbeRecord("rate", hosts or (HOST,), own, **more)


@pytest.mark.parametrize("probe", [RATE, SHARE])
@pytest.mark.parametrize("own", [40, 50, 60])
def test_a_condition_that_holds(probe: dict[str, Any], own: float) -> None:
    # What was before and after is not the race's own.
    assert judged(probe, of(own, replace(HOST, before=0, after=99, own=own))) is None


@pytest.mark.parametrize("probe", [RATE, SHARE])
def test_a_condition_that_does_not_hold_names_both_values(probe: dict[str, Any]) -> None:
    words = "and must be between 40 and 60: at h:1 it was 80 before and 65 after"
    assert judged(probe, of(61.5)) == (Reason.CONDITION_NOT_MET, f"race.probes rate is 61.5 in this race, {words}")
    assert judged(probe, of(60.00000001)) == (
        Reason.CONDITION_NOT_MET,
        f"race.probes rate is 60.00000001 in this race, {words}",
    )
    two = of(None, replace(HOST, before=None), why="/n did not grow on any host")
    assert judged(probe, two) == (
        Reason.CONDITION_NOT_MET,
        "race.probes rate must be between 40 and 60, and cannot be told of this race: /n did not grow on any host; "
        "at h:1 it was nothing before and 65 after",
    )


def test_hosts_are_judged_together_where_they_have_weights_and_else_each() -> None:
    low, high = replace(HOST, own=30), replace(HOST, host="h:2", own=70)
    assert judged(RATE, of(50, low, high)) is None
    plain = ProbeReading("h:1", 10, 50, 50), ProbeReading("h:2", 50, 61, 61)
    assert judged(PLAIN, of(None, plain[0])) is None
    assert judged(PLAIN, of(None, *plain)) == (
        Reason.CONDITION_NOT_MET,
        "race.probes rate must be between 40 and 60 after the race: at h:2 it was 50 before and 61 after",
    )
    many = tuple(ProbeReading(f"h:{number}", 0, 0, 0) for number in range(9))
    found = judged(PLAIN, of(None, *many))
    assert found and found[1].endswith("; and 4 more")


@pytest.mark.parametrize("found", [None, of(50, unread=True, why="after the race …"), ProbeRecord("rate", (), 50)])
def test_what_was_not_read_is_no_success(found: ProbeRecord | None) -> None:
    assert (wrong := judged(RATE, found)) and wrong[0] is Reason.PROBE_UNREADABLE and wrong[1]


def test_a_smoke_race_is_not_held_to_them() -> None:
    assert judged(RATE, of(0), mode="smoke") is None
    assert judged(RATE, None, mode="smoke") is None
