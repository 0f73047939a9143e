"""What a user writes to have one task of a challenge raced in steps: the spec of a sweep."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from fairlap.api.base import Api, Duration, rule, rules, some_time
from fairlap.api.quantity import LATENCY, parse_latency

MOST_STEPS = 200
_MOST_CLIENTS = 10_000
_SET = {"x-kubernetes-list-type": "set"}
Clients = Annotated[int, Field(ge=1, le=_MOST_CLIENTS)]
Rate = Annotated[float, Field(ge=0.001, le=10_000_000)]


def _latency(text: str) -> str:
    parse_latency(text)
    return text


Latency = Annotated[
    str,
    AfterValidator(_latency),
    Field(
        max_length=20,
        json_schema_extra=rules(
            rule(
                f"self.matches('{LATENCY}') && self.matches('[1-9]')",
                "a latency is a number above 0, of at most three decimal places, with the unit us, ms or s: write for "
                "example 500us, 2.5ms or 1s",
            )
        ),
    ),
]


class ClientsRange(Api):
    """Numbers of clients from one to another."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.from <= self.to",
                "'race.sweep.clientsRange goes from %d to %d: write the smaller number as from'"
                ".format([self.from, self.to])",
                computed=True,
            ),
        )
    )
    first: Annotated[int, Field(ge=1, le=_MOST_CLIENTS, alias="from")]
    """Clients of the first step."""
    last: Annotated[int, Field(ge=1, le=_MOST_CLIENTS, alias="to")]
    """The most clients of a step; the last step has no more than these."""
    step: Annotated[int, Field(ge=1, le=_MOST_CLIENTS)] = 1
    """So many clients more in each step."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of clients, upwards."""
        return tuple(range(self.first, self.last + 1, self.step))


def one_percentile(field: str) -> ConfigDict:
    """Return the rule of an objective, which stands in that field of the spec."""
    one = "[has(self.p50), has(self.p90), has(self.p99)].filter(x, x).size() == 1"
    return ConfigDict(
        json_schema_extra=rules(rule(one, f"{field} takes exactly one of p50, p90 and p99, for example p99: 50ms"))
    )


class Objective(Api):
    """A latency that users are to be spared: the capacity is the load up to which it is kept."""

    model_config = one_percentile("race.sweep.objective")
    p50: Latency | None = None
    """The median latency is to be at most this, for example 500us, 2.5ms or 1s."""
    p90: Latency | None = None
    """The 90th percentile of latency is to be at most this."""
    p99: Latency | None = None
    """The 99th percentile of latency is to be at most this."""

    @property
    def percentile(self) -> str:
        """p50, p90 or p99."""
        return next((name for name in ("p50", "p90", "p99") if getattr(self, name)), "p99")

    @property
    def millis(self) -> float:
        """The latency in milliseconds."""
        text = getattr(self, self.percentile)
        return parse_latency(text) if text else 0.0


_STEPS = (
    "(self.clients.size() + self.targetThroughput.size() + (has(self.clientsRange) ? "
    "(self.clientsRange.to - self.clientsRange.from) / self.clientsRange.step + 1 : 0))"
)


class Sweep(Api):
    """One task of the challenge, raced in steps on one cluster: with ever more clients, or at ever higher rates."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "[self.clients.size() > 0, has(self.clientsRange), self.targetThroughput.size() > 0]"
                ".filter(x, x).size() == 1",
                "race.sweep takes exactly one of clients (a list), clientsRange (from, to, step) and targetThroughput "
                "(a list of rates)",
            ),
            rule(
                f"{_STEPS} * (self.order == 'upAndDown' ? 2 : 1) <= {MOST_STEPS}",
                f"'race.sweep has %d steps (each twice with the order upAndDown); a race has {MOST_STEPS} at most: "
                f"write fewer numbers or a larger step'.format([{_STEPS}])",
                computed=True,
            ),
            rule(
                "has(self.duration) || !has(self.warmup)",
                "race.sweep.warmup needs race.sweep.duration: without it the warm-up is the task's own",
            ),
            some_time("duration", "race.sweep.duration", "30s"),
        )
    )
    task: Annotated[str, Field(min_length=1, max_length=180)]
    """Name of the task of the challenge. The steps stand in its place; one that the challenge does not have is refused
    by the check."""
    clients: Annotated[list[Clients], Field(max_length=MOST_STEPS, json_schema_extra=_SET)] = []
    """Clients of the steps, which send as fast as they can: a target throughput of the challenge's does not hold."""
    clients_range: ClientsRange | None = None
    """Clients of the steps as a range."""
    target_throughput: Annotated[list[Rate], Field(max_length=MOST_STEPS, json_schema_extra=_SET)] = []
    """Rates of the steps in requests per second of all clients together (a bulk is one request), with the challenge's
    own number of clients."""
    duration: Duration | None = None
    """Measured time of a step. Absent: the task's own iterations, time or documents end it."""
    warmup: Duration | None = None
    """Time before it that is not measured; absent: race.load.warmup over HTTP, else none where a duration is given."""
    interval: Duration = "0s"
    """Nothing is sent between two steps for so long."""
    order: Literal["ascending", "random", "upAndDown"] = "ascending"
    """Order of the steps; random is drawn for each race anew, from a seed that is recorded; upAndDown is once upwards
    and once downwards."""
    objective: Objective | None = None
    """A latency; then the results say up to which load it is kept."""
