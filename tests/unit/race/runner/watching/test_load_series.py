"""Whether the load generator was the bottleneck of a task: by the task's own time, and by the worst part of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.record import Counts, LoadGenerator, Task, timestamp
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.watched_machines.series import Span
from fairlap_race.linux.cgroup import CgroupUsage
from fairlap_race.runner.watching import load_series
from fairlap_race.runner.watching.load_series import LoadSeries, judge_tasks, with_loads

START = 1_767_225_600.0


def looked(*phases: tuple[float, float, float, float], interval: float = 1.0) -> LoadSeries:
    """Look at phases: seconds, cores of the container, share of a core of its one process, share throttled."""
    found, at, cpu, own, throttled = LoadSeries(), 0.0, 0.0, 0.0, 0.0
    for seconds, cores, busiest, held in phases:
        for _ in range(round(seconds / interval)):
            found.add(START + at, CgroupUsage(at, cpu, throttled * 10, throttled), [(1, own), (2, 0.0)])
            at, cpu, own, throttled = (
                at + interval, cpu + cores * interval, own + busiest * interval, throttled + held * interval,
            )  # fmt: skip
    found.add(START + at, CgroupUsage(at, cpu, throttled * 10, throttled), [(1, own), (2, 0.0)])
    return found


def task(name: str, begin: float, end: float, normal: int = 100) -> Task:
    return Task(
        name, started_at=timestamp(START + begin), measured_from=timestamp(START + begin),
        ended_at=timestamp(START + end), samples=Counts(0, normal),
    )  # fmt: skip


SATURATED, QUIET = (60.0, 2.0, 0.5, 0.0), (600.0, 0.1, 0.05, 0.0)


def test_a_saturated_task_before_a_quiet_one_is_seen() -> None:
    """Sixty seconds at 2 of 2 CPUs and six hundred quiet ones: a mean of 0.14 over the race."""
    series = looked(SATURATED, QUIET)
    tasks = with_loads([task("bulk", 0, 60), task("search", 61, 660)], series, 2.0)
    mean = LoadGenerator(cpu_share=0.14)
    found = judge_tasks(mean, tasks)
    assert found.saturated and found.cpu_share == 0.14
    assert found.why == "task bulk: it used 100 % of its 2 CPUs"
    quiet = tasks[1].load
    assert quiet is not None and not quiet.saturated and quiet.saturated_seconds == 0
    assert not judge_tasks(mean, tasks[1:]).saturated


def test_sixty_seconds_of_one_task_are_seen_in_its_six_hundred() -> None:
    found = looked(SATURATED, QUIET).of_task(Span(START, START + 660), 2.0)
    assert found is not None and found.saturated and found.cpu_share == pytest.approx(0.136, abs=0.001)
    assert found.saturated_seconds == pytest.approx(60) and found.judged_seconds == pytest.approx(660)
    assert found.why == "for 60 of 660 s it used 100 % of its 2 CPUs"


def test_a_twentieth_of_the_time_is_not_yet_said() -> None:
    found = looked((20, 2.0, 0.5, 0.0), QUIET).of_task(Span(START, START + 620), 2.0)
    assert found is not None and not found.saturated and found.saturated_seconds == pytest.approx(20)


@pytest.mark.parametrize(
    ("phase", "why"),
    [
        ((30, 1.5, 0.8, 0.0), ""),
        ((30, 1.7, 0.8, 0.0), "it used 85 % of its 2 CPUs"),
        ((30, 1.0, 0.95, 0.0), "its busiest process used 95 % of one core"),
        ((30, 1.0, 0.5, 0.05), "it was throttled for 5 % of the time"),
        ((30, 1.0, 0.5, 0.005), ""),
    ],
)
def test_each_way_to_be_saturated(phase: tuple[float, float, float, float], why: str) -> None:
    found = looked(phase).of_task(Span(START, START + 30), 2.0)
    assert found is not None and found.why == why and found.saturated is bool(why)
    assert found.throttled_periods == pytest.approx(10 * phase[3] * 30)


def test_a_few_throttled_periods_at_the_start_are_no_saturation() -> None:
    found = looked((1, 0.1, 0.1, 0.05), (19, 0.1, 0.1, 0.0)).of_task(Span(START, START + 20), 2.0)
    assert found is not None and not found.saturated and found.throttled_seconds == pytest.approx(0.05)


def test_the_mean_over_the_race_decides_only_what_has_no_figures_of_its_own() -> None:
    mean = LoadGenerator(saturated=True, why="used 99 % of its 2 CPUs")
    known, unknown = Task("a", load=TaskLoad(), samples=Counts(0, 9)), Task("b", samples=Counts(0, 9))
    assert not judge_tasks(mean, [known]).saturated
    assert judge_tasks(mean, [unknown]) == mean and judge_tasks(mean, []) == mean
    assert judge_tasks(mean, [known, unknown]).why == mean.why
    many = [Task(str(n), load=TaskLoad(saturated=True, why="w"), samples=Counts(0, 9)) for n in range(7)]
    assert judge_tasks(LoadGenerator(), many).why.endswith("task 4: w; and 2 more")


def test_what_was_not_looked_at_is_not_known() -> None:
    assert LoadSeries().of_task(Span(START, START + 60), 2.0) is None
    assert looked(QUIET).of_task(Span(START + 900, START + 960), 2.0) is None
    assert with_loads([Task("never")], looked(QUIET), 2.0) == (Task("never"),)


def test_another_process_of_the_same_id_begins_anew() -> None:
    series = LoadSeries()
    for at, used in enumerate((100.0, 100.5, 0.1, 0.2, 0.3, 0.4)):
        series.add(START + at, CgroupUsage(at), [(1, used)])
    assert list(series.processes[1].value) == [0.1, 0.2, 0.3, 0.4]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_series, "MOST_LOOKS", 50)
    series = looked((400, 1.0, 0.5, 0.0))
    assert len(series.cpu.at) <= 50
    found = series.of_task(Span(START, START + 400), 2.0)
    assert found is not None and found.cpu_share == pytest.approx(0.5, abs=0.01)


@given(
    st.lists(
        st.tuples(st.integers(1, 40).map(float), st.floats(0, 2), st.floats(0, 1), st.floats(0, 0.2)),
        min_size=1, max_size=6,
    )
)  # fmt: skip
def test_shares_of_any_race_are_those_of_its_phases(phases: list[tuple[float, float, float, float]]) -> None:
    seconds = sum(phase[0] for phase in phases)
    found = looked(*phases).of_task(Span(START, START + seconds), 2.0)
    assert found is not None
    assert found.cpu_share == pytest.approx(sum(s * cores for s, cores, *_ in phases) / seconds / 2, abs=0.001)
    assert found.busiest_share == pytest.approx(sum(p[0] * p[2] for p in phases) / seconds, abs=0.001)
    assert 0 <= found.saturated_seconds <= found.judged_seconds + 1e-6 <= seconds + 1e-3
    assert found.saturated is bool(found.why)
