"""What a user writes to have the capacity of a cluster looked for: the highest rate at which an objective is kept."""

from typing import Annotated

from pydantic import ConfigDict, Field

from fairlap.api.base import Api, Duration, rule, rules, some_time
from fairlap.api.percentiles import fewest_requests
from fairlap.api.quantity import parse_duration
from fairlap.api.sweep_spec import Clients, Objective, Rate, one_percentile

Resolution = Annotated[str, Field(pattern=r"^([1-9]|[1-4][0-9])(\.[0-9])?%$|^50%$", max_length=6)]


class CapacityObjective(Objective):
    """What users are to be spared: slow answers, and failed ones."""

    model_config = one_percentile("race.capacity.objective")
    error_rate: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Share of the measured requests that may fail; what fails in a probe does not void the race."""

    @property
    def fewest_requests(self) -> int:
        """From how many measured requests on the percentile has an upper bound at all, with 95 % confidence."""
        return fewest_requests(self.percentile)


class RateRange(Api):
    """Rates that the capacity is looked for between."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.from < self.to",
                "race.capacity.targetThroughput: from must be below to; write the lowest rate that is worth a look, "
                "and the highest",
            ),
            rule(
                "self.to <= self.from * 10000.0",
                "race.capacity.targetThroughput: to is more than ten thousand times from; write rates closer to what "
                "is expected",
            ),
        )
    )
    first: Annotated[Rate, Field(alias="from")]
    """The lowest; it is tried first, and if it does not keep the objective, nothing is looked for above it."""
    last: Annotated[Rate, Field(alias="to")]
    """The highest that is tried."""


class CapacityGoal(Api):
    """The highest rate at which one task keeps an objective, looked for by probes on one cluster."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            some_time("duration", "race.capacity.duration", "30s"),
        )
    )
    task: Annotated[str, Field(min_length=1, max_length=180)]
    """Name of the task of the challenge, over HTTP requests. The probes stand in its place."""
    objective: CapacityObjective
    """What is to be kept: a percentile of latency, and the share of requests that may fail."""
    target_throughput: RateRange
    """Between which rates the capacity is looked for, in requests per second of all clients together (a bulk is one
    request)."""
    resolution: Resolution = "5%"
    """How far the ends of the answer may be apart; a finer one takes more probes."""
    clients: Clients | None = None
    """That send the requests of a probe together; absent means the task's own. Each has one request under way: too few
    cannot reach a rate whatever carries it."""
    duration: Duration = "30s"
    """Measured time of a probe."""
    warmup: Duration = "5s"
    """Time before it, at the same rate, that is not measured."""
    interval: Duration = "0s"
    """Nothing is sent between two probes for so long."""

    @property
    def share(self) -> float:
        """The resolution as a share."""
        return float(self.resolution.removesuffix("%")) / 100

    @property
    def probe_seconds(self) -> float:
        """How long a probe takes, in seconds, with the interval before it."""
        parts = (self.duration, self.warmup, self.interval)
        return sum(parse_duration(text).total_seconds() for text in parts)
