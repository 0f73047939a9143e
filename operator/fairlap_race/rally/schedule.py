"""Whether a task with a target throughput kept its schedule, and whether the load generator was the cause. Pure.

Rally sends the requests of such a task at planned moments, whatever happened to the ones before. How far the real
moments drifted from the planned ones says what share of the rate was reached, for even and for random (Poisson) plans.
It is taken client by client: each has a plan of its own, and seven that keep theirs would hide an eighth that does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.recorded.http_record import HttpAnswers
from fairlap_race.contract.recorded.record import LoadGenerator, Task
from fairlap_race.contract.recorded.schedule_record import BUSY, CLIENT_KEPT, ScheduleRecord
from fairlap_race.contract.recorded.task_load import TaskLoad

LEAST_REQUESTS = 10
LEAST_SECONDS = 1.0
"""Below these a single slow request would decide."""
ON_TIME = 0.02
"""Seconds; a client that wakes up within these of the planned moment had nothing to catch up on."""
LATE_SHARE = 0.02
"""Of the measured requests; so many that k6 begins late are in the p99 of latency."""
_LATE = "sent requests late although its clients were free"


@dataclass
class ClientDrift:
    """Sums over the measured requests of one client."""

    requests: int = 0
    first_planned: float = math.inf
    last_planned: float = -math.inf
    first_start: float = math.inf
    last_start: float = -math.inf
    last_end: float = -math.inf
    """of its warm-up before the first measured request"""
    busy_seconds: float = 0.0
    behind: bool = True
    """it has had a request to send at every moment since the warm-up"""
    backlog_requests: int = 0
    backlog_seconds: float = 0.0

    def add(self, start: float, wait: float, busy: float) -> None:
        """Count a request: its real start, how long after its planned moment that was, and how long it took."""
        self.requests += 1
        self.first_start, self.last_start = min(self.first_start, start), max(self.last_start, start)
        planned = start - wait
        # A client that was free at that moment is late for another reason: all of them may begin at once.
        self.behind = self.behind and wait > ON_TIME and planned < self.last_end
        self.last_end = max(self.last_end, start + busy)
        self.first_planned, self.last_planned = min(self.first_planned, planned), max(self.last_planned, planned)
        self.busy_seconds += busy
        if self.behind:
            self.backlog_requests += 1
            self.backlog_seconds += wait

    def planned_by(self, end: float, per_second: float) -> float:
        """Return the requests that its plan had until `end`, at least those that it sent."""
        return max(float(self.requests), 1 + per_second * (end - self.first_start))


@dataclass
class Drift:
    """Sums over the measured requests of one task, and which clients there were before."""

    clients: dict[int, ClientDrift] = field(default_factory=dict)
    warmed_up: dict[int, float] = field(default_factory=dict)
    """client -> end of its last request of the warm-up"""

    def join(self, client: int, end: float) -> None:
        """Take note of a request of the warm-up, which ended at `end`."""
        self.warmed_up[client] = max(end, self.warmed_up.get(client, end))

    def add(self, client: int, start: float, wait: float, busy: float) -> None:
        """Count a request that a client started at `start`, `wait` seconds after its planned moment, and that took
        `busy` seconds."""
        known = self.clients.get(client)
        if known is None:
            known = self.clients[client] = ClientDrift(last_end=self.warmed_up.get(client, -math.inf))
        known.add(start, wait, busy)

    @property
    def requests(self) -> int:
        """All measured requests."""
        return sum(it.requests for it in self.clients.values())

    def _seconds(self) -> float:
        starts = [it.first_start for it in self.clients.values()]
        return max(it.last_start for it in self.clients.values()) - min(starts) if starts else 0.0

    def _has_enough(self) -> bool:
        return self.requests >= LEAST_REQUESTS and self._seconds() >= LEAST_SECONDS

    def _pooled_rate(self) -> float:
        """Return the planned requests per second of a client, by the plans of all."""
        spans = sum(it.last_planned - it.first_planned for it in self.clients.values())
        intervals = sum(it.requests - 1 for it in self.clients.values())
        return intervals / spans if spans > 0 else 0.0

    def planned(self) -> dict[int, float]:
        """Return for each client the requests that its plan had by the time of its last one.

        One with few requests beside others with many may hang in its last, so its plan goes on until the end of it.
        """
        pooled, found = self._pooled_rate(), {}
        many = any(it.requests >= LEAST_REQUESTS for it in self.clients.values())
        for client, it in self.clients.items():
            span = it.last_planned - it.first_planned
            if it.requests >= LEAST_REQUESTS and span > 0:
                found[client] = it.planned_by(it.last_start, (it.requests - 1) / span)
            else:
                found[client] = it.planned_by(it.last_end if many else it.last_start, pooled)
        return found

    def _stuck(self) -> dict[int, float]:
        """Return for each client without a measured request how many were due while it hung in one of the warm-up."""
        if not self.clients:
            return {}
        begin, end = min(it.first_start for it in self.clients.values()), self._seconds()
        hung = {client: min(until - begin, end) for client, until in self.warmed_up.items()}
        due = {client: self._pooled_rate() * seconds for client, seconds in hung.items() if client not in self.clients}
        return {client: number for client, number in due.items() if number >= 1}

    def share(self) -> float | None:
        """Return the share of the planned requests that was sent, 0 to 1; None when there was too little to tell."""
        return self._share_of(self.planned()) if self._has_enough() else None

    def _share_of(self, planned: dict[int, float]) -> float | None:
        # The first request of each has no interval before it.
        sent, due = (sum(it) - len(planned) for it in ([c.requests for c in self.clients.values()], planned.values()))
        due += sum(self._stuck().values())
        # Requests that were all planned for one moment have no rate, and neither has one request of each client.
        if self._pooled_rate() == 0.0:
            return 0.0 if any(it.requests > 1 for it in self.clients.values()) else None
        return round(min(1.0, max(0.0, sent / due)), 4) if due > 0 else None

    def busy_share(self, clients: int) -> float | None:
        """Return the share of the time in which the task's clients waited for an answer; None as with `share`."""
        if not self._has_enough():
            return None
        busy = sum(it.busy_seconds for it in self.clients.values())
        return round(min(1.0, busy / (self._seconds() * max(1, clients))), 4)

    def record(self) -> ScheduleRecord | None:
        """Return what is kept of it; None when there was too little to tell."""
        if not self._has_enough():
            return None
        planned, stuck = self.planned(), self._stuck()
        shares = {client: 0.0 for client, due in stuck.items() if due >= LEAST_REQUESTS} | {
            client: (it.requests - 1) / (planned[client] - 1)
            for client, it in self.clients.items()
            if planned[client] >= LEAST_REQUESTS and planned[client] > 1
        }
        slowest = min(shares, key=lambda client: shares[client], default=None)
        late = sum(it.backlog_requests for it in self.clients.values())
        waited = sum(it.backlog_seconds for it in self.clients.values())
        return ScheduleRecord(
            sent=self.requests,
            planned=round(sum((*planned.values(), *stuck.values()))),
            clients=len(self.clients) + len(stuck),
            slow_clients=sum(share < CLIENT_KEPT for share in shares.values()),
            slowest_share=None if slowest is None else round(shares[slowest], 4),
            slowest_busy_share=None if slowest is None else 1.0 if slowest in stuck else _busy(self.clients[slowest]),
            backlog_requests=late,
            backlog_seconds=round(waited / late, 3) if late else None,
        )


