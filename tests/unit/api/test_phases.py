"""When a Benchmark or a Comparison is over, whatever stands in its status."""

from typing import Any, get_args

import pytest

from fairlap.api.comparison_status import ComparisonPhase
from fairlap.api.phases import is_over
from fairlap.api.status import Phase

ENDS = {"Succeeded", "Complete", "Failed"}


@pytest.mark.parametrize("phase", sorted({*get_args(Phase), *get_args(ComparisonPhase)}))
def test_each_kind_is_over_in_its_last_phases_alone(phase: str) -> None:
    assert is_over({"status": {"phase": phase}}) is (phase in ENDS)


@pytest.mark.parametrize("status", [None, "Failed", [], {}, {"phase": None}, {"phase": ["Failed"]}, {"phase": {}}])
def test_what_says_no_phase_is_not_over(status: Any) -> None:
    assert not is_over({"status": status}) and not is_over({})
