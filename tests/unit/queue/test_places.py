"""The queue's owner: never more places than there are, each to the first in line, and nobody sleeps through a turn."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.steps import CHECK
from fairlap.queue.places import Places
from fairlap.queue.summary import Summary, held_place, summarize


def summary(
    uid: str, state: str = "waits", hosts: frozenset[str] = frozenset(), since: str = "", namespace: str = "ns"
) -> Summary:
    phase = {"over": "Succeeded", "holds": "Racing", "waits": "Queued"}.get(state, "Pending")
    found = Summary(uid, f"{namespace}/{uid}", since or uid, phase, state == "holds", state == "waits", hosts)
    checks, awaits = state == "checks", state == "unchecked"
    return replace(found, checks=checks, awaits_check=awaits, comes=checks or awaits)


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


def test_who_is_set_aside_holds_up_nobody_and_may_come_back() -> None:
    queue = Woken(1, a="holds", b="waits", c="waits")
    queue.places.set_aside("a")
    assert queue.woken() == {"everyone"} and queue.places.turn("b").may_go and not queue.places.turn("c").may_go
    queue.places.set_aside("b")
    assert queue.places.turn("c").may_go and queue.places.assume("c")
    assert queue.places.holders() == {"c"}
    queue.places.take_back("a")
    queue.places.take_back("nobody")
    assert queue.places.holders() == {"a", "c"}, "what is written is believed again"
    queue.places.set_aside("b")
    queue.places.remove("b")
    queue.places.observe(summary("b", "holds"))
    assert "b" in queue.places.holders()


def test_who_was_set_aside_knows_whether_others_have_its_place() -> None:
    places = Woken(1, a="holds", b="waits").places
    assert not places.has_lost_place("a")
    places.set_aside("a")
    assert places.has_lost_place("a"), "b gets it next"
    places.observe(summary("b", "over"))
    assert not places.has_lost_place("a"), "nobody wants it"
    places.observe(summary("c", "holds"))
    assert places.has_lost_place("a") and not places.has_lost_place("b") and not places.has_lost_place("nobody")
    places.take_back("a")
    assert not places.has_lost_place("a")


def test_the_share_of_its_namespace_is_asked_of_one_that_was_set_aside_and_comes_back() -> None:
    places = Places(3, lambda _: None, lambda: None, share=1)
    places.observe(summary("a", "holds"))
    places.observe(summary("b"))
    places.set_aside("a")
    assert places.turn("a").may_go is False and places.has_lost_place("a"), "b gets the share next"
    assert places.assume("b")
    assert places.turn("a")[:4] == (False, 1, "ns/b", 1) and places.has_lost_place("a")
    places.observe(summary("b", "over"))
    places.observe(summary("other", "holds", namespace="theirs"))
    assert not places.has_lost_place("a") and places.assume("a"), "that is the share of another namespace"


def test_one_that_was_deleted_in_its_place_keeps_it_until_all_of_it_is_gone() -> None:
    queue = Woken(1, a="holds", b="waits")
    assert queue.places.delete("a") and queue.places.holders() == {"a"} and not queue.places.holders("check")
    assert not queue.places.is_known("a", "ns") and not queue.places.uids_in("ns") - {"b"}
    turn = queue.places.turn("b")
    assert (turn.may_go, turn.behind) == (False, "ns/a (deleted, and not all gone yet)")
    assert not queue.places.assume("b") and queue.woken()
    queue.places.remove("a")
    assert queue.woken() == {"everyone"} and queue.places.assume("b") and queue.places.holders() == {"b"}


def test_the_hosts_of_one_that_was_deleted_are_kept_as_its_place_is() -> None:
    places = Woken(3).places
    for uid, state, host in (("a", "holds", "h:1"), ("b", "waits", "h:1"), ("c", "waits", "other:1")):
        places.observe(summary(uid, state, frozenset({host})))
    assert places.delete("a") and not places.turn("b").may_go and places.turn("c").may_go
    places.remove("a")
    assert places.turn("b").may_go


@pytest.mark.parametrize("state", ["waits", "unchecked", "checks", "over"])
def test_one_that_was_deleted_without_a_place_holds_none(state: str) -> None:
    places = Woken(1, a=state).places
    assert not places.delete("a") and not places.holders() and not places.uids_in("ns")


def test_one_that_was_set_aside_and_deleted_holds_no_place() -> None:
    places = Woken(1, a="holds").places
    places.set_aside("a")
    assert not places.delete("a") and not places.holders()


def test_a_place_is_taken_while_the_write_of_one_that_was_set_aside_is_on_its_way() -> None:
    queue = Woken(1, a="waits")
    queue.places.set_aside("a")
    queue.places.observe(summary("b", "unchecked"))
    assert queue.places.assume("a") and queue.places.holders() == {"a"}
    queue.places.observe(summary("b"))
    assert not queue.places.assume("b") and queue.places.holders() == {"a"}
    queue.places.forget("a")
    queue.places.set_aside("a")
    assert queue.places.assume("b") and not queue.places.assume("a"), "refused, it is behind all that wait"


@pytest.mark.parametrize(
    "body",
    [
        {"spec": None, "status": None},
        {"spec": [], "status": "Racing"},
        {"spec": {"target": {"hosts": "https://a:1"}}, "status": {"phase": 3}},
        {"spec": {"target": {"hosts": [None, 1, "nonsense"]}}, "status": {"phase": None, "step": []}},
        {"spec": {"target": None, "suspend": "yes"}},
    ],
    ids=str,
)
def test_a_body_that_makes_no_sense_is_summarized_all_the_same(body: dict[str, object]) -> None:
    meta = {"uid": "u", "name": "bm", "namespace": "ns", "creationTimestamp": "2026", "labels": None}
    assert summarize({"metadata": meta, **body}).name == "ns/bm"


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
        ("checks", "holds", set()),
        ("unchecked", "checks", set()),
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


def test_checks_have_places_of_their_own() -> None:
    queue = Woken(a="unchecked", b="unchecked", c="unchecked", d="waits")
    assert queue.places.assume("d"), "who waits for a check is not before it"
    assert not queue.places.assume("c", "check"), "there are two places, and two before it"
    assert queue.places.assume("a", "check") and queue.places.assume("b", "check")
    assert queue.places.turn("c", "check")[:3] == (False, 1, "ns/b") and queue.places.holders("check") == {"a", "b"}
    queue.places.observe(summary("a", "checks"))
    assert not queue.places.assume("c", "check") and queue.woken() == set()
    queue.places.forget("b")
    assert queue.woken() == {"b"}, "it is the first in line"
    queue.places.forget("a")
    assert not queue.places.assume("c", "check"), "b is before it, and what a has was written"
    queue.places.observe(summary("a", "over"))
    assert queue.woken() == {"everyone"} and queue.places.assume("c", "check")


def test_from_the_check_to_a_place_for_races() -> None:
    queue = Woken(a="checks", b="checks", c="unchecked")
    assert queue.places.assume("a") and queue.places.holders() == {"a"}
    assert queue.places.holders("check") == {"a", "b"}, "until its status says that the check is over"
    queue.places.forget("a", but="check")
    assert queue.woken() == {"everyone"} and queue.places.holders() == set()
    assert queue.places.assume("a")
    queue.places.observe(summary("a", "holds"))
    assert queue.woken() == {"c"} and queue.places.holders() == {"a"} and queue.places.assume("c", "check")


def test_what_is_written_is_not_given_up() -> None:
    queue = Woken(a="waits", b="waits")
    assert queue.places.assume("a")
    queue.places.observe(summary("a", "holds"))
    queue.places.forget("a")
    assert queue.places.turn("a").may_go and not queue.places.assume("b") and queue.woken() == set()
    queue.places.observe(summary("a", "suspended"))
    assert queue.places.assume("b")


def test_two_that_decide_at_once_do_not_both_get_the_only_place() -> None:
    """In their track checks they are not in the queue, so that they do not see each other there."""
    queue = Woken(a="checks", b="checks")
    assert queue.places.turn("a").may_go and queue.places.turn("b").may_go
    assert queue.places.assume("b") and not queue.places.assume("a")


def test_who_was_deleted_holds_nothing() -> None:
    queue = Woken(a="holds", b="waits")
    queue.places.remove("a")
    assert queue.woken() == {"everyone"} and queue.places.assume("b")
    assert queue.places.assume("a") is False and queue.places.holders() == {"b"}
    assert Woken().places.assume("gone") is True, "the API server will say that it is gone"
    assert queue.places.uids_in("") == {"b"}


def test_who_vanished_holds_nothing_and_is_not_counted() -> None:
    queue = Woken(a="holds", b="waits", c="waits")
    queue.places.vanish({"a"})
    assert queue.woken() == {"everyone"} and queue.places.assume("b")
    assert {found.uid for found in queue.places.benchmarks()} == {"b", "c"}
    assert queue.places.uids_in("") == {"a", "b", "c"}, "asked for again: it may be the view that was wrong"
    queue.places.vanish({"a"})
    assert queue.woken() == set()
    queue.places.vanish(set())
    assert queue.woken() == {"everyone"} and queue.places.holders() == {"a", "b"}


def test_a_namespace_that_is_left_out_holds_nothing_until_events_show_it_again() -> None:
    queue = Woken(a="holds", b="waits")
    queue.places.observe(Summary("c", "ns-2/c", "2026", "Queued", False, True))
    assert queue.places.uids_in("ns") == {"a", "b"} and queue.places.uids_in("") == {"a", "b", "c"}
    queue.places.leave_out("ns")
    assert queue.woken() == {"everyone"} and queue.places.uids_in("") == {"c"}
    assert queue.places.assume("c")
    queue.places.observe(summary("a", "holds"))
    assert queue.places.holders() == {"a", "c"}, "what it holds counts again"


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
    assert summarize({"metadata": meta, "status": {"queuedTime": "2027"}}).since == "2027"


ACCEPTED = {"conditions": [{"type": "Accepted", "status": "True"}]}


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"phase": "Pending"}, "unchecked"),
        ({"phase": "Pending", **ACCEPTED}, "waits"),
        ({"phase": "Pending", "finishedStep": "check"}, "waits"),
        ({"phase": "Pending", "step": {"name": "check"}}, "checks"),
        ({"phase": "Racing", "step": {"name": "race-1"}, "admittedTime": "2026"}, ""),
        ({"phase": "Failed"}, ""),
    ],
)
def test_a_track_check_has_a_line_of_its_own(status: dict[str, Any], found: str) -> None:
    meta = {"uid": "u", "name": "bm", "namespace": "ns", "creationTimestamp": "2026"}
    told = summarize({"metadata": meta, "spec": {}, "status": status})
    assert (told.lines_up, told.awaits_check, told.checks) == tuple(
        found == word for word in ("waits", "unchecked", "checks")
    )
    assert told.comes == (found in ("unchecked", "checks"))
    place = told.says_it_holds("check"), told.says_it_holds("race")
    held = held_place(BenchmarkStatus.model_validate({**status, "conditions": [], **_step(status)}))
    assert place == (held == "check", held == "race")
    suspended = summarize({"metadata": meta, "spec": {"suspend": True}, "status": status})
    assert not suspended.awaits_check and not suspended.comes
    on_target = summarize({"metadata": meta, "spec": {"target": {"hosts": ["http://es:9200"]}}, "status": status})
    assert not on_target.awaits_check, "its check is made in the place for its races"


def _step(status: dict[str, Any]) -> dict[str, Any]:
    return {"step": {**status["step"], "stage": "Running", "since": "2026"}} if "step" in status else {}


def test_the_name_of_the_step_is_that_of_the_plan() -> None:
    status = {"phase": "Pending", "conditions": [], **_step({"step": {"name": CHECK}})}
    assert held_place(BenchmarkStatus.model_validate(status)) == "check"


HOSTS = (frozenset[str](), frozenset({"x"}), frozenset({"y"}), frozenset({"x", "y"}))
NEXT = {"unchecked": "checks", "waits": "holds", "checks": "holds"}
"""what the state becomes with the place that is asked for in it"""


@dataclass
class Benchmark:
    """One Benchmark: what the API server has, the events under way, and what its daemon is at."""

    uid: str
    namespace: str
    since: str
    hosts: frozenset[str]
    state: str
    events: deque[tuple[str, str]] = field(default_factory=deque)
    seen: str = ""
    awake: bool = True
    writing: str = ""
    """the state that is being written"""
    fresh: bool = False
    """whether what is being written was decided by the newest version"""

    def becomes(self, state: str) -> None:
        self.state, self.fresh = state, False
        self.events.append((state, self.since))

    def holds(self, state: str) -> bool:
        return self.state == state or (self.writing == state and self.fresh)


class World:
    """Benchmarks, their daemons and a watch that may be late, around the queue."""

    def __init__(self, most: int, checks: int, share: int, wanted: list[tuple[str, str, frozenset[str]]]) -> None:
        self.most, self.checks, self.share, self.clock = most, checks, share, 1000
        self.admitted: list[str] = []
        self.all = [
            Benchmark(f"b{i}", namespace, f"{i:04}", hosts, state)
            for i, (state, namespace, hosts) in enumerate(wanted, start=1)
        ]
        for benchmark in self.all:
            benchmark.becomes(benchmark.state)
        self.restart()

    def restart(self) -> None:
        """A new operator: it knows what the API server has, and nothing that was assumed; no write is under way."""
        self.places = Places(self.most, self.wake, self.wake_everyone, self.checks, self.share)
        for benchmark in self.all:
            benchmark.events.clear()
            benchmark.events.append((benchmark.state, benchmark.since))
            benchmark.writing, benchmark.fresh = "", False
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
            benchmark.seen, since = benchmark.events.popleft()
            told = summary(benchmark.uid, benchmark.seen, benchmark.hosts, since, benchmark.namespace)
            self.places.observe(told)
            benchmark.awake = True

    def look(self, benchmark: Benchmark) -> None:
        """Its daemon looks, if it is awake: by what it has seen it waits, or its check has just ended."""
        if not benchmark.awake or benchmark.writing:
            return
        benchmark.awake = False
        wanted = NEXT.get(benchmark.seen)
        if wanted and self.places.assume(benchmark.uid, "check" if wanted == "checks" else "race"):
            benchmark.writing, benchmark.fresh = wanted, not benchmark.events
        elif benchmark.seen == "checks" and benchmark.state == "checks":
            benchmark.becomes("waits")
        elif wanted is None:  # it needs no other place than it has
            self.places.forget(benchmark.uid, "race" if benchmark.seen == "holds" else None)
        self.check()

    def answer(self, benchmark: Benchmark, *, lost: bool = False) -> None:
        """The API server takes what is written, or refuses it, when the view that it was decided by is stale.

        A lost answer may belong to either: what was assumed is kept until the next look, which is to decide.
        """
        if not benchmark.writing:
            return
        before, benchmark.writing, wanted = benchmark.state, "", benchmark.writing
        if benchmark.fresh:
            benchmark.becomes(wanted)
            if wanted == "holds":
                self.admitted.append(benchmark.uid)
        elif not lost:
            self.places.forget(benchmark.uid, "check" if before == "checks" else None)
        benchmark.awake = True  # it looks again by itself
        self.check()

    def change(self, benchmark: Benchmark, state: str) -> None:
        """A user or a race's end changes it."""
        if benchmark.state not in (state, "over"):
            benchmark.becomes(state)

    def give_way(self, benchmark: Benchmark) -> bool:
        """No machine has room for it: if somebody could use its place, it lines up again behind all who wait."""
        wanted = self.places.turn(benchmark.uid).wanted
        if benchmark.state != "holds" or benchmark.events or benchmark.writing or not wanted:
            return False
        self.clock += 1
        benchmark.since = str(max(self.clock, int(wanted) + 1))
        benchmark.becomes("waits")
        return True

    def check(self) -> None:
        holding = [b for b in self.all if b.holds("holds")]
        assert len(holding) <= self.most
        hosts = [host for b in holding for host in b.hosts]
        assert len(hosts) == len(set(hosts)), "two at the same host"
        most = max(Counter(b.namespace for b in holding).values(), default=0)
        assert not self.share or most <= self.share
        checking = [b for b in self.all if b.holds("checks")]
        assert len(checking) <= self.checks
        most = max(Counter(b.namespace for b in checking).values(), default=0)
        assert not self.share or most <= self.share
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
        for benchmark in idle:
            if benchmark.state == "waits" and self.places.turn(benchmark.uid).may_go:
                yield benchmark.uid
            if benchmark.state == "unchecked" and self.places.turn(benchmark.uid, "check").may_go:
                yield benchmark.uid


