"""One number of several races."""

import pytest

from fairlap.results.race_figures import error_rate, figure, median_of_known
from fairlap_race.contract.recorded.record import Counts, Task


@pytest.mark.parametrize(
    ("values", "found"), [([], None), ([None], None), ([None, 3.0, 1.0, None], 2.0), ([2.0, 9.0, 4.0], 4.0)]
)
def test_what_is_not_known_is_left_out(values: list[float | None], found: float | None) -> None:
    assert median_of_known(values) == found
    assert (it := figure(values)) is None or it.median == found


@pytest.mark.parametrize(
    ("samples", "errors", "rate"),
    [(Counts(), Counts(), 0.0), (Counts(3, 1), Counts(), 0.0), (Counts(3, 1), Counts(1, 1), 0.5)],
)
def test_errors_are_counted_in_the_warm_up_too(samples: Counts, errors: Counts, rate: float) -> None:
    assert error_rate(Task("bulk", samples=samples, errors=errors)) == rate
