"""What the lines of k6's script say, folded as they come. Pure.

A line is a request, written when it is over: `client,host,epoch,start,took,processing,status,code,number,opened`. The
numbers of client and host begin at 0; epoch is the wall clock before the request in whole milliseconds; start is that
of a clock that only goes forward from the load's beginning; took is how long the request was by k6's own times, which
are by the wall clock, processing the same by the other clock with what k6 did around it, all in milliseconds; status is
0 without an answer, and code k6's number for why; number is that of the request: of all in an open loop, else of the
client's; opened is 1 where a connection was opened for it, else 0, and an older script does not tell.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fairlap_race.contract.recorded.http_record import HostAnswers, HttpAnswers
from fairlap_race.contract.recorded.record import RallyNumbers, Task, Throughput
from fairlap_race.contract.recorded.schedule_record import ScheduleRecord
from fairlap_race.contract.recorded.task_spans import CLOCK_SET_SECONDS
from fairlap_race.contract.specification.http_spec import HttpLoad
from fairlap_race.http.planned_times import MeasuredTimes, PlannedTimes, Spread
from fairlap_race.rally.clocks import never_set
from fairlap_race.rally.samples import PERCENTILES, Tally, task_record
from fairlap_race.rally.schedule import LEAST_REQUESTS, ON_TIME
from fairlap_race.rally.steady import WindowTimes

UNIT = "ops"
TASK_TYPE = "http-request"
TIMEOUT_CODE = 1050
DIAL_TIMEOUT_CODE = 1211
_CODES = (
    (1050, 1050, "timeout"),
    (1100, 1199, "the name of the host was not found"),
    (1211, 1211, "timeout while connecting"),
    (1212, 1212, "the connection was refused"),
    (1220, 1220, "the connection was reset"),
    (1200, 1299, "the connection failed"),
    (1310, 1310, "the certificate is of an unknown authority"),
    (1311, 1311, "the certificate is of another name"),
    (1300, 1399, "TLS failed"),
    (1600, 1699, "HTTP/2 failed"),
)
"""From and to k6's number (its page "Error codes"), and what it means."""
_FEWEST_FIELDS = 9
"""of a line: an older script does not tell the last one"""
DROPPED_WARNING = "Insufficient VUs"
"""How k6's warning begins when it drops a request for the first time."""


_NOT_SENT = "planned requests were not sent, and the times that they would have had to wait are missing"


class LineError(ValueError):
    """A line is none of the script's."""


class ScriptLine(NamedTuple):
    """One line; times in seconds."""

    client: int
    host: int
    epoch: float
    start: float
    service: float
    processing: float
    status: int
    code: int
    number: int
    opened: int | None
    """connections that were opened for it; None where the script does not tell"""

    @property
    def ok(self) -> bool:
        """Whether it is a success."""
        return 200 <= self.status < 300

    @staticmethod
    def parse(line: str) -> ScriptLine:
        """Return what a line says. Raises LineError."""
        try:
            fields = line.split(",")
            opened = int(fields.pop()) if len(fields) > _FEWEST_FIELDS else None
            client, host, epoch, start, took, processing, status, code, number = fields
            times = float(epoch) / 1000, float(start) / 1000, float(took) / 1000, float(processing) / 1000
            service = _service(int(status), times[2], times[3])
            answer = service, times[3], int(status), int(code), int(number), opened
            found = ScriptLine(int(client), int(host), times[0], times[1], *answer)
        except ValueError as error:
            raise LineError(f"a line of k6's script is not as it should be: {line[:200]!r}") from error
        if not math.isfinite(sum(times)):
            raise LineError(f"a line of k6's script is not as it should be: {line[:200]!r}")
        return found


def _service(status: int, took: float, processing: float) -> float:
    """Return how long a request took: as k6 says, unless it got no answer or another clock contradicts.

    Who sets the wall clock while it is under way makes it longer than all of what was done, or shorter by as much.
    """
    told = bool(status) and 0 <= took <= processing < took + CLOCK_SET_SECONDS
    return took if told else processing


