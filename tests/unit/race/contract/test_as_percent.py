"""A percentage has as many figures as it takes to agree with the sentence that it stands in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.as_percent import as_percent


@pytest.mark.parametrize(
    ("share", "bounds", "decimals", "text"),
    [
        (0.0, (), 0, "0 %"), (0.0, (), 2, "0.00 %"), (0.5, (), 0, "50 %"), (1.0, (), 2, "100.00 %"),
        (1.234, (), 0, "123 %"), (0.29, (0.29,), 0, "29 %"), (-0.25, (), 0, "-25 %"),
        (0.00002, (), 2, "0.002 %"), (0.00002, (), 0, "0.002 %"), (0.0049, (), 0, "0.5 %"),
        (0.9799, (0.98,), 0, "97.99 %"), (0.976, (0.98,), 0, "97.6 %"), (0.974, (0.98,), 0, "97 %"),
        (0.8999, (0.9,), 0, "89.99 %"), (0.8003, (0.8,), 0, "80.03 %"), (0.85, (0.8,), 0, "85 %"),
        (0.05001, (0.05,), 2, "5.001 %"), (0.2874, (0.2872,), 0, "29 %"), (0.9996, (1.0,), 0, "99.96 %"),
        (0.28713, (0.28715,), 0, "28.7 %"), (-0.9997, (-1.0,), 0, "-99.97 %"),
    ],
)  # fmt: skip
def test_as_many_figures_as_it_takes(share: float, bounds: tuple[float, ...], decimals: int, text: str) -> None:
    assert as_percent(share, *bounds, decimals=decimals) == text


SHARES = st.floats(-2, 2).filter(lambda share: share == 0 or abs(share) > 1e-11)


@given(SHARES, SHARES, st.integers(0, 3))
def test_it_is_never_on_the_other_side_of_a_bound(share: float, bound: float, decimals: int) -> None:
    number, unit = as_percent(share, bound, decimals=decimals).split()
    assert unit == "%" and (float(number) == 0) is (share == 0)
    assert abs(float(number) - 100 * share) <= 0.5 * 10**-decimals + 1e-9
    if abs(share - bound) > 1e-11:
        assert (float(number) < 100 * bound) is (share < bound)


@given(SHARES, st.integers(0, 3))
def test_it_is_never_longer_than_it_must_be(share: float, decimals: int) -> None:
    number = as_percent(share, decimals=decimals).removesuffix(" %")
    places = len(number.partition(".")[2])
    assert places == decimals or float(f"{100 * share:.{places - 1}f}") == 0
