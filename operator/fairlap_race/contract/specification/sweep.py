"""One task raced in steps, each with other clients or another target throughput: what is asked for, and what ran."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fairlap_race.contract.codec import encode
from fairlap_race.contract.specification.capacity_search import MOST_TRIES, CapacitySearch, RateProbe, find_wrong_search

MOST_STEPS = 200
UP, DOWN, DRAWN = "up", "down", "drawn"
ASCENDING, RANDOM, UP_AND_DOWN = "ascending", "random", "upAndDown"
SEARCH = "search"
"""Each step follows from those before it."""


@dataclass(frozen=True)
class SweepStep:
    """One step: the task once more, under a name of its own."""

    name: str = ""
    """of its task: TASK@CLIENTS or TASK@RATE/s, with -down behind it on the way down; TASK@probe-NUMBER in a search"""
    clients: int | None = None
    """None leaves the challenge's own"""
    target_throughput: float | None = None
    """None: as fast as the clients can"""
    direction: str = UP
    """up, down, or drawn where the order is random"""
    kept: bool | None = None
    """whether the objective of a search was kept in it; None where nothing was looked for, or it has not run"""


@dataclass(frozen=True)
class SweepSpec:
    """The steps that stand in place of one task of the challenge, in their order."""

    task: str = ""
    order: str = ASCENDING
    seed: int | None = None
    """that a random order was drawn from"""
    duration_seconds: float | None = None
    """measured time of a step; None leaves its end to the task"""
    warmup_seconds: float = 0.0
    interval_seconds: float = 0.0
    """nothing is sent between two steps for so long"""
    steps: tuple[SweepStep, ...] = ()
    """of a search as many as it may take, at the lowest rate each; in the record those that ran, at their own rates"""
    search: CapacitySearch | None = None
    """the rate of each step follows from those before it, and so does which is the last"""
    digest: str = ""
    """SHA-256 over all of the above, in the record alone"""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the steps' tasks, in their order."""
        return tuple(step.name for step in self.steps)

    @property
    def probes(self) -> tuple[RateProbe, ...]:
        """What the steps of a search that have run say."""
        ran = (it for it in self.steps if it.kept is not None and it.target_throughput is not None)
        return tuple(RateProbe(it.target_throughput or 0.0, bool(it.kept)) for it in ran)

    def with_digest(self) -> SweepSpec:
        """Return it with its digest."""
        text = json.dumps(encode(replace(self, digest="")), sort_keys=True)
        return replace(self, digest=f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")


def steps_of(
    task: str, clients: Sequence[int], rates: Sequence[float], order: str, seed: int | None = None
) -> tuple[SweepStep, ...]:
    """Return the steps for the numbers of `clients`, or else for the `rates`, in their order.

    `seed` is for the order random, for which alone it is taken.
    """
    by_clients = [SweepStep(f"{task}@{number}", clients=number) for number in sorted(clients)]
    by_rate = [SweepStep(f"{task}@{rate:.12g}/s", target_throughput=rate) for rate in sorted(rates)]
    upwards = by_clients or by_rate
    if order == UP_AND_DOWN:
        back = [replace(step, name=f"{step.name}-down", direction=DOWN) for step in reversed(upwards)]
        return (*upwards, *back)
    if order == RANDOM:
        random.Random(seed).shuffle(upwards)  # noqa: S311 - an order, no secret
        return tuple(replace(step, direction=DRAWN) for step in upwards)
    return tuple(upwards)


def search_steps(task: str, search: CapacitySearch) -> tuple[SweepStep, ...]:
    """Return the steps that a search may take, before any of their rates is known."""
    names = (f"{task}@probe-{number}" for number in range(1, MOST_TRIES + 1))
    return tuple(SweepStep(name, target_throughput=search.lowest) for name in names)


def find_wrong_steps(sweep: SweepSpec) -> Iterator[str]:
    """Yield a sentence for each value that is out of its bounds or contradicts another."""
    if not sweep.task:
        yield "task: must not be empty"
    if not 1 <= len(sweep.steps) <= MOST_STEPS:
        yield f"steps: must have 1 to {MOST_STEPS} steps, not {len(sweep.steps)}"
    if len(set(sweep.names)) < len(sweep.steps):
        yield "steps: each must have a name of its own"
    for step in sweep.steps:
        if (step.clients is None) == (step.target_throughput is None):
            yield f"steps: {step.name!r} must have exactly one of clients and targetThroughput"
        if (step.clients is not None and step.clients < 1) or (
            step.target_throughput is not None and step.target_throughput <= 0
        ):
            yield f"steps: {step.name!r} must have clients or a target throughput above 0"
    if sweep.duration_seconds is not None and sweep.duration_seconds <= 0:
        yield "durationSeconds: must be a number of seconds above 0"
    if sweep.warmup_seconds < 0 or sweep.interval_seconds < 0:
        yield "warmupSeconds, sweep.intervalSeconds: must be numbers of seconds, 0 or more"
    if sweep.search is not None:
        yield from (f"search.{wrong}" for wrong in find_wrong_search(sweep.search))
        if sweep.duration_seconds is None:
            yield "durationSeconds: a search needs it"
