"""The queue: first come, first served, never more than the places there are."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.queue.turn import Turn, Turns, Waiting, addresses


def turn(
    uid: str, everyone: Iterable[Waiting], places: int, hosts: frozenset[str] = frozenset(), share: int = 0
) -> Turn:
    return Turns(everyone, places, share).turn_of(uid, hosts)


def admissible(everyone: Iterable[Waiting], places: int, share: int = 0) -> list[str]:
    return [*Turns(everyone, places, share).admissible()]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=12),
    st.integers(1, 4),
)
def test_exactly_the_free_places_are_given_to_the_earliest(entries: list[tuple[int, bool]], places: int) -> None:
    everyone = [
        Waiting(str(i), f"ns/{i:02}", f"2026-01-01T00:00:0{created}Z", admitted, not admitted)
        for i, (created, admitted) in enumerate(entries)
    ]
    held = sum(b.admitted for b in everyone)
    free = max(0, places - held)
    waiting = sorted((b for b in everyone if not b.admitted), key=lambda b: (b.since, b.name))
    mine = [b for b in waiting if turn(b.uid, everyone, places).may_go]
    assert mine == waiting[:free]
    assert all(turn(b.uid, everyone, places).may_go for b in everyone if b.admitted)


def test_says_how_many_are_before_it() -> None:
    everyone = [Waiting(n, f"ns/{n}", "2026", n == "a", n != "a") for n in "abc"]
    found = turn("c", everyone, 1)
    assert (found.may_go, found.ahead, found.behind) == (False, 2, "ns/b")


def target(name: str, *hosts: str, admitted: bool = False) -> Waiting:
    return Waiting(name, f"ns/{name}", "2026", admitted, not admitted, addresses(hosts, "ns"))


def mine(everyone: list[Waiting], places: int) -> list[str]:
    return [b.name for b in everyone if not b.admitted and turn(b.uid, everyone, places, b.hosts).may_go]


def test_two_never_race_against_the_same_host() -> None:
    everyone = [target("a", "http://x:9200", admitted=True), target("b", "http://x:9200"), target("c", "http://y:9200")]
    assert mine(everyone, 4) == ["ns/c"]
    found = turn("b", everyone, 4, everyone[1].hosts)
    assert (found.ahead, found.behind) == (1, "ns/a")


def test_who_waits_for_a_host_is_not_overtaken_there_and_holds_up_nobody_else() -> None:
    everyone = [
        target("a", "http://x:9200", admitted=True), target("b", "http://x:9200", "http://y:9200"),
        target("c", "http://y:9200"), target("d"),
    ]  # fmt: skip
    assert mine(everyone, 2) == ["ns/d"]


def test_the_same_service_under_its_names() -> None:
    names = ["http://es:9200", "https://es.ns:9200", "http://ES.ns.svc:9200", "http://es.ns.svc.cluster.local:9200"]
    assert len({addresses([name], "ns") for name in names}) == 1
    assert addresses(["http://es:9200"], "other") != addresses(["http://es:9200"], "ns")
    assert addresses(["http://es:9201"], "ns") != addresses(["http://es:9200"], "ns")


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.booleans(), st.booleans(), st.sets(st.sampled_from("xyz"), max_size=2)),
        max_size=12,
    ),
    st.integers(1, 4),
)
def test_those_that_may_go_now_are_those_whose_turn_it_is(
    entries: list[tuple[int, bool, bool, set[str]]], places: int
) -> None:
    everyone = [
        Waiting(str(i), f"ns/{i:02}", f"2026-01-01T00:00:0{created}Z", admitted, queued, frozenset(hosts))
        for i, (created, admitted, queued, hosts) in enumerate(entries)
    ]
    waiting = sorted((b for b in everyone if b.queued and not b.admitted), key=lambda b: (b.since, b.name))
    assert admissible(everyone, places) == [b.uid for b in waiting if turn(b.uid, everyone, places, b.hosts).may_go]


def waits(name: str, since: str = "2026", *, admitted: bool = False) -> Waiting:
    return Waiting(name, name, since, admitted, not admitted)


def test_a_namespace_that_has_its_share_waits_and_others_go_on() -> None:
    everyone = [waits("a/1", "1", admitted=True), waits("a/2", "2"), waits("a/3", "3"), waits("b/1", "4")]
    assert admissible(everyone, 3, 1) == ["b/1"]
    assert turn("b/1", everyone, 3, share=1).may_go
    assert turn("a/3", everyone, 3, share=1)[:4] == (False, 2, "a/2", 1)
    assert admissible(everyone, 3, 2) == ["a/2", "b/1"], "its share of two"
    assert admissible(everyone, 3) == ["a/2", "a/3"], "no share"
    # Those that wait for their share do not keep the places for themselves, those that wait for a place do.
    assert turn("b/1", everyone, 2, share=1).may_go and not turn("b/1", everyone, 2, share=2).may_go


def test_a_holder_is_told_whether_somebody_could_use_its_place() -> None:
    holder, other = waits("a/1", "1", admitted=True), waits("a/2", "1", admitted=True)
    assert turn("a/1", [holder], 1).wanted == ""
    assert turn("a/1", [holder, waits("b/1", "5"), waits("b/2", "3")], 1).wanted == "5"
    assert turn("a/1", [holder, waits("b/1", "5")], 2).wanted == "", "it has a place of its own"
    assert turn("a/1", [holder, other, waits("a/3", "5")], 3, share=1).wanted == "", "its share is taken all the same"
    assert turn("a/1", [holder, waits("a/3", "5")], 3, share=1).wanted == "5"


def test_who_is_in_its_track_check_could_use_the_place_of_a_holder_soon_and_takes_nobodys_turn() -> None:
    """Its check may find no machine just because of what the holder has built there."""
    holder, comes = waits("a/1", "1", admitted=True), Waiting("b/1", "b/1", "3", False, False, comes=True)
    assert turn("a/1", [holder, comes], 1).wanted == "3"
    assert turn("a/1", [holder, comes, waits("b/2", "2")], 1).wanted == "3", "the last of both"
    assert turn("a/1", [holder, comes], 2).wanted == "", "there is a place for it"
    assert turn("a/1", [holder, comes._replace(name="a/3")], 2, share=1).wanted == "3", "the namespace's share"
    assert admissible([comes, waits("b/2", "4")], 1) == ["b/2"]


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.booleans(), st.sampled_from("ab"), st.sets(st.sampled_from("xyz"), max_size=2)),
        max_size=12,
    ),
    st.integers(1, 4),
    st.integers(0, 2),
)
def test_no_limit_is_passed_and_no_place_is_left_empty(
    entries: list[tuple[int, bool, str, set[str]]], places: int, share: int
) -> None:
    everyone = [
        Waiting(str(i), f"{namespace}/{i:02}", str(since), admitted, not admitted, frozenset(hosts))
        for i, (since, admitted, namespace, hosts) in enumerate(entries)
    ]
    chosen = admissible(everyone, places, share)
    waiting = sorted((b for b in everyone if not b.admitted), key=lambda b: (b.since, b.name))
    assert chosen == [b.uid for b in waiting if turn(b.uid, everyone, places, b.hosts, share).may_go]
    holding = [b for b in everyone if b.admitted]
    for fresh in (b for b in waiting if b.uid in chosen):
        assert len(holding) < places
        assert all(other.hosts.isdisjoint(fresh.hosts) for other in holding)
        assert not share or sum(b.name[0] == fresh.name[0] for b in holding) < share
        holding.append(fresh)
    for left in (b for b in waiting if b.uid not in chosen and not b.hosts and len(holding) < places):
        assert share and sum(b.name[0] == left.name[0] for b in holding) >= share
        assert turn(left.uid, everyone, places, left.hosts, share).share == share


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [("", 30), ("2026-01-01T00:00:10Z", 30), ("2026-01-01T00:00:30Z", 31), ("2026-01-01T00:01:00Z", 61)],
)
def test_who_gives_a_place_up_lines_up_behind_all_whose_clocks_go_before(wanted: str, seconds: int) -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    found = Turn(may_go=True, wanted=wanted).end_of_line(began + timedelta(seconds=30))
    assert found == began + timedelta(seconds=seconds)


def at_hosts(name: str, since: str, *hosts: str, admitted: bool = False) -> Waiting:
    return Waiting(name, name, since, admitted, not admitted, frozenset(hosts))


@pytest.mark.parametrize("hosts", [("b",), ("busy", "b")])
def test_who_waits_for_its_share_keeps_nobody_off_a_host(hosts: tuple[str, ...]) -> None:
    """As long as its mate races, which may take a month, another namespace could not race against its own cluster."""
    held = [at_hosts("a/1", "1", "busy", admitted=True)]
    everyone = [*held, at_hosts("a/2", "2", *hosts), at_hosts("b/1", "3", "b")]
    assert admissible(everyone, 3, 1) == ["b/1"] and turn("b/1", everyone, 3, share=1).may_go
    assert admissible(everyone[1:], 3, 1) == ["a/2"], "the older goes first once it may"
    assert admissible(everyone, 3, 2) == (["a/2"] if hosts == ("b",) else []), "no share: it is not overtaken"


def test_whom_a_mate_overtook_keeps_its_host_so_that_two_waits_are_not_served_in_turns_for_ever() -> None:
    waiting = [at_hosts("a/2", "2", "x"), at_hosts("b/4", "4", "x"), at_hosts("c/5", "5", "z")]
    overtook, older = at_hosts("a/3", "3", "y", admitted=True), at_hosts("a/1", "1", "y", admitted=True)
    assert admissible([overtook, *waiting], 4, 1) == ["c/5"]
    assert admissible([older, *waiting], 4, 1) == ["b/4", "c/5"]
    assert admissible(waiting, 4, 1) == ["a/2", "c/5"]
    busy = [at_hosts("b/0", "0", "x", admitted=True), at_hosts("a/3", "3", "y"), *waiting]
    assert admissible(busy, 4, 1) == ["a/3", "c/5"], "meanwhile mates have the share"


def test_one_that_waits_is_told_when_the_last_before_it_lined_up() -> None:
    everyone = [waits("a/1", "9", admitted=True), waits("b/1", "2"), waits("b/2", "5"), waits("b/3", "7")]
    assert [turn(uid, everyone, 1).after for uid in ("a/1", "b/1", "b/2", "b/3", "new")] == ["", "", "2", "5", "7"]
    found = Turn(may_go=False, after="2026-01-01T00:01:00Z").end_of_line(datetime(2026, 1, 1, tzinfo=UTC))
    assert found == datetime(2026, 1, 1, 0, 1, 1, tzinfo=UTC)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=8), st.integers(1, 3))
def test_the_oldest_goes_on_though_others_line_up_without_an_end(comers: list[tuple[str, str]], places: int) -> None:
    """Whoever waits for its share, a host or a place has it in the end, in whatever order the others come."""
    running = [at_hosts("a/00", "00", "y", admitted=True), at_hosts("b/00", "00", "x", admitted=True)]
    line, finished = [at_hosts("a/oldest", "01", "x", "y")], 0
    for number in range(60):
        namespace, host = comers[number % len(comers)]
        line.append(at_hosts(f"{namespace}/{number + 2:02}", f"{number + 2:02}", host))
        if number % 2 and running:
            running.pop(finished % len(running))
            finished += 1
        for uid in admissible([*running, *line], places, 1):
            chosen = next(each for each in line if each.uid == uid)
            line.remove(chosen)
            running.append(chosen._replace(admitted=True, queued=False))
        if not any(each.uid == "a/oldest" for each in line):
            return
    raise AssertionError("it waits for ever")
