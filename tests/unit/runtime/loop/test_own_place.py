"""A place is given up when it surely was not written, and not before that is known."""

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.queue.places import Places
from fairlap.queue.summary import summarize
from fairlap.runtime.loop.own_place import OwnPlace

META = {"name": "b", "namespace": "n", "uid": "b", "creationTimestamp": "2026-01-01T00:00:00Z"}
REFUSED, LOST = ApiError(409, "changed"), ApiError(0, "no answer")


def waits() -> OwnPlace:
    """One that waits for the only place."""
    places = Places(1, lambda _: None, lambda: None)
    places.observe(summarize({"metadata": META, "spec": {}, "status": {"phase": "Pending", "finishedStep": "check"}}))
    return OwnPlace(places, "b")


@pytest.mark.parametrize(
    ("error", "held", "in_doubt"), [(REFUSED, set(), False), (LOST, {"b"}, True)], ids=["refused", "lost"]
)
def test_what_was_not_written_is_given_up_unless_it_may_have_been(
    error: ApiError, held: set[str], in_doubt: bool
) -> None:
    place = waits()
    assert place.take(None, "race") and place.places.holders() == {"b"}
    place.not_written(None, error)
    assert (place.places.holders(), place.in_doubt) == (held, in_doubt)


def test_what_is_in_doubt_stays_so_until_a_look_has_decided_by_what_there_is() -> None:
    place = waits()
    place.take(None, "race")
    place.not_written(None, LOST)
    assert place.take(None, "race"), "it decides the same again"
    place.not_written(None, REFUSED)
    assert place.places.holders() == {"b"} and place.in_doubt, "the first write may still be what is refused by"
    assert place.take(None, None), "by what there is now it needs none"
    assert not place.places.holders() and not place.in_doubt


def test_what_was_written_is_kept_and_no_longer_in_doubt() -> None:
    place = waits()
    place.take(None, "race")
    place.not_written(None, LOST)
    place.give_up(but="race")
    assert place.places.holders() == {"b"} and not place.in_doubt


def test_a_place_that_another_one_took_meanwhile_is_not_there() -> None:
    place = waits()
    holds = {"phase": "Racing", "admittedTime": META["creationTimestamp"]}
    place.places.observe(summarize({"metadata": {**META, "name": "a", "uid": "a"}, "spec": {}, "status": holds}))
    assert not place.take(None, "race") and place.places.holders() == {"a"}
    assert place.take("race", "race"), "one that stands in its status is asked of nobody"
