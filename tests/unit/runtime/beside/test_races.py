"""What is kept of a Comparison's Benchmarks: by owner reference and namespace, and nothing after they went."""

from typing import Any

import pytest

from fairlap.runtime.beside.races import Races, seen_race

Json = dict[str, Any]


def bench(uid: str, leader: str = "c", namespace: str = "ns", **status: Any) -> Json:
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "uid": leader, "controller": True}
    meta: Json = {"name": f"cmp-{uid}", "namespace": namespace, "uid": uid, "creationTimestamp": "2026"}
    return {"metadata": {**meta, "ownerReferences": [owner] if leader else []}, "status": status}


def test_one_that_gave_its_place_up_says_so() -> None:
    assert seen_race(bench("a", phase="Failed", gaveWay=1)).gave_way and not seen_race(bench("a")).gave_way


def test_one_that_found_no_whole_processors_says_so() -> None:
    assert seen_race(bench("a", nodeProcessors={"cpu": "100m", "refused": True})).processors_refused
    for other in ({"cpu": "500m"}, {"cpu": "1", "whole": True}, "odd", None):
        assert not seen_race(bench("a", nodeProcessors=other)).processors_refused


def test_races_come_and_go_with_their_events() -> None:
    races = Races()
    for each in (bench("a"), bench("b"), bench("d", "other"), bench("e", ""), bench("f", namespace="elsewhere")):
        races.observe(each)
    assert set(races.led_by("c", "ns")) == {"cmp-a", "cmp-b"} and set(races.led_by("other", "ns")) == {"cmp-d"}
    races.observe(bench("a", phase="Racing"))
    assert races.led_by("c", "ns")["cmp-a"].phase == "Racing"
    races.observe(bench("a", ""))
    races.remove("b")
    races.remove("nobody")
    assert not races.led_by("c", "ns") and set(races.led_by("c", "elsewhere")) == {"cmp-f"}
    races.remove("f")
    races.remove("d")
    assert not races._led and not races._leaders


def test_only_one_that_has_nothing_yet_waits_because_it_is_suspended() -> None:
    waits = {**bench("a", phase="Pending"), "spec": {"suspend": True}}
    assert seen_race(waits).suspended and not seen_race(bench("a", phase="Pending")).suspended
    assert not seen_race({**bench("a", phase="Racing"), "spec": {"suspend": True}}).suspended


@pytest.mark.parametrize(("finalizer", "deleted"), [("foregroundDeletion", "2027"), ("x.example/y", "")])
def test_one_that_is_deleted_children_first_is_not_raced_any_more(finalizer: str, deleted: str) -> None:
    going = bench("a", phase="Racing")
    going["metadata"] |= {"deletionTimestamp": "2027", "finalizers": [finalizer]}
    assert seen_race(going).deleted == deleted


def test_machines_are_those_of_the_last_race() -> None:
    ran = [{"name": "smoke"}, {"elasticsearchOn": ["m1", "m2"], "loadGeneratorOn": "m3"}]
    found = seen_race(bench("a", phase="Failed", reason="JobLost", message="gone", completionTime="2027", races=ran))
    assert (found.elasticsearch_on, found.load_generator_on) == (("m1", "m2"), "m3")
    assert (found.phase, found.reason, found.message, found.created, found.ended) == (
        "Failed", "JobLost", "gone", "2026", "2027",
    )  # fmt: skip


@pytest.mark.parametrize("status", [None, "x", {"races": 3}, {"races": [None]}, {"races": [{"elasticsearchOn": "m"}]}])
def test_a_status_that_makes_no_sense_is_taken_all_the_same(status: object) -> None:
    found = seen_race({**bench("a"), "status": status})
    assert (found.name, found.phase, found.elasticsearch_on) == ("cmp-a", "", ())
