"""What a user writes to have requests sent over HTTP: the spec of the load."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from fairlap.api.base import Api, Duration, rule, rules, some_time
from fairlap.api.quantity import parse_duration

REQUESTS = "requests"
"""The task that a race over HTTP measures."""
MOST_CLIENTS, MOST_RATE = 10_000, 1_000_000
OPEN_LOOP_CLIENTS = 100
HEADER = r"^[A-Za-z0-9-]{1,100}$"
OWN_HEADERS = ("authorization", "cookie", "host", "content-length", "transfer-encoding", "connection")
"""No user's to set."""
SECRET_HEADER = (
    "^(.*-)?((api|access|secret|private|subscription)-?key|(access|auth)?token|auth|authorization|authentication|"  # noqa: S105
    "secret|password|passwd|passphrase|credentials?|session|cookie|jwt)(-.*)?$"
)
"""A name, in small letters, with a word of credentials between its hyphens: whoever reads the spec reads the value."""
RequestTimeout = Annotated[str, Field(pattern=r"^([1-9][0-9]{0,5}ms|[1-9][0-9]{0,2}s)$", max_length=20)]


class RequestLoad(Api):
    """How the requests are sent to an HTTP target: by clients one after the other, or at a rate."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.exponent) == (self.order == 'zipf')",
                "race.load.exponent belongs to race.load.order: zipf, and is needed there; write for example "
                "exponent: 1.0",
            ),
            some_time("duration", "race.load.duration", "30s"),
            rule(
                f"self.headers.all(h, h.matches('{HEADER}') && !(h.lowerAscii() in {[*OWN_HEADERS]}))",
                "race.load.headers takes names of letters, digits and hyphens, and not Authorization, Cookie, Host, "
                "Content-Length, Transfer-Encoding or Connection: credentials come from a Secret of the target's, and "
                "the rest is the load generator's own",
            ),
            rule(
                f"self.headers.all(h, !h.lowerAscii().matches('{SECRET_HEADER}'))",
                "race.load.headers takes no credentials, since a spec is plain text, and the name of a header there is "
                "one of credentials, as X-Api-Key or X-Auth-Token: write them into a Secret, which "
                "target.apiKeySecret or target.credentialsSecret names and which goes out as Authorization",
            ),
            rule(
                "self.headers.all(h, self.headers[h].matches('^[ -~]*$'))",
                "race.load.headers takes values of printable ASCII",
            ),
        )
    )
    clients: Annotated[int | None, Field(ge=1, le=MOST_CLIENTS)] = None
    """Each sends its next request when the last one is answered; absent means 1. With targetThroughput: so many
    requests are under way at a time at most; absent means 100. All take turns, and each opens its own connections."""
    target_throughput: Annotated[float | None, Field(ge=0.001, le=MOST_RATE)] = None
    """Requests per second of all clients together, whether those before are answered or not; absent means as fast as
    the clients can."""
    duration: Duration = "30s"
    """Measured time."""
    warmup: Duration = "10s"
    """Time before it that is not measured."""
    timeout: RequestTimeout = "60s"
    """After which a request is given up: it counts as an error with the status 0. At most 999s."""
    order: Literal["file", "random", "zipf"] = "file"
    """Order of the requests: the file's; each as likely as another; or the more often the file has one, the likelier:
    that of rank k as likely as k^-exponent, which gives a wanted share of repetitions."""
    exponent: Annotated[float | None, Field(ge=0.001, le=10)] = None
    """How much likelier the first ranks are, with the order zipf alone."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 42
    """What is drawn follows from it: each race sends the same."""
    headers: Annotated[dict[str, Annotated[str, Field(max_length=1000)]], Field(max_length=50)] = {}
    """Sent with each request; no credentials."""

    @property
    def timeout_seconds(self) -> float:
        """The timeout in seconds."""
        text = self.timeout
        return float(text.removesuffix("ms")) / 1000 if text.endswith("ms") else float(text.removesuffix("s"))

    @property
    def least_seconds(self) -> float:
        """How long it takes, in seconds, without a sweep."""
        return (parse_duration(self.duration) + parse_duration(self.warmup)).total_seconds()
