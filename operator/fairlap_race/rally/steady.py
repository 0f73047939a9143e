"""Whether a task had settled while it was measured: what its beginning says against its end. Pure.

The measured time is cut into 12 to 16 parts. Their beginning is compared with their end by the rank-sum test (Wilcoxon
1945, Mann and Whitney 1947; exact, ties as if they were broken against a difference). This is Geweke's comparison
(1992), with ranks for means, so that one pause in a part decides nothing: the first third with the last half; of 16
parts also the first half with the last third, for what changes late, and the first quarter with a little more than the
last half, and the other way round, for what is over early and for what begins late. A task is not settled where
throughput, service time or (where requests are planned) latency differ both by more than chance, of which all
comparisons of one series together find 1.4 % at most, and by more than a tenth, in the other three and of latency than
a third. In turn with other races only the service time is its own, and only that is judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import NamedTuple

from fairlap_race.contract.recorded.settling import (
    LATENCY,
    SERVICE_TIME,
    SETTLED_FROM_SECONDS,
    THROUGHPUT,
    Settling,
)
from fairlap_race.rally.windows import ROUNDING, WINDOW_SECONDS, Pace, parts_of

FEWEST_PARTS, MOST_PARTS = 12, 16
"""With fewer the test could not say anything at its level; more would be short, and neighbours resemble each other."""
LEAST_REQUESTS = 5
"""In a part on average."""
LEVEL = 0.01
"""Two-sided, of the one comparison of a short series; each of the four of a longer one has a third of it."""
LEAST_CHANGE = 0.1
"""Of the median: what changes by less moves a figure by less than races differ anyway."""
LEAST_CHANGE_ASIDE = 1 / 3
"""In the other comparisons: with a tenth they would find more chance in rates that wander (docs/noise.md).

Of latency in all, unless it has changed before: where requests queue it multiplies every change of the service time,
that of chance, too.
"""
MOST_CHANGE = 999.0
"""That is told: what was nothing at first and is something in the end has no share of its own."""
ENOUGH_TRIED = 1 / 3
"""Of the time must have been taken away, and the rest still change, before a task is said to have never settled."""
MOST_WINDOWS = 86_400
"""That are judged, from the last one back: a day."""
WARM_WINDOWS = round(SETTLED_FROM_SECONDS / WINDOW_SECONDS)
"""That a warm-up is judged by."""


@dataclass
class WindowTimes:
    """The service times, or latencies, of one task's measured requests, by the window in which they ended."""

    logarithms: dict[int, float] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, end: float, seconds: float) -> None:
        """Take in a request that ended at `end` on the machine's clock; what took no time at all says nothing."""
        if seconds > 0 and math.isfinite(end):
            window = math.floor(end / WINDOW_SECONDS)
            self.logarithms[window] = self.logarithms.get(window, 0.0) + math.log(seconds)
            self.counts[window] = self.counts.get(window, 0) + 1


class Series(NamedTuple):
    """What tells whether one task has settled, window by window."""

    times: WindowTimes
    """service times"""
    units: Mapping[int, float] | None = None
    """what was done in each; None in turn, where it is what all races did, and where the track plans the rate"""
    latencies: WindowTimes | None = None
    """service times with the waits before them; None, or none in it, where nothing was planned, and in turn"""


class _Comparison(NamedTuple):
    """A beginning and an end of a series: how many parts each of them has, and what counts as a difference."""

    head: int
    tail: int
    level: float
    least: float


@dataclass(frozen=True)
class _Change:
    measure: str
    share: float
    values: tuple[float, ...]
    """of the measure, part by part"""
    tail: int
    """how many of them are the end that it was found in"""

    def reached(self) -> float:
        """Return the share of the parts before the first that is, with its neighbours, like the end."""
        end = median(self.values[-self.tail :])
        for place in range(len(self.values) - 2):
            here = median(self.values[place : place + 3])
            if _is_alike(here, end):
                return (place + 1 if place else 0) / len(self.values)  # two of three are like it
        return 1.0


def settling_of(pace: Pace, series: Series) -> Settling | None:
    """Return whether a task settled, from its measured requests; None when nothing was measured."""
    if not any(it.requests for it in pace.clients.values()):
        return None
    together = pace.together()
    if together is None:
        return Settling(left_out=pace.why_apart())
    first, last = math.ceil(together[0] / WINDOW_SECONDS), math.floor(together[1] / WINDOW_SECONDS)
    first = max(first, last - MOST_WINDOWS)
    requests = sum(pace.requests.get(number, 0.0) for number in range(first, last))
    return settling(first, last, series, requests)


