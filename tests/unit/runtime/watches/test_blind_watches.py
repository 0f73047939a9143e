"""Which differences between a list and what events showed mean that a watch is blind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.runtime.watches.blind_watches import BlindWatches

PATIENCE = 10.0


def watches(**shown: str) -> BlindWatches:
    found = BlindWatches(PATIENCE)
    for uid, version in shown.items():
        found.show(uid, version)
    return found


@pytest.mark.parametrize("listed", [{"a": "2"}, {"a": "1", "new": "5"}])
def test_what_no_event_tells_of_is_found_after_a_while_and_once(listed: dict[str, str]) -> None:
    seen = watches(a="1")
    assert [seen.find("ns", listed, now) for now in (0, 9.9, 10, 30, 50)] == [False, False, True, False, False]
    for uid, version in listed.items():
        seen.show(uid, version)  # it was listed anew
    assert not seen.find("ns", listed, 60)
    later = listed | {"a": "9"}
    assert [seen.find("ns", later, now) for now in (70, 80, 90)] == [False, True, False]


def test_the_same_that_is_behind_again_is_found_again() -> None:
    seen = watches(a="1")
    assert [seen.find("ns", {"a": "2"}, now) for now in (0, 10)] == [False, True]
    seen.show("a", "2")
    assert not seen.find("ns", {"a": "2"}, 11)
    seen.forget("a")
    assert [seen.find("ns", {"a": "2"}, now) for now in (20, 30)] == [False, True]


def test_an_event_that_comes_late_shows_that_the_watch_sees() -> None:
    """The object has changed again meanwhile: it is behind at every look, and each time of another version."""
    seen = watches(a="0")
    for now in range(0, 100, 5):
        assert not seen.find("ns", {"a": str(now + 1)}, now)
        seen.show("a", str(now))


def test_namespaces_do_not_mix() -> None:
    seen = watches(a="1", b="1")
    assert not seen.find("one", {"a": "2"}, 0) and not seen.find("two", {"b": "1"}, 5)
    assert seen.find("one", {"a": "2"}, 10) and not seen.find("two", {"b": "2"}, 12)
    assert not seen.find("one", {"a": "2"}, 15) and seen.find("two", {"b": "2"}, 22)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40))
def test_a_watch_that_tells_of_all_within_the_patience_is_never_blind(changes: list[tuple[str, bool]]) -> None:
    """changes: in each second which object changes, and whether its event comes at once or with the next one."""
    seen, there, late = BlindWatches(2.0), dict[str, str](), dict[str, str]()
    for now, (uid, at_once) in enumerate(changes):
        for each, version in late.items():
            seen.show(each, version)
        there[uid] = str(now)
        late = {} if at_once else {uid: str(now)}
        if at_once:
            seen.show(uid, str(now))
        assert not seen.find("", there, now)
