"""What a race over HTTP knows of its own machine, although nobody else can be asked."""

import time
from collections.abc import Iterator, Mapping

from fairlap_race.contract.recorded.record import Counts, Task, timestamp
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch, WatchedSpan
from fairlap_race.runner.watching.machine_watcher import MachineWatcher


def growing() -> Iterator[Mapping[str, float]]:
    """A machine of two processors of which one is busy, and half of the other one's time is stolen."""
    began = time.time()
    while True:
        passed = time.time() - began
        yield {"busy_seconds": passed, "processor_seconds": 2 * passed, "steal_seconds": passed / 2}


def task(name: str, start: float, end: float) -> Task:
    moments = {"started_at": timestamp(start), "measured_from": timestamp(start), "ended_at": timestamp(end)}
    return Task(name, samples=Counts(0, 10), **moments)  # type: ignore[arg-type]


def test_steal_and_busy_processors_are_told_of_each_load() -> None:
    looks = growing()
    watcher = MachineWatcher(interval=0.05, read=lambda: next(looks))
    watcher.start()
    time.sleep(0.1)
    start = time.time()
    time.sleep(0.3)
    middle = time.time()
    time.sleep(0.3)
    end = time.time()
    watcher.stop()
    found = watcher.watched([task("one", start, middle), task("two", middle, end)])
    assert [span.task for span in found.tasks] == ["one", "two"]
    for span in (found.race, *found.tasks):
        assert span.steal_share is not None and 0.24 <= span.steal_share <= 0.26
        assert span.busy_cores is not None and 0.95 <= span.busy_cores <= 1.05
    assert found.stalls == () and found.before is None


def test_what_cannot_be_read_costs_a_look_and_not_the_race() -> None:
    def fails() -> Mapping[str, float]:
        raise OSError("gone")

    watcher = MachineWatcher(interval=0.05, read=fails)
    watcher.start()
    watcher.look()
    watcher.stop()
    now = time.time()
    found = watcher.watched([task("one", now - 10, now)])
    assert found.tasks == (WatchedSpan("one", 10.0),)


def test_one_that_never_began_has_seen_nothing() -> None:
    watcher = MachineWatcher(read=dict)
    watcher.stop()
    assert watcher.watched([]) == MachineWatch()
