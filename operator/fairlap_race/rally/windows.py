"""The throughput of one task from its measured requests: over the whole time, and window by window. Pure.

Clients do not begin and end together: each leaves its warm-up with its own next request, and the last bulk of one may
come long after the last of another. Windows are only of the time in which all of them measured. In an open loop any
client sends the next request: its windows are of the time in which it was to send, and of the requests that began then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fairlap_race.contract.recorded.record import Windows

WINDOW_SECONDS = 1.0
LEAST_REQUESTS = 10
"""In a window on average. With fewer its throughput tells of how requests fall into windows, not of the rate."""
MOST_PARTS = 60
"""Of a task's time, for its throughput over it."""
MAX_WINDOWS = 7 * 24 * 3600
"""A window further away than a week comes from a broken clock."""
ROUNDING = 1e-6
HUNG_SHARE = 0.05
"""Of the measured time of all clients: so much of it must requests of the warm-up take to be told."""
FAR_LONGER = 2.0
"""Times the slowest measured request: what is under way as a warm-up ends is often a little longer than all others."""
_NEARLY = 0.95
"""Of a request a window: what clients send once a second falls a little short of it at the edges."""


@dataclass
class ClientSpan:
    """When one client measured, in seconds on the machine's clock, and what it did."""

    requests: int = 0
    units: float = 0.0
    last_units: float = 0.0
    first_start: float = math.inf
    last_start: float = -math.inf
    last_end: float = -math.inf
    warm: tuple[float, float] = (-math.inf, -math.inf)
    """beginning and end of its last request of the warm-up"""


@dataclass
class Pace:
    """Sums over the measured requests of one task."""

    clients: dict[int, ClientSpan] = field(default_factory=dict)
    """every client that sent a request, in the warm-up or after it"""
    units: dict[int, float] = field(default_factory=dict)
    """number of a window on the machine's clock -> units done in it"""
    requests: dict[int, float] = field(default_factory=dict)
    """number of a window -> requests in it, by the share of their time there"""
    sending: tuple[float, float] | None = None
    """from when and until when an open loop is to send; however late its answers come, they are of when they began"""

    def join(self, client: int) -> ClientSpan:
        """Return the sums of a client, which takes part from now on."""
        known = self.clients.get(client)
        if known is None:
            known = self.clients[client] = ClientSpan()
        return known

    def add(self, client: int, start: float, end: float, units: float) -> None:
        """Count a measured request of a client (seconds on the machine's clock)."""
        it = self.join(client)
        it.requests += 1
        it.units += units
        if start >= it.last_start:
            it.last_start, it.last_units = start, units
        it.first_start, it.last_end = min(it.first_start, start), max(it.last_end, end)
        self._spread(start, end, units)

    def _spread(self, start: float, end: float, units: float) -> None:
        first, last = math.floor(start / WINDOW_SECONDS), math.floor(end / WINDOW_SECONDS)
        if self.sending is not None:
            self._count(first, units, 1.0)
            return
        if last == first or last - first > MAX_WINDOWS:
            self._count(last, units, 1.0)
            return
        # A request that spans windows counts in each by the share of its time there.
        for window in range(first, last + 1):
            inside = min(end, (window + 1) * WINDOW_SECONDS) - max(start, window * WINDOW_SECONDS)
            self._count(window, units, inside / (end - start))

    def _count(self, window: int, units: float, share: float) -> None:
        self.units[window] = self.units.get(window, 0.0) + units * share
        self.requests[window] = self.requests.get(window, 0.0) + share

    def duration(self) -> float | None:
        """Return the seconds from the start of the first measured request to the end of the last; None without any."""
        measured = [it for it in self.clients.values() if it.requests]
        if not measured:
            return None
        return max(it.last_end for it in measured) - min(it.first_start for it in measured)

    def client_seconds(self) -> float:
        """Return the seconds that each client measured, of all of them together."""
        return sum(it.last_end - it.first_start for it in self.clients.values() if it.requests)

    def hung(self, slowest: float) -> list[float]:
        """Return how many seconds of the measured time each client that hung was still in a request of its warm-up.

        That time is in no figure. It is far longer than `slowest`, which all measured requests took at most: what is
        under way at a moment is longer than others by chance. Empty where they were little of all clients' time.
        """
        measured = [it for it in self.clients.values() if it.requests]
        if not measured:
            return []
        begin, end = min(it.first_start for it in measured), max(it.last_start for it in measured)
        late = (min(it.warm[1], end) - max(it.warm[0], begin) for it in self.clients.values())
        found = [seconds for seconds in late if seconds > FAR_LONGER * slowest]
        return found if sum(found) > HUNG_SHARE * len(self.clients) * (end - begin) else []

    def rate(self, *, planned: bool, timed: bool = False) -> float | None:
        """Return the units done per second of the measured time; None where it cannot be told.

        Where moments are `planned`, a client waits between its requests, and n of them take n-1 intervals: a client's
        rate is that of all requests but each one's last, until the start of the last; one request alone has none.
        Where clients end by the clock (`timed`) each has its own time: one whose last answer comes late takes none
        from the others.
        """
        measured = [it for it in self.clients.values() if it.requests]
        if planned:
            return _planned_rate(measured)
        if timed and measured and all(it.last_end > it.first_start for it in measured):
            return sum(it.units / (it.last_end - it.first_start) for it in measured)
        seconds = self.duration()
        return sum(it.units for it in measured) / seconds if seconds else None

    def together(self) -> tuple[float, float] | None:
        """Return from when and until when all clients measured; None when there is no such time."""
        if not self.clients or any(it.requests == 0 for it in self.clients.values()):
            return None
        if self.sending is not None:
            return self.sending
        begin = max(it.first_start for it in self.clients.values())
        end = min(it.last_end for it in self.clients.values())
        return (begin, end) if end > begin else None

    def why_apart(self) -> str:
        """Return why there is no time in which all clients measured."""
        idle = sum(it.requests == 0 for it in self.clients.values())
        why = f"{idle} of {len(self.clients)} clients measured nothing" if idle else "one ended before the last began"
        return f"its clients never measured all together: {why}"

    def windows(self, *, planned: bool = False) -> Windows | None:
        """Return the throughput of the full windows in which all clients measured.

        Without any, or with fewer than ten requests in one on average, it says why there is none. So it does where
        moments are `planned` and there is less than one request of each client in a window: Rally has all clients
        begin at once, and most windows are between their bursts. None when nothing was measured.
        """
        if not any(it.requests for it in self.clients.values()):
            return None
        span = self.together()
        if span is None:
            return Windows(seconds=WINDOW_SECONDS, left_out=self.why_apart())
        first, last = math.ceil(span[0] / WINDOW_SECONDS), math.floor(span[1] / WINDOW_SECONDS)
        if not 0 < last - first <= MAX_WINDOWS:
            text = f"all clients measured together for {span[1] - span[0]:.3g} s, in which there is no full window"
            return Windows(seconds=WINDOW_SECONDS, left_out=text)
        rates = [self.units.get(number, 0.0) / WINDOW_SECONDS for number in range(first, last)]
        requests = sum(self.requests.get(number, 0.0) for number in range(first, last))
        return _windows(rates, requests, len(self.clients) if planned else 0)


