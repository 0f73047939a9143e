"""A Comparison lines up as one; its Benchmarks never do, and its place is lent to the one that it names."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlap.api.comparison_spec import Matrix
from fairlap.api.names import COMPARISON_KIND
from fairlap.plan.transition import describe_wait
from fairlap.queue.places import Places
from fairlap.queue.summary import Current, Summary, leader_uid, summarize, summarize_comparison
from fairlap.queue.turn import addresses

Json = dict[str, Any]
META: Json = {"uid": "c", "name": "upgrade", "namespace": "ns", "creationTimestamp": "2026"}


def comparison(state: str = "holds", current: str = "upgrade-1a", uid: str = "a", name: str = "ns/upgrade") -> Summary:
    phase = {"holds": "Racing", "waits": "Queued", "over": "Complete"}[state]
    found = Summary("c", name, "c", phase, state == "holds", state == "waits", kind=COMPARISON_KIND)
    return replace(found, current=(Current(f"{found.namespace}/{current}", uid),) if current else ())


def led(uid: str = "a", name: str = "ns/upgrade-1a", state: str = "", by: str = "c") -> Summary:
    phase = {"holds": "Racing", "over": "Succeeded"}.get(state, "Pending")
    return Summary(uid, name, uid, phase, state == "holds", False, led_by=by, checks=state == "checks")


def stranger(uid: str = "s", state: str = "waits") -> Summary:
    return Summary(
        uid, f"ns/{uid}", uid, "Racing" if state == "holds" else "Queued", state == "holds", state == "waits"
    )


class Queue:
    def __init__(self, *summaries: Summary, most: int = 1) -> None:
        self.woken: list[str] = []
        self.places = Places(most, self.woken.append, lambda: self.woken.append("everyone"))
        for each in summaries:
            self.places.observe(each)


@pytest.mark.parametrize(
    ("leader", "child", "mine"),
    [
        (comparison(), led(), True),
        (comparison(uid=""), led(), False),
        (comparison(uid="another"), led(), False),
        (comparison(current="upgrade-1b"), led(), False),
        (comparison(current=""), led(), False),
        (comparison("waits"), led(), False),
        (comparison("over"), led(), False),
        (comparison(name="elsewhere/upgrade", current="upgrade-1a"), led(), False),
        (comparison(), led(by="nobody"), False),
        (comparison(), led(name="ns/forged"), False),
        (stranger("c", "holds"), led(), False),
    ],
    ids=["named", "its uid is not written yet", "another of its name", "its mate's turn", "between races", "waits",
         "over", "elsewhere", "unknown", "forged", "no Comparison"],
)  # fmt: skip
def test_whose_turn_it_is_says_the_comparison(leader: Summary, child: Summary, mine: bool) -> None:
    places = Queue(leader, child).places
    assert places.turn(child.uid).may_go is places.turn(child.uid, "check").may_go is mine
    assert places.assume(child.uid) is mine and places.is_lent_one(child.uid) is mine


def test_whose_place_is_lent_is_told_whether_somebody_could_use_it() -> None:
    queue = Queue(comparison(), led())
    assert queue.places.turn("a").wanted == ""
    queue.places.observe(stranger())
    assert queue.places.turn("a").wanted == "s" == queue.places.turn("c").wanted
    assert Queue(comparison(), led(), stranger(), most=2).places.turn("a").wanted == "", "it has a place of its own"
    assert Queue(comparison("waits"), led(), stranger()).places.turn("a").wanted == ""


def test_an_assumed_place_of_the_comparison_is_lent_too() -> None:
    places = Queue(comparison("waits"), led()).places
    assert not places.turn("a").may_go and places.assume("c") and places.turn("a").may_go
    places.forget("c")
    assert not places.turn("a").may_go


@pytest.mark.parametrize(
    ("summaries", "words"),
    [
        ((comparison("waits"), led()), "waiting for its Comparison upgrade"),
        ((comparison("over"), led()), "waiting for its Comparison upgrade, which is over"),
        ((led(),), "waiting for its Comparison (not there)"),
    ],
)
def test_what_it_says_while_it_waits(summaries: tuple[Summary, ...], words: str) -> None:
    assert describe_wait(Queue(*summaries).places.turn("a"), "in the queue") == words


@pytest.mark.parametrize("state", ["holds", "waits", "over"])
def test_it_is_told_whether_its_turn_can_still_come(state: str) -> None:
    places = Queue(comparison(state, current="upgrade-1b"), led()).places
    assert places.turn("a").leader_over is places.turn("a", "check").leader_over is (state == "over")
    assert not Queue(led()).places.turn("a").leader_over, "it may not be known yet"


def test_a_block_takes_one_place_whoever_races() -> None:
    places = Queue(comparison(), led(state="holds"), stranger(), most=2).places
    assert places.turn("s").may_go, "the Comparison and its Benchmark are one"
    places.observe(led("b", "ns/upgrade-1b"))
    assert places.turn("s").may_go and places.turn("s").ahead == 0


def test_what_goes_on_without_its_comparison_is_in_a_place_of_its_own() -> None:
    for state in ("over", "gone"):
        places = Queue(comparison(), led(state="holds"), stranger()).places
        assert not places.turn("s").may_go
        places.remove("c") if state == "gone" else places.observe(comparison("over"))
        assert not places.turn("s").may_go and places.turn("s").behind == "ns/upgrade-1a"
        places.observe(led(state="over"))
        assert places.turn("s").may_go


def test_an_owner_that_is_written_later_frees_no_place() -> None:
    """A Benchmark in a place of its own is declared to be of a Comparison that holds another one."""
    places = Queue(comparison(), stranger("x", "holds"), stranger(), most=2).places
    assert not places.turn("s").may_go
    places.observe(replace(stranger("x", "holds"), led_by="c"))
    assert not places.turn("s").may_go


@pytest.mark.parametrize("owner", ["s0", ""])
def test_another_owner_written_while_it_races_makes_no_second_place(owner: str) -> None:
    places = Queue(comparison(), led(state="holds"), stranger()).places
    places.observe(led(state="holds", by=owner))
    assert places.is_lent_one("a") and places.holders() == {"c", "a"} and not places.turn("s").may_go
    places.observe(comparison("over"))
    assert not places.turn("s").may_go, "it races on in a place of its own"
    places.observe(led(state="over", by=owner))
    assert places.turn("s").may_go


def test_its_check_is_in_its_comparisons_place() -> None:
    places = Queue(comparison(), led(state="checks")).places
    for number in range(2):
        places.observe(replace(stranger(f"s{number}", ""), awaits_check=True))
    assert all(places.turn(f"s{number}", "check").may_go for number in range(2)), "the two places are free"


def test_its_benchmarks_are_woken_when_their_turn_comes_or_goes() -> None:
    queue = Queue(comparison("waits", current=""), led(), led("b", "ns/upgrade-1b"))
    queue.woken.clear()
    queue.places.observe(comparison(current=""))
    assert set(queue.woken) == {"a", "b"}
    queue.woken.clear()
    queue.places.observe(comparison())
    assert set(queue.woken) == {"a", "b"}
    queue.woken.clear()
    queue.places.observe(comparison())
    assert not queue.woken
    queue.places.remove("a")
    queue.woken.clear()
    queue.places.observe(comparison(current="upgrade-1b", uid="b"))
    assert queue.woken == ["b"]


def test_who_is_not_there_lends_nothing() -> None:
    places = Queue(comparison(), led()).places
    places.vanish({"c"})
    assert not places.turn("a").may_go
    places.vanish(set())
    places.set_aside("c")
    assert not places.turn("a").may_go and places.leader("a", "ns") == "c" and places.leader("a", "other") == ""


def test_a_comparison_is_told_which_of_its_own_cannot_go_on() -> None:
    places = Queue(comparison(), led(), led("b", "ns/upgrade-1b"), stranger()).places
    places.set_aside("s")
    assert places.aside("c") == set()
    places.set_aside("a")
    assert places.aside("c") == {"a"} and places.aside("s") == places.aside("nobody") == set()
    places.take_back("a")
    assert places.aside("c") == set()


def test_a_race_that_was_set_aside_has_lost_its_place_once_its_comparison_went_on_without_it() -> None:
    places = Queue(comparison(), led(state="holds"), led("b", "ns/upgrade-1b"), stranger()).places
    places.set_aside("a")
    assert not places.has_lost_place("a"), "its Comparison names it, and holds its place"
    places.set_aside("c")
    assert not places.has_lost_place("a"), "nobody has given it up"
    places.take_back("c")
    assert not places.has_lost_place("a")
    places.observe(comparison(current="upgrade-1b", uid="b"))
    assert places.has_lost_place("a") and not places.has_lost_place("b")
    places.observe(comparison("over", current=""))
    assert places.has_lost_place("a")


def test_what_is_left_of_a_deleted_race_holds_up_the_next_one_of_its_comparison_too() -> None:
    queue = Queue(comparison(), led(state="holds"), led("b", "ns/upgrade-1b"), most=2)
    assert queue.places.delete("a")
    queue.places.observe(comparison(current="upgrade-1b", uid="b"))
    assert not queue.places.turn("b").may_go and not queue.places.turn("b", "check").may_go
    assert not queue.places.assume("b") and not queue.places.is_lent_one("b")
    queue.woken.clear()
    queue.places.remove("a")
    assert queue.woken == ["everyone"] and queue.places.assume("b")


@pytest.mark.parametrize("by", ["c", "other"])
def test_what_is_left_of_a_deleted_race_takes_no_place_from_one_that_has_begun_nor_from_another_comparison(
    by: str,
) -> None:
    together = replace(comparison(), current=(Current("ns/upgrade-1a", "a"), Current("ns/upgrade-1b", "b")))
    begun = led("b", "ns/upgrade-1b", "holds" if by == "c" else "")
    places = Queue(together, led(state="holds", by=by), begun).places
    assert places.delete("a") and places.turn("b").may_go and places.is_lent_one("b")


def test_a_place_is_lent_to_all_that_are_raced_in_turn_and_stays_one_place() -> None:
    together = replace(comparison(), current=(Current("ns/upgrade-1a", "a"), Current("ns/upgrade-1b", "b")))
    queue = Queue(together, led(), led("b", "ns/upgrade-1b"), led("d", "ns/upgrade-1d"), stranger())
    places = queue.places
    assert places.turn("a").may_go and places.turn("b").may_go and not places.turn("d").may_go
    assert places.assume("a") and places.assume("b") and not places.turn("s").may_go
    places.observe(led("a", state="over"))
    assert places.turn("b").may_go and not places.turn("s").may_go
    queue.woken.clear()
    places.observe(replace(together, current=(Current("ns/upgrade-1a", "a"),)))
    assert {"a", "b", "d"} <= set(queue.woken) and not places.turn("b").may_go


def test_benchmarks_and_comparisons_are_counted_apart() -> None:
    places = Queue(comparison(), led()).places
    assert [found.uid for found in places.benchmarks()] == ["a"]
    assert [found.uid for found in places.comparisons()] == ["c"]


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({}, {}, (False, False, ())),
        ({"phase": "Pending"}, {}, (False, False, ())),
        ({"phase": "Queued"}, {}, (False, True, ())),
        ({"phase": "Queued"}, {"suspend": True}, (False, False, ())),
        ({"phase": "Racing", "admittedTime": "2026"}, {"suspend": True}, (True, False, ())),
        ({"phase": "Racing", "admittedTime": "2026", "block": {
          "races": [{"benchmark": "x", "valid": True}, {"benchmark": "y"}, {"benchmark": "z", "valid": False}]}}, {},
         (True, False, (Current("ns/y"),))),
        ({"phase": "Racing", "admittedTime": "2026", "block": {"stage": "Running",
          "races": [{"benchmark": "x", "uid": "u"}, {"benchmark": "y", "uid": "v"}]}}, {},
         (True, False, (Current("ns/x", "u"), Current("ns/y", "v")))),
        ({"phase": "Racing", "admittedTime": "2026", "block": {"stage": "Running",
          "races": [{"benchmark": "y", "uid": "u"}]}}, {}, (True, False, (Current("ns/y", "u"),))),
        ({"phase": "Racing", "admittedTime": "2026", "block": {"stage": "Recording", "races": [{"benchmark": "y"}]}},
         {}, (True, False, ())),
        ({"phase": "Complete"}, {}, (False, False, ())),
        ("nonsense", [], (False, False, ())),
        ({"phase": "Queued", "block": {"races": [3]}}, {"variants": 3}, (False, True, ())),
        ({"phase": "Queued"}, {"matrix": {"include": [3, {"at": 4}, {"at": {"target.hosts": 5}}]}},
         (False, True, ())),
    ],
)  # fmt: skip
def test_a_comparison_is_summarized_from_its_body(status: Any, spec: Any, expected: tuple[object, ...]) -> None:
    found = summarize_comparison({"metadata": META, "spec": spec, "status": status})
    assert (found.admitted, found.lines_up, found.current) == expected
    assert found.name == "ns/upgrade" and found.kind == COMPARISON_KIND and not found.led_by
    assert found.over is (isinstance(status, dict) and status.get("phase") == "Complete")


@pytest.mark.parametrize(
    ("hosts", "found"),
    [
        (["http://es:9200", "https://ES.ns.svc:9200", "http://es.ns.svc.cluster.local:9200"], {"es.ns:9200"}),
        (["http://[fd00::1]:9200", "http://[FD00:0:0::0001]:9200"], {"[fd00::1]:9200"}),
        (["http://[fd00::1]:9200", "http://[fd00::1]:9201"], {"[fd00::1]:9200", "[fd00::1]:9201"}),
        (["http://[nonsense]:1"], {"[nonsense]:1"}),
    ],
)
def test_one_host_has_one_address_however_it_is_written(hosts: list[str], found: set[str]) -> None:
    assert addresses(hosts, "ns") == found


VERSIONS: Json = {"path": "elasticsearch.version", "values": ["8.11.0", "9.0.0"]}


@pytest.mark.parametrize(
    "spec",
    [
        {"template": {"target": {"hosts": ["http://es:9200"]}}},
        {"template": {}, "variants": [{"name": "a"}, {"name": "b", "target": {"hosts": ["http://es:9200"]}}]},
        {"variants": [{"name": "b", "patch": {"target": {"hosts": ["http://es:9200"]}}}]},
        {"matrix": {"axes": [VERSIONS], "include": [{"at": {"target.hosts": ["http://es:9200"]}}]}},
        {"matrix": {"axes": [VERSIONS], "include": [{"at": {"target": {"hosts": ["http://es:9200"]}}}]}},
    ],
)
def test_the_hosts_of_all_variants_are_its_own(spec: Json) -> None:
    if "matrix" in spec:
        Matrix.model_validate(spec["matrix"])
    assert summarize_comparison({"metadata": META, "spec": spec}).hosts == {"es.ns:9200"}
    over = {"metadata": META, "spec": spec, "status": {"phase": "Failed"}}
    assert summarize_comparison(over).hosts == frozenset(), "nobody asks any more"


def test_hosts_that_no_benchmark_could_have_are_not_held() -> None:
    """What a patch names has no schema until the Comparison is refused, and all are held before any is."""
    odd = [f"http://{'x' * 1_400_000}\U0001f600:9200", f"http://{'x' * 300}:9200", "http://é:9200", 7, ["http://a:1"]]
    many = [f"http://es-{number}:9200" for number in range(500)]
    spec = {"template": {}, "variants": [{"name": "b", "patch": {"target": {"hosts": [*odd, *many]}}}]}
    expected = {f"es-{number}.ns:9200" for number in range(20)}
    assert summarize_comparison({"metadata": META, "spec": spec}).hosts == expected
    assert summarize({"metadata": META, "spec": {"target": {"hosts": [*odd, *many]}}}).hosts == expected


OWNER: Json = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "c", "uid": "c", "controller": True}


@pytest.mark.parametrize(
    ("references", "uid"),
    [
        ([OWNER], "c"),
        ([{**OWNER, "controller": False}], ""),
        ([{**OWNER, "apiVersion": "apps/v1"}], ""),
        ([{**OWNER, "kind": "Benchmark"}], ""),
        ([{"kind": "x"}, OWNER], "c"),
        ([{**OWNER, "uid": "c" * 99_000}], "c" * 64),
        ("nonsense", ""),
        (None, ""),
        ([3], ""),
    ],
)
def test_who_leads_a_benchmark_says_its_controller(references: object, uid: str) -> None:
    body = {"metadata": {**META, "ownerReferences": references}, "spec": {}, "status": {"phase": "Pending"}}
    found = summarize(body)
    assert found.led_by == leader_uid(body) == uid
    assert found.awaits_check is not bool(uid) and not found.lines_up


NAMES = ("ns/upgrade-1a", "ns/upgrade-1b")
CHANGES: dict[str, Callable[[st.DataObject], Summary]] = {
    "comparison": lambda data: comparison(
        data.draw(st.sampled_from(["holds", "waits", "over"])), data.draw(st.sampled_from(["upgrade-1a", "", "x"]))
    ),
    "led": lambda data: led(
        data.draw(st.sampled_from("ab")), data.draw(st.sampled_from(NAMES)), by=data.draw(st.sampled_from(["c", "s0"]))
    ),
}


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 2))
def test_whatever_tenants_declare_they_win_no_place(data: st.DataObject, most: int) -> None:
    """Who races is only ever a holder, or the one Benchmark that a holding Comparison names."""
    queue = Queue(most=most)
    racing: set[str] = set()
    named: dict[str, str] = {}
    for _ in range(data.draw(st.integers(1, 25))):
        act = data.draw(st.sampled_from(["comparison", "led", "stranger", "begin", "end"]))
        if act in CHANGES:
            told = CHANGES[act](data)
            if told.uid in named:  # nothing gets another name
                told = replace(told, name=named[told.uid])
            holding = told.uid in racing
            was = queue.places.turn(told.uid)
            if told.kind == COMPARISON_KIND and told.admitted and not was.may_go:
                continue  # only the operator writes that, when it was its turn
            raced = {Current(NAMES[0], uid) for uid in racing if queue.places.is_lent_one(uid)}
            if told.kind == COMPARISON_KIND and told.admitted and raced - {*told.current}:
                continue  # it names the next one, or none, only when the one before has ended
            named[told.uid] = told.name
            queue.places.observe(replace(told, admitted=holding or told.admitted))
        elif act == "stranger":
            uid = data.draw(st.sampled_from(["s0", "s1"]))
            if uid not in racing:
                queue.places.observe(stranger(uid))
        else:
            uid = data.draw(st.sampled_from(["a", "b", "s0", "s1"]))
            seen = next((each for each in queue.places.benchmarks() if each.uid == uid), None)
            if seen and act == "begin" and uid not in racing and queue.places.assume(uid):
                racing.add(uid)
                queue.places.observe(replace(seen, admitted=True, lines_up=False, phase="Racing"))
            elif seen and act == "end" and uid in racing:
                racing.discard(uid)
                queue.places.observe(replace(seen, admitted=False, lines_up=False, phase="Succeeded"))
        leader = next(iter(queue.places.comparisons()), None)
        block = leader is not None and leader.uid in queue.places.holders()
        lent = {uid for uid in racing if queue.places.is_lent_one(uid)}
        assert len(lent) <= 1 and len(racing - lent) + block <= most, (racing, lent, block)


def test_the_races_of_a_duet_are_no_strangers_to_each_other() -> None:
    leader = replace(comparison(), current=(Current("ns/upgrade-1a", "a"), Current("ns/upgrade-1b", "b")))
    mates = led("a", state="holds"), led("b", "ns/upgrade-1b", "holds")
    places = Queue(leader, *mates, most=2).places
    assert places.strangers("a", "ns") == places.strangers("b", "ns") == set()
    places.observe(stranger("s", "holds"))
    assert places.strangers("a", "ns") == places.strangers("b", "ns") == {"s"}
    assert places.strangers("s", "ns") == {"c", "a", "b"}
    # One to which the place is not lent any more races by itself: nothing has it wait for the others.
    places.observe(replace(leader, current=leader.current[:1]))
    assert places.strangers("a", "ns") == {"b", "s"}


def test_the_benchmarks_of_one_comparison_are_siblings() -> None:
    places = Queue(comparison(), led("a"), led("b", "ns/upgrade-1b"), led("x", "ns/other-1a", by="other")).places
    assert places.siblings("a") == {"b"} and places.siblings("b") == {"a"} and places.siblings("x") == set()
    assert places.siblings("c") == places.siblings("unknown") == set()
