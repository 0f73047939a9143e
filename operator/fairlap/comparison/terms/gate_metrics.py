"""Every number that may decide: which way is better, its unit, and how many requests it needs."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, get_args

from fairlap.api.comparison_spec import ComparisonSpec, GateSpec, Metric
from fairlap.api.percentiles import fewest_requests
from fairlap.wording.percentages import change_digits

MOST_FAILED: Final = 0.05
"""share of a task's requests: with more of them its numbers are not those of answers"""


class MetricKind(NamedTuple):
    """What one metric is."""

    words: str
    """as people read it"""
    unit: str
    """of a race's value; of throughput the task's own unit is meant"""
    goods: str
    """what there is more or less of, in a sentence about a trade"""
    more_is_better: bool = False
    of_tasks: bool = True
    """of each task; else of the whole race"""
    percentile: str = ""
    """as the record of a race calls it, for example p99"""
    exact: bool = False
    """it has no noise: any change is real"""
    any_change_is_worse: bool = False
    """neither more nor less is better"""
    counted: bool = False
    """there are fewer of it rather than less"""
    columns: str = ""
    """group of columns of the machines' table that it is from, or "rate"; sources tell the same thing differently"""

    @property
    def requests(self) -> int:
        """How many it needs to decide."""
        return fewest_requests(self.percentile) if self.percentile else 1

    @property
    def most_failed(self) -> float:
        """By how much the shares of failed requests may differ: of a percentile by no more than lies beyond it."""
        return min(MOST_FAILED, 1 - float(self.percentile[1:]) / 100) if self.percentile else MOST_FAILED


METRICS: Final[Mapping[str, MetricKind]] = {
    "throughput": MetricKind("throughput", "ops/s", "operations/s", more_is_better=True, counted=True, columns="rate"),
    "serviceTimeP50": MetricKind("service time p50", "ms", "service time p50", percentile="p50"),
    "serviceTimeP90": MetricKind("service time p90", "ms", "service time p90", percentile="p90"),
    "serviceTimeP99": MetricKind("service time p99", "ms", "service time p99", percentile="p99"),
    "latencyP50": MetricKind("latency p50", "ms", "latency p50", percentile="p50"),
    "latencyP90": MetricKind("latency p90", "ms", "latency p90", percentile="p90"),
    "latencyP99": MetricKind("latency p99", "ms", "latency p99", percentile="p99"),
    "capacity": MetricKind("capacity", "ops/s", "capacity", more_is_better=True),
    "storeBytes": MetricKind("store size", "bytes", "disk", of_tasks=False),
    "segments": MetricKind("segments", "segments", "segments", of_tasks=False, exact=True, counted=True),
    "documents": MetricKind(
        "documents", "documents", "documents", of_tasks=False, exact=True, any_change_is_worse=True, counted=True
    ),
    "cpuSecondsPerOperation": MetricKind("CPU per operation", "s", "CPU per operation", columns="cpu"),
    "memoryPeakBytes": MetricKind("peak of memory", "bytes", "memory", of_tasks=False, columns="memory"),
    "diskWriteBytes": MetricKind("bytes written to disk", "bytes", "writing to disk", of_tasks=False, columns="disk"),
}
SERVICE_TIMES: Final = ("serviceTimeP50", "serviceTimeP90", "serviceTimeP99")
LATENCIES: Final = ("latencyP50", "latencyP90", "latencyP99")
DEFAULT_MARGINS: Final[Mapping[Metric, float]] = {
    "throughput": 5.0, "serviceTimeP50": 5.0, "serviceTimeP99": 10.0, "storeBytes": 2.0,
}  # fmt: skip
"""In per cent, of the gates that there are when none is declared."""
DEFAULT_GATES: Final = tuple(GateSpec(metric=metric, margin=margin) for metric, margin in DEFAULT_MARGINS.items())
"""Geometric means over the measured tasks, and the store's size."""
DUET_GATES: Final = tuple(gate for gate in DEFAULT_GATES if gate.metric != "throughput")
"""Of races in turn, whose rate is that of all together."""
CAPACITY_GATE: Final = GateSpec(metric="capacity", margin=10.0)
"""Of races that look for the capacity: twice its default resolution."""

if set(METRICS) != set(get_args(Metric)):
    raise AssertionError("METRICS and the metrics of the API are not the same")


def gates_of(spec: ComparisonSpec) -> Sequence[GateSpec]:
    """Return the gates that decide: the declared ones, or the default ones; a capacity is that of its one task."""
    sought = spec.template.race.capacity
    if sought is None and spec.design.in_turn:
        return spec.gates or DUET_GATES
    if sought is None:
        return spec.gates or DEFAULT_GATES
    of_its_task = {"task": sought.task}
    return [
        gate.model_copy(update=of_its_task) if gate.metric == "capacity" else gate
        for gate in spec.gates or (CAPACITY_GATE,)
    ]


def family(metric: str, task: str | None) -> str:
    """Return which numbers have like noise: those of one metric; a mean over tasks has less than each task's own."""
    return f"{metric} mean" if METRICS[metric].of_tasks and not task else metric


def change_in_words(metric: str, change: float | None, unit: str = "") -> str:
    """Return a change (0.12: 12 % more; None: from 0) as part of a sentence: "12 % more documents/s"."""
    kind = METRICS[metric]
    goods = (unit.replace("docs/s", "documents/s") or kind.goods) if metric == "throughput" else kind.goods
    if change is None:
        return f"{goods} where there were none"
    less = "fewer" if kind.counted else "less"
    share = abs(change) * 100
    size = f"{share:.0f}" if 9.95 <= share < 99.5 else change_digits(change)
    return f"{size} % {'more' if change > 0 else less} {goods}"