def _planned_rate(measured: Sequence[ClientSpan]) -> float | None:
    paced = [it for it in measured if it.last_start > it.first_start]
    if not paced:
        return None
    spans = sum(it.last_start - it.first_start for it in paced)
    interval = spans / sum(it.requests - 1 for it in paced)
    # A client whose only request took longer than an interval hung in it, and has none of the rate of the others.
    hung = [it for it in measured if it.last_start == it.first_start and it.last_end - it.first_start > interval]
    others = (len(measured) - len(hung)) * sum(it.units - it.last_units for it in paced) / spans
    return others + sum(it.units / (it.last_end - it.first_start) for it in hung)


def _windows(rates: list[float], requests: float, in_step: int) -> Windows:
    # Fewer parts where requests are few: a part of a curve needs as many as a window.
    parts = parts_of(rates, min(MOST_PARTS, int(requests / max(LEAST_REQUESTS, in_step) + ROUNDING)))
    found = Windows(
        seconds=WINDOW_SECONDS,
        count=len(rates),
        requests=round(requests),
        over_time=tuple(float(f"{rate:.4g}") for rate in parts),
    )
    few = requests < LEAST_REQUESTS * len(rates) * (1 - ROUNDING)
    if few or requests < _NEARLY * in_step * len(rates):
        each = requests / len(rates)
        least = LEAST_REQUESTS if few else f"one of each of {in_step} clients"
        number = f"{each:.2g}" if few else f"{each:.0f}"
        text = f"{number} requests in a window on average, and fewer than {least} tell nothing"
        return Windows(found.seconds, found.count, over_time=found.over_time, requests=found.requests, left_out=text)
    ordered = sorted(rates)
    median, p10, p90 = (round(quantile(ordered, share), 3) for share in (0.5, 0.1, 0.9))
    return Windows(found.seconds, found.count, median, p10, p90, found.over_time, found.requests)


def parts_of(values: Sequence[float], most: int = MOST_PARTS) -> list[float]:
    """Return the means of parts of as equal length as can be, `most` at most, in the order of the values."""
    parts = min(len(values), most)
    ends = [len(values) * number // parts for number in range(parts + 1)] if parts else []
    return [sum(values[start:end]) / (end - start) for start, end in pairwise(ends)]


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of the sorted values by linear interpolation, as Rally does; `share` is 0 to 1."""
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
