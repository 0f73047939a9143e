"""The queue: who may hold a cluster now, so that two Benchmarks never disturb each other's numbers."""

import ipaddress
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple


class Waiting(NamedTuple):
    """A Benchmark, or a Comparison, as the queue sees it."""

    uid: str
    name: str
    """namespace/name"""
    since: str
    """when it lined up, ISO-8601 in UTC: its creationTimestamp, or later when it has given its place up"""
    admitted: bool
    """holds a place"""
    queued: bool
    """is waiting for a place"""
    hosts: frozenset[str] = frozenset()
    """existing hosts that it races against, which nobody else may at the same time"""
    comes: bool = False
    """is in, or waits for, its track check, after which it lines up"""


class Turn(NamedTuple):
    """Whether a Benchmark may go on, and if not, who is before it."""

    may_go: bool
    ahead: int = 0
    behind: str = ""
    share: int = 0
    """the share of its namespace, where that is what it waits for"""
    wanted: str = ""
    """for a holder, and for whom one lends its place: when the last of those lined up that are in line or will be when
    their track is checked, if the place would let one of them go on; else "" """
    led_by: str = ""
    """for a race of a Comparison: the name of that Comparison, or words for one that is not there"""
    leader_over: bool = False
    """whether that Comparison has ended: it lends its place to nobody any more"""
    after: str = ""
    """for one that waits: when the last of those before it lined up"""

    def end_of_line(self, now: datetime) -> datetime:
        """Return when a holder that gives its place up lines up: behind all who wait, and their stamps may be ahead.

        Of one that waits, when it has lined up at the earliest: it stays behind those before it.
        """
        last = self.wanted or self.after
        return max(now, datetime.fromisoformat(last) + timedelta(seconds=1)) if last else now


def addresses(hosts: Iterable[str], namespace: str) -> frozenset[str]:
    """Return existing hosts (https://NAME:PORT) in one spelling, so that the same Service is the same everywhere."""
    return frozenset(_address(host, namespace) for host in hosts)


def _address(host: str, namespace: str) -> str:
    name, _, port = host.partition("://")[2].lower().rpartition(":")
    if name.startswith("["):
        return f"{_shortest(name.strip('[]'))}:{port}"
    if "." not in name:
        name = f"{name}.{namespace}"
    for suffix in (".svc.cluster.local", ".svc"):
        name = name.removesuffix(suffix)
    return f"{name}:{port}"


def _shortest(address: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(address)}]"
    except ValueError:  # an older CustomResourceDefinition lets any text in
        return f"[{address}]"


class _Before(NamedTuple):
    """What one who comes to the line finds there."""

    taken: int
    """places that are held, or that those before it take next"""
    last: str
    """name of the last of these"""
    mates: int
    """how many of its namespace are before it"""
    last_mate: str
    full: bool
    """whether its namespace has its share, or those before it take the rest of it next"""
    place: int
    """how many are before it altogether"""
    since: str
    """when the last of those that wait before it lined up, "" without any"""


class _Line:
    """What is taken by those before one, while one goes along the line: the holders first, then who waits."""

    def __init__(self, share: int) -> None:
        self._share, self._used = share, Counter[str]()
        self._mates: dict[str, tuple[int, str]] = {}
        self._youngest: dict[str, tuple[str, str]] = {}
        """of each namespace the holder that lined up last"""
        self.taken, self._last, self._place, self._since = 0, "", 0, ""
        self.at_hosts: dict[str, list[int]] = {}
        """for each host the places in the line of those that race against it, or wait for it"""

    def is_hindered(self, other: Waiting) -> bool:
        """Return whether another place that becomes free would be of no use to one that waits."""
        return any(host in self.at_hosts for host in other.hosts) or self._is_full(_namespace(other))

    def before(self, namespace: str) -> _Before:
        """Return what one of that namespace finds here."""
        mates, last_mate = self._mates.get(namespace, (0, ""))
        full = self._is_full(namespace)
        return _Before(self.taken, self._last, mates, last_mate, full, self._place, self._since)

    def take(self, other: Waiting) -> None:
        namespace, order = _namespace(other), _order(other)
        full, may_go = self._is_full(namespace), other.admitted or not self.is_hindered(other)
        if other.admitted:
            self._youngest[namespace] = max(order, self._youngest.get(namespace, order))
        # Who waits for its share keeps nobody off a host, since mates' races would be others' wait; but one whom mates
        # overtook while it waited for the host does: else it might wait for ever, the one wait after the other.
        if other.admitted or not full or self._youngest.get(namespace, order) > order:
            for host in other.hosts:
                self.at_hosts.setdefault(host, []).append(self._place)
        if may_go:
            self.taken, self._last = self.taken + 1, other.name
            self._used[namespace] += 1
        self._mates[namespace] = (self._mates.get(namespace, (0, ""))[0] + 1, other.name)
        self._place += 1
        if not other.admitted:
            self._since = other.since

    def _is_full(self, namespace: str) -> bool:
        return 0 < self._share <= self._used[namespace]


