"""How throughput grows with clients: the Universal Scalability Law, a curve's knee, and the load an objective allows.

The law is N. J. Gunther's (Guerrilla Capacity Planning, 2007): X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)),
sigma the share of contention, kappa that of coherency. The knee is L. Kleinrock's greatest power, throughput divided by
response time. Nothing here prints: what cannot be told is None, with the reason in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from statistics import fmean, median, stdev
from typing import NamedTuple

from fairlap.statistics.distributions import t_quantile
from fairlap_race.contract.as_percent import as_percent

LEAST_POINTS = 6
"""different numbers of clients; with fewer three parameters have next to nothing left to be wrong by"""
LEAST_REACH = 8.0
"""the most clients against the fewest"""
WIDEST_SCATTER = 0.15
"""of the logarithms around the curve: beyond it the points do not follow the law"""
WIDEST_PEAK = 2.0
"""the peak's interval may reach this many times to either side"""
_LEAST_RATE, _MOST_RATE = 1e-12, 1e18
"""throughputs of any system; squares of others, and of times from them, are soon no numbers"""
_STEPS = 100
_PRECISE = 1e-12

LoadPoints = Sequence[tuple[float, float]]
"""clients and throughput, both above 0"""


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Law:
    """A fitted curve."""

    rate: float
    """lambda: throughput of one client"""
    contention: float
    """sigma, 0 or more"""
    coherency: float
    """kappa, 0 or more"""
    scatter: float
    """standard deviation of the logarithms around the curve"""
    points: int

    def throughput(self, clients: float) -> float:
        """Return X(clients)."""
        slowed = 1 + self.contention * (clients - 1) + self.coherency * clients * (clients - 1)
        return self.rate * clients / slowed

    @property
    def peak(self) -> float | None:
        """The clients with the greatest throughput; None where it never falls (no coherency), or falls at once."""
        if self.coherency <= 0 or self.contention >= 1:
            return None
        return math.sqrt((1 - self.contention) / self.coherency)


@dataclass(frozen=True)
class Fitted:
    """What the law says of a curve: a law, or why there is none; a peak, or why that is not told."""

    law: Law | None = None
    refused: str = ""
    peak: Interval | None = None
    """clients"""
    peak_throughput: float | None = None
    peak_refused: str = ""


def fit(points: LoadPoints) -> Fitted:
    """Return what the law says of `points`, one for each step and race; refusals: docs/decisions/client-sweeps.md."""
    numbers = sorted({clients for clients, _ in points})
    if len(numbers) < LEAST_POINTS:
        return Fitted(
            refused=f"it takes {LEAST_POINTS} different numbers of clients that the load generator can drive, and "
            f"there are {len(numbers)}"
        )
    if numbers[-1] < LEAST_REACH * numbers[0]:
        return Fitted(
            refused=f"the most clients ({numbers[-1]:g}) are to be {LEAST_REACH:g} times the fewest ({numbers[0]:g}) "
            "at least"
        )
    law = fit_law(points)
    if law is None:
        return Fitted(refused="no curve of the law goes through these points")
    if law.scatter > WIDEST_SCATTER:
        return Fitted(
            refused=f"the points lie {as_percent(law.scatter, WIDEST_SCATTER)} off the fitted curve, and more than "
            f"{as_percent(WIDEST_SCATTER)} is not the law's shape"
        )
    return _with_peak(law, points, numbers[0], numbers[-1])


def _with_peak(law: Law, points: LoadPoints, fewest: float, most: float) -> Fitted:
    if law.contention >= 1:
        return Fitted(law, peak_refused="throughput does not grow with clients at all")
    if law.peak is None:
        return Fitted(law, peak_refused=f"throughput does not fall up to {most:g} clients: there is no peak to be seen")
    if law.peak >= most:
        return Fitted(law, peak_refused=f"the peak was not reached: it is at {most:g} clients or more")
    if law.peak < fewest:
        return Fitted(
            law, peak_refused=f"throughput falls from the first step on: the peak is at {fewest:g} clients or fewer"
        )
    spread = _spread_of_peak(law, points)
    if spread is None or spread > math.log(WIDEST_PEAK):
        return Fitted(law, peak_refused="the points scatter too much to tell where the peak is")
    found = Interval(law.peak, law.peak * math.exp(-spread), law.peak * math.exp(spread))
    return Fitted(law, peak=found, peak_throughput=law.throughput(law.peak))


