"""A status has room for some remarks: none of a reason is lost, and what is left out is counted."""

import re
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.status import MOST_REMARKS
from fairlap.results.remarks import RaceRemark, fit_remarks
from fairlap_race.contract.reasons import Reason

REMARKS = [reason for reason in Reason if reason.remark]
OPERATOR = Path(__file__).parents[3] / "operator"
MANY = st.lists(st.builds(RaceRemark, st.sampled_from(REMARKS), st.text("abc", max_size=3)), max_size=60)


@given(MANY, st.integers(min(len(REMARKS), MOST_REMARKS), MOST_REMARKS))
def test_none_of_a_reason_is_lost(remarks: list[RaceRemark], room: int) -> None:
    found = fit_remarks(remarks, room)
    assert len(found) == min(len(remarks), room)
    assert {it.reason for it in found} == {remark.reason for remark in remarks}


@given(MANY)
def test_what_is_left_out_is_counted(remarks: list[RaceRemark]) -> None:
    found = fit_remarks(remarks)
    kept = Counter(it.reason for it in found)
    counted = {
        it.reason: int(n[1]) for it in found if (n := re.search(r"; and (\d+) more of this reason$", it.message))
    }
    for reason, number in Counter(str(remark.reason) for remark in remarks).items():
        assert kept[reason] + counted.get(reason, 0) == number


@given(MANY)
def test_their_order_stays(remarks: list[RaceRemark]) -> None:
    pairs = [(it.reason, it.message.partition("; and ")[0]) for it in fit_remarks(remarks)]
    position = 0
    for pair in pairs:
        position = remarks.index(pair, position) + 1  # type: ignore[arg-type]


def test_what_fits_is_said_as_it_is() -> None:
    remarks = [RaceRemark(Reason.RALLY_WARNING, f"Rally: {number}") for number in range(MOST_REMARKS)]
    assert [it.message for it in fit_remarks(remarks)] == [remark.text for remark in remarks]
    longest = fit_remarks([RaceRemark(Reason.RALLY_WARNING, "x" * 9999)] * (MOST_REMARKS + 10))
    assert sum(len(it.message) for it in longest) <= 8000, "so that a status of 50 races fits"
    assert longest[-1].message.endswith("; and 10 more of this reason")
    (alone,) = fit_remarks([RaceRemark(Reason.RALLY_WARNING, "x" * 9999)])
    assert len(alone.message) == 4096


def test_there_is_room_for_one_of_each_reason() -> None:
    assert len(REMARKS) <= MOST_REMARKS, "make MOST_REMARKS of fairlap/api/status.py larger"


def test_remarks_and_what_voids_a_race_are_apart() -> None:
    """No remark is given as the reason of a failure, and the other way round."""
    source = "\n".join(path.read_text() for path in sorted(OPERATOR.rglob("*.py")))
    remarked = set(re.findall(r"RaceRemark\(\s*Reason\.(\w+)", source))
    voiding = set(re.findall(r"\b(?:Violation|Outcome|Trouble|Objection|fail)\((?:seen,)?\s*Reason\.(\w+)", source))
    assert len(voiding) > 10
    assert remarked == {reason.name for reason in REMARKS}
    assert not voiding & remarked