class Turns:
    """The turns of all at once: first come, first served, `places` at once, `share` of a namespace (0: no limit).

    One walk along the line, since all that wait look at it whenever a place becomes free: thousands that each sorted it
    anew took minutes of everybody's time.

    A Benchmark that already holds a place keeps it. One whose hosts somebody before it races against, or waits for,
    takes no place until they are free. One whose namespace has its share takes no place until one of these is free, and
    keeps others off its hosts only if younger mates have it. Meanwhile those behind it may go on.
    """

    def __init__(self, benchmarks: Iterable[Waiting], places: int, share: int = 0) -> None:
        self._places, self._share = places, share
        everyone = sorted(benchmarks, key=_order)
        self._holders = [b for b in everyone if b.admitted]
        self._others = [b for b in everyone if not b.admitted]
        self._held = {b.uid for b in self._holders}
        self._queued = [*self._holders, *(b for b in self._others if b.queued)]
        self._found: dict[str, tuple[Waiting, _Before]] = {}
        line = _Line(share)
        for holder in self._holders:
            line.take(holder)
        for other in self._others:
            self._found[other.uid] = other, line.before(_namespace(other))
            if other.queued:
                line.take(other)
        self._end, self._at_hosts = line, line.at_hosts
        # A check that finds no machine either, since what a holder built is on it, would never line up.
        self._coming = [*self._holders, *(b for b in self._others if b.queued or b.comes)]
        self._latest = max((b.since for b in self._others if b.queued or b.comes), default="")

    def turn_of(self, uid: str, hosts: frozenset[str] = frozenset(), namespace: str = "") -> Turn:
        """Return the turn of a Benchmark; one that is not in line comes to its end.

        Of that one it is told what it races against, `hosts`, and whose share it has, that of `namespace`.
        """
        if uid in self._held:
            return Turn(may_go=True, wanted=self._wanted(uid))
        known = self._found.get(uid)
        before, hosts = (known[1], known[0].hosts) if known else (self._end.before(namespace), hosts)
        return self._waiting_turn(before, hosts)._replace(after=before.since)

    def _waiting_turn(self, before: _Before, hosts: frozenset[str]) -> Turn:
        if rivals := self._rivals(hosts, before.place):
            return Turn(may_go=False, ahead=len(rivals), behind=self._queued[max(rivals)].name)
        if before.full:
            ahead = before.mates - self._share + 1
            return Turn(may_go=False, ahead=ahead, behind=before.last_mate, share=self._share)
        if before.taken < self._places:
            return Turn(may_go=True)
        return Turn(may_go=False, ahead=before.taken - self._places + 1, behind=before.last)

    def admissible(self) -> Iterator[str]:
        """Yield the uids of all that wait and whose turn it is now, the first in line first."""
        return self._admissible(self._queued)

    def _admissible(self, queued: Iterable[Waiting], without: str = "") -> Iterator[str]:
        """Yield the same of another line; as if `without` left it."""
        line = _Line(self._share)
        for other in queued:
            if other.uid == without:
                continue
            if not other.admitted:
                if line.taken >= self._places:
                    return
                if not line.is_hindered(other):
                    yield other.uid
            line.take(other)

    def _rivals(self, hosts: frozenset[str], place: int) -> set[int]:
        """Return the places in line of those before one that race against its hosts, or wait for one of these."""
        found = (self._at_hosts.get(host, []) for host in hosts)
        return set().union(*(at[: bisect_left(at, place)] for at in found))

    def _wanted(self, uid: str) -> str:
        as_it_is, as_if_it_left = self._admissible(self._coming), self._admissible(self._coming, without=uid)
        return "" if set(as_if_it_left) <= set(as_it_is) else self._latest


def _namespace(benchmark: Waiting) -> str:
    return benchmark.name.partition("/")[0]


def _order(benchmark: Waiting) -> tuple[str, str]:
    return benchmark.since, benchmark.name
