"""Our quantiles and tails against scipy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from fairlap.statistics import distributions

DF = (1, 2, 3, 4, 4.02, 6.5, 9, 19, 100.5, 5000)


def near(value: float, oracle: float, relative: float = 1e-10) -> bool:
    return math.isclose(value, float(oracle), rel_tol=relative, abs_tol=1e-14)


@pytest.mark.parametrize("df", DF)
@pytest.mark.parametrize("tails", [0.9, 0.5, 0.2, 0.1, 0.05, 0.025, 0.01, 0.01 / 8, 1e-6])
def test_quantiles_of_t(df: float, tails: float) -> None:
    t = distributions.t_quantile(tails, df)
    assert near(t, stats.t.isf(tails / 2, df), 1e-9)
    assert near(distributions.t_tails(t, df), tails, 1e-9)


@pytest.mark.parametrize("df", DF)
@pytest.mark.parametrize("t", [-5.0, -0.3, 0.0, 0.01, 1.0, 2.5, 30.0])
def test_tails_of_t(df: float, t: float) -> None:
    assert near(distributions.t_tails(t, df), 2 * stats.t.sf(abs(t), df))


@given(st.floats(0.05, 300), st.floats(0.05, 300), st.floats(0, 1))
def test_the_incomplete_beta_function(a: float, b: float, x: float) -> None:
    assert math.isclose(distributions.incomplete_beta(a, b, x), special.betainc(a, b, x), rel_tol=1e-8, abs_tol=1e-13)


@pytest.mark.parametrize("x", [0.05, 0.5, 1, 1.5, 2, 4.5, 9.99, 20, 1000])
def test_digamma_and_trigamma(x: float) -> None:
    assert near(distributions.digamma(x), special.digamma(x), 1e-11)
    assert near(distributions.trigamma(x), special.polygamma(1, x), 1e-11)
    assert near(distributions.trigamma_inverse(distributions.trigamma(x)), x, 1e-9)


@pytest.mark.parametrize("df", [1, 2, 3, 10, 29])
@pytest.mark.parametrize("x", [0.0, 0.01, 1.0, 7.5, 60.0])
def test_chi_squared(df: int, x: float) -> None:
    assert near(distributions.chi_squared_below(x, df), stats.chi2.cdf(x, df))


@pytest.mark.parametrize("df", [1, 2, 4, 9, 29])
@pytest.mark.parametrize("tails", [0.05, 0.0125, 0.005])
def test_the_shift_that_a_test_finds(df: int, tails: float) -> None:
    """Against the noncentral t where scipy has it: it knows no large shifts on even degrees of freedom."""
    found, t = distributions.shift_found(tails, df, 0.8), stats.t.isf(tails / 2, df)
    assert distributions.beyond(t, df, found) == pytest.approx(0.8, abs=1e-12)
    assert distributions.beyond(t, df, 0.0) == pytest.approx(tails, abs=1e-4)
    oracle = stats.nct.sf(t, df, found) + stats.nct.cdf(-t, df, found)
    assert math.isnan(oracle) or near(0.8, oracle, 1e-9)
