"""What a Comparison keeps of a block: every number and every fact of its races, so that its report outlives them."""

from typing import Annotated, Final

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from fairlap.api.base import Answer, AtMost, Text
from fairlap.api.status import MOST_REMARKS, RemarkStatus

KEY_BLOCK: Final = "block.json.gz"
"""entry of the ConfigMap's binaryData"""
MOST_CURVES: Final = 100
MOST_NUMBERS: Final = 5000
"""of one race"""
"""of each kind, in a race"""
TWIN: Final = "*"
"""follows the baseline's name where it was raced against itself"""


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="ignore"))
class Measured:
    """One number of a race; with slots, since there are a hundred thousand of them and a model takes 1,300 bytes."""

    metric: Annotated[str, Field(max_length=63)]
    """As gates name it, for example serviceTimeP99."""
    value: float
    """In the metric's unit."""
    task: Text = ""
    """Its task; empty for one of the whole race."""
    unit: Annotated[str, Field(max_length=63)] = ""
    """Unit of a throughput, for example docs/s; empty where the metric says it."""
    supported: bool = True
    """Whether enough requests stand behind it to decide by it."""
    requests: int | None = None
    """How many stand behind it, where they were counted."""


class Curve(Answer):
    """One task's times by percentile, or its rate over time."""

    task: Text
    """The task."""
    points: Annotated[list[tuple[float, float]], AtMost(200)] = []
    """Percentile and milliseconds, or seconds since its start and the rate in the unit of its throughput."""


class RaceRecord(Answer):
    """One race of a block."""

    variant: Text
    """The variant; the baseline's name with a trailing * where it was raced against itself."""
    benchmark: Text
    """Name of the Benchmark that raced it."""
    uid: Text = ""
    """The Benchmark's uid."""
    valid: bool = True
    """Whether it counts."""
    reason: Text = ""
    """Why it does not count."""
    message: Text = ""
    """Why it does not count, in a sentence."""
    started_at: Text = ""
    """When its load generator started."""
    seconds: float | None = None
    """How long it took."""
    numbers: Annotated[list[Measured], AtMost(MOST_NUMBERS)] = []
    """What it measured: of the whole race, then task by task, those of gates first."""
    tasks_left_out: int = 0
    """How many tasks it ran for whose numbers there was no room."""
    no_capacity: Text = ""
    """Why it found no capacity to compare, where it looked for one."""
    task_usage: Annotated[list[Measured], AtMost(2000)] = []
    """What the Elasticsearch nodes used during single tasks, to be read beside the numbers; no gate decides by it."""
    target_throughput: Annotated[dict[str, float], AtMost(MOST_NUMBERS)] = {}
    """Operations per second that were asked for, by task; a task that ran as fast as it could is not in it."""
    failed_shares: Annotated[dict[str, float], AtMost(MOST_NUMBERS)] | None = None
    """Share of the measured requests that failed (0 to 1), by task; one of which none did is not in it. Absent where an
    operator of before did not record it."""
    facts: Annotated[dict[str, Text], AtMost(3000)] = {}
    """What is known of how it ran, in words, by path."""
    remarks: Annotated[list[RemarkStatus], AtMost(MOST_REMARKS)] = []
    """What was remarked on it, each with its reason."""
    canary: Annotated[dict[Annotated[str, Field(max_length=63)], float], AtMost(10)] = {}
    """Seconds that the canary's fixed work took on the load generator's machine, by kind: mean of before and after."""
    sources: Annotated[dict[Annotated[str, Field(max_length=63)], Text], AtMost(10)] = {}
    """Who told what the Elasticsearch nodes used: prometheus or nodeStats, by group of columns (cpu, memory, disk); and
    who told the rates (rate): the requests themselves, or Rally."""
    service_times: Annotated[list[Curve], AtMost(MOST_CURVES)] = []
    """Service time by percentile."""
    latencies: Annotated[list[Curve], AtMost(MOST_CURVES)] = []
    """Latency by percentile, of the tasks with a rate that was asked for."""
    rates: Annotated[list[Curve], AtMost(MOST_CURVES)] = []
    """Throughput over time."""


class BlockRecord(Answer):
    """A block that is over."""

    number: int
    """From 1."""
    attempt: int = 1
    """From 1."""
    races: Annotated[list[RaceRecord], AtMost(20)] = []
    """In the order in which they ran."""
