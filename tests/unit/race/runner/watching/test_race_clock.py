"""Who sets the machine's clock during a race gives no task the figures of another one."""

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch
from fairlap_race.contract.watched_machines.series import Span
from fairlap_race.linux import process
from fairlap_race.linux.cgroup import CgroupUsage
from fairlap_race.rally.samples import tally, task_record
from fairlap_race.runner.watching import cost, race_clock, sampler
from fairlap_race.runner.watching.cluster_watch import ClusterWatch
from fairlap_race.runner.watching.cost import Cost
from fairlap_race.runner.watching.machine_watcher import MachineWatcher
from fairlap_race.runner.watching.race_clock import RaceClock
from fairlap_race.runner.watching.sampler import MachineSampler

BEGAN, BOOTED, SET_AT, END = 1_700_000_000.0, 5000.0, 100.0, 160.0
STEPS = (-3600.0, -90.0, -30.0, -2.0, 0.5, 30.0, 3600.0)


class SetClock:
    """Stands for `time`: the wall clock is set by `step` seconds when a hundred have passed."""

    def __init__(self, step: float) -> None:
        self.step, self.passed = step, 0.0

    def monotonic(self) -> float:
        return BOOTED + self.passed

    def time(self) -> float:
        return BEGAN + self.passed + (self.step if self.passed >= SET_AT else 0.0)

    def ticks(self) -> Iterator[float]:
        """Yield the seconds, one look every four, of two tasks: a quiet one until the clock is set, then another."""
        while self.passed <= END:
            yield self.passed
            self.passed += 4


def declared() -> list[str]:
    about: dict[str, Any] = {"operation": "o", "type": "search", "clients": 1, "target": None}
    return [f"#{json.dumps([number, {'task': name, **about}])}\n" for number, name in enumerate(("quiet", "stolen"))]


def sample(clock: SetClock) -> str:
    task = int(clock.passed >= SET_AT)
    return f"{task},1,1,{clock.time():.6f},{clock.monotonic() + 0.001:.6f},3.9,3.902,0.0,0,1,ops\n"


def machine(passed: float) -> Mapping[str, float]:
    """Return two processors of which nothing is stolen until the clock is set, then 40 %."""
    stolen = 0.8 * max(0.0, passed - SET_AT)
    return {"steal_seconds": stolen, "processor_seconds": 2 * passed, "busy_seconds": 2 * passed - stolen}


def raced(monkeypatch: pytest.MonkeyPatch, step: float) -> tuple[tuple[Task, ...], MachineWatch]:
    fake = SetClock(step)
    monkeypatch.setattr(race_clock, "time", fake)
    clock = RaceClock()
    watcher = MachineWatcher(read=lambda: machine(fake.passed), clock=clock)
    lines = declared()
    for _ in fake.ticks():
        watcher.look()
        lines.append(sample(fake))
    tasks = tuple(task_record(it, None) for it in tally(lines, clock_offset=clock.offset))
    return tasks, watcher.watched(tasks)


@pytest.mark.parametrize("step", STEPS)
def test_a_clock_that_is_set_between_two_tasks_gives_neither_the_figures_of_the_other(
    monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    (quiet, stolen), found = raced(monkeypatch, step)
    shares = {it.task: it.steal_share for it in found.tasks}
    assert shares["quiet"] is not None and shares["quiet"] < 0.02, shares
    assert shares["stolen"] is not None and 0.39 < shares["stolen"] < 0.41, shares
    assert quiet.clock_set_seconds is None
    assert stolen.clock_set_seconds == (pytest.approx(step, abs=0.01) if abs(step) >= 1 else None)


def test_a_clock_that_nobody_sets_leaves_the_times_as_the_samples_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    (quiet, stolen), _ = raced(monkeypatch, 0.0)
    assert (quiet.started_at, stolen.started_at) == ("2023-11-14T22:13:20.000Z", "2023-11-14T22:15:00.000Z")
    assert stolen.ended_at == "2023-11-14T22:16:03.902Z" and stolen.clock_set_seconds is None


def test_what_the_load_generator_used_is_told_of_the_task_in_which_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SetClock(-90.0)
    monkeypatch.setattr(race_clock, "time", fake)
    monkeypatch.setattr(process, "descendants", list)

    def busy(now: float) -> CgroupUsage:
        return CgroupUsage(now, cpu_seconds=max(0.0, fake.passed - SET_AT))

    monkeypatch.setattr(cost, "cgroup", SimpleNamespace(read_usage=busy))
    looked = Cost(clock=RaceClock())
    for _ in fake.ticks():
        looked.look()
    loads = [looked.series.of_task(Span(BEGAN + start, BEGAN + end), 1.0) for start, end in ((0, 96), (100, 160))]
    assert [load and load.cpu_share for load in loads] == [0.0, 1.0]


def test_a_thread_that_reads_all_the_time_saturates_the_load_generator_on_whatever_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As that which reads what k6 writes: of each load another one."""
    fake = SetClock(0.0)
    monkeypatch.setattr(race_clock, "time", fake)
    monkeypatch.setattr(cost, "cgroup", SimpleNamespace(read_usage=lambda now: CgroupUsage(now, cpu_seconds=0.0)))
    looked = Cost(by_process=False, clock=RaceClock())
    for passed in fake.ticks():
        looked.look([(1, 0.1 * passed) if passed < SET_AT else (2, 0.97 * (passed - SET_AT))])
    loads = [looked.series.of_task(Span(BEGAN + start, BEGAN + end), 16.0) for start, end in ((0, 96), (100, 160))]
    assert [load and load.why for load in loads] == ["", "its busiest process used 97 % of one core"]


def test_looks_at_the_cluster_go_on_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SetClock(-90.0)
    monkeypatch.setattr(race_clock, "time", fake)

    def hits(*_: Any, **__: Any) -> Any:
        cache = {"hit_count": int(fake.passed), "miss_count": 0}
        return {"nodes": {"a": {"name": "n", "indices": {"request_cache": cache}}}}

    clock = RaceClock()
    watch = ClusterWatch(SimpleNamespace(get=hits), clock)  # type: ignore[arg-type]
    watch.begin()
    for _ in fake.ticks():
        watch.look(clock.now())
    first = Task("first", started_at="2023-11-14T22:13:20.000Z", ended_at="2023-11-14T22:14:40.000Z")
    last = Task("last", started_at="2023-11-14T22:15:00.000Z", ended_at="2023-11-14T22:15:40.000Z")
    assert [it.request_hits for it in watch.caches((first, last))] == [140, 80, 40]


def test_what_cannot_be_read_of_the_machine_takes_nothing_from_the_other_looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def fails() -> Mapping[str, float]:
        raise UnicodeDecodeError("utf-8", b"\xae", 0, 1, "invalid start byte")

    monkeypatch.setattr(sampler, "read_machine", fails)
    node = {"name": "es-0", "process": {"cpu": {"total_in_millis": 100}}}
    asked: list[float] = []
    client = SimpleNamespace(get=lambda *_, **__: {"nodes": {"a": node}})
    looks = MachineSampler(client, tmp_path, "p", interval=60, also=asked.append)  # type: ignore[arg-type]
    looks.start()
    looks.stop()
    assert asked and list(looks._nodes) == ["es-0"]
    assert looks._failures == len(asked) and looks._last_failure.startswith("UnicodeDecodeError")