@dataclass
class LoadAnswers:
    """The answers of one load: sums, histograms and a window a second, however many requests there are."""

    load: HttpLoad
    hosts: tuple[str, ...]
    keep: Callable[[str, Sequence[str]], None] | None = None
    """is given the task's name and the fields of each sample, as `fairlap_race.rally.samples` has them"""
    set_by: Callable[[], float] = float
    """tells by how many seconds the wall clock has been set since the race began"""
    now: Callable[[], float] | None = None
    """tells the moment by the wall clock as it was when the race began; None where nobody sets the clock"""
    dropped_any: bool = False
    """k6 warned that it drops requests"""
    sent: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    """of the measured requests without an answer"""
    by_host: list[list[int]] = field(default_factory=list)
    """of each host the measured requests, those that failed, and those without an answer"""
    opened: int | None = None
    """connections opened for measured requests; None where the script does not tell"""
    opened_again: int = 0
    """of these: where the request's client had had one to that host"""
    _connected: set[tuple[int, int]] = field(default_factory=set)
    """each client with each host that it has opened a connection to"""
    _measured: MeasuredTimes | None = None
    """None in a closed loop, and where requests are too close to tell what was dropped"""
    _offset: float | None = None
    """seconds that the wall clock, as it was when the race began, is ahead of k6's clock; None before the first line"""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        about = {
            "task": self.load.name,
            "operation": self.load.name,
            "type": TASK_TYPE,
            "clients": self.load.clients,
            "target": self.load.rate,
            "timed": True,
            "warmup": self.load.warmup_seconds,
        }
        self._tally = Tally(about=about, unit=UNIT)
        if self.load.rate is not None:
            self._tally.pace.sending = self.load.warmup_seconds, self.load.warmup_seconds + self.load.seconds
        self._set_before = self.set_by()
        self._service, self._processing = Spread(), Spread()
        period = (self.load.nanoseconds or 0) / 1e9
        self._times = PlannedTimes(period, windows=self._tally.window_latencies)
        self._measured = MeasuredTimes(period) if MeasuredTimes.can_tell(period) else None
        self.by_host = [[0, 0, 0] for _ in self.hosts]

    @property
    def first_at(self) -> float | None:
        """When the first request began, in seconds since the epoch."""
        first = self._tally.first_wallclock
        return first if math.isfinite(first) else None

    def add(self, line: str) -> None:
        """Take in a line without its end. Raises LineError."""
        got = ScriptLine.parse(line)
        if not 0 <= got.host < len(self.hosts):
            raise LineError(f"a line of k6's script names no host: {line[:200]!r}")
        it, is_open = self._tally, self.load.rate is not None
        # From there on the clock of its beginnings stands: k6 may send some more where the machine ends it late.
        over = got.start >= self.load.warmup_seconds + self.load.seconds
        self.sent += 1
        kind = int(got.start >= self.load.warmup_seconds)
        wait = _lag(self._times, got, over=over) if is_open else 0.0
        if self._offset is None:
            self._offset = self._offset_by(got)
        at = never_set(got.epoch, got.start, max(0.0, got.processing - got.service), self._offset)
        it.note_time(kind, at, got.processing, got.epoch - at)
        if not over:
            it.clocks.add(got.epoch, got.start, got.service, got.processing)
        # Of an open loop's clients any sends the next request, so only all of them together have a pace.
        client = 0 if is_open else got.client
        it.add(kind, got.ok, client, got.start, got.service, float(got.ok), wait)
        if not got.ok and it.first_error is None:
            it.first_error = f"{words_of(got.status, got.code)} ({self.hosts[got.host]})"
        if kind == 1:
            self._measure(got, wait, over=over)
        if got.opened is not None:
            self._count_opened(got, got.opened, kind)
        if self.keep is not None:
            times = (got.epoch, got.start, got.service, got.processing, wait)
            ok = str(int(got.ok))
            fields = ("0", str(kind), ok, *map(repr, times), str(got.client), ok, UNIT)
            self.keep(self.load.name, fields)

    def _offset_by(self, got: ScriptLine) -> float:
        """Return the offset that the first line tells; its clock may have been set before the load, in it, or never."""
        ahead = got.epoch - got.start
        if self.now is None:
            return ahead - self.set_by()
        # A line comes a little after its request has ended: that is near the right one of the two, an hour is not.
        about = self.now() - got.start - got.processing
        return min((ahead - self.set_by(), ahead - self._set_before), key=lambda it: abs(it - about))

    def _count_opened(self, got: ScriptLine, opened: int, kind: int) -> None:
        self.opened = (self.opened or 0) + opened * kind
        if opened:
            self.opened_again += kind * ((got.client, got.host) in self._connected)
            self._connected.add((got.client, got.host))

    def _measure(self, got: ScriptLine, wait: float, *, over: bool) -> None:
        self._times.add(got.service, wait)
        self._service.add(got.service)
        self._processing.add(got.processing)
        if (own := self._measured) is not None:
            lag = _lag(own, got, over=over)
            own.add(got.service, lag)
            if got.ok:
                own.windows.add(got.start + got.service, got.service + lag)
        self.statuses[got.status] += 1
        host = self.by_host[got.host]
        host[0] += 1
        if not got.ok:
            host[1] += 1
        if got.status == 0:
            host[2] += 1
            self.codes[got.code] += 1

    @property
    def planned(self) -> int | None:
        """How many measured requests were planned; None in a closed loop."""
        return self.load.measured_requests

    @property
    def longest_wait(self) -> float | None:
        """Seconds from which on a sample's wait may be that of requests that were not sent; None where all were."""
        lacks_some = self.load.rate is not None and (self.dropped_any or not self._is_whole())
        return self._times.period / 2 if lacks_some else None

    def task(self) -> Task:
        """Return the record of the task."""
        why, measured, times = self._no_latency(), self._tally.samples[1], self._measured_times()
        windows = WindowTimes() if why else times.windows
        found = task_record(replace(self._tally, times=times.times, window_latencies=windows), None)
        if why:
            histogram = found.histogram and replace(found.histogram, latency=None)
            found = replace(found, histogram=histogram, rate=self._rate_of_all())
        return replace(
            found,
            rally=self._numbers(found, times, with_latency=not why) if measured else None,
            http=self._answers(why),
            schedule_share=self._share(why),
            client_busy_share=self._busy_share(why),
            schedule=self._plan(why, times.late),
        )

    def _measured_times(self) -> PlannedTimes:
        """Return the times of the measured requests, of which those that were dropped in the warm-up are no part."""
        return self._measured if self._measured is not None and self.dropped_any else self._times

    def _no_latency(self) -> str:
        return "" if self.load.rate is None or self._is_whole() else _NOT_SENT

    def _is_whole(self) -> bool:
        """Return whether all was sent that was planned, of the measured time at least."""
        load, ends = self.load, self.load.warmup_seconds + self.load.seconds
        # What k6 does not drop can be missing at the end alone, where it stops at the clock.
        last = load.planned_before(ends - ON_TIME) - 1
        if not self.dropped_any:
            return self.sent >= last
        first = load.planned_before(load.warmup_seconds)
        return self._measured is not None and self._measured.has_all(first, last, self._times.began)

    def _rate_of_all(self) -> float | None:
        """Return the units done per second of all the time in which requests were to be sent, also where none was."""
        sent = self._tally.pace.clients.get(0)
        if sent is None or not sent.requests:
            return None
        # A load that was ended early has less time; one whose requests are far apart ends before its last period does.
        until = max(sent.last_end, sent.last_start + self._times.period)
        seconds = min(self.load.seconds, until - self.load.warmup_seconds)
        return round(self._tally.units_done / seconds, 6)

    def _answers(self, why: str) -> HttpAnswers:
        return HttpAnswers(
            statuses={str(status): count for status, count in sorted(self.statuses.items())},
            timeouts=self.codes[TIMEOUT_CODE] + self.codes[DIAL_TIMEOUT_CODE],
            hosts=tuple(HostAnswers(name, *counts) for name, counts in zip(self.hosts, self.by_host, strict=True)),
            dropped=None if self.planned is None else self._missing(why),
            latency_left_out=why,
            fell_behind=bool(why) and not self.dropped_any,
            opened=self.opened,
            opened_again=self.opened_again,
        )

    def _missing(self, why: str) -> int:
        """Return how many of the planned measured requests were not sent."""
        # One at the very end may have been sent at the clock, in place of another that was dropped.
        return max(int(self.dropped_any), (self.planned or 0) - self._tally.samples[1]) if why else 0

    def _enough_planned(self, why: str) -> int:
        """Return how many requests were planned; 0 where none was, or too few to tell more than that one is missing."""
        planned = self.planned or 0
        return planned if planned >= LEAST_REQUESTS or why else 0

    def _share(self, why: str) -> float | None:
        planned = self._enough_planned(why)
        return round(1 - self._missing(why) / planned, 4) if planned else None

    def _busy_share(self, why: str) -> float | None:
        whole = self.load.seconds * self.load.clients
        return round(min(1.0, self._service.total / whole), 4) if self._enough_planned(why) else None

    def _plan(self, why: str, late: int) -> ScheduleRecord | None:
        # Any free client sends the next request, so none of them has a plan of its own.
        if not (planned := self._enough_planned(why)):
            return None
        sent = planned - self._missing(why)
        return ScheduleRecord(sent, planned, self.load.clients, late_requests=late)

    def _numbers(self, task: Task, planned: PlannedTimes, *, with_latency: bool) -> RallyNumbers:
        """Return the numbers that Rally gives of its tasks, from the histograms: three digits."""
        times, measured = planned.times, self._tally.samples[1]
        windows = task.windows
        median = windows.median if windows and windows.median is not None else task.rate
        service = percentiles(times.service, self._service.most, self._service.total)
        latency = percentiles(times.latency, planned.spread.most, planned.spread.total)
        return RallyNumbers(
            throughput=Throughput(mean=task.rate, median=median),
            service_time_millis=service,
            # As in Rally: without a plan the latency is the service time.
            latency_millis=latency if with_latency else {},
            processing_time_millis={"mean": _millis(self._processing.total / measured)},
            error_rate=self._tally.errors[1] / measured,
        )


