"""The parts of the record that only a race over HTTP has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HostAnswers:
    """The measured requests of one task to one host."""

    host: str = ""
    requests: int = 0
    errors: int = 0
    """answered by another status than 200 to 299, or not at all"""
    unanswered: int = 0
    """of these: status 0"""


@dataclass(frozen=True)
class HttpAnswers:
    """How the measured requests of one task were answered."""

    statuses: Mapping[str, int] = field(default_factory=dict)
    """by status; "0" is no answer: a timeout, a refused or broken connection"""
    timeouts: int = 0
    """of those without an answer: given up after http.timeoutSeconds"""
    hosts: tuple[HostAnswers, ...] = ()
    """in the order of the target's hosts"""
    dropped: int | None = None
    """planned requests that were not sent, since no client was free; None in a closed loop"""
    latency_left_out: str = ""
    """why a task with a rate has no latency"""
    fell_behind: bool = False
    """k6 sent less than was planned, and never missed a client: it was too slow itself"""

    @property
    def shares(self) -> Mapping[str, float]:
        """Each status' share of the requests, 0 to 1."""
        total = sum(self.statuses.values())
        return {status: count / total for status, count in self.statuses.items()} if total else {}


@dataclass(frozen=True)
class HttpHost:
    """One host as it answered the health path before the race."""

    host: str = ""
    status: int | None = None
    server: str | None = None
    """its header Server; None without one"""


@dataclass(frozen=True)
class RequestHits:
    """What each request of the file found, asked once more when the race was over."""

    pointer: str = ""
    lines: tuple[int | None, ...] = ()
    """hits by line of the file, from the first on; None where the answer did not tell"""
    why: str = ""
    """why they are not those of all lines"""


@dataclass(frozen=True)
class HttpRecord:
    """What was sent by what, and to whom."""

    k6_version: str | None = None
    exit_code: int | None = None
    """of the last k6; None when none was started, or it was killed"""
    requests: int | None = None
    """lines of the file"""
    distinct: int | None = None
    """different requests among them"""
    hosts: tuple[HttpHost, ...] = ()
    hits: RequestHits | None = None
    """None where the specification names no pointer to them, or the race did not come so far"""
