"""The queue's owner: never more places than there are, each to the first in line, and nobody sleeps through a turn."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlap.queue.places import Places
from fairlap.queue.summary import Summary, summarize


def summary(uid: str, state: str = "waits", hosts: frozenset[str] = frozenset(), created: str | None = None) -> Summary:
    phase = {"over": "Succeeded", "holds": "Racing", "waits": "Queued"}.get(state, "Pending")
    return Summary(uid, f"ns/{uid}", created or uid, phase, state == "holds", state == "waits", hosts)


class Woken:
    """Places, and who was woken since the last question."""

    def __init__(self, most: int = 1, **states: str) -> None:
        self._woken: set[str] = set()
        self.places = Places(most, self._woken.add, lambda: self._woken.add("everyone"))
        for uid, state in states.items():
            self.places.observe(summary(uid, state))

    def woken(self) -> set[str]:
        found = set(self._woken)
        self._woken.clear()
        return found


@pytest.mark.parametrize(
    ("before", "after", "woken"),
    [
        ("holds", "over", {"everyone"}),
        ("holds", "suspended", {"everyone"}),
        ("holds", "waits", {"everyone"}),
        ("holds", "holds", set()),
        ("waits", "holds", set()),
        ("waits", "over", {"everyone"}),
        ("waits", "suspended", {"b"}),
        ("waits", "checks", {"b"}),
        ("waits", "waits", set()),
        ("checks", "waits", set()),
        ("suspended", "waits", set()),
        ("over", "over", set()),
    ],
)
def test_what_an_event_wakes(before: str, after: str, woken: set[str]) -> None:
    queue = Woken(a=before, b="waits", c="waits")
    assert queue.woken() == set()
    queue.places.observe(summary("a", after))
    assert queue.woken() == woken


def test_an_assumed_place_is_taken_until_it_is_given_up_or_over() -> None:
    queue = Woken(a="waits", b="waits")
    assert not queue.places.assume("b"), "a is before it"
    assert queue.places.assume("a") and queue.places.assume("a")
    queue.places.observe(summary("a"))  # an event from before the write
    assert queue.places.turn("b")[:3] == (False, 1, "ns/a") and queue.woken() == set()
    queue.places.forget("a")
    assert queue.woken() == {"everyone"}
    queue.places.forget("a")
    queue.places.forget("b")
    assert queue.woken() == set(), "nothing was given up"


def test_what_is_written_is_not_given_up() -> None:
    queue = Woken(a="waits", b="waits")
    assert queue.places.assume("a")
    queue.places.observe(summary("a", "holds"))
    queue.places.forget("a")
    assert queue.places.turn("a").mine and not queue.places.assume("b") and queue.woken() == set()
    queue.places.observe(summary("a", "suspended"))
    assert queue.places.assume("b")


def test_two_that_decide_at_once_do_not_both_get_the_only_place() -> None:
    """In their track checks they are not in the queue, so that they do not see each other there."""
    queue = Woken(a="checks", b="checks")
    assert queue.places.turn("a").mine and queue.places.turn("b").mine
    assert queue.places.assume("b") and not queue.places.assume("a")


def test_who_was_deleted_holds_nothing() -> None:
    queue = Woken(a="holds", b="waits")
    queue.places.remove("a")
    assert queue.woken() == {"everyone"} and queue.places.assume("b")
    assert queue.places.assume("a") is False and queue.places.holders() == {"b"}
    assert Woken().places.assume("gone") is True, "the API server will say that it is gone"
    assert queue.places.uids() == {"b"}


def test_who_vanished_holds_nothing_and_is_not_counted() -> None:
    queue = Woken(a="holds", b="waits", c="waits")
    queue.places.vanish({"a"})
    assert queue.woken() == {"everyone"} and queue.places.assume("b")
    assert {found.uid for found in queue.places.benchmarks()} == {"b", "c"}
    assert queue.places.uids() == {"a", "b", "c"}, "asked for again: it may be the view that was wrong"
    queue.places.vanish({"a"})
    assert queue.woken() == set()
    queue.places.vanish(set())
    assert queue.woken() == {"everyone"} and queue.places.holders() == {"a", "b"}


def test_hosts_are_those_that_events_showed() -> None:
    queue = Woken(2)
    for uid, state in (("a", "holds"), ("b", "waits")):
        queue.places.observe(summary(uid, state, frozenset({"es.ns:9200"})))
    assert queue.places.turn("b")[:3] == (False, 1, "ns/a")


def test_a_benchmark_is_summarized_from_its_body() -> None:
    meta = {"uid": "u", "name": "bm", "namespace": "ns", "creationTimestamp": "2026"}
    found = summarize({"metadata": meta, "spec": {"target": {"hosts": ["http://es:9200"]}}})
    assert found == Summary("u", "ns/bm", "2026", "Pending", False, True, frozenset({"es.ns:9200"}))
    for status, admitted, lines_up in (
        ({"phase": "Pending", "step": {"name": "check"}}, False, False),
        ({"phase": "Racing", "admittedTime": "2026", "step": {"name": "race-1"}}, True, False),
        ({"phase": "Succeeded"}, False, False),
    ):
        found = summarize({"metadata": meta, "spec": {}, "status": status})
        assert (found.admitted, found.lines_up) == (admitted, lines_up)
    assert not summarize({"metadata": meta, "spec": {"suspend": True}}).lines_up


HOSTS = (frozenset[str](), frozenset({"x"}), frozenset({"y"}), frozenset({"x", "y"}))


@dataclass
class Benchmark:
    """One Benchmark: what the API server has, the events under way, and what its daemon is at."""

    uid: str
    created: str
    hosts: frozenset[str]
    state: str
    events: deque[str] = field(default_factory=deque)
    seen: str = ""
    awake: bool = True
    writing: bool = False
    fresh: bool = False
    """whether what is being written was decided by the newest version"""

    def becomes(self, state: str) -> None:
        self.state, self.fresh = state, False
        self.events.append(state)


class World:
    """Benchmarks, their daemons and a watch that may be late, around the queue."""

    def __init__(self, most: int, wanted: list[tuple[str, frozenset[str]]]) -> None:
        self.most = most
        self.places = Places(most, self.wake, self.wake_everyone)
        self.all = [
            Benchmark(f"b{i}", f"2026-01-{i:02}", hosts, state) for i, (state, hosts) in enumerate(wanted, start=1)
        ]
        self.admitted: list[str] = []
        for benchmark in self.all:
            benchmark.becomes(benchmark.state)
            self.event(benchmark)

    def wake(self, uid: str) -> None:
        for benchmark in self.all:
            benchmark.awake = benchmark.awake or benchmark.uid == uid

    def wake_everyone(self) -> None:
        for benchmark in self.all:
            benchmark.awake = True

    def event(self, benchmark: Benchmark) -> None:
        """The oldest event under way arrives."""
        if benchmark.events:
            benchmark.seen = benchmark.events.popleft()
            self.places.observe(summary(benchmark.uid, benchmark.seen, benchmark.hosts, benchmark.created))
            benchmark.awake = True

    def look(self, benchmark: Benchmark) -> None:
        """Its daemon looks, if it is awake: by what it has seen it waits, or its check has just ended."""
        if not benchmark.awake or benchmark.writing:
            return
        benchmark.awake = False
        if benchmark.seen in ("waits", "checks") and self.places.assume(benchmark.uid):
            benchmark.writing, benchmark.fresh = True, not benchmark.events
        elif benchmark.seen == "checks" and benchmark.state == "checks":
            benchmark.becomes("waits")
        self.check()

    def answer(self, benchmark: Benchmark) -> None:
        """The API server takes the admission, or refuses it, when the view that it was decided by is stale."""
        if not benchmark.writing:
            return
        benchmark.writing = False
        if benchmark.fresh:
            benchmark.becomes("holds")
            self.admitted.append(benchmark.uid)
        else:
            self.places.forget(benchmark.uid)
            benchmark.awake = True  # it looks again by itself
        self.check()

    def change(self, benchmark: Benchmark, state: str) -> None:
        """A user or a race's end changes it."""
        if benchmark.state not in (state, "over"):
            benchmark.becomes(state)

    def check(self) -> None:
        holding = [b for b in self.all if b.state == "holds" or (b.writing and b.fresh)]
        assert len(holding) <= self.most
        hosts = [host for b in holding for host in b.hosts]
        assert len(hosts) == len(set(hosts)), "two at the same host"
        assert not list(self.sleeping_through_their_turn())

    def settle(self) -> None:
        """All events and answers arrive, and who is awake looks, until all sleep."""
        while any(b.events or b.writing or b.awake for b in self.all):
            for benchmark in self.all:
                self.event(benchmark)
                self.answer(benchmark)
                self.look(benchmark)
        self.check()

    def sleeping_through_their_turn(self) -> Iterator[str]:
        idle = (b for b in self.all if not (b.awake or b.writing or b.events))
        return (b.uid for b in idle if b.state == "waits" and self.places.turn(b.uid).mine)


