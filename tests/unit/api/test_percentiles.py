"""How many requests a percentile needs, by the interval of order statistics without any distribution."""

import pytest

from fairlap.api.percentiles import fewest_requests


@pytest.mark.parametrize(("percentile", "share", "fewest"), [("p50", 0.5, 6), ("p90", 0.9, 36), ("p99", 0.99, 368)])
def test_the_greatest_is_seldom_below_the_percentile(percentile: str, share: float, fewest: int) -> None:
    assert fewest_requests(percentile) == fewest
    assert share**fewest <= 0.025 < share ** (fewest - 1)