def _lag(times: PlannedTimes, got: ScriptLine, *, over: bool) -> float:
    return times.lag_at_end(got.number, got.start) if over else times.lag(got.number, got.start)


def percentiles(counts: Mapping[int, int], most: float, total: float) -> dict[str, float]:
    """Return mean and percentiles in milliseconds of a histogram by microseconds; p100 is `most`, in seconds.

    A percentile that less than one request supports is left out; `total` is the sum of all times in seconds.
    """
    number = sum(counts.values())
    if not number:
        return {}
    found, below, places = {}, 0, iter(sorted(counts.items()))
    value, inside = next(places)
    for percentile in PERCENTILES:
        if number * (100 - percentile) / 100 + 1e-9 < 1:
            break
        rank = max(1, math.ceil(number * percentile / 100 - 1e-9))
        while below + inside < rank:
            below += inside
            value, inside = next(places)
        found[f"p{percentile:g}"] = _millis(min(most, middle(value) / 1e6))
    return {**found, "p100": _millis(most), "mean": _millis(total / number)}


def middle(value: int) -> float:
    """Return the middle, in microseconds, of those that a histogram of three digits counts as `value`."""
    width = 1 << max(0, value.bit_length() - 11)
    return value + (width - 1) / 2


def _millis(seconds: float) -> float:
    return round(seconds * 1000, 6)


def words_of(status: int, code: int) -> str:
    """Return in words how a request failed; nothing of what a server said is in them."""
    if status:
        return f"HTTP {status}"
    for first, last, words in _CODES:
        if first <= code <= last:
            return f"no answer: {words}"
    return f"no answer: k6's error {code}"
