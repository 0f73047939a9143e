"""A Benchmark with no race at all: track check and smoke test alone."""

from typing import Any

import pytest
from test_interleavings import World, drive
from world import is_true, seen, spec

from fairlap.plan.basis.conditions import condition
from fairlap.plan.basis.steps import steps


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("smoke",)),
        ({"race": {"params": {"bulk_size": 1}}}, ("check", "smoke")),
        ({"race": {"requireTasks": ["bulk-index"]}}, ("check", "smoke")),
        ({"race": {"allow": {"errorRate": {"bulk-index": 0.001}}}}, ("check", "smoke")),
        ({"smokeTest": False}, ("check",)),
        ({"smokeTest": False, "race": {"requireTasks": ["bulk-index"]}}, ("check",)),
    ],
)
def test_a_rehearsal_always_does_something(changes: dict[str, Any], expected: tuple[str, ...]) -> None:
    rehearsal = spec(repetitions=0, **changes)
    assert steps(rehearsal) == expected
    assert steps(spec(repetitions=1, smokeTest=False)) == ("race-1",), "a race of a builtin track needs no check"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"race": {"params": {"bulk_size": 100}}}, "track check and smoke test went well; no race was asked for"),
        ({}, "smoke test went well; no race was asked for"),
        ({"smokeTest": False}, "track check went well; no race was asked for"),
    ],
)
def test_it_succeeds_without_numbers(changes: dict[str, Any], words: str, seed: int) -> None:
    world, of = World(seed), spec(repetitions=0, **changes)
    status = drive(world, seen(of=of))
    assert (status.phase, status.progress, status.races_done) == ("Succeeded", words, "0/0")
    assert world.runs == list(steps(of))
    assert status.results is None and not status.reason
    assert is_true(status, "Complete") and is_true(status, "Accepted") and not is_true(status, "Failed")
    complete = condition(status, "Complete")
    assert complete and (complete.reason, complete.message) == ("Rehearsed", words)
    assert condition(status, "RacesValid") is None, "nothing was raced"


def test_a_cluster_may_be_kept_of_a_rehearsal() -> None:
    world, of = World(1), spec(repetitions=0, keepCluster="Always")
    status = drive(world, seen(of=of))
    assert status.phase == "Succeeded" and is_true(status, "ClusterKept")
    assert world.of("smoke")["es"] is not None
