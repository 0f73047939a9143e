"""Variance components of data whose components are known, and what follows from them."""

import math
import random
from statistics import fmean, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts import variance_components as c
from scipy import stats


def simulated(seed: int, sizes: list[list[int]], clusters: float, races: float, within: float) -> c.Nested:
    """Return logarithms with components of these standard deviations."""
    rng = random.Random(seed)
    found = []
    for row in sizes:
        cluster = rng.gauss(4, clusters)
        levels = [cluster + rng.gauss(0, races) for _ in row]
        found.append([[rng.gauss(level, within) for _ in range(n)] for level, n in zip(levels, row, strict=True)])
    return found


BALANCED = [[5] * 4] * 8
UNEVEN = [[5, 2, 9], [1, 4], [3, 3, 3, 8], [6], [2, 2, 7], [4, 4], [9, 1, 1], [5, 5, 5, 5, 5]]


@pytest.mark.parametrize("sizes", [BALANCED, UNEVEN], ids=["balanced", "uneven"])
def test_known_components_come_out_on_average(sizes: list[list[int]]) -> None:
    """Untruncated, the estimates have no bias: here the components are so large that hardly one is cut."""
    runs = [c.components(simulated(seed, sizes, 0.3, 0.2, 0.1)) for seed in range(600)]
    assert fmean(it.clusters or 0 for it in runs) == pytest.approx(0.09, rel=0.08)
    assert fmean(it.races or 0 for it in runs) == pytest.approx(0.04, rel=0.08)
    assert fmean(it.within or 0 for it in runs) == pytest.approx(0.01, rel=0.03)


def test_a_balanced_design_by_hand() -> None:
    values = [[[1.0, 3.0], [5.0, 7.0]], [[2.0, 4.0], [6.0, 12.0]]]
    found = c.components(values)
    # means of races 2, 6, 3, 9; of clusters 4, 6; MS within 24/4, between races 2(4+4+9+9)/2, between clusters 8
    assert found.within == pytest.approx(6.0) and found.races == pytest.approx((26 - 6) / 2)
    assert found.clusters == 0 and found.truncated == ("clusters",), "(8 - 26) / 4 is below 0"
    assert found.counts == (2, 4, 8) and found.joined == ()


def test_an_estimate_below_zero_is_cut_and_named() -> None:
    cut = [c.components(simulated(seed, BALANCED, 0.0, 0.2, 0.1)) for seed in range(200)]
    assert all((it.clusters == 0) == ("clusters" in it.truncated) for it in cut)
    assert 0.4 < fmean("clusters" in it.truncated for it in cut) < 0.75


def test_one_part_a_race_leaves_what_is_within_in_the_races() -> None:
    runs = [c.components(simulated(seed, [[1] * 5] * 8, 0.3, 0.2, 0.1)) for seed in range(600)]
    assert all(it.within is None and it.joined == ("within",) for it in runs)
    assert fmean(it.races or 0 for it in runs) == pytest.approx(0.05, rel=0.05)
    assert fmean(it.clusters or 0 for it in runs) == pytest.approx(0.09, rel=0.08)


def test_one_race_a_cluster_leaves_both_in_the_clusters() -> None:
    runs = [c.components(simulated(seed, [[6]] * 8, 0.3, 0.2, 0.1)) for seed in range(600)]
    assert all(it.races is None and it.joined == ("races",) for it in runs)
    assert fmean(it.clusters or 0 for it in runs) == pytest.approx(0.13, rel=0.06)
    assert fmean(it.within or 0 for it in runs) == pytest.approx(0.01, rel=0.03)


def test_one_number_a_cluster_is_its_plain_variance() -> None:
    values = [0.1, 0.5, -0.2, 0.4]
    found = c.components([[[value]] for value in values])
    assert found.clusters == pytest.approx(variance(values)) and found.races is None and found.within is None


@pytest.mark.parametrize("values", [[], [[]], [[[]]], [[[1.0]]]])
def test_from_nothing_nothing_is_known(values: c.Nested) -> None:
    found = c.components(values)
    assert (found.clusters, found.races, found.within) == (None, None, None)
    assert c.pair_spread(found, 1, kept=False) is None and c.pair_spread(found, 1, kept=True) is None
    assert c.allocation(found, c.Costs(1, 10, 100)) is None


@given(
    st.lists(st.lists(st.lists(st.floats(-9, 9), max_size=4), max_size=4), max_size=4),
    st.floats(-5, 5), st.floats(0.5, 2),
)  # fmt: skip
def test_no_component_is_negative_and_a_unit_changes_none(values: c.Nested, shift: float, scale: float) -> None:
    found = c.components(values)
    moved = c.components([[[scale * value + shift for value in parts] for parts in races] for races in values])
    for one, two in zip(found[:3], moved[:3], strict=True):
        assert (one is None) == (two is None)
        assert one is None or (one >= 0 and two == pytest.approx(scale**2 * one, rel=1e-6, abs=1e-8))


