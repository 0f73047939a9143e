"""The steps of a sweep stand in place of its task, on stand-ins for Rally's own classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.contract.specification.sweep import RANDOM, UP_AND_DOWN, SweepSpec, steps_of
from fairlap_race.rally.inside import steps_in_the_track
from fairlap_race.rally.sweep_steps import expand, objection


def operation(kind: str = "search", measured: bool = True, source: str | None = None, **params: Any) -> Any:
    return SimpleNamespace(name="op", type=kind, params=params, param_source=source, include_in_reporting=measured)


@dataclass
class Task:
    name: str
    operation: Any = field(default_factory=operation)
    iterations: int | None = None
    warmup_iterations: int | None = None
    time_period: float | None = None
    warmup_time_period: float | None = None
    ramp_up_time_period: float | None = None
    clients: int = 1
    schedule: str | None = "poisson"
    completes_parent: bool = False
    params: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Task]:
        return iter([self])


@dataclass
class Parallel:
    tasks: list[Task]

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)


def track(*schedule: Any) -> Any:
    challenge = SimpleNamespace(name="default", schedule=list(schedule))
    return SimpleNamespace(find_challenge_or_default=lambda _: challenge, challenge=challenge)


def sweep(**changes: Any) -> SweepSpec:
    found: dict[str, Any] = {"task": "search", "steps": steps_of("search", [4, 1, 2], [], "ascending")}
    return SweepSpec(**{**found, **changes})


def test_steps_stand_where_the_task_stood() -> None:
    swept_task = Task("search", iterations=200, clients=3, params={"target-throughput": 5, "clients": 3})
    it = track(Task("bulk"), swept_task, Task("merge"))
    expand(it, None, sweep(duration_seconds=30.0, warmup_seconds=5.0, interval_seconds=10.0))
    names = [task.name for task in it.challenge.schedule]
    assert names == [
        "bulk", "search@1", "pause-before-search@2", "search@2", "pause-before-search@4", "search@4", "merge",
    ]  # fmt: skip
    step = it.challenge.schedule[3]
    assert step.schedule is None, "a schedule of the track's own may ask for a rate"
    assert (step.clients, step.params, step.iterations) == (2, {"clients": 2}, None)
    assert (step.warmup_time_period, step.time_period, step.operation) == (5.0, 30.0, swept_task.operation)
    pause = it.challenge.schedule[2]
    assert (pause.clients, pause.iterations, pause.time_period, pause.operation.type) == (1, 1, None, "sleep")
    assert pause.operation.param_source is None, "of its type, not by name"
    assert pause.operation.params == {"duration": 10.0, "include-in-reporting": False}
    assert swept_task.operation.type == "search" and swept_task.clients == 3, "the task itself stays as it was"


def test_rates_leave_the_clients_and_the_end_as_they_are() -> None:
    it = track(Task("search", iterations=200, clients=3, params={"target-interval": 2}))
    expand(it, None, sweep(steps=steps_of("search", [], [100, 50.5], "ascending")))
    assert [(task.name, task.clients, task.params, task.iterations) for task in it.challenge.schedule] == [
        ("search@50.5/s", 3, {"target-throughput": 50.5}, 200),
        ("search@100/s", 3, {"target-throughput": 100}, 200),
    ]
    assert [task.schedule for task in it.challenge.schedule] == ["poisson", "poisson"]


def test_a_file_of_requests_begins_again_in_a_step_of_a_time() -> None:
    replayed = Task("search", operation("raw-request", source="replay", order="file"))
    it = track(replayed)
    expand(it, None, sweep(duration_seconds=30.0))
    assert [task.operation.params for task in it.challenge.schedule] == [
        {"order": "file", "looped": True, "step": number} for number in range(3)
    ]
    assert replayed.operation.params == {"order": "file"}, "the task itself stays as it was"
    expand(it := track(replayed), None, sweep())
    params = [task.operation.params for task in it.challenge.schedule]
    assert params == [{"order": "file", "step": number} for number in range(3)], "else once a step"


@pytest.mark.parametrize(
    ("element", "changes", "why"),
    [
        (Task("search", iterations=5), {}, ""),
        (Task("search"), {"duration_seconds": 5.0}, ""),
        (Task("search", operation("bulk")), {}, ""),
        (Task("search", operation("raw-request", source="replay", order="file")), {}, ""),
        (Task("search", operation("raw-request", source="replay", order="random")), {}, "neither iterations nor"),
        (
            Task("search", operation("raw-request", source="replay", order="zipf"), iterations=5),
            {},
            "race.sweep.task: search draws for a cache hit rate (order: zipf), which only the first step would have",
        ),
        (Task("search", operation("raw-request", source="replay", order="zipf")), {"duration_seconds": 5.0}, "zipf"),
        (Task("search", operation("other", source="other", order="zipf"), iterations=5), {}, ""),
        (Task("other"), {}, ""),
        (Task("search"), {}, "race.sweep.duration: the task search has neither iterations nor a time period"),
        (Task("search", operation(measured=False)), {"duration_seconds": 5.0}, "is not measured"),
        (Parallel([Task("search"), Task("bulk")]), {"duration_seconds": 5.0}, "runs in parallel with other tasks"),
        (Parallel([Task("search")]), {"duration_seconds": 5.0}, ""),
        (Parallel([Task("search")]), {}, "race.sweep.duration: the task search has neither iterations nor"),
    ],
)
def test_what_cannot_be_swept(element: Any, changes: dict[str, Any], why: str) -> None:
    found = objection(track(element).challenge, sweep(**changes))
    assert why in found and bool(why) == bool(found)


def test_what_the_filters_left_alone_in_a_parallel_element_is_swept() -> None:
    others = Parallel([Task("bulk"), Task("merge")])
    it = track(others, Parallel([Task("search", iterations=5, completes_parent=True)]), Parallel([]))
    expand(it, None, sweep())
    assert it.challenge.schedule[0] is others and it.challenge.schedule[-1].tasks == []
    steps = it.challenge.schedule[1:-1]
    assert [task.name for task in steps] == ["search@1", "search@2", "search@4"]
    assert not any(task.completes_parent for task in steps), "there is no parent that it could end"


def test_a_step_is_not_named_as_another_task_is() -> None:
    challenge = track(Task("search", iterations=5), Parallel([Task("bulk"), Task("search@4")])).challenge
    found = objection(challenge, sweep())
    assert found.startswith("race.sweep.task: a step would be named search@4, as another task of the challenge is")
    assert not objection(challenge, sweep(steps=steps_of("search", [1, 2], [], "ascending")))


def test_orders() -> None:
    assert [it.name for it in steps_of("a", [2, 1], [], UP_AND_DOWN)] == ["a@1", "a@2", "a@2-down", "a@1-down"]
    drawn = [steps_of("a", range(1, 30), [], RANDOM, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {it.clients for it in drawn[0]} == set(range(1, 30)) and {it.direction for it in drawn[0]} == {"drawn"}


def test_the_digest_is_of_all_that_was_asked_for() -> None:
    one = sweep().with_digest()
    assert one.digest.startswith("sha256:") and one.with_digest() == one
    assert sweep(interval_seconds=1.0).with_digest().digest != one.digest


def test_rally_loads_the_steps(tmp_path: Path) -> None:
    package = SimpleNamespace(load_track=lambda *_, **__: track(Task("search")))
    original = package.load_track
    steps_in_the_track.install(tmp_path, package)
    assert package.load_track is original, "without steps nothing is changed"
    steps_in_the_track.write_sweep(tmp_path, sweep(), None)
    steps_in_the_track.install(tmp_path, package)
    assert [task.name for task in package.load_track("cfg").challenge.schedule] == ["search@1", "search@2", "search@4"]
