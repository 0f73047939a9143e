"""Estimates from blocks, with and without pairs, with and without a prior; against scipy where it has them."""

import math
import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairlap.statistics.moderation import MOST_PRIOR_DF, Prior, fitted_to, learn_prior, moderated
from fairlap.statistics.multiplicity import holm, q_values
from fairlap.statistics.paired import paired, unpaired

RATIOS = [0.031, -0.012, 0.054, 0.022, 0.04]
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_the_paired_t() -> None:
    oracle = stats.ttest_1samp(RATIOS, 0)
    found = paired(RATIOS)
    assert found.p_value() == pytest.approx(oracle.pvalue)
    assert found.interval(0.05) == pytest.approx(tuple(oracle.confidence_interval(0.95)))


def test_without_pairs_it_is_welch() -> None:
    baseline, contender = [1.0, 1.1, 0.93, 1.02], [1.2, 1.05, 1.3]
    oracle = stats.ttest_ind(contender, baseline, equal_var=False)
    found = unpaired(baseline, contender)
    assert (found.p_value(), found.df) == pytest.approx((oracle.pvalue, oracle.df))
    assert found.interval(0.05) == pytest.approx(tuple(oracle.confidence_interval(0.95)))


def test_a_number_without_noise_is_exact() -> None:
    assert paired([0.1] * 3).interval(0.05) == pytest.approx((0.1, 0.1))
    assert paired([0.25] * 3).p_value() == 0 and paired([0.0] * 3).p_value() == 1
    assert unpaired([1.0, 1.0], [1.0, 1.0]).p_value() == 1


def test_a_prior_is_learnt_from_many_variances() -> None:
    """Variances of a family whose true ones vary: the prior finds their scale and how much they vary."""
    chosen, df, weight, scale = random.Random(5), 4.0, 3.0, 0.0004
    true = [scale * weight / chosen.gammavariate(weight / 2, 2) for _ in range(4000)]
    found = learn_prior([value * chosen.gammavariate(df / 2, 2) / df for value in true], df)
    assert found is not None
    assert found.df == pytest.approx(weight, rel=0.15) and found.variance == pytest.approx(scale, rel=0.1)


def test_a_prior_weighs_at_most_five_blocks_and_needs_three() -> None:
    same = learn_prior([0.0004] * 9, 4)
    assert same is not None and same.df == MOST_PRIOR_DF
    assert learn_prior([0.0004, 0.0004, 0.0], 4) is None


@pytest.mark.parametrize("df", [2, 4, 9])
def test_the_prior_of_one_variance_is_that_variance(df: int) -> None:
    """Also where its weight is capped, as it mostly is: the numbers of a family have the same noise."""
    chosen, found = random.Random(df), []
    for _ in range(40):
        prior = learn_prior([chosen.gammavariate(df / 2, 2) / df for _ in range(50)], df)
        assert prior is not None and prior.df <= MOST_PRIOR_DF
        found.append(prior.variance)
    assert fmean(found) == pytest.approx(1, abs=0.1)


def test_a_prior_of_less_noise_than_the_present_blocks_show_has_no_weight() -> None:
    prior = Prior(0.01, 4)
    assert fitted_to(prior, [(0.04, 2), (0.01, 4)]) == Prior(0.01, 0)
    for present in ([(0.001, 4.0)], [(0.04, 2.0), (0.001, 20.0)], []):
        assert fitted_to(prior, present) == prior
    own = paired(RATIOS)
    assert moderated(own, 5, fitted_to(Prior(1e-6, 4), [(own.error**2 * 5, own.df)])) == own


def test_moderation_weighs_by_degrees_of_freedom() -> None:
    own = paired(RATIOS)
    found = moderated(own, 5, Prior(0.0009, 4))
    variance = (4 * 0.0009 + 4 * own.error**2 * 5) / 8
    assert (found.mean, found.error, found.df) == pytest.approx((own.mean, math.sqrt(variance / 5), 8))
    assert moderated(own, 5, None) == own


def test_holm_by_hand() -> None:
    found = holm([0.04, 0.001, 0.02], 0.05)
    assert [test.rejected for test in found] == [True, True, True]
    assert [test.level for test in found] == pytest.approx([0.05, 0.05 / 3, 0.025])
    assert [test.rejected for test in holm([0.04, 0.001, 0.03], 0.05)] == [False, True, False]
    assert holm([0.03], 0.05, settled=1)[0].rejected is False


@given(P_VALUES, st.floats(0.001, 0.2))
def test_holm_rejects_between_bonferroni_and_nothing_corrected(values: list[float], alpha: float) -> None:
    for value, test in zip(values, holm(values, alpha), strict=True):
        assert test.rejected == (value <= test.level) or not test.rejected
        assert alpha / len(values) <= test.level <= alpha
        assert test.rejected or value > alpha / len(values)
        assert not test.rejected or value <= alpha


@given(P_VALUES)
def test_q_values_are_those_of_scipy(values: list[float]) -> None:
    assert q_values(values) == pytest.approx(list(stats.false_discovery_control(values)), abs=1e-12)
