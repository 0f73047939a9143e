"""What a sweep answers: a row for each step, and what the curve says or why it says nothing."""

from typing import Annotated

from pydantic import Field

from fairlap.api.base import Answer, AtMost, Text
from fairlap.api.figure import Figure

MOST_ROWS = 200


class Range(Answer):
    """A number with the interval that it lies in."""

    value: float
    """The best guess."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


class SweepRow(Answer):
    """One step: its own task of the same name is in results.tasks, with all percentiles.

    Of a search for the capacity one probe of one race, which is in the record of that race alone.
    """

    step: Text
    """Name of the step's task."""
    race: int | None = None
    """Of a search alone: which of the valid races made the probe, from 1 on."""
    kept: bool | None = None
    """Of a search alone: whether the probe kept the objective."""
    clients: int | None = None
    """Concurrent clients."""
    target_throughput: float | None = None
    """The rate asked for; absent means as fast as possible."""
    direction: Annotated[str, Field(max_length=10)] = ""
    """up, down, or drawn where the order is random."""
    used: bool
    """Whether fit, knee and capacity use it; not where the load generator was the bottleneck. The fit leaves out those
    with a waitingShare below 0.95, too."""
    saturated_races: int = 0
    """Races in which the load generator itself was the bottleneck in this step."""
    samples: int = 0
    """Measured requests, all races together."""
    throughput: Figure | None = None
    """Units of successful requests per second of the measured time."""
    latency_millis: Annotated[dict[str, float], AtMost(10)] = {}
    """Median over the races, from the scheduled start to the response: p50, p90, p99."""
    service_time_millis: Annotated[dict[str, float], AtMost(10)] = {}
    """Median over the races, from request to response: p50, p90, p99 and mean, and min and max of any race."""
    support: Annotated[dict[str, int], AtMost(10)] = {}
    """Requests at or beyond each percentile, the race with the fewest."""
    error_rate: float = 0.0
    """Failed requests over all requests, warm-up included, the worst race."""
    failed: int = 0
    """Measured requests that failed, all races together."""
    schedule_share: float | None = None
    """Requests sent against requests planned, the worst race; absent without a target."""
    waiting_share: float | None = None
    """Share of the clients' time in which they waited for an answer, by Little's law; below 0.95 the load generator's
    own work is a part of the curve."""
    load_generator_cpu_share: float | None = None
    """Of the CPU that the load generator may use, 0 to 1, the median race."""
    elasticsearch_cpu_cores: float | None = None
    """Mean of all nodes together, the median race."""


class SweepFit(Answer):
    """The Universal Scalability Law, fitted to the steps that the load generator could drive."""

    rate: float
    """lambda: throughput of one client."""
    contention: float
    """sigma: share of the work that waits for others."""
    coherency: float
    """kappa: share of the work that each pair of clients costs."""
    scatter: float
    """Standard deviation of the points' logarithms around the curve."""
    points: int
    """Steps of races that were fitted."""


class SweepResult(Answer):
    """The curve of a sweep."""

    task: Text
    """The task that was swept."""
    order: Text = ""
    """Order of the steps."""
    unit: Text = ""
    """Unit of the throughput."""
    rows: Annotated[list[SweepRow], AtMost(MOST_ROWS)] = []
    """One a step: upwards by clients or rate. Of a search one a probe and race."""
    fit: SweepFit | None = None
    """The fitted law; absent where it is refused."""
    fit_refused: Text = ""
    """Why there is no fitted law."""
    peak_clients: Range | None = None
    """Clients with the greatest throughput, with the 95 % interval."""
    peak_throughput: float | None = None
    """Throughput of the fitted curve there."""
    peak_refused: Text = ""
    """Why there is no peak though there is a law."""
    knee_clients: float | None = None
    """Clients of the step with the greatest throughput for its response time."""
    knee_at_end: bool = False
    """The knee is the largest step that counts: it may be beyond it."""
    capacity: Range | None = None
    """Throughput up to which the objective is kept: with the 95 % interval over three races or more, else (or where a
    race does not tell the place between two steps) from the most that a step which keeps it carried to what the first
    one that does not carried, or of rates asked for."""
    capacity_races: int = 0
    """Races that the interval of capacity is of; 0 where it is that of the steps."""
    capacity_refused: Text = ""
    """Why there is no capacity though there is an objective."""
    hysteresis: float | None = None
    """Largest difference of a step's throughput on the way down from that on the way up, as a share of it."""
    sentences: Annotated[list[Text], AtMost(10)] = []
    """What the curve says, in words."""