STATES = ("waits", "waits", "unchecked", "unchecked", "checks", "suspended")
ACTS = ("look", "look", "answer", "lost", "event", "event", "end", "suspend", "resume", "restart", "give way")


@settings(max_examples=400)
@given(
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 2),
    st.lists(st.tuples(st.sampled_from(STATES), st.sampled_from("nm"), st.sampled_from(HOSTS)), min_size=2, max_size=6),
    st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 5)), min_size=10, max_size=60),
)
def test_whatever_comes_in_whatever_order(
    most: int, checks: int, share: int, wanted: list[tuple[str, str, frozenset[str]]], acts: list[tuple[str, int]]
) -> None:
    # Who races on an existing cluster has its check in the place for its races.
    wanted = [("waits" if state in ("unchecked", "checks") and hosts else state, name, hosts)
              for state, name, hosts in wanted]  # fmt: skip
    world = World(most, checks, share, [entry for entry in wanted if entry[0] != "checks"])
    if not world.all:
        return
    for act, number in acts:
        benchmark = world.all[number % len(world.all)]
        match act:
            case "look":
                world.look(benchmark)
            case "answer" | "lost":
                world.answer(benchmark, lost=act == "lost")
            case "event":
                world.event(benchmark)
            case "end" if benchmark.state in ("holds", "checks"):
                world.change(benchmark, "over")
            case "suspend" if benchmark.state != "checks":
                world.change(benchmark, "suspended")
            case "resume" if benchmark.state == "suspended":
                world.change(benchmark, "waits")
            case "restart":
                world.restart()
            case "give way":
                world.give_way(benchmark)
        world.check()
    world.settle()
    finish(world)


