"""How small a difference of a Benchmark's numbers could be seen here, from its own races and from history. Pure.

What is meant is what a Comparison does: pairs of races, and the logarithm of their ratio.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from statistics import variance
from typing import Final, NamedTuple

from fairlap.api.noise_status import MOST_NOISY_TASKS, Noise, NumberNoise, TaskNoise
from fairlap.comparison.gate_metrics import METRICS, family
from fairlap.comparison.raced_benchmark import task_numbers
from fairlap.statistics.gates import smallest_visible
from fairlap.statistics.moderation import Prior, fitted_to
from fairlap_race.contract.record import Record, Task

PAIRS: Final = 5
"""of races, which is what a Comparison of a middling difference takes"""
_MOST_SPREAD: Final = math.log(100)
"""of a log ratio; beyond it a percentage says nothing any more"""
_NO_SPREAD: Final = 1e-9
_ROOM: Final = 60_000
"""Characters of all tasks in the status."""


class History(NamedTuple):
    """What earlier Comparisons of the same work on the same machines have shown."""

    priors: Mapping[str, Prior] = {}
    """by family of numbers"""
    why_none: str = "no Comparison of the same work on the same machines in the last 30 days"


def noise_of(races: Sequence[Record], history: History) -> Noise:
    """Return the noise of the main numbers of each measured task over the valid `races` of one Benchmark.

    Two races of the same thing that share nothing differ by √2 times the standard deviation of a race: the variance of
    a difference of two independent numbers is the sum of theirs. What both share only makes it smaller.
    """
    runs: dict[str, list[Task]] = {}
    for task in (task for record in races for task in record.comparable_tasks if task.rally is not None):
        runs.setdefault(task.task, []).append(task)
    found = [
        TaskNoise(task=name, numbers=list(_of_task(of_task, len(races), history)))
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
        message=_in_all(found, len(races), history),
        history=", ".join(sorted(history.priors)) or f"none: {history.why_none}",
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


def _of_task(runs: Sequence[Task], races: int, history: History) -> Iterator[NumberNoise]:
    numbers = [{each.metric: each for each in task_numbers(run)} for run in runs]
    timed = "latency" if any(run.target_throughput for run in runs) else "serviceTime"
    for metric in ("throughput", f"{timed}P50", f"{timed}P99"):
        known = [of[metric] for of in numbers if metric in of]
        few = [each.requests or 0 for each in known if not each.supported]
        if few or not known:
            words = f"{METRICS[metric].words} needs {METRICS[metric].requests} requests to decide"
            text = f"unknown: {words}, a race had {min(few)}" if few else "unknown: no race has this number"
            yield NumberNoise(metric=metric, races=len(known), message=text)
            continue
        yield _number(metric, [math.log(each.value) for each in known], races, history)


def _number(metric: str, logs: Sequence[float], races: int, history: History) -> NumberNoise:
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
    if spread < _NO_SPREAD:
        return said.model_copy(update={"message": f"unknown: {races} races have exactly the same number"})
    if spread > _MOST_SPREAD:
        text = f"two races of the same thing differ by a factor of 100 and more: {PAIRS} pairs show nothing here"
        return said.model_copy(update={"message": text})
    visible = round(100 * smallest_visible(spread, PAIRS), 2)
    text = f"a difference below {_digits(visible)} % cannot be seen with {PAIRS} pairs here"
    return said.model_copy(update={"smallest_visible": visible, "message": text})


def _percent(spread: float | None) -> float | None:
    return None if spread is None or spread > _MOST_SPREAD else round(100 * math.expm1(spread), 2)


def _unknown(races: int, history: History) -> str:
    return f"{races} race{'' if races == 1 else 's'} with it, and {history.why_none}"


def _in_all(tasks: Sequence[TaskNoise], races: int, history: History) -> str:
    known = [
        (number.smallest_visible, f"{task.task} {METRICS[number.metric].words}")
        for task in tasks
        for number in task.numbers
        if number.smallest_visible is not None
    ]
    if not known:
        word = "race" if races == 1 else "races"
        return f"how small a difference can be seen here is unknown: {races} valid {word}, and {history.why_none}"
    (least, first), (most, last) = min(known), max(known)
    others = sum(len(task.numbers) for task in tasks) - len(known)
    more = f"; of {others} more numbers it is unknown" if others else ""
    if len(known) == 1:
        return f"with {PAIRS} pairs, differences below {_digits(least)} % ({first}) cannot be seen here{more}"
    return (
        f"with {PAIRS} pairs, differences below {_digits(least)} % ({first}) to {_digits(most)} % ({last}) "
        f"cannot be seen here{more}"
    )


def _digits(percent: float) -> str:
    return f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"
