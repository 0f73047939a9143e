"""What a race over HTTP is to send: the part `http` of the race's specification. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.request_files.probe import is_pointer
from fairlap_race.contract.request_files.request_lines import is_path

ORDERS = ("file", "random", "zipf")
MOST_LOADS, MOST_CLIENTS, MOST_RATE, MOST_HOSTS = 200, 10_000, 1_000_000, 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@/-]{0,62}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_VALUE = re.compile(r"[ -~]{0,1000}")
_BEGINS_AFTER = 1_000_000
"""Nanoseconds that a planned moment may lie before the measured time: k6 begins a request later, and never earlier.

Of requests that are closer together half their distance: more would count one of the warm-up.
"""
OWN_HEADERS = frozenset({"authorization", "cookie", "host", "content-length", "transfer-encoding", "connection"})
"""No user's to set."""
SECRET_HEADER = (
    "^(.*-)?((api|access|secret|private|subscription)-?key|(access|auth)?token|auth|authorization|authentication|"  # noqa: S105
    "secret|password|passwd|passphrase|credentials?|session|cookie|jwt)(-.*)?$"
)
"""A name, in small letters, with a word of credentials between its hyphens: values of headers stand in plain text."""


@dataclass(frozen=True)
class HttpLoad:
    """A task: the requests of the file from so many clients, or at such a rate."""

    name: str
    seconds: float
    """in which requests are measured"""
    clients: int
    """each sends one request after the other; with `rate` that many requests at a time at most"""
    rate: float | None = None
    """requests per second of all clients together, whenever those before are answered; None: as fast as they are"""
    warmup_seconds: float = 0.0

    @property
    def nanoseconds(self) -> int | None:
        """Between the planned moments of two requests; None without a rate.

        A whole number, since k6 counts in these: what it plans and what is planned must not drift apart.
        """
        return None if self.rate is None else int(1e9 / self.rate)

    @property
    def measured_from(self) -> float:
        """Seconds from the beginning to the first request that is measured, if the load still runs then.

        With a rate k6 plans the n-th request, from 0 on, for n times the period (its executor constant-arrival-rate).
        """
        if self.nanoseconds is None:
            return self.warmup_seconds
        return self.planned_before(self.warmup_seconds) * self.nanoseconds / 1e9

    def planned_before(self, seconds: float) -> int:
        """Return how many requests k6 plans for less than so many `seconds` from the beginning; 0 without a rate.

        One that is planned for just before that moment begins after it, or not at all if k6 stops then.
        """
        if self.nanoseconds is None:
            return 0
        slack = min(_BEGINS_AFTER, self.nanoseconds / 2)
        return max(0, math.ceil((seconds * 1e9 - slack) / self.nanoseconds))

    @property
    def measured_requests(self) -> int | None:
        """How many requests k6 plans for the measured time; None without a rate."""
        if self.rate is None:
            return None
        return self.planned_before(self.warmup_seconds + self.seconds) - self.planned_before(self.warmup_seconds)

    @property
    def measures_any(self) -> bool:
        """Whether a request is planned for the measured time."""
        return self.measured_from < self.warmup_seconds + self.seconds


@dataclass(frozen=True)
class HttpSpec:
    """What is sent to the hosts of an HTTP target; its requests come from `RaceSpec.requests`."""

    loads: tuple[HttpLoad, ...]
    """one after the other"""
    health: str = "/"
    """path that each host must answer with 200 to 299 before anything is sent"""
    order: str = "file"
    """file: in the file's order; random: each as likely as another; zipf: that of rank k as likely as k^-exponent"""
    exponent: float | None = None
    seed: int = 42
    """decides what is drawn: every race of the same seed sends the same"""
    timeout_seconds: float = 60.0
    """after which a request is given up and counts with status 0"""
    interval_seconds: float = 0.0
    """between two loads"""
    headers: Mapping[str, str] = field(default_factory=dict)
    """of every request; no credentials"""
    hits: str | None = None
    """JSON pointer to the number of hits in an answer; each request is sent once more after the race to read it"""

    @property
    def longest_silence(self) -> float:
        """Seconds for which a load may have nothing to tell: until a request is sent, and then until it is given up."""
        return self.timeout_seconds + max((1 / load.rate for load in self.loads if load.rate), default=0.0)


