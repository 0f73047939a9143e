"""The parts of the record that only a race over HTTP has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
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
    opened: int | None = None
    """requests for which a connection was opened first; None of an older runner"""
    opened_again: int = 0
    """of these: where the client had had one to that host, in the warm-up or later"""

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
    addresses: int | None = None
    """of its name, among which k6 draws one for each connection; None where unknown, and of an older runner"""


@dataclass(frozen=True)
class RequestHits:
    """What each request of the file found, asked once more when the race was over."""

    pointer: str = ""
    lines: tuple[int | None, ...] = ()
    """hits by line of the file, of the first thousand at most; None where the answer did not tell"""
    why: str = ""
    """why not those of all lines were read"""
    read: int | None = None
    """lines of the file, from the first on, that were asked again; None of an older runner, which asked `lines`"""
    unreadable: int = 0
    """lines behind those kept in `lines` whose answer did not tell"""
    digest: str | None = None
    """of the hits of all lines of the file; None where not all were read, and of an older runner"""
    parts_allowed: bool = False
    """some of the requests let Elasticsearch leave out shards that refuse them, with status 200"""

    @property
    def asked(self) -> int:
        """How many lines of the file, from the first on, were asked again."""
        return len(self.lines) if self.read is None else self.read


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


def hits_digest(lines: Sequence[int | None]) -> str:
    """Return what is the same for two files whose lines find the same, one by one."""
    return hashlib.sha256(json.dumps(list(lines)).encode()).hexdigest()[:16]
