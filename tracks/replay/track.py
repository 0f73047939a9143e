"""Rally's side of the replay track: the requests of a file, in its order, at random, or repeated as Zipf's law says.

The file requests.ndjson lies beside this one and was checked before: each line a path, or an object with method, path
and body.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import random
import re
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "requests.ndjson"
ORDERS = ("file", "random", "zipf")
STEEPEST = 64.0
"""An exponent with which the first of all requests is the only one."""
_EXACT_RANKS = 1000
_RANKS_A_BLOCK = 100
_STEPS_APART = 1_000_003
"""Between the seeds of two steps of a sweep."""
_SCROLLS = re.compile(r"(?:^|&)scroll=")


def expected_hit_rate(exponent: float, distinct: int, requests: int) -> float:
    """Return the share of `requests` that repeat an earlier one, expected of independent draws by Zipf's law.

    The request of rank k of `distinct` ones has the probability p_k = k^-exponent / sum of all. It is drawn at all with
    the probability 1 - (1 - p_k)^requests, and each that is drawn is new once: 1 - sum_k(1 - (1 - p_k)^requests) /
    requests. That is the hit rate of a cache which is empty at first, keeps everything and has an entry a request.
    """
    blocks = _blocks(distinct)
    weights = [rank**-exponent for rank, _ in blocks]
    total = sum(weight * ranks for weight, (_, ranks) in zip(weights, blocks, strict=True))
    seen = sum(
        ranks * (1.0 if weight >= total else -math.expm1(requests * math.log1p(-weight / total)))
        for weight, (_, ranks) in zip(weights, blocks, strict=True)
    )
    return 1 - seen / requests


def zipf_exponent(hit_rate: float, distinct: int, requests: int) -> float:
    """Return the exponent with which `expected_hit_rate` is `hit_rate`; raises ValueError when there is none.

    The rate grows with the exponent: from that of equally frequent requests to that of a single one.
    """
    least, most = expected_hit_rate(0.0, distinct, requests), 1 - 1 / requests
    if not 0 < hit_rate < 1:
        raise ValueError(
            f"cache_hit_rate must be above 0 and below 1, not {hit_rate:g}; without repetition: order: file"
        )
    if hit_rate > most:
        raise ValueError(
            f"cache_hit_rate {hit_rate:g} cannot be had with {requests:,} requests, of which the first is no hit; "
            f"write at most {math.floor(most * 1000) / 1000:g}, or more requests"
        )
    if hit_rate < least:
        raise ValueError(
            f"cache_hit_rate {hit_rate:g} cannot be had: {requests:,} requests of only {distinct:,} distinct ones hit "
            f"at least {least:.3f}; the file needs {_enough(hit_rate, requests):,} distinct requests, or ask for a "
            "higher rate or fewer requests"
        )
    low, high = 0.0, STEEPEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_hit_rate(middle, distinct, requests) < hit_rate else (low, middle)
    return (low + high) / 2


def _enough(hit_rate: float, requests: int) -> int:
    """Return how many distinct requests there must be for a hit rate as low as that."""
    many = 1
    while expected_hit_rate(0.0, many, requests) > hit_rate:
        many *= 2
    few = many // 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if expected_hit_rate(0.0, middle, requests) <= hit_rate else (middle, many)
    return many


@functools.lru_cache(maxsize=1)
def _blocks(distinct: int) -> tuple[tuple[float, int], ...]:
    """Return ranks and how many each stands for: the first 1,000 alone, then blocks of a hundredth of their rank."""
    found: list[tuple[float, int]] = [(float(rank), 1) for rank in range(1, min(distinct, _EXACT_RANKS) + 1)]
    start = _EXACT_RANKS + 1
    while start <= distinct:
        end = min(distinct, start + start // _RANKS_A_BLOCK - 1)
        found.append((math.sqrt(start * end), end - start + 1))
        start = end + 1
    return tuple(found)


Request = tuple[str, str, "str | None", "str | None"]
"""Method, path, body and content type."""


@functools.lru_cache(maxsize=2)
def _requests(file: Path, request_cache: bool) -> tuple[Request, ...]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        return tuple(_request(line.rstrip("\n"), request_cache) for line in lines if line != "\n")


def _request(line: str, request_cache: bool) -> Request:
    data: dict[str, Any] = {"path": line} if line.startswith("/") else json.loads(line)
    path, body = data["path"], data.get("body")
    bare, _, query = path.partition("?")
    # A scroll takes no cache: Elasticsearch would refuse it.
    if request_cache and bare.endswith("/_search") and "request_cache=" not in query and not _SCROLLS.search(query):
        path = f"{bare}?{query}{'&' if query else ''}request_cache=true"
    method = data.get("method", "GET" if body is None else "POST").upper()
    if isinstance(body, list):
        return method, path, "".join(f"{_text(item)}\n" for item in body), "application/x-ndjson"
    return method, path, None if body is None else _text(body), None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@functools.lru_cache(maxsize=2)
def _ranked(file: Path, request_cache: bool) -> tuple[Request, ...]:
    """Return the distinct requests, those first that the file has most often; then in its order."""
    return tuple(request for request, _ in Counter(_requests(file, request_cache)).most_common())


@functools.lru_cache(maxsize=2)
def _bounds(distinct: int, exponent: float) -> tuple[float, ...]:
    """Return the sums of the first 1, 2, … weights."""
    return tuple(accumulate(rank**-exponent for rank in range(1, distinct + 1)))


class Replay:
    """Gives each client its share of the requests.

    In the order `file`, client i of n sends the lines i, i + n, i + 2n …; at random and by Zipf's law what a client
    sends is decided by `seed` and its number. Raises ValueError for what cannot be done, OSError without a file.
    """

    def __init__(self, track: Any, params: dict[str, Any], **_: Any) -> None:
        self._cache = params.get("request-cache") is True
        self._order, self._seed = params.get("order", "file"), int(params.get("seed", 42))
        self._step = int(params.get("step", 0))
        self._number, seconds = params.get("requests"), params.get("time-period")
        if self._order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, not {self._order!r}")
        if self._number is not None and seconds is not None:
            raise ValueError("requests and time_period both say when to end; write one of them")
        self._check_numbers(params.get("warmup-requests", 0))
        if params.get("warmup-time-period") and seconds is None:
            raise ValueError("warmup_time_period needs time_period; requests have warmup_requests")
        lines = _requests(FILE, self._cache)
        # looped: the task has a time of its own, as a step of a sweep has.
        ends = self._number is None and seconds is None and not params.get("looped")
        self.infinite = self._order != "file" or not ends
        self.exponent: float | None = None
        if self._order == "zipf":
            self.exponent = self._solved(params.get("cache-hit-rate"))
        elif params.get("cache-hit-rate") is not None:
            raise ValueError("cache_hit_rate is for order: zipf")
        self._clients, self.client, self._sent = 1, 0, 0
        self._uniform = random.Random(0).random  # noqa: S311  # the point is that it can be repeated
        self._total = len(lines)

    def _check_numbers(self, warmup: Any) -> None:
        number = self._number
        if number is None and self._order == "zipf":
            raise ValueError(
                "order: zipf needs requests, the number of requests of all clients together: the more there are, the "
                "more repeat an earlier one"
            )
        if number is not None and number < 1:
            raise ValueError("requests must be a whole number of at least 1")
        if warmup and (number is None or not 0 <= warmup < number):
            raise ValueError(
                "warmup_requests must be a whole number below that of requests, which it is a part of; for a time, "
                "write time_period and warmup_time_period"
            )

    def _solved(self, hit_rate: Any) -> float:
        if hit_rate is None:
            raise ValueError("order: zipf needs cache_hit_rate, as 0.5 for one hit in two requests")
        distinct = len(_ranked(FILE, self._cache))
        exponent = zipf_exponent(float(hit_rate), distinct, self._number or 1)
        _bounds(distinct, exponent)  # so that no request waits for it
        return exponent

    def partition(self, partition_index: int, total_partitions: int) -> Replay:
        """Return what client `partition_index` of `total_partitions` sends."""
        mine = copy.copy(self)
        mine.client, mine._clients, mine._sent = partition_index, total_partitions, 0
        # Steps of a sweep draw others: what one has brought into a cache, the next would find there.
        mine._uniform = random.Random(((self._seed + _STEPS_APART * self._step) << 32) + partition_index).random  # noqa: S311
        return mine

    @property
    def percent_completed(self) -> float:
        """The share of the file that was sent, in its order and once."""
        return min(1.0, self._sent * self._clients / self._total)

    def params(self) -> dict[str, Any]:
        """Return the next request; raises StopIteration when the file was to be sent once and is."""
        method, path, body, kind = self._next()
        found: dict[str, Any] = {"method": method, "path": path}
        if body is not None:
            found["body"] = body
        if kind is not None:
            found["headers"] = {"content-type": kind}
        return found

    def _next(self) -> Request:
        if self.exponent is not None:
            ranked = _ranked(FILE, self._cache)
            bounds = _bounds(len(ranked), self.exponent)
            return ranked[min(bisect_left(bounds, self._uniform() * bounds[-1]), len(ranked) - 1)]
        lines = _requests(FILE, self._cache)
        if self._order == "random":
            return lines[int(self._uniform() * len(lines))]
        at = self.client + self._sent * self._clients
        if not self.infinite and at >= len(lines):
            raise StopIteration
        self._sent += 1
        return lines[at % len(lines)]


class Evenly:
    """Spreads the requests of all clients evenly over time, where Rally's own schedule starts them all at once."""

    def __init__(self, task: Any) -> None:
        self._rate = float(task.target_throughput.value)
        self._clients = int(task.clients)
        self._started = False
        self.parameter_source: Any = None
        """set by Rally"""

    def before_request(self, now: float) -> None:
        """Do nothing: answers do not change the schedule."""

    def after_request(self, now: float, weight: float, unit: str, request_meta_data: Any) -> None:
        """Do nothing: answers do not change the schedule."""

    def next(self, current: float) -> float:
        """Return when this client's next request is due, in seconds since the start."""
        if self._started:
            return current + self._clients / self._rate
        self._started = True
        return float(self.parameter_source.client / self._rate)


def register(registry: Any) -> None:
    """Tell Rally the names of the parameter source and of the schedule."""
    registry.register_param_source("replay", Replay)
    registry.register_scheduler("evenly", Evenly)
