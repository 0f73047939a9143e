"""The queue: who may hold a cluster now, so that two Benchmarks never disturb each other's numbers."""

import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator
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


class Turn(NamedTuple):
    """Whether a Benchmark may go on, and if not, who is before it."""

    mine: bool
    ahead: int = 0
    behind: str = ""
    share: int = 0
    """the share of its namespace, where that is what it waits for"""
    wanted: str = ""
    """for a holder: when the last of those in line lined up, if its place would let one of them go on; else "" """
    led_by: str = ""
    """for a race of a Comparison: the name of that Comparison, or words for one that is not there"""


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


class _Line:
    """What is taken by those before one, while one goes along the line: the holders first, then who waits."""

    def __init__(self, share: int) -> None:
        self._share, self._used = share, Counter[str]()
        self._hosts: set[str] = set()
        self.before: list[Waiting] = []
        """holders, and those that take the next free places"""

    def is_full(self, namespace: str) -> bool:
        return 0 < self._share <= self._used[namespace]

    def is_hindered(self, other: Waiting) -> bool:
        """Return whether another place that becomes free would be of no use to one that waits."""
        return not other.hosts.isdisjoint(self._hosts) or self.is_full(_namespace(other))

    def take(self, other: Waiting) -> None:
        if other.admitted or not self.is_hindered(other):
            self.before.append(other)
            self._used[_namespace(other)] += 1
        # Who waits for a host is not overtaken there, whatever else it waits for: else it might wait for ever.
        self._hosts |= other.hosts


def turn(
    uid: str, benchmarks: Iterable[Waiting], places: int, hosts: frozenset[str] = frozenset(), share: int = 0
) -> Turn:
    """Return the turn of the Benchmark `uid`, which races against `hosts`: first come, first served, `places` at once.

    A Benchmark that already holds a place keeps it. One whose hosts somebody before it races against, or waits for,
    takes no place until they are free, and one whose namespace has its `share` (0: no limit) none until one of these is
    free; meanwhile those behind it may go on. `benchmarks` need not contain `uid` itself.
    """
    everyone = sorted(benchmarks, key=_order)
    holders = [b for b in everyone if b.admitted]
    if any(b.uid == uid for b in holders):
        return Turn(mine=True, wanted=_wanted(uid, everyone, places, share))
    namespace = next((_namespace(b) for b in everyone if b.uid == uid), "")
    line, rivals, mates = _Line(share), list[Waiting](), list[Waiting]()
    for other in [*holders, *_earlier(uid, everyone)]:
        line.take(other)
        if other.hosts & hosts:
            rivals.append(other)
        if _namespace(other) == namespace:
            mates.append(other)
    if rivals:
        return Turn(mine=False, ahead=len(rivals), behind=rivals[-1].name)
    if line.is_full(namespace):
        return Turn(mine=False, ahead=len(mates) - share + 1, behind=mates[-1].name, share=share)
    if len(line.before) < places:
        return Turn(mine=True)
    return Turn(mine=False, ahead=len(line.before) - places + 1, behind=line.before[-1].name)


def admissible(benchmarks: Iterable[Waiting], places: int, share: int = 0) -> Iterator[str]:
    """Yield the uids of all that wait and whose turn it is now, the first in line first."""
    everyone, line = sorted(benchmarks, key=_order), _Line(share)
    for other in [*(b for b in everyone if b.admitted), *(b for b in everyone if b.queued and not b.admitted)]:
        if not other.admitted and len(line.before) < places and not line.is_hindered(other):
            yield other.uid
        line.take(other)


def _earlier(uid: str, everyone: Iterable[Waiting]) -> Iterator[Waiting]:
    for candidate in everyone:
        if candidate.uid == uid:
            return
        if candidate.queued and not candidate.admitted:
            yield candidate


def _wanted(uid: str, everyone: list[Waiting], places: int, share: int) -> str:
    others = [b for b in everyone if b.uid != uid]
    if set(admissible(others, places, share)) <= set(admissible(everyone, places, share)):
        return ""
    return max(b.since for b in others if b.queued and not b.admitted)


def _namespace(benchmark: Waiting) -> str:
    return benchmark.name.partition("/")[0]


def _order(benchmark: Waiting) -> tuple[str, str]:
    return benchmark.since, benchmark.name