def find_wrong(spec: HttpSpec) -> Iterator[str]:
    """Yield a sentence for each value that is out of its bounds or contradicts another."""
    if not 1 <= len(spec.loads) <= MOST_LOADS:
        yield f"http.loads: there are {len(spec.loads)}; write 1 to {MOST_LOADS}"
    for number, load in enumerate(spec.loads):
        yield from (f"http.loads[{number}].{wrong}" for wrong in _find_wrong_of_load(load))
    names = [load.name for load in spec.loads]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"http.loads: {name!r} is the name of several loads; each is a task of its own, so name each differently"
    if spec.order not in ORDERS:
        yield f"http.order: must be {', '.join(ORDERS[:-1])} or {ORDERS[-1]}, not {spec.order!r}"
    if (spec.exponent is not None) != (spec.order == "zipf"):
        yield "http.exponent: the order zipf needs it, and no other takes it; write one as 1.0"
    if spec.exponent is not None and not 0 < spec.exponent <= 10:
        yield f"http.exponent: must be above 0 and at most 10, not {spec.exponent:g}"
    if not 0 <= spec.seed < 1 << 31:
        yield f"http.seed: must be a whole number from 0 to {(1 << 31) - 1}, not {spec.seed}"
    if not 0.001 <= spec.timeout_seconds <= 3600:
        yield f"http.timeoutSeconds: must be 0.001 to 3600 seconds, not {spec.timeout_seconds:g}"
    if not 0 <= spec.interval_seconds <= 3600:
        yield f"http.intervalSeconds: must be 0 to 3600 seconds, not {spec.interval_seconds:g}"
    if not is_path(spec.health):
        yield f"http.health: {spec.health!r} is no path; write one that begins with one slash, as /health"
    if spec.hits is not None and not is_pointer(spec.hits):
        yield f"http.hits: {spec.hits!r} is no JSON pointer; it begins with / and writes ~ as ~0 and / as ~1"
    yield from _find_wrong_headers(spec.headers)


def _find_wrong_of_load(load: HttpLoad) -> Iterator[str]:
    if not _NAME.fullmatch(load.name):
        yield f"name: {load.name!r} must have 1 to 63 letters, digits and any of . _ @ / -"
    if not 0 < load.seconds <= 604_800:
        yield f"seconds: must be above 0 and at most a week (604800), not {load.seconds:g}"
    if not 1 <= load.clients <= MOST_CLIENTS:
        yield f"clients: must be 1 to {MOST_CLIENTS}, not {load.clients}"
    if load.rate is not None and not 0.001 <= load.rate <= MOST_RATE:
        yield f"rate: must be 0.001 to {MOST_RATE} requests per second, not {load.rate:g}"
    if not 0 <= load.warmup_seconds <= 604_800:
        yield f"warmupSeconds: must be 0 to a week (604800), not {load.warmup_seconds:g}"


def _find_wrong_headers(headers: Mapping[str, Any]) -> Iterator[str]:
    if len(headers) > 50:
        yield f"http.headers: there are {len(headers)}; write 50 at most"
    for name, value in headers.items():
        if name.lower() in OWN_HEADERS:
            yield f"http.headers.{name}: is not a user's to set; credentials come from a Secret"
        elif re.fullmatch(SECRET_HEADER, name.lower()):
            yield f"http.headers.{name}: is the name of credentials; they come from a Secret of the target's"
        elif not _HEADER.fullmatch(name):
            yield f"http.headers: {name!r} is no name of a header; write letters, digits and hyphens"
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            yield f"http.headers.{name}: must be a text of printable ASCII, 1000 characters at most"