def _busy(it: ClientDrift) -> float | None:
    seconds = it.last_end - it.first_start
    return round(min(1.0, it.busy_seconds / seconds), 4) if seconds > 0 else None


def judge_lateness(load: LoadGenerator, tasks: Iterable[Task]) -> LoadGenerator:
    """Return `load`, saturated too when a task fell behind although its clients were free to send."""
    late = [f"{task.task} ({how})" for task in tasks if (how := _lateness(task))]
    if not late:
        return load
    why = f"{_LATE}: {', '.join(late[:5])}"
    return replace(load, saturated=True, why="; ".join(filter(None, (load.why if load.saturated else "", why))))


def with_lateness(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the tasks, the load generator saturated in those in which it was late although clients were free."""
    return tuple(_marked(task, how) if (how := _lateness(task)) else task for task in tasks)


def _marked(task: Task, how: str) -> Task:
    load = task.load or TaskLoad()
    why = "; ".join(filter(None, (load.why, f"{_LATE} ({how})")))
    return replace(task, load=replace(load, saturated=True, why=why))


def _lateness(task: Task) -> str:
    """Return how late the load generator was with a task although clients were free to send, or ""."""
    if task.http is not None:
        return _lateness_of_k6(task.http, task.schedule or ScheduleRecord())
    free = _free_share(task)
    return f"{as_percent(free, BUSY)} busy" if free is not None and free < BUSY else ""


def _lateness_of_k6(answers: HttpAnswers, plan: ScheduleRecord) -> str:
    # What finds no free client is dropped, which is no fault of k6; and what is late otherwise waited for k6 alone.
    if answers.fell_behind:
        return "some were not sent at all"
    if answers.latency_left_out or not plan.sent or plan.late_requests < LATE_SHARE * plan.sent:
        return ""
    late = as_percent(plan.late_requests / plan.sent)
    return f"{late} of them by more than {1000 * ON_TIME:.0f} ms"


def _free_share(task: Task) -> float | None:
    """Return how busy the clients were that fell behind; None when none did, or it is not known."""
    plan = task.schedule
    if plan is not None and plan.has_slow_client:
        return plan.slowest_busy_share
    fell_behind = task.fell_behind
    return task.client_busy_share if fell_behind else None