def settling(first: int, last: int, series: Series, requests: float) -> Settling:
    """Return whether a task settled in the windows from number `first` to before `last`.

    `requests`: in all of these windows.
    """
    seconds = WINDOW_SECONDS
    count = max(0, last - first)
    parts = min(MOST_PARTS, count, int(requests / LEAST_REQUESTS + ROUNDING))
    if parts < FEWEST_PARTS:
        windows = f"{count} full windows of {seconds:.0f} s" if count else "no full window"
        what = windows if count < FEWEST_PARTS else f"{requests:.0f} requests"
        text = (
            f"{what} in the time in which all clients measured: it takes {FEWEST_PARTS} parts of a window and "
            f"{LEAST_REQUESTS} requests each"
        )
        return Settling(round(count * seconds, 3), left_out=text)
    answered = _answered(first, last, series.times, parts)
    if answered < FEWEST_PARTS:
        text = f"requests ended in {answered} of its {parts} parts: it takes {FEWEST_PARTS} to tell of service times"
        return Settling(round(count * seconds, 3), left_out=text)
    # Part by part the beginning may go; the rest is judged anew, in parts of its own.
    worst, tried, moved = None, 0, False
    for gone in range(parts):
        begin = first + count * gone // parts
        left = min(MOST_PARTS, last - begin, int(requests * (last - begin) / count / LEAST_REQUESTS + ROUNDING))
        if left < FEWEST_PARTS or _answered(begin, last, series.times, left) < FEWEST_PARTS:
            break
        # A latency that has changed must come within a tenth of its end.
        found = _changed(begin, last, series, left, LEAST_CHANGE if moved else LEAST_CHANGE_ASIDE)
        if not found:
            reached = worst.reached() * count if worst else 0.0
            return _judged(count * seconds, max(begin - first, reached) * seconds, worst)
        moved = moved or any(it.measure == LATENCY for it in found)
        worst, tried = worst or max(found, key=lambda it: _size(it.share)), begin - first
    # A rest that is too short to be judged leaves what the whole tells.
    if worst is None or tried >= ENOUGH_TRIED * count:
        return _judged(count * seconds, count * seconds, worst)
    return _judged(count * seconds, max(1.0, worst.reached() * count) * seconds, worst)


def warmed_up(first: int, last: int, series: Series) -> bool:
    """Return whether a task that warms up from window `first` on has settled before window `last`; for `race.steady`.

    It has where no comparison finds a change in the last 36 windows. They must have 16 parts with answers in each: of
    12 there is one comparison, which only sees a change that has not a single exception.
    """
    return not why_unjudged(first, last, series) and _changed(last - WARM_WINDOWS, last, series, MOST_PARTS) == []


def why_unjudged(first: int, last: int, series: Series) -> str:
    """Return why nobody can tell whether a task that warms up has settled before window `last`; "" where one can."""
    begin, needed = last - WARM_WINDOWS, MOST_PARTS * LEAST_REQUESTS
    if begin < first:
        return f"{max(0, last - first) * WINDOW_SECONDS:g} s since its first answer: it takes {SETTLED_FROM_SECONDS:g}"
    requests = sum(series.times.counts.get(number, 0) for number in range(begin, last))
    if requests < needed:
        return f"{requests} requests in {SETTLED_FROM_SECONDS:g} s: it takes {needed}"
    answered = _answered(begin, last, series.times, MOST_PARTS)
    if answered < MOST_PARTS:
        return f"requests ended in {answered} of the {MOST_PARTS} parts of {SETTLED_FROM_SECONDS:g} s: it takes all"
    return ""


def _judged(of_seconds: float, unsettled: float, worst: _Change | None) -> Settling:
    return Settling(
        of_seconds=round(of_seconds, 3),
        unsettled_seconds=round(unsettled, 3),
        measure=worst.measure if worst else "",
        change=round(worst.share, 4) if worst else None,
    )


def _answered(begin: int, last: int, times: WindowTimes, parts: int) -> int:
    """Return in how many of the parts some request ended."""
    return sum(count > 0 for count in parts_of([float(times.counts.get(it, 0)) for it in range(begin, last)], parts))