def test_who_lines_up_before_one_of_its_namespace_wakes_whom_that_one_kept_off_a_host() -> None:
    none, x = frozenset[str](), frozenset({"x"})
    world = World(2, 1, 1, [("suspended", "m", none), ("waits", "m", x), ("waits", "n", x)])
    world.look(world.all[2])
    world.change(world.all[0], "waits")
    world.settle()
    finish(world)


def test_who_lines_up_before_one_at_a_host_wakes_whom_that_one_kept_off_its_share() -> None:
    none = frozenset[str]()
    world = World(
        2, 1, 1, [("suspended", "n", frozenset({"x"})), ("waits", "m", frozenset({"x"})), ("waits", "m", none)]
    )
    world.look(world.all[2])
    world.change(world.all[0], "waits")
    world.settle()
    finish(world)


def finish(world: World) -> None:
    """Nobody starves: when those that hold a place end one after the other, everybody gets one, in turn."""
    waiting = sorted((b for b in world.all if b.state == "waits"), key=lambda b: (b.since, b.uid))
    world.admitted.clear()
    while holders := [b for b in world.all if b.state in ("holds", "checks")]:
        world.change(holders[0], "over")
        world.settle()
    assert {b.state for b in world.all} <= {"over", "suspended"}
    assert {b.uid for b in waiting} <= set(world.admitted)
    for namespace in "nm":
        plain = [b.uid for b in waiting if not b.hosts and b.namespace == namespace]
        assert [uid for uid in world.admitted if uid in plain] == plain


