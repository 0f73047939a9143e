"""How small a difference of a Benchmark's numbers could be seen here, from its own races and from history. Pure.

What is meant is what a Comparison does: pairs of races, and the logarithm of their ratio.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from statistics import variance
from typing import Final, NamedTuple

from fairlap.api.block_record import Measured
from fairlap.api.noise_status import MOST_NOISY_TASKS, Noise, NumberNoise, TaskNoise
from fairlap.comparison.numbers.benchmark_numbers import NodesUse, nodes_use, task_numbers, whole_numbers
from fairlap.comparison.terms.gate_metrics import LATENCIES, METRICS, SERVICE_TIMES, family
from fairlap.statistics.gates import NO_SPREAD, SEQUENTIAL, smallest_visible
from fairlap.statistics.moderation import Prior, fitted_to
from fairlap.wording.counts import counted
from fairlap.wording.percentages import two_digits
from fairlap_race.contract.recorded.race_capacity import race_capacity
from fairlap_race.contract.recorded.record import Record, Task
from fairlap_race.contract.watched_machines.resources import MachineTable

PAIRS: Final = 5
"""of races, which is what a Comparison of a middling difference takes"""
_ALPHA: Final = next(look.alpha for look in SEQUENTIAL if look.blocks == PAIRS)
"""What the default design may err by at that look: a test at 5 % would promise more than such a Comparison sees."""
_MOST_SPREAD: Final = math.log(100)
"""of a log ratio; beyond it a percentage says nothing any more"""
_ROOM: Final = 60_000
"""Characters of all tasks in the status."""
_WHERE_KNOWN: Final = "cpuSecondsPerOperation"
"""Only where the machines were looked at."""
_NONE: Final = "no Comparison of the same work{} on the same machines in the last 30 days"
_TOO_LITTLE: Final = "finished Comparisons of the same work here have shown too little of it"


class History(NamedTuple):
    """What earlier Comparisons of the same work on the same machines have shown."""

    priors: Mapping[str, Prior] = {}
    """by family of numbers"""
    why_none: str = _NONE.format("")
    """said where there are no priors at all"""

    @property
    def lacks(self) -> str:
        """Why it does not know the noise of a number."""
        return _TOO_LITTLE if self.priors else self.why_none


def history_of(priors: Mapping[str, Prior] | None, *, in_turn: bool, on_kept_cluster: bool) -> History:
    """Return the history of such races; `priors` is None where there was no such Comparison."""
    if priors is not None:
        return History(priors, _TOO_LITTLE)
    how = f"{' on kept clusters' if on_kept_cluster else ''}{' in turn' if in_turn else ''}"
    return History(why_none=_NONE.format(how))


_Run = tuple[Task, NodesUse]
"""a task in a race, and what the Elasticsearch nodes used in each task of that race"""


def noise_of(races: Sequence[Record], history: History, tables: Sequence[MachineTable | None] = ()) -> Noise:
    """Return the noise of what may decide, of each measured task and of the whole race, over the valid `races`.

    `tables`: what the machines did in each of these races of one Benchmark; empty where nobody knows.
    Two races of the same thing that share nothing differ by √2 times the standard deviation of a race: the variance of
    a difference of two independent numbers is the sum of theirs. What both share only makes it smaller.
    """
    machines, runs = tables or [None] * len(races), dict[str, list[_Run]]()
    for record, used in zip(races, map(nodes_use, machines, races), strict=True):
        for task in (each for each in record.comparable_tasks if each.rally is not None):
            runs.setdefault(task.task, []).append((task, used))
    told = zip(races, machines, map(race_capacity, races), strict=True)
    whole = list(_of_whole_race([[*whole_numbers(*race)] for race in told], history))
    found = [
        TaskNoise(task=name, numbers=list(_of_task(of_task, history)))
        for name, of_task in islice(runs.items(), MOST_NOISY_TASKS)
    ]
    left, kept = _ROOM, list[TaskNoise]()
    for each in found:
        left -= len(each.model_dump_json())
        if left < 0:
            break
        kept.append(each)
    return Noise(
        pairs=PAIRS,
        message=_in_all([*_told_first(found, whole)], len(races), history),
        history=", ".join(sorted(history.priors)) or f"none: {history.why_none}",
        numbers=whole,
        tasks=kept,
        left_out=len(runs) - len(kept),
    )


def combined_variance(own: Sequence[float], prior: Prior | None) -> float | None:
    """Return the variance of a pair's log ratio from the logarithms of single races and from history.

    Both are weighed by their degrees of freedom (Smyth 2004), and history never makes less of the present noise, as in
    a Comparison. None where neither knows any.
    """
    mine = 2 * variance(own) if len(own) > 1 else None
    if mine is None or prior is None:
        return mine if prior is None else prior.variance
    df = len(own) - 1.0
    fitted = fitted_to(prior, [(mine, df)])
    return (fitted.df * fitted.variance + df * mine) / (fitted.df + df)


def _of_task(runs: Sequence[_Run], history: History) -> Iterator[NumberNoise]:
    numbers = [{each.metric: each for each in task_numbers(*run)} for run in runs]
    for metric in (*_that_tell([task for task, _ in runs]), _WHERE_KNOWN):
        known = [of[metric] for of in numbers if metric in of]
        if known or metric != _WHERE_KNOWN:
            yield _of_number(metric, known, history)


def _that_tell(runs: Sequence[Task]) -> Sequence[str]:
    """Return which numbers of a task tell of Elasticsearch: a planned rate is the plan, in turn it is that of all."""
    if any(task.turns is not None for task in runs):
        return SERVICE_TIMES  # a latency has the wait for the others in it
    return LATENCIES if any(task.target_throughput for task in runs) else ("throughput", *SERVICE_TIMES)


def _of_whole_race(races: Sequence[Sequence[Measured]], history: History) -> Iterator[NumberNoise]:
    numbers = [{each.metric: each for each in race} for race in races]
    for metric in dict.fromkeys(metric for of in numbers for metric in of if not METRICS[metric].exact):
        yield _of_number(metric, [of[metric] for of in numbers if metric in of], history)


def _of_number(metric: str, known: Sequence[Measured], history: History) -> NumberNoise:
    few = [each.requests or 0 for each in known if not each.supported]
    if few or not known:
        words = f"{METRICS[metric].words} needs {METRICS[metric].requests} requests to decide"
        text = f"unknown: {words}, a race had {min(few)}" if few else "unknown: no race has this number"
        return NumberNoise(metric=metric, races=len(known), message=text)
    return _number(metric, [math.log(each.value) for each in known], history)


def _number(metric: str, logs: Sequence[float], history: History) -> NumberNoise:
    prior = history.priors.get(family(metric, "of a task"))
    own = math.sqrt(2 * variance(logs)) if len(logs) > 1 else None
    said = NumberNoise(
        metric=metric, races=len(logs), own_spread=_percent(own),
        history_spread=_percent(math.sqrt(prior.variance) if prior else None),
    )  # fmt: skip
    both = combined_variance(logs, prior)
    if both is None:
        return said.model_copy(update={"message": f"unknown: {_unknown(len(logs), history)}"})
    spread = math.sqrt(both)
    if spread < NO_SPREAD:
        return said.model_copy(update={"message": f"unknown: {len(logs)} races have exactly the same number"})
    if spread > _MOST_SPREAD:
        text = f"two races of the same thing differ by a factor of 100 and more: {PAIRS} pairs show nothing here"
        return said.model_copy(update={"message": text})
    visible = _rounded(100 * smallest_visible(spread, PAIRS, _ALPHA))
    text = f"a difference below {two_digits(visible)} % cannot be seen with {PAIRS} pairs here"
    return said.model_copy(update={"smallest_visible": visible, "message": text})


def _percent(spread: float | None) -> float | None:
    return None if spread is None or spread > _MOST_SPREAD else _rounded(100 * math.expm1(spread))


def _rounded(percent: float) -> float:
    # What is small is not nothing.
    return round(percent, 2) if percent >= 1 else float(f"{percent:.2g}")


def _unknown(races: int, history: History) -> str:
    return f"{counted(races, 'race')} with it, and {history.lacks}"


def _told_first(tasks: Sequence[TaskNoise], whole: Sequence[NumberNoise]) -> Iterator[tuple[str, NumberNoise]]:
    """Yield what tells of speed, each by its words: the store's size would be the least difference of nearly all."""
    yield from ((METRICS[each.metric].words, each) for each in whole if each.metric == "capacity")
    yield from ((f"{task.task} {METRICS[each.metric].words}", each) for task in tasks for each in task.numbers)


def _in_all(numbers: Sequence[tuple[str, NumberNoise]], races: int, history: History) -> str:
    known = [(each.smallest_visible, words) for words, each in numbers if each.smallest_visible is not None]
    if not known:
        valid = counted(races, "valid race")
        return f"how small a difference can be seen here is unknown: {valid}, and {history.lacks}"
    (least, first), (most, last) = min(known), max(known)
    others = len(numbers) - len(known)
    more = f"; of {others} more numbers it is unknown" if others else ""
    if len(known) == 1:
        return f"with {PAIRS} pairs, differences below {two_digits(least)} % ({first}) cannot be seen here{more}"
    return (
        f"with {PAIRS} pairs, differences below {two_digits(least)} % ({first}) to {two_digits(most)} % ({last}) "
        f"cannot be seen here{more}"
    )