def _changed(
    begin: int, last: int, series: Series, parts: int, of_latency: float = LEAST_CHANGE_ASIDE
) -> list[_Change]:
    """Return what changed from the beginning of the windows to their end.

    `of_latency`: by less than this share a latency has not changed.
    """
    looked_at = [(SERVICE_TIME, LEAST_CHANGE, _means(begin, last, series.times, parts))]
    if (units := series.units) is not None:
        done = parts_of([units.get(number, 0.0) for number in range(begin, last)], parts)
        looked_at.append((THROUGHPUT, LEAST_CHANGE, done))
    if series.latencies is not None:
        looked_at.append((LATENCY, of_latency, _means(begin, last, series.latencies, parts)))
    return [
        _Change(measure, share, tuple(values), tail)
        for measure, least, values in looked_at
        for share, tail in changes(values, least)
    ]


def _means(begin: int, last: int, times: WindowTimes, parts: int) -> list[float]:
    """Return the geometric mean of the times that ended in each of the parts, but those in which none did."""
    sums = parts_of([times.logarithms.get(number, 0.0) for number in range(begin, last)], parts)
    counts = parts_of([float(times.counts.get(number, 0)) for number in range(begin, last)], parts)
    return [math.exp(total / count) for total, count in zip(sums, counts, strict=True) if count]


def _size(share: float) -> float:
    return abs(math.log1p(max(share, -0.999)))


def changes(values: Sequence[float], least: float = LEAST_CHANGE) -> Iterator[tuple[float, int]]:
    """Yield by which share an end of `values` differs from a beginning where that is no chance, and the end's length.

    `least`: by less than this share nothing counts as a change. Fewer than 12 values have none. From nothing to
    something it is `MOST_CHANGE`, the other way round -1.
    """
    for it in _comparisons(len(values)):
        head, tail = values[: it.head], values[-it.tail :]
        before, after = median(head), median(tail)
        if not _is_alike(before, after, max(it.least, least)) and rank_sum_chance(head, tail) <= it.level:
            yield min(MOST_CHANGE, after / before - 1) if before > 0 else MOST_CHANGE, it.tail


def _comparisons(parts: int) -> tuple[_Comparison, ...]:
    """Return what is compared in a series of so many parts."""
    quarter, third, half = parts // 4, parts // 3, parts // 2
    if parts < FEWEST_PARTS:
        return ()
    if parts < MOST_PARTS:  # the others have too few parts to be beyond a share of the level
        return (_Comparison(third, half, LEVEL, LEAST_CHANGE),)
    return (
        _Comparison(third, half, LEVEL / 3, LEAST_CHANGE),
        _Comparison(half, third, LEVEL / 3, LEAST_CHANGE_ASIDE),
        _Comparison(quarter, half + 1, LEVEL / 3, LEAST_CHANGE_ASIDE),
        _Comparison(half + 1, quarter, LEVEL / 3, LEAST_CHANGE_ASIDE),  # a quarter of the level is beyond four parts
    )


def _is_alike(one: float, other: float, least: float = LEAST_CHANGE) -> bool:
    """Tell whether two medians differ by less than the share `least`; nothing is like nothing alone."""
    if one <= 0 or other <= 0:
        return one <= 0 and other <= 0
    return abs(math.log(other / one)) < math.log1p(least)


def rank_sum_chance(head: Sequence[float], tail: Sequence[float]) -> float:
    """Return the two-sided chance (0 to 1) of a rank sum at least as far out, were all in any order as likely.

    Mann and Whitney 1947, by counting; equal values count for the direction that is the less likely to be found.
    """
    below = sum(low < high for low in head for high in tail)
    above = sum(low > high for low in head for high in tail)
    pairs = len(head) * len(tail)
    extreme = pairs - max(below, above)  # ties count against a difference
    ways = sum(_ways(len(head), len(tail), found) for found in range(extreme + 1))
    return min(1.0, 2 * ways / math.comb(len(head) + len(tail), len(head)))


@cache
def _ways(of_head: int, of_tail: int, found: int) -> int:
    """Return in how many orders of two groups exactly `found` pairs are the wrong way round (Mann and Whitney)."""
    if found < 0:
        return 0
    if of_head == 0 or of_tail == 0:
        return int(found == 0)
    return _ways(of_head - 1, of_tail, found - of_tail) + _ways(of_head, of_tail - 1, found)