def fit_law(points: LoadPoints) -> Law | None:
    """Return the law whose logarithm is nearest to those of the throughputs (least squares, no parameter below 0).

    N/X is linear in 1/lambda, sigma/lambda and kappa/lambda, so each Gauss-Newton step is a weighted linear fit; which
    parameters are 0 is found by trying (a non-negative least squares by enumeration). None for fewer than two points
    and for a throughput that no system has.
    """
    known = [(clients, value) for clients, value in points if clients > 0 and value > 0]
    if len(known) < 2 or not all(_is_of_a_system(value) for _, value in known):
        return None
    found: list[tuple[float, Law]] = []
    for used in ((0, *more) for size in range(3) for more in combinations((1, 2), size)):
        if len(used) <= len(known) and (law := _fit_some(known, used)):
            found.append((round(law.scatter, 9), law))
    return min(found, key=lambda it: it[0])[1] if found else None


def _is_of_a_system(throughput: float) -> bool:
    return _LEAST_RATE <= throughput <= _MOST_RATE


def _row(clients: float) -> tuple[float, float, float]:
    return 1.0, clients - 1, clients * (clients - 1)


def _fit_some(points: LoadPoints, used: Sequence[int]) -> Law | None:
    """Return the nearest law of which only the parameters `used` are not 0; None where one would be below 0."""
    rows = [[_row(clients)[place] for place in used] for clients, _ in points]
    wanted = [clients / value for clients, value in points]
    target, weights = list(wanted), [1 / value**2 for value in wanted]
    old, found, now = list[float](), list[float](), list[float]()
    for _ in range(_STEPS):
        solved = _least_squares(rows, target, weights)
        if solved is None or solved[0] <= 0 or any(value < 0 for value in solved[1:]):
            return None
        found = solved
        now = [sum(a * b for a, b in zip(row, found, strict=True)) for row in rows]
        target = [m * (1 + math.log(y / m)) for m, y in zip(now, wanted, strict=True)]
        weights = [1 / m**2 for m in now]
        if old and max(abs(a - b) for a, b in zip(found, old, strict=True)) <= _PRECISE * max(map(abs, found)):
            break
        old = found
    whole = dict(zip(used, found, strict=True))
    rest = sum(math.log(y / m) ** 2 for m, y in zip(now, wanted, strict=True))
    # Three parameters in any case: one that is 0 was looked for, too.
    scatter = math.sqrt(rest / max(1, len(points) - 3))
    rate = 1 / whole[0]
    return Law(rate, whole.get(1, 0.0) * rate, whole.get(2, 0.0) * rate, scatter, len(points))


def _least_squares(
    rows: Sequence[Sequence[float]], target: Sequence[float], weights: Sequence[float]
) -> list[float] | None:
    size = len(rows[0])
    matrix, right = _normal(rows, weights), [0.0] * size
    for row, value, weight in zip(rows, target, weights, strict=True):
        for place in range(size):
            right[place] += weight * row[place] * value
    return _solve(matrix, right)


def _normal(rows: Sequence[Sequence[float]], weights: Sequence[float]) -> list[list[float]]:
    size = len(rows[0])
    return [
        [sum(weight * row[i] * row[j] for row, weight in zip(rows, weights, strict=True)) for j in range(size)]
        for i in range(size)
    ]


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """Return x of `matrix` x = `right` by elimination with scaled rows; None for a matrix that has no inverse."""
    scale = [math.sqrt(row[place]) if row[place] > 0 else 0.0 for place, row in enumerate(matrix)]
    if not all(scale):
        return None
    size = len(scale)
    work = [[matrix[i][j] / scale[i] / scale[j] for j in range(size)] + [right[i] / scale[i]] for i in range(size)]
    for column in range(size):
        best = max(range(column, size), key=lambda line: abs(work[line][column]))
        work[column], work[best] = work[best], work[column]
        if abs(work[column][column]) < 1e-13:
            return None
        for line in range(size):
            if line != column:
                factor = work[line][column] / work[column][column]
                work[line] = [a - factor * b for a, b in zip(work[line], work[column], strict=True)]
    return [work[place][size] / work[place][place] / scale[place] for place in range(size)]


