"""Which races of a block were raced on a machine that was slower than around another race of it."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.block_record import RaceRecord
from fairlap.api.status import MOST_REMARKS, RemarkStatus
from fairlap.comparison.facts.disturbed_race import DISTURBED, disturbance, with_slower_machines

ON_ONE: Mapping[str, str] = {"ran: machine of the load generator": "m1", "ran: load generator's cores": "2"}
QUIET = {"cpuSeconds": 0.010, "memorySeconds": 0.020, "diskSeconds": 0.001}


def race(variant: str, facts: Mapping[str, str] = ON_ONE, valid: bool = True, **canary: float) -> RaceRecord:
    return RaceRecord(
        variant=variant, benchmark=f"c-1{variant}", valid=valid, facts=dict(facts), canary={**QUIET, **canary}
    )  # fmt: skip


def said(*races: RaceRecord) -> dict[str, str | None]:
    return {it.variant: disturbance(it) for it in with_slower_machines(races)}


@pytest.mark.parametrize(
    ("races", "slower"),
    [
        ([race("a"), race("b")], []),
        ([race("a"), race("b", cpuSeconds=0.0124)], []),
        ([race("a"), race("b", cpuSeconds=0.0126)], ["b"]),
        ([race("a", memorySeconds=0.026), race("b"), race("c")], ["a"]),
        ([race("a"), race("b", cpuSeconds=0.02), race("c", cpuSeconds=0.02)], ["b", "c"]),
        ([race("a"), race("b", diskSeconds=0.0059)], []),  # six times, but not five milliseconds
        ([race("a"), race("b", diskSeconds=0.0061)], ["b"]),
        ([race("a"), race("b", {**ON_ONE, "ran: machine of the load generator": "m2"}, cpuSeconds=0.02)], []),
        ([race("a"), race("b", {**ON_ONE, "ran: load generator's CPU limit": "1.0"}, cpuSeconds=0.02)], []),
        ([race("a", {}), race("b", {}, cpuSeconds=0.02)], []),  # where they were is not known
        ([race("a", valid=False), race("b", cpuSeconds=0.02)], []),
        ([race("a"), race("b", cpuSeconds=-1.0, memorySeconds=0.0)], []),
        ([race("a").model_copy(update={"canary": {}}), race("b", cpuSeconds=0.02)], []),
        ([race("b", cpuSeconds=0.02)], []),
        ([], []),
    ],
)
def test_the_slower_machine_is_told_and_no_other(races: list[RaceRecord], slower: list[str]) -> None:
    assert [name for name, how in said(*races).items() if how] == slower


def test_what_is_told_names_the_work_and_the_race_beside_it() -> None:
    told = said(race("a"), race("b", cpuSeconds=0.02, memorySeconds=0.03))["b"]
    assert told == (
        "the load generator's machine was disturbed: the same work, hashing, took 20 ms around this race and 10 ms "
        "around that of a in its block; the same work, reading memory, took 30 ms around this race and 20 ms around "
        "that of a in its block"
    )


def test_what_was_disturbed_otherwise_says_nothing_of_the_others_and_is_told_once() -> None:
    remark = RemarkStatus(reason=DISTURBED, message="steal")
    fast, slow = (race(name, cpuSeconds=took) for name, took in (("a", 0.005), ("b", 0.02)))
    for one, other in ((fast, slow), (slow, fast)):
        disturbed = one.model_copy(update={"remarks": [remark]})
        assert said(disturbed, other, race("c", cpuSeconds=other.canary["cpuSeconds"])) == {
            one.variant: "steal", other.variant: None, "c": None,
        }  # fmt: skip


def test_of_many_remarks_it_is_not_the_one_that_is_cut() -> None:
    full = race("b", cpuSeconds=0.02).model_copy(
        update={"remarks": [RemarkStatus(reason="NotSettled", message="m")] * MOST_REMARKS}
    )
    _, told = with_slower_machines([race("a"), full])
    assert disturbance(RaceRecord.model_validate(told.model_dump(by_alias=True))) is not None


@given(st.lists(st.dictionaries(st.sampled_from([*QUIET, "other"]), st.floats(allow_nan=True), max_size=3), max_size=5))
def test_no_canary_raises_and_nothing_but_a_remark_changes(canaries: list[dict[str, Any]]) -> None:
    races = [race(str(number)).model_copy(update={"canary": canary}) for number, canary in enumerate(canaries)]
    found = with_slower_machines(races)
    assert [it.model_copy(update={"remarks": []}).benchmark for it in found] == [it.benchmark for it in races]
    assert all(len(it.remarks) <= 1 for it in found)
