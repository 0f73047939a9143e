"""Blocks of a Comparison, made up: each race's numbers from a factor a variant and drawn noise."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairlap.api.block_record import BlockRecord, Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.terms.gate_metrics import METRICS

BASELINE, OTHER = "8.11.0", "9.0.0"
USUAL: Mapping[str, float] = {
    "throughput": 1000.0, "serviceTimeP50": 5.0, "serviceTimeP90": 8.0, "serviceTimeP99": 12.0, "latencyP50": 6.0,
    "latencyP90": 9.0, "latencyP99": 20.0, "storeBytes": 5e6, "segments": 12.0, "documents": 1000.0,
    "cpuSecondsPerOperation": 0.01, "memoryPeakBytes": 2e9, "diskWriteBytes": 4e8, "capacity": 300.0,
}  # fmt: skip


class Named(NamedTuple):
    """A variant."""

    name: str


def a_spec(
    gates: Sequence[Mapping[str, Any]] = (), names: Sequence[str] = (BASELINE, OTHER), **more: Any
) -> ComparisonSpec:
    """Return the spec of a Comparison of these variants with these gates."""
    return ComparisonSpec.model_validate(
        {
            "template": {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}},
            "variants": [{"name": name} for name in names],
            "baseline": names[0],
            "gates": list(gates),
        }
        | more
    )


def variants(names: Sequence[str] = (BASELINE, OTHER)) -> list[Named]:
    """Return the variants, the baseline first."""
    return [Named(name) for name in names]


def a_race(
    variant: str,
    values: Mapping[tuple[str, str], float],
    *,
    requests: int = 1000,
    rates: Mapping[str, float] | None = None,
) -> RaceRecord:
    """Return a race with these numbers, by task and metric."""
    numbers = [
        Measured(
            task=task, metric=metric, value=value, supported=requests >= METRICS[metric].requests, requests=requests
        )
        for (task, metric), value in values.items()
    ]
    return RaceRecord(variant=variant, benchmark=f"b-{variant}", numbers=numbers, target_throughput=rates or {})


def series(
    metric: str, costs: Mapping[str, Sequence[float]], *, task: str = "", requests: int = 1000, rate: float = 50.0
) -> list[BlockRecord]:
    """Return blocks in which one number of each variant is its usual value, times e to the power of what is given."""
    sign = -1 if METRICS[metric].more_is_better else 1
    blocks = []
    for number in range(len(next(iter(costs.values())))):
        races = [
            a_race(
                name,
                {(task, metric): USUAL[metric] * math.exp(sign * logs[number])},
                requests=requests,
                rates={task: rate},
            )
            for name, logs in costs.items()
        ]
        blocks.append(BlockRecord(number=number + 1, races=races))
    return blocks


def drawn(
    chosen: random.Random,
    count: int,
    costs: Mapping[str, float],
    metrics: Sequence[str] = ("throughput", "serviceTimeP50", "serviceTimeP99"),
    tasks: Sequence[str] = ("bulk", "search"),
    noise: float = 0.02,
) -> list[BlockRecord]:
    """Return blocks with drawn noise and a drift that all races of a block share; `costs`: ln of each one's factor."""
    blocks = []
    for number in range(count):
        drift = chosen.gauss(0, 0.1)
        races = []
        for name, cost in costs.items():
            values = {}
            for metric in metrics:
                for task in tasks if METRICS[metric].of_tasks else ("",):
                    sign = -1 if METRICS[metric].more_is_better else 1
                    values[(task, metric)] = USUAL[metric] * math.exp(sign * (cost + drift + chosen.gauss(0, noise)))
            races.append(a_race(name, values))
        blocks.append(BlockRecord(number=number + 1, races=races))
    return blocks
