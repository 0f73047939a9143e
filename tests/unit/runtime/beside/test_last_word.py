"""What is counted of errors that were not foreseen."""

from typing import get_args

import pytest
from prometheus_client import REGISTRY

from fairlap.runtime.beside.last_word import Doing, count_unforeseen


def counted(doing: str) -> float | None:
    return REGISTRY.get_sample_value("fairlap_internal_errors_total", {"what": doing})


@pytest.mark.parametrize("doing", get_args(Doing))
def test_each_is_exposed_before_the_first_error(doing: Doing) -> None:
    """Prometheus takes the first value that it sees for no increase."""
    before = counted(doing)
    assert before is not None
    count_unforeseen(doing)
    assert counted(doing) == before + 1
