"""The queue: first come, first served, never more than the places there are."""

from hypothesis import given
from hypothesis import strategies as st

from esbench.plan.turn import Waiting, turn


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
