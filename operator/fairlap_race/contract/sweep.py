"""One task raced in steps, each with other clients or another target throughput: what is asked for, and what ran."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairlap_race.contract.codec import encode

MOST_STEPS = 200
UP, DOWN, DRAWN = "up", "down", "drawn"
ASCENDING, RANDOM, UP_AND_DOWN = "ascending", "random", "upAndDown"


@dataclass(frozen=True)
class SweepStep:
    """One step: the task once more, under a name of its own."""

    name: str = ""
    """of its task: TASK@CLIENTS or TASK@RATE/s, with -down behind it on the way down"""
    clients: int | None = None
    """None leaves the challenge's own"""
    target_throughput: float | None = None
    """None: as fast as the clients can"""
    direction: str = UP
    """up, down, or drawn where the order is random"""


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
    digest: str = ""
    """SHA-256 over all of the above, in the record alone"""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the steps' tasks, in their order."""
        return tuple(step.name for step in self.steps)

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