def test_the_spread_of_pairs_is_that_of_simulated_pairs() -> None:
    known = c.Components(0.09, 0.04, 0.01)
    rng = random.Random(1)

    def race(cluster: float) -> float:
        return cluster + rng.gauss(0, 0.2) + rng.gauss(0, 0.1) / math.sqrt(5)

    fresh = [race(rng.gauss(0, 0.3)) - race(rng.gauss(0, 0.3)) for _ in range(20000)]
    kept = [race(0.7) - race(-0.4) for _ in range(20000)]
    assert c.pair_spread(known, 5, kept=False) == pytest.approx(math.sqrt(variance(fresh)), rel=0.03)
    assert c.pair_spread(known, 5, kept=True) == pytest.approx(math.sqrt(variance(kept)), rel=0.03)
    apart = fmean(abs(each) > math.log(1.05) for each in fresh)
    assert c.share_apart(math.sqrt(variance(fresh))) == pytest.approx(apart, abs=0.01)


def test_a_paired_noise_of_five_per_cent_differs_in_a_third_of_pairs() -> None:
    assert c.share_apart(0.05) == pytest.approx(0.33, abs=0.01) and c.share_apart(0.0) == 0


@given(*[st.floats(0.001, 1)] * 3, *[st.floats(1, 1000)] * 3)
def test_no_other_numbers_of_repetitions_have_less_variance_for_the_time(
    clusters: float, races: float, within: float, part: float, race: float, cluster: float
) -> None:
    found, costs = c.Components(clusters, races, within), c.Costs(part, race, cluster)

    def price(m: float, n: float) -> float:
        return (clusters + races / n + within / (n * m)) * (cluster + race * n + part * n * m)

    best = c.allocation(found, costs)
    assert best and best.parts and best.races
    m = math.sqrt(race / part * within / races)
    n = math.sqrt(cluster / race * races / clusters)
    assert best == (max(1, math.ceil(m)), max(1, math.ceil(n)))
    least = price(m, n)
    assert all(least <= price(m * f, n * g) * (1 + 1e-9) for f in (0.5, 0.9, 1, 1.1, 2) for g in (0.5, 0.9, 1, 1.1, 2))


def test_where_a_level_has_no_noise_all_repetitions_are_elsewhere() -> None:
    costs = c.Costs(1, 30, 100)
    assert c.allocation(c.Components(0.0, 0.04, 0.01), costs) == (math.ceil(math.sqrt(30 * 0.25)), None)
    assert c.allocation(c.Components(0.09, 0.0, 0.01), costs) == (None, 1)
    assert c.races_of_a_cluster(c.Components(0.01, 0.04, None), 50, 200) == 4


@given(*[st.floats(0, 1)] * 2, *[st.floats(1, 1000)] * 3)
def test_more_of_a_level_without_noise_is_never_asked_for_whatever_is_below(
    below: float, lowest: float, part: float, race: float, cluster: float
) -> None:
    costs = c.Costs(part, race, cluster)
    alike = c.allocation(c.Components(0.0, below, lowest), costs)
    assert alike and alike.races is None
    races_alike = c.allocation(c.Components(below, 0.0, lowest), costs)
    assert races_alike and races_alike.parts is None
    assert c.races_of_a_cluster(c.Components(0.0, below, None), race, cluster) is None


def test_a_lever_that_halves_the_noise_is_seen_as_one() -> None:
    rng = random.Random(3)
    found = c.change([rng.gauss(0, 0.2) for _ in range(400)], [rng.gauss(0, 0.1) for _ in range(400)])
    assert found and found.factor == pytest.approx(0.5, rel=0.1) and found.low < 0.5 < found.high < 0.6
    assert c.change([0.1], []) is None and c.change([0.0], [0.1]) is None


@pytest.mark.long
def test_the_interval_of_a_lever_holds_the_truth_nine_times_in_ten() -> None:
    rng, held = random.Random(5), 0
    for _ in range(1000):
        found = c.change([rng.gauss(0, 0.2) for _ in range(6)], [rng.gauss(0, 0.1) for _ in range(6)])
        held += bool(found and found.low <= 0.5 <= found.high)
    assert 870 <= held <= 930


@given(st.floats(0.01, 50), st.floats(0.5, 60), st.floats(0.5, 60))
def test_tails_of_f(f: float, df1: float, df2: float) -> None:
    assert math.isclose(c.f_tail(f, df1, df2), stats.f.sf(f, df1, df2), rel_tol=1e-8, abs_tol=1e-13)


@given(st.floats(0.01, 0.99), st.integers(1, 50), st.integers(1, 50))
def test_the_quantile_of_f_has_its_tail(tail: float, df1: int, df2: int) -> None:
    assert c.f_tail(c.f_quantile(tail, df1, df2), df1, df2) == pytest.approx(tail, rel=1e-6)
