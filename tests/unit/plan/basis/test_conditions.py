"""Conditions are made of observations in one place: only a change of truth is a transition."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import START, seen

from fairlap.api.base import LONGEST_TEXT
from fairlap.api.condition_types import ConditionType
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import Observation, conditions, moment
from fairlap.plan.benchmark import plan

OBSERVATIONS = st.lists(
    st.builds(
        Observation,
        st.sampled_from(ConditionType),
        st.booleans(),
        st.sampled_from(["AsAsked", "ErrorRate"]),
        st.text(max_size=9),
    ),
    max_size=6,
)
PASSES = st.lists(OBSERVATIONS, max_size=6)


def after(passes: list[list[Observation]]) -> list[BenchmarkStatus]:
    """Return the status before the first pass and after each, one minute apart."""
    found = [BenchmarkStatus(observed_generation=3)]
    for minute, observed in enumerate(passes, start=1):
        known = conditions(found[-1], observed, START + timedelta(minutes=minute))
        found.append(found[-1].model_copy(update={"conditions": known}))
    return found


@given(PASSES)
def test_each_condition_is_what_was_observed_last(passes: list[list[Observation]]) -> None:
    last = {it.type: it for observed in passes for it in observed}
    found = after(passes)[-1].conditions
    assert {c.type: (c.status, c.reason, c.message) for c in found} == {
        kind: ("True" if it.holds else "False", it.reason, it.message) for kind, it in last.items()
    }
    assert len({c.type for c in found}) == len(found)
    assert all(c.observed_generation == 3 for c in found)


@given(PASSES)
def test_a_transition_is_a_change_of_truth(passes: list[list[Observation]]) -> None:
    statuses = after(passes)
    for minute, (before, now) in enumerate(pairwise(statuses), start=1):
        old = {c.type: c for c in before.conditions}
        for known in now.conditions:
            was = old.get(known.type)
            if was and was.status == known.status:
                assert known.last_transition_time == was.last_transition_time
            else:
                assert moment(known.last_transition_time) == START + timedelta(minutes=minute)


@given(PASSES, OBSERVATIONS)
def test_all_are_said_of_the_newest_generation(passes: list[list[Observation]], observed: list[Observation]) -> None:
    """What was observed before holds for it, too: nothing of a spec changes but `suspend`."""
    newer = after(passes)[-1].model_copy(update={"observed_generation": 4})
    found = conditions(newer, observed, START)
    assert all(c.observed_generation == 4 for c in found)


@pytest.mark.parametrize("generation", [1, 3])
def test_each_pass_speaks_of_the_newest_generation_until_the_end(generation: int) -> None:
    """kubectl wait takes a condition of an older one for not met: it waited for ever after any change of suspend."""
    said = plan(seen()).status
    assert said.observed_generation == 1 and [c.observed_generation for c in said.conditions] == [1]
    toggled = replace(seen(said), subject=replace(seen().subject, generation=generation))
    then = plan(toggled).status
    assert then.observed_generation == generation
    assert then.conditions and all(c.observed_generation == generation for c in then.conditions)
    over = said.model_copy(update={"phase": "Succeeded"})
    assert plan(replace(toggled, status=over)).status == over, "a record that is over is not touched again"


@given(PASSES, OBSERVATIONS)
def test_what_is_there_keeps_its_place(passes: list[list[Observation]], observed: list[Observation]) -> None:
    status = after(passes)[-1]
    there = [c.type for c in status.conditions]
    found = conditions(status, observed, START)
    assert [c.type for c in found][: len(there)] == there
    assert conditions(status, [], START) == status.conditions


def test_a_long_message_fits_the_api() -> None:
    (found,) = conditions(BenchmarkStatus(), [Observation(ConditionType.FAILED, True, "ErrorRate", "x" * 9999)], START)
    assert len(found.message) == LONGEST_TEXT


def test_what_a_decision_observed_is_in_the_status_and_nowhere_else() -> None:
    decided = plan(seen())
    assert decided.observed == ()
    assert [(c.type, c.status) for c in decided.status.conditions] == [("Accepted", "True")]
