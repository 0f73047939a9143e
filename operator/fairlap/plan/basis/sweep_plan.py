"""What the runner is told of a sweep or a search: its steps, and the names that the task has in them."""

import hashlib
from collections.abc import Mapping

from fairlap.api.capacity_spec import CapacityGoal
from fairlap.api.load_spec import RequestLoad
from fairlap.api.quantity import parse_duration
from fairlap.api.spec import Race
from fairlap.api.sweep_spec import Sweep
from fairlap_race.contract.recorded.settling import SETTLED_FROM_SECONDS
from fairlap_race.contract.specification.capacity_search import MOST_TRIES, CapacitySearch
from fairlap_race.contract.specification.sweep import RANDOM, SEARCH, SweepSpec, search_steps, steps_of


def sweep_spec(sweep: Sweep | None, race_id: str, load: RequestLoad | None = None) -> SweepSpec | None:
    """Return the steps of the race `race_id`, whose random order is its own; None without a sweep.

    `load`: of a race over HTTP, whose duration and warm-up hold where the sweep has none.
    """
    if sweep is None:
        return None
    duration, warmup = sweep.duration, sweep.warmup
    if load:
        duration, warmup = duration or load.duration, warmup or load.warmup
    clients = sweep.clients_range.numbers if sweep.clients_range else sweep.clients
    seed = int(hashlib.sha256(race_id.encode()).hexdigest()[:8], 16) if sweep.order == RANDOM else None
    return SweepSpec(
        task=sweep.task,
        order=sweep.order,
        seed=seed,
        duration_seconds=parse_duration(duration).total_seconds() if duration else None,
        warmup_seconds=parse_duration(warmup).total_seconds() if warmup else 0.0,
        interval_seconds=parse_duration(sweep.interval).total_seconds(),
        steps=steps_of(sweep.task, clients, sweep.target_throughput, sweep.order, seed),
    )


def steps_of_race(race: Race, race_id: str = "") -> SweepSpec | None:
    """Return the steps that stand in place of a task, of a sweep or of a search; None with neither."""
    if race.capacity is not None:
        return _search_spec(race.capacity)
    return sweep_spec(race.sweep, race_id, race.load)


def _search_spec(capacity: CapacityGoal) -> SweepSpec:
    objective, rates = capacity.objective, capacity.target_throughput
    search = CapacitySearch(
        lowest=rates.first,
        highest=rates.last,
        resolution=capacity.share,
        percentile=objective.percentile,
        millis=objective.millis,
        error_rate=objective.error_rate,
        clients=capacity.clients,
    )
    return SweepSpec(
        task=capacity.task,
        order=SEARCH,
        duration_seconds=parse_duration(capacity.duration).total_seconds(),
        warmup_seconds=parse_duration(capacity.warmup).total_seconds(),
        interval_seconds=parse_duration(capacity.interval).total_seconds(),
        steps=search_steps(capacity.task, search),
        search=search,
    )


def most_seconds(capacity: CapacityGoal, *, steady: bool = False) -> float:
    """Return how long the probes take at most, in seconds; `steady`: each that warms up does so until it is settled.

    Then it is what they take where each is at once.
    """
    warmup = parse_duration(capacity.warmup).total_seconds()
    return MOST_TRIES * (capacity.probe_seconds - warmup + _warmup(warmup, steady=steady))


def allowed_errors(race: Race) -> Mapping[str, float]:
    """Return by task the share of requests that may fail; what holds for a task holds for each of its steps.

    In a search what fails is an answer, too: no probe voids its race.
    """
    shares, sweep = race.allow.error_rate if race.allow else {}, steps_of_race(race)
    if sweep is not None and sweep.search:
        return {
            **{task: share for task, share in shares.items() if task != sweep.task},
            **dict.fromkeys(sweep.names, 1.0),
        }
    if sweep is None or sweep.task not in shares:
        return shares
    rest = {task: share for task, share in shares.items() if task != sweep.task}
    return {**dict.fromkeys(sweep.names, shares[sweep.task]), **rest}


def least_seconds(sweep: Sweep, load: RequestLoad | None = None, *, steady: bool = False) -> float:
    """Return how long the steps take at least, their warm-ups and intervals included.

    Where the task ends itself these are the intervals alone. `steady`: each that warms up does so until it is settled.
    """
    planned = sweep_spec(sweep, "", load)
    if planned is None:
        return 0.0
    steps = len(planned.steps)
    warmup = _warmup(planned.warmup_seconds, steady=steady)
    sending = 0.0 if planned.duration_seconds is None else planned.duration_seconds + warmup
    return steps * sending + (steps - 1) * planned.interval_seconds


def _warmup(seconds: float, *, steady: bool) -> float:
    """Return how long a step warms up at least."""
    return max(seconds, SETTLED_FROM_SECONDS) if steady and seconds else seconds