@given(st.integers(1, 2), st.integers(2, 5), st.lists(st.integers(0, 4), max_size=30))
def test_who_gives_way_goes_behind_all_who_wait_and_comes_back(most: int, many: int, tries: list[int]) -> None:
    world = World(most, 2, 0, [("waits", "n", HOSTS[0])] * many)
    world.settle()
    for number in tries:
        benchmark = world.all[number % many]
        waiting = [b.uid for b in world.all if b.state == "waits"]
        if world.give_way(benchmark):
            world.admitted.clear()
            world.settle()
            assert world.admitted and world.admitted[0] in waiting
            assert world.places.turn(benchmark.uid).ahead == len(waiting), "the new holder, and who waited with it"
    finish(world)


def test_a_child_in_another_namespace_wakes_nobody() -> None:
    places = Woken(a="waits").places
    assert places.is_known("a", "ns")
    assert not places.is_known("a", "theirs") and not places.is_known("b", "ns")


def test_a_look_at_the_queue_asks_none_of_those_that_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 that race look at it in a start, and 5,000 that are over are known by then."""
    places = Places(1, lambda _: None, lambda: None)
    for number in range(50):
        places.observe(summary(f"done-{number}", "over"))
    places.observe(summary("a", "holds"))
    asked: list[str] = []
    monkeypatch.setattr(Summary, "waits_for", lambda self, place: bool(asked.append(self.uid)))
    monkeypatch.setattr(Summary, "over", property(lambda self: bool(asked.append(self.uid))))
    assert places.turn("a").may_go and places.holders() == {"a"}
    assert set(asked) == {"a"}


def test_when_all_look_at_the_line_it_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant may have thousands in line. Each that was woken sorted all of them: minutes, for every place freed."""
    many, asked = 300, 0
    queue = Woken(1, a="holds")
    for number in range(many):
        queue.places.observe(summary(f"b{number:03}"))
    waits_for = Summary.waits_for

    def counted(self: Summary, place: Any) -> bool:
        nonlocal asked
        asked += 1
        return waits_for(self, place)

    monkeypatch.setattr(Summary, "waits_for", counted)
    for number in range(many):
        uid = f"b{number:03}"
        assert not queue.places.turn(uid).may_go and queue.places.turn(uid, "check").may_go
        queue.places.observe(summary(uid))  # the event of what it says meanwhile
    assert queue.places.turn("b299").ahead == many
    assert asked <= 4 * many
    queue.places.observe(summary("a", "over"))
    assert queue.places.turn("b000").may_go and queue.places.turn("b299").ahead == many - 1


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["turn", "waits", "holds", "over", "unchecked", "gone",
             "assume", "forget", "aside", "back", "vanish"])), max_size=40),
    st.integers(1, 2),
    st.integers(0, 1),
)  # fmt: skip
def test_what_is_remembered_of_the_line_is_what_it_is(acts: list[tuple[str, str]], most: int, share: int) -> None:
    asked_all_along = Places(most, lambda _: None, lambda: None, 1, share)
    for number, (uid, act) in enumerate(acts, 1):
        carry_out(asked_all_along, uid, act)
        never_asked = Places(most, lambda _: None, lambda: None, 1, share)
        for earlier in acts[:number]:
            if earlier[1] != "turn":
                carry_out(never_asked, *earlier)
        assert all_turns(asked_all_along) == all_turns(never_asked)


def carry_out(places: Places, uid: str, act: str) -> None:
    match act:
        case "turn":
            places.turn(uid)
        case "gone":
            places.remove(uid)
        case "assume":
            places.assume(uid)
        case "forget":
            places.forget(uid)
        case "aside":
            places.set_aside(uid)
        case "back":
            places.take_back(uid)
        case "vanish":
            places.vanish({uid})
        case _:
            places.observe(summary(uid, act))


def all_turns(places: Places) -> dict[str, tuple[Any, Any]]:
    return {each: (places.turn(each), places.turn(each, "check")) for each in "abcd"}
