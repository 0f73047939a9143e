"""The queue: first come, first served, never more than the places there are."""

from hypothesis import given
from hypothesis import strategies as st

from fairlap.queue.turn import Waiting, addresses, admissible, turn


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
    waiting = sorted((b for b in everyone if not b.admitted), key=lambda b: (b.created, b.name))
    mine = [b for b in waiting if turn(b.uid, everyone, places).mine]
    assert mine == waiting[:free]
    assert all(turn(b.uid, everyone, places).mine for b in everyone if b.admitted)


def test_says_how_many_are_before_it() -> None:
    everyone = [Waiting(n, f"ns/{n}", "2026", n == "a", n != "a") for n in "abc"]
    found = turn("c", everyone, 1)
    assert (found.mine, found.ahead, found.behind) == (False, 2, "ns/b")


def target(name: str, *hosts: str, admitted: bool = False) -> Waiting:
    return Waiting(name, f"ns/{name}", "2026", admitted, not admitted, addresses(hosts, "ns"))


def mine(everyone: list[Waiting], places: int) -> list[str]:
    return [b.name for b in everyone if not b.admitted and turn(b.uid, everyone, places, b.hosts).mine]


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
    waiting = sorted((b for b in everyone if b.queued and not b.admitted), key=lambda b: (b.created, b.name))
    assert list(admissible(everyone, places)) == [b.uid for b in waiting if turn(b.uid, everyone, places, b.hosts).mine]
