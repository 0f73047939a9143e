"""A sweep for real: Rally races the steps in place of the task, and the record says what ran."""

from pathlib import Path

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.codec import encode
from fairlap_race.contract.specification.sweep import SweepSpec, steps_of

from .runner import Runner, asked
from .tracks import BULK, CREATE, search, write


def test_three_steps_in_place_of_one_task(runner: Runner, tmp_path: Path) -> None:
    slow = search(seconds=9, **{"target-throughput": 5})
    track = write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, slow)
    asked_for = SweepSpec(
        task="search",
        duration_seconds=3.0,
        warmup_seconds=1.0,
        interval_seconds=1.0,
        steps=steps_of("search", [1, 2, 4], [], "ascending"),
    )
    ran = runner.run(track, sweep=encode(asked_for))
    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    assert ran.record.track.sweep == asked_for.with_digest()
    tasks = {task.task: task for task in ran.record.tasks}
    assert "search" not in tasks
    for name, clients in (("search@1", 1), ("search@2", 2), ("search@4", 4)):
        found = tasks[name]
        assert (found.clients, found.target_throughput) == (clients, None)
        assert found.duration_seconds is not None and 2.5 <= found.duration_seconds <= 4
        assert found.samples.warmup and found.samples.normal > 15, "not at the rate of the challenge"
        assert found.rally is not None and found.rally.throughput.median
    assert {task.name for task in ran.record.track.tasks} >= {"pause-before-search@2", "pause-before-search@4"}