def _spread_of_peak(law: Law, points: LoadPoints) -> float | None:
    """Return the half-width of the 95 % interval of the peak's logarithm by the delta method; None if it has none.

    With a = 1/lambda, b = sigma/lambda, c = kappa/lambda the peak is sqrt((a - b)/c), and the covariance of a, b, c is
    scatter^2 (J'J)^-1, J the derivatives of the logarithms.
    """
    a, b, c = 1 / law.rate, law.contention / law.rate, law.coherency / law.rate
    models = [clients / law.throughput(clients) for clients, _ in points]
    rows, weights = [_row(clients) for clients, _ in points], [1 / value**2 for value in models]
    gradient = [0.5 / (a - b), -0.5 / (a - b), -0.5 / c]
    solved = _solve(_normal(rows, weights), gradient)
    freedom = len(points) - 3
    if solved is None or freedom < 1:
        return None
    variance = law.scatter**2 * sum(g * s for g, s in zip(gradient, solved, strict=True))
    return t_quantile(0.05, freedom) * math.sqrt(variance) if variance >= 0 else None


def knee(points: Sequence[tuple[float, float, float]]) -> float | None:
    """Return the clients of the step with the greatest power, throughput divided by response time; of equals the least.

    `points`: clients, throughput and response time of each step. None for no step.
    """
    powers = {clients: rate / time for clients, rate, time in points if rate > 0 and time > 0}
    most = max(powers.values(), default=0.0)
    return min((clients for clients, power in powers.items() if power == most), default=None)


@dataclass(frozen=True)
class Capacity:
    """Up to which load a latency is kept."""

    load: Interval | None = None
    """throughput; the interval is of the races where there are three or more and each has a crossing between two steps,
    else from the most that was carried within the objective to the first step beyond it"""
    by_races: int = 0
    """races that the interval is of; 0 for that of the steps"""
    refused: str = ""
    best: float | None = None
    """size of the step within the objective that carried the most, of which the interval begins; None where it is of
    the races"""
    beyond: float | None = None
    """size of the first step that does not keep the objective"""
    is_between: bool = False
    """whether the latencies of the steps on both sides say where between them"""


@dataclass(frozen=True)
class LoadStep:
    """One step of one race."""

    size: float
    """clients or target rate"""
    throughput: float
    latency: float
    """infinite where it is beyond any objective: requests were dropped, or too few were answered for its percentile"""
    keeps_schedule: bool = True


