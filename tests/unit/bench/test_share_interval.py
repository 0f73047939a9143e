"""The interval of a counted share against scipy's."""

import math

import pytest
from parts.share_interval import binomial_interval
from scipy import stats


@pytest.mark.parametrize(("found", "of"), [(0, 20), (1, 20), (3, 18), (20, 20), (100, 2000)])
def test_the_interval_of_a_share(found: int, of: int) -> None:
    oracle = stats.binomtest(found, of).proportion_ci(method="exact")
    low, high = binomial_interval(found, of)
    assert math.isclose(low, oracle.low, rel_tol=1e-9, abs_tol=1e-14)
    assert math.isclose(high, oracle.high, rel_tol=1e-9, abs_tol=1e-14)


def test_none_of_twenty_still_allows_17_percent() -> None:
    assert binomial_interval(0, 20)[1] == pytest.approx(0.168, abs=0.001)
