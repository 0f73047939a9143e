"""The queue: who may hold a cluster now, so that two Benchmarks never disturb each other's numbers."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Waiting(NamedTuple):
    """A Benchmark as the queue sees it."""

    uid: str
    name: str
    """namespace/name"""
    created: str
    """creationTimestamp, ISO-8601 in UTC"""
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


def addresses(hosts: Iterable[str], namespace: str) -> frozenset[str]:
    """Return existing hosts (https://NAME:PORT) in one spelling, so that the same Service is the same everywhere."""
    return frozenset(_address(host, namespace) for host in hosts)


def _address(host: str, namespace: str) -> str:
    name, _, port = host.partition("://")[2].lower().rpartition(":")
    if "." not in name:
        name = f"{name}.{namespace}"
    for suffix in (".svc.cluster.local", ".svc"):
        name = name.removesuffix(suffix)
    return f"{name}:{port}"


def turn(uid: str, benchmarks: Iterable[Waiting], places: int, hosts: frozenset[str] = frozenset()) -> Turn:
    """Return the turn of the Benchmark `uid`, which races against `hosts`: first come, first served, `places` at once.

    A Benchmark that already holds a place keeps it. One whose hosts somebody before it races against, or waits for,
    takes no place until they are free; meanwhile those behind it may go on. `benchmarks` need not contain `uid` itself.
    """
    everyone = sorted(benchmarks, key=_order)
    holders = [b for b in everyone if b.admitted]
    if any(b.uid == uid for b in holders):
        return Turn(mine=True)
    earlier: list[Waiting] = []
    for candidate in everyone:
        if candidate.uid == uid:
            break
        if candidate.queued and not candidate.admitted:
            earlier.append(candidate)
    taken: set[str] = set()
    before: list[Waiting] = []
    rivals: list[Waiting] = []
    for other in [*holders, *earlier]:
        if other.admitted or not other.hosts & taken:
            before.append(other)
        if other.hosts & hosts:
            rivals.append(other)
        taken |= other.hosts
    if rivals:
        return Turn(mine=False, ahead=len(rivals), behind=rivals[-1].name)
    if len(before) < places:
        return Turn(mine=True)
    return Turn(mine=False, ahead=len(before) - places + 1, behind=before[-1].name)


def admissible(benchmarks: Iterable[Waiting], places: int) -> Iterator[str]:
    """Yield the uids of all that wait and whose turn it is now, the first in line first."""
    everyone = sorted(benchmarks, key=_order)
    taken: set[str] = set()
    before = 0
    for other in [*(b for b in everyone if b.admitted), *(b for b in everyone if b.queued and not b.admitted)]:
        hindered = not other.hosts.isdisjoint(taken)
        if not (other.admitted or hindered) and before < places:
            yield other.uid
        before += other.admitted or not hindered
        taken |= other.hosts


def _order(benchmark: Waiting) -> tuple[str, str]:
    return benchmark.created, benchmark.name
