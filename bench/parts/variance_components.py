"""Where noise comes from: variance components of a nested design, what repetitions cost, and how to spread them. Pure.

A cluster is raced on several times, and a race has several parts. All values are logarithms, so that a component's root
is a coefficient of variation, more or less.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple

from fairlap.statistics.distributions import incomplete_beta

Nested = Sequence[Sequence[Sequence[float]]]
"""clusters of races of parts; numbers of each may differ"""
MARGIN = 0.05


class Components(NamedTuple):
    """Variances of logarithms; None where the design cannot tell."""

    clusters: float | None
    races: float | None
    within: float | None
    truncated: tuple[str, ...] = ()
    """of which of them the estimate was below 0, which no variance is"""
    counts: tuple[int, int, int] = (0, 0, 0)
    """clusters, races, parts"""
    joined: tuple[str, ...] = ()
    """what is in the component above it, since nothing tells them apart"""


def components(values: Nested) -> Components:
    """Return the components by the analysis of variance of a nested random-effects design, balanced or not.

    Each mean square is put equal to its expectation (Henderson's method I; Searle, Casella and McCulloch 1992, Variance
    Components; the coefficients for unequal numbers: Gates and Shiue 1962, Sokal and Rohlf 1995, nested anova):

        E(MS within) = w,  E(MS races) = w + k1 r,  E(MS clusters) = w + k2 r + k3 c.

    An estimate below 0 is cut to 0 and named in `truncated`: this makes the mean of many a little too large. A level
    without repetitions is joined to the one above it: with one part a race, `races` holds what is within a race.
    """
    tree = [[list(parts) for parts in races if parts] for races in values]
    tree = [races for races in tree if races]
    counts = (len(tree), sum(map(len, tree)), sum(len(parts) for races in tree for parts in races))
    clusters, races, parts = counts
    joined, cut = list[str](), list[str]()
    if parts == races:
        joined.append("within")
    if races == clusters:
        joined.append("races")
    (within, between, above), (k1, k2, k3) = _mean_squares(tree), _coefficients(tree)
    # What has no degrees of freedom is no component of its own: its expectation stays in the mean square above.
    found_races = None if between is None else _not_below((between - (within or 0.0)) / k1, "races", cut)
    found_clusters = None
    if above is not None:
        rest = (within or 0.0) + k2 * (found_races or 0.0)
        found_clusters = _not_below((above - rest) / k3, "clusters", cut)
    return Components(found_clusters, found_races, within, tuple(cut), counts, tuple(joined))


def _mean_squares(tree: Nested) -> tuple[float | None, float | None, float | None]:
    """Return those within races, between races of a cluster and between clusters; None without degrees of freedom."""
    flat = [value for races in tree for parts in races for value in parts]
    if not flat:
        return None, None, None
    clusters, count = len(tree), sum(map(len, tree))
    grand = fmean(flat)
    own = [fmean(value for parts in races for value in parts) for races in tree]
    inside = sum((value - fmean(parts)) ** 2 for races in tree for parts in races for value in parts)
    races = sum(
        len(parts) * (fmean(parts) - mean) ** 2 for races, mean in zip(tree, own, strict=True) for parts in races
    )
    above = sum(sum(map(len, races)) * (mean - grand) ** 2 for races, mean in zip(tree, own, strict=True))
    return (
        inside / (len(flat) - count) if len(flat) > count else None,
        races / (count - clusters) if count > clusters else None,
        above / (clusters - 1) if clusters > 1 else None,
    )


def _coefficients(tree: Nested) -> tuple[float, float, float]:
    """Return k1, k2 and k3 of `components`; 1 where the mean square has no degrees of freedom."""
    sizes = [[len(parts) for parts in races] for races in tree]
    total, clusters, races = sum(map(sum, sizes)), len(sizes), sum(map(len, sizes))
    squares = sum(n * n for row in sizes for n in row)
    by_cluster = sum(sum(n * n for n in row) / sum(row) for row in sizes)
    k1 = (total - by_cluster) / (races - clusters) if races > clusters else 1.0
    k2 = (by_cluster - squares / total) / (clusters - 1) if clusters > 1 else 1.0
    k3 = (total - sum(sum(row) ** 2 for row in sizes) / total) / (clusters - 1) if clusters > 1 else 1.0
    return k1, k2, k3


def _not_below(value: float, name: str, cut: list[str]) -> float:
    if value < 0:
        cut.append(name)
        return 0.0
    return value


def pair_spread(found: Components, parts: float, *, kept: bool) -> float | None:
    """Return the standard deviation of the log ratio of two races that share nothing, with so many parts each.

    `kept`: both on clusters that stay, so that what differs from cluster to cluster is no noise from pair to pair. A
    component that is joined to another counts there. None where one that is needed is unknown.
    """
    races = found.races
    if races is None and kept:
        return None
    known = (races or 0.0) + (found.within / parts if found.within is not None else 0.0)
    if kept:
        return math.sqrt(2 * known)
    return None if found.clusters is None else math.sqrt(2 * (known + found.clusters))


def share_apart(spread: float, margin: float = MARGIN) -> float:
    """Return the share of identical pairs that differ by more than `margin`, with normal log ratios."""
    return 2 * (1 - NormalDist().cdf(math.log1p(margin) / spread)) if spread > 0 else 0.0


class Observed(NamedTuple):
    """What identical pairs of races differed by."""

    spread: float
    """standard deviation of the log ratios about 0, their true mean"""
    apart: int
    """pairs that differ by more than a margin"""
    pairs: int


def observed(ratios: Sequence[float], margin: float = MARGIN) -> Observed | None:
    """Return what pairs with these log ratios differed by, whatever their distribution is; None for no pair."""
    if not ratios:
        return None
    spread = math.sqrt(fmean(each * each for each in ratios))
    return Observed(spread, sum(abs(each) > math.log1p(margin) for each in ratios), len(ratios))


class Costs(NamedTuple):
    """Seconds that one more of each takes; what is inside of it not counted."""

    part: float | None
    """one more part of the measured time; None where no task was long enough to have any"""
    race: float
    """a race besides its parts: start, warm-up, evidence"""
    cluster: float | None
    """a cluster: building, filling, settling; None where it is not known"""


class Allocation(NamedTuple):
    """How to spread a given time; None for as many as there is time for."""

    parts: int | None
    """of a race"""
    races: int | None
    """of a cluster, before it is built and filled again"""


def allocation(found: Components, costs: Costs) -> Allocation | None:
    """Return the numbers of repetitions with the least variance of the mean for a given time.

    n_i = ceil(root(c_(i+1) / c_i * T_i / T_(i+1))), with the variance T_i of a level and the cost c_i of one more of it
    (Kalibera and Jones 2013, Rigorous benchmarking in reasonable time). It follows from Cauchy's inequality for
    (T3 + T2/n + T1/(n m)) (c3 + c2 n + c1 n m). Where the level above has no noise, nothing is to be had from more of
    it: as many here as there is time for. None where a component is unknown; the races of a cluster say nothing where
    its cost is.
    """
    if costs.part is None or found.clusters is None or found.races is None or found.within is None:
        return None
    return Allocation(
        _repetitions(costs.race, costs.part, found.within, found.races),
        _repetitions(costs.cluster or 0.0, costs.race, found.races, found.clusters),
    )


def races_of_a_cluster(found: Components, race: float, cluster: float) -> int | None:
    """Return how often to race on a cluster before it is built again, where what is within a race is not told apart.

    `race` is what a whole race costs, in seconds.
    """
    if found.clusters is None or found.races is None:
        return None
    return _repetitions(cluster, race, found.races, found.clusters)


def _repetitions(above: float, here: float, variance: float, variance_above: float) -> int | None:
    if variance_above <= 0:  # as many as there is time for, even where they are all alike
        return None
    if variance <= 0:
        return 1
    found = math.sqrt(above / max(here, 1e-9) * variance / variance_above)
    return None if math.isinf(found) else max(1, math.ceil(found))  # next to no noise above is none


class Change(NamedTuple):
    """What a lever does to the noise: the factor of the standard deviation, and its interval of 90 %."""

    before: float
    after: float
    factor: float
    low: float
    high: float
    pairs: int


def change(without: Sequence[float], with_it: Sequence[float], confidence: float = 0.9) -> Change | None:
    """Return what became of the spread of log ratios of identical pairs; None where one has no spread at all.

    Their true mean is 0, so each root mean square has a degree of freedom a pair.
    """
    if not without or not with_it:
        return None
    before, after = (
        Scatter(math.sqrt(fmean(each * each for each in ratios)), len(ratios)) for ratios in (without, with_it)
    )
    found = quotient(before, after, confidence)
    if found is None:
        return None
    return Change(before.spread, after.spread, *found, min(before.df, after.df))


class Scatter(NamedTuple):
    """A standard deviation and its degrees of freedom."""

    spread: float
    df: int


class Quotient(NamedTuple):
    """One standard deviation by another one, and its interval."""

    factor: float
    low: float
    high: float


def scatter(groups: Sequence[Sequence[float]]) -> Scatter | None:
    """Return how values scatter about the mean of their group, over all groups; None where each is alone in its own."""
    df = sum(len(values) - 1 for values in groups if values)
    if df < 1:
        return None
    squares = sum((value - fmean(values)) ** 2 for values in groups for value in values)
    return Scatter(math.sqrt(squares / df), df)


def quotient(before: Scatter, after: Scatter, confidence: float = 0.9) -> Quotient | None:
    """Return `after` by `before`, None where one is 0: the ratio of two variances is distributed as F.

    (Fisher and Snedecor; both independent and normal.)
    """
    if before.spread <= 0 or after.spread <= 0:
        return None
    factor, tail = after.spread / before.spread, (1 - confidence) / 2
    low = factor / math.sqrt(f_quantile(tail, after.df, before.df))
    high = factor * math.sqrt(f_quantile(tail, before.df, after.df))
    return Quotient(factor, low, high)


def f_tail(f: float, df1: float, df2: float) -> float:
    """Return the probability that F on `df1` and `df2` degrees of freedom is larger than `f` >= 0."""
    return incomplete_beta(df2 / 2, df1 / 2, df2 / (df2 + df1 * f))


def f_quantile(tail: float, df1: float, df2: float) -> float:
    """Return the F > 0 beyond which is the probability `tail` (0 < tail < 1), by halving its logarithm's range."""
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        if f_tail(math.exp(middle), df1, df2) > tail:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)
