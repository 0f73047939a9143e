"""Whether processors were a container's alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.message_form import looks_like

from fairlap.api.machine_status import MachineEvidence
from fairlap.results.cores import exclusive, remarks, without_claims_of_others
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.cpu_list import count_of


@pytest.mark.parametrize(
    ("cpus", "wanted", "processors", "found"),
    [
        ("1", 1, 2, True),
        ("2-3,6", 3, 8, True),
        ("0-1", 1, 2, False),
        ("0-1", 2, 2, False),  # all of a machine are given by no static policy
        ("1", None, 2, False),  # not whole ones were asked for
        ("1", 2, 4, False),
        ("1", 1, None, None),
        ("", 1, 2, None),
        (None, 1, 2, None),
        ("0-", 1, 2, None),
    ],
)
def test_exclusive(cpus: str | None, wanted: int | None, processors: int | None, found: bool | None) -> None:
    assert exclusive(cpus, wanted, processors) is found


@given(st.sets(st.integers(0, 400), min_size=1))
def test_lists_are_counted(numbers: set[int]) -> None:
    assert count_of(",".join(map(str, sorted(numbers)))) == len(numbers)
    first, last = min(numbers), max(numbers)
    assert count_of(f"{first}-{last}") == last - first + 1


@given(st.text(alphabet="0123456789-, x", max_size=40))
def test_no_text_raises(text: str) -> None:
    assert count_of(text) is None or count_of(text) >= 0  # type: ignore[operator]


def node(name: str, shared: bool | None) -> MachineEvidence:
    return MachineEvidence(node=name, cpus="0-1", exclusive_cpus=None if shared is None else not shared)


def test_shared_processors_are_said_where_whole_ones_were_asked_for() -> None:
    load = node("load generator", shared=True)
    assert list(remarks([node("a", False), node("b", None), load], 1)) == []
    assert list(remarks([node("a", True), load], None)) == []
    (one,) = remarks([node("bm-race-1-es-default-0", True), load], 1)
    assert one.reason is Reason.PROCESSORS_SHARED and looks_like(Reason.PROCESSORS_SHARED.example, one.text)
    (withheld,) = remarks([node("a", True), load], None, "three nodes have two processors")
    assert withheld == (Reason.PROCESSORS_SHARED, "three nodes have two processors")
    (two,) = remarks([node("a", True), node("b", True), load], 2)
    assert "asks for 2 whole processors a node, but node a and 1 more nodes ran on processors 0-1" in two.text


def has(cpus: str, exclusive: bool | None, machine: str = "m") -> MachineEvidence:
    return MachineEvidence(node=cpus, machine=machine, cpus=cpus, exclusive_cpus=exclusive)


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        ([has("1", True), has("0", False)], [True, False]),
        ([has("2-3", True), has("4-5", True), has("0-1", False)], [True, True, False]),
        # A kubelet that may use two processors of eight itself: whoever asks for two seems to have them alone.
        ([has("0-1", True), has("0-1", True), has("0-1", False)], [False, False, False]),
        ([has("0-1", True), has("0-1", True)], [False, False]),
        ([has("0-1", True), has("0-1", False)], [False, False]),
        ([has("0-1", True), has("0-1", False, machine="other")], [True, False]),
        ([has("0-1", True, machine=""), has("0-1", False, machine="")], [True, False]),
        # What a node could use before the load generator was given its own is no claim of the node's.
        ([has("0-3", False), has("2-3", True)], [False, True]),
        ([has("", None), has("0-1", None)], [None, None]),
        ([has("2-3", True)], [True]),
    ],
)
def test_processors_that_two_may_use_are_nobodys_own(evidence: list[MachineEvidence], found: list[bool | None]) -> None:
    told = without_claims_of_others(evidence)
    assert [it.exclusive_cpus for it in told] == found
    assert [it.cpus for it in told] == [it.cpus for it in evidence]