def capacity(
    races: Sequence[Sequence[LoadStep]],
    objective: float,
    *,
    are_rates: bool = False,
    unjudged: Sequence[Collection[float]] = (),
) -> Capacity:
    """Return the load up to which the latency stays at `objective` or below, over the `races` of one sweep.

    `are_rates`: the sizes are rates that were asked for; `unjudged`: by race the sizes of steps whose latency is not
    known.

    Of each race it is the place between two steps where the latency's logarithm crosses the objective's, by a straight
    line; over three races or more a t interval on the logarithms, each race being one sample (docs/statistics.md).
    Where a race has no such place, since the larger step was not sent, has no latency, or carried less than a smaller
    one that keeps the objective, all that is known are the two steps: races that agree on these would have an interval
    of no width. It is never less than what a step before the crossing carried. Of rates it may be as much as the larger
    step asked for: what was answered of more than can be carried bounds nothing.
    """
    whole = _medians(races)
    unknown = unjudged or [()] * len(races)
    crossing = _crossing(whole, objective, {size for each in unknown for size in each} - {step.size for step in whole})
    if isinstance(crossing, str):
        return Capacity(refused=crossing)
    each_race = (_crossing(_medians([race]), objective, known) for race, known in zip(races, unknown, strict=True))
    found = [each for each in each_race if isinstance(each, _Crossing)]
    told = all(each.is_between and _is_of_a_system(each.load) for each in found)
    if len(found) >= 3 and len(found) == len(races) and told:
        logs = [math.log(each.load) for each in found]
        half = t_quantile(0.05, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
        load = math.exp(fmean(logs))
        return Capacity(Interval(load, load * math.exp(-half), load * math.exp(half)), len(found))
    load, best, first = crossing.load, crossing.best, crossing.first
    high = max(first.throughput, load)
    if are_rates and not crossing.is_between:
        high = max(high, best.throughput * first.size / best.size)
    interval = Interval(load, best.throughput, high)
    return Capacity(interval, best=best.size, beyond=first.size, is_between=crossing.is_between)


def _medians(races: Sequence[Sequence[LoadStep]]) -> list[LoadStep]:
    by_size: dict[float, list[LoadStep]] = {}
    for step in (step for race in races for step in race):
        by_size.setdefault(step.size, []).append(step)
    return [
        LoadStep(
            size,
            median(step.throughput for step in steps),
            median(step.latency for step in steps),
            2 * sum(step.keeps_schedule for step in steps) > len(steps),
        )
        for size, steps in sorted(by_size.items())
    ]


def _keeps(step: LoadStep, objective: float) -> bool:
    return step.keeps_schedule and step.latency <= objective


def _never_first(ordered: Sequence[LoadStep], objective: float) -> str:
    """Return why there is no crossing where the smallest of the steps does not keep the objective."""
    first, kept = ordered[0].size, [f"{step.size:g}" for step in ordered if _keeps(step, objective)]
    if not kept:
        return f"the objective is not met even by the smallest step, {first:g}: it needs smaller ones"
    more = f" and {len(kept) - 3} more" if len(kept) > 3 else ""
    return (
        f"the smallest step, {first:g}, does not meet the objective, and larger ones do ({', '.join(kept[:3])}{more}): "
        "give the steps a warm-up"
    )


class _Crossing(NamedTuple):
    """Where the objective is crossed first."""

    load: float
    """throughput"""
    best: LoadStep
    """that carried the most of those before the crossing, all of which keep it"""
    first: LoadStep
    """that does not"""
    is_between: bool
    """whether the latencies on both sides say where between them; else it is that of the best"""


def _crossing(steps: Sequence[LoadStep], objective: float, unjudged: Collection[float]) -> _Crossing | str:
    """Return the first crossing, or why there is none."""
    ordered = sorted(steps, key=lambda step: step.size)
    kept = list(takewhile(lambda step: _keeps(step, objective), ordered))
    if not ordered:
        return "no step has a latency of that percentile: it needs more requests a step"
    if not kept:
        return _never_first(ordered, objective)
    if len(kept) == len(ordered):
        return f"the objective is kept in every step up to the largest, {kept[-1].size:g}: it needs larger ones"
    best, last, first = max(kept, key=lambda step: step.throughput), kept[-1], ordered[len(kept)]
    # What was asked for was not sent, or throughput falls: between the two it is at least that of the best.
    apart = any(last.size < size < first.size for size in unjudged)
    if apart or first.latency <= objective or math.isinf(first.latency) or first.throughput < best.throughput:
        return _Crossing(best.throughput, best, first, is_between=False)
    share = math.log(objective / last.latency) / math.log(first.latency / last.latency)
    load = last.throughput + share * (first.throughput - last.throughput)
    return _Crossing(max(best.throughput, load), best, first, is_between=True)


def usable_sizes(saturated: Mapping[float, bool]) -> set[float]:
    """Return the sizes of steps that the fit may use; `saturated`: by size, whether the load generator was the limit.

    None is used from the first of two neighbouring steps on that are both saturated, nor the largest if it is; a single
    saturated step below is left out alone, since one that was disturbed must not cut off all above it.
    """
    sizes = sorted(saturated)
    for place in range(len(sizes)):
        if all(saturated[each] for each in sizes[place : place + 2]):
            sizes = sizes[:place]
            break
    return {size for size in sizes if not saturated[size]}