STATES = ("waits", "waits", "checks", "suspended")
ACTS = ("look", "look", "answer", "event", "event", "end", "suspend", "resume", "checks")


@settings(max_examples=400)
@given(
    st.integers(1, 2),
    st.lists(st.tuples(st.sampled_from(STATES), st.sampled_from(HOSTS)), min_size=2, max_size=5),
    st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 4)), min_size=10, max_size=60),
)
def test_whatever_comes_in_whatever_order(
    most: int, wanted: list[tuple[str, frozenset[str]]], acts: list[tuple[str, int]]
) -> None:
    world = World(most, wanted)
    for act, number in acts:
        benchmark = world.all[number % len(world.all)]
        match act:
            case "look":
                world.look(benchmark)
            case "answer":
                world.answer(benchmark)
            case "event":
                world.event(benchmark)
            case "end" if benchmark.state == "holds":
                world.change(benchmark, "over")
            case "suspend":
                world.change(benchmark, "suspended")
            case "resume" if benchmark.state == "suspended":
                world.change(benchmark, "waits")
            case "checks" if benchmark.state == "waits":
                world.change(benchmark, "checks")
        world.check()
    world.settle()
    # Nobody starves: when those that hold a place end one after the other, everybody who waits gets one, in turn.
    waiting = [b for b in world.all if b.state == "waits"]
    world.admitted.clear()
    while holders := [b for b in world.all if b.state == "holds"]:
        world.change(holders[0], "over")
        world.settle()
    assert sorted(world.admitted) == [b.uid for b in waiting]
    plain = [b.uid for b in waiting if not b.hosts]
    assert [uid for uid in world.admitted if uid in plain] == plain
