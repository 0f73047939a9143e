"""A warm-up ends when it was decided, never before what was planned and never after its limit, for all alike."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.extended_warmup import ExtendedWarmup
from fairlap_race.rally.inside import prolonged_warmup
from fairlap_race.rally.inside.prolonged_warmup import (
    AHEAD_SECONDS,
    FOLDER,
    Decider,
    Prolonged,
    ProlongedIterations,
    ProlongedPeriod,
    allow,
    install,
    read_prolonged,
)

TYPES = SimpleNamespace(Warmup=0, Normal=1)


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(prolonged_warmup.time, "perf_counter", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def decide(folder: Path, task: str, at: float) -> None:
    prolonged_warmup._file(folder, task, "until").write_text(str(at))


def measured(control: Any, clock: Clock, each: float, seconds: float = 500) -> list[float]:
    """Return when requests were measured, from its begin, of a client that needs so long for `each`."""
    control.start()
    begin, found = clock.now, []
    while not control.completed and clock.now < begin + seconds:
        assert 0 <= control.percent_completed <= 1
        if control.sample_type == TYPES.Normal:
            found.append(clock.now - begin)
        clock.now += each
        control.next()
    return found


@pytest.mark.parametrize(
    ("decided", "most", "first"),
    [(None, 60, 60), (20, 60, 20), (3, 60, 10), (90, 60, 60), (None, 5, 10), (20, 5, 10)],
    ids=["never", "later than planned", "before what is planned", "after the limit", "a low limit", "both"],
)
def test_a_period_is_measured_from_then_on_and_as_long_as_planned(
    tmp_path: Path, clock: Clock, decided: float | None, most: float, first: float
) -> None:
    if decided is not None:
        decide(tmp_path, "t", clock.now + decided)
    found = measured(ProlongedPeriod(Prolonged(tmp_path, "t", most), 10, 30, TYPES), clock, 0.5)
    assert found[0] == pytest.approx(first, abs=0.5) and found[-1] - found[0] == pytest.approx(30, abs=1)
    assert len(found) == 60


@pytest.mark.parametrize(("decided", "most", "first"), [(None, 60, 60), (20, 60, 20), (3, 60, 5)])
def test_so_many_iterations_are_measured_as_were_planned(
    tmp_path: Path, clock: Clock, decided: float | None, most: float, first: float
) -> None:
    if decided is not None:
        decide(tmp_path, "t", clock.now + decided)
    found = measured(ProlongedIterations(Prolonged(tmp_path, "t", most), 50, 200, TYPES), clock, 0.1)
    assert found[0] == pytest.approx(first, abs=0.3) and len(found) == 200


@given(st.floats(0.001, 3), st.floats(0, 120), st.floats(15, 100), st.floats(0.1, 40), st.floats(0.1, 40))
def test_whatever_comes_it_ends_by_its_limit(
    tmp_path_factory: pytest.TempPathFactory, each: float, decided: float, most: float, warm: float, length: float
) -> None:
    folder = tmp_path_factory.mktemp("f")
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        decide(folder, "t", clock.now + decided)
        found = measured(ProlongedPeriod(Prolonged(folder, "t", most), warm, length, TYPES), clock, each, 1e4)
    assert found and found[0] <= max(warm, min(most, decided)) + each + prolonged_warmup.LOOK_SECONDS
    assert found[-1] - found[0] <= length


def sample(task: str, at: float, took: float, kind: int = 0, ok: bool = True, **planned: Any) -> Any:
    about = {"warmup_time_period": None, "warmup_iterations": None, "clients": 2, "target_throughput": None, **planned}
    return SimpleNamespace(
        task=SimpleNamespace(name=task, **about), sample_type=kind, request_start=at, service_time=took, total_ops=1,
        request_meta_data=None if ok else {"success": False},
    )  # fmt: skip


def told(folder: Path, took: Any, seconds: int, per_second: Any = 20, **planned: Any) -> int | None:
    """Return the second at which a task that takes `took(second)` was decided, from its begin; None when never.

    `per_second`: how many requests, or how many in each second.
    """
    decider = Decider(folder)
    for second in range(seconds):
        count = per_second(second) if callable(per_second) else per_second
        batch = [sample("t", 5000 + second + n / count, took(second), **planned) for n in range(count)]
        decider.add(batch, TYPES.Warmup)
        if prolonged_warmup._file(folder, "t", "until").exists():
            return second
    return None


def test_a_steady_task_is_measured_after_thirty_six_seconds(tmp_path: Path, clock: Clock) -> None:
    found = told(tmp_path, lambda _: 0.01, 60)
    assert found is not None and 36 <= found <= 39
    text = prolonged_warmup._file(tmp_path, "t", "until").read_text()
    assert float(text) == pytest.approx(clock.now + AHEAD_SECONDS)


@pytest.mark.parametrize(("schedule", "decided"), [("poisson", False), ("daily-pattern", True)])
def test_a_rate_that_the_track_plans_by_itself_tells_nothing(tmp_path: Path, schedule: str, decided: bool) -> None:
    found = told(tmp_path, lambda _: 0.01, 60, per_second=lambda second: 5 + second, schedule=schedule)
    assert (found is not None) is decided


def test_one_that_becomes_faster_is_waited_for(tmp_path: Path) -> None:
    found = told(tmp_path, lambda second: 0.01 + 0.04 * math.exp(-second / 8), 120)
    assert found is not None and 40 <= found <= 75


DOUBLED = (40, 50, 60, 70, 75, 78, 69, 84, 86, 88, 89, 90)
"""Requests a second of one client, of which one is slower than two before it."""


def test_one_slow_second_does_not_end_the_warm_up_of_a_task_whose_rate_doubles(tmp_path: Path) -> None:
    """It was decided after 13 seconds."""
    found = told(tmp_path, lambda second: 1 / DOUBLED[min(second, 11)], 80)
    assert found is not None and 38 <= found <= 50


def changes_late(second: int) -> float:
    """As fast as ever for 40 seconds, then four times as fast by and by."""
    return 0.02 if second < 40 else 0.005 + 0.015 * math.exp(-(second - 40) / 8)


@pytest.mark.parametrize("planned", [{"warmup_time_period": 60}, {"warmup_iterations": 600}])
def test_what_the_track_plans_of_a_warm_up_is_waited_for(tmp_path: Path, planned: dict[str, int]) -> None:
    """20 requests a second of two clients: 60 seconds both ways. The 38th tells nothing of what comes at the 40th."""
    found = told(tmp_path, changes_late, 200, **planned)
    assert found is not None and 60 <= found <= 110


def test_the_plan_alone_prolongs_nothing(tmp_path: Path) -> None:
    found = told(tmp_path, lambda _: 0.01, 120, warmup_time_period=60)
    assert found is not None and 58 <= found <= 61


def test_times_of_failed_requests_are_no_times(tmp_path: Path) -> None:
    """As in what is measured: half of the requests fail, by and by later."""
    decider = Decider(tmp_path)
    for second in range(45):
        for n in range(40):
            took = 0.01 if n % 2 else 0.01 + second / 100
            decider.add([sample("t", 5000 + second + n / 40, took, ok=bool(n % 2))], TYPES.Warmup)
    assert prolonged_warmup._file(tmp_path, "t", "until").exists()


def test_one_that_never_settles_is_never_decided(tmp_path: Path) -> None:
    assert told(tmp_path, lambda second: 0.03 * math.exp(-second / 40), 100) is None


@pytest.mark.parametrize(("per_second", "decided"), [(1, False), (2, False), (3, True)])
def test_what_has_too_few_requests_for_all_comparisons_cannot_be_judged(
    tmp_path: Path, per_second: int, decided: bool
) -> None:
    """72 requests in 36 seconds make 14 parts, of which there is one comparison."""
    assert (told(tmp_path, lambda _: 0.01, 100, per_second=per_second) is not None) is decided


def bursts(second: int) -> int:
    """Three requests a second of eight clients that begin together: all at once each eight thirds of a second."""
    return 8 if second * 3 // 8 != (second - 1) * 3 // 8 else 0


@pytest.mark.parametrize(
    ("took", "per_second", "why"),
    [
        (lambda _: 0.01, 1, "36 requests in 36 s: it takes 80"),
        (lambda _: 0.01, bursts, "requests ended in 13 of the 16 parts of 36 s: it takes all"),
        (lambda second: 0.03 * math.exp(-second / 40), 20, ""),
        (lambda second: 0.03 * math.exp(-second / 40), lambda second: 20 if second < 60 else 1, ""),
        (lambda _: 0.01, lambda second: 1 if second < 60 else 20, ""),
    ],
    ids=["few requests", "bursts", "judged and never settled", "judged once", "judged at last"],
)
def test_why_a_warm_up_could_never_be_judged_is_kept(tmp_path: Path, took: Any, per_second: Any, why: str) -> None:
    allow(tmp_path, 300)
    folder = tmp_path / FOLDER
    prolonged_warmup._file(folder, "t", "task").write_text("t")
    settled = told(folder, took, 100, per_second=per_second) is not None
    assert read_prolonged(tmp_path) == {"t": ExtendedWarmup(300, settled=settled, unjudged=why)}


def test_measured_requests_decide_nothing(tmp_path: Path) -> None:
    decider = Decider(tmp_path)
    decider.add([sample("t", 5000 + n / 20, 0.01, TYPES.Normal) for n in range(2000)], TYPES.Warmup)
    assert not list(tmp_path.iterdir())


def handle(**changes: Any) -> Any:
    about = {"params": SimpleNamespace(infinite=True), "runner": SimpleNamespace(completed=None), "control": "Rally's"}
    made = SimpleNamespace(**{**about, **changes})
    made.task_progress_control = made.control
    return made


def allocation(total_clients: int = 2, **changes: Any) -> Any:
    about: dict[str, Any] = dict.fromkeys(("warmup_time_period", "time_period", "warmup_iterations", "iterations"))
    task = SimpleNamespace(**{"name": "t", "clients": 2, **about, **changes})
    return SimpleNamespace(task=task, total_clients=total_clients)


PERIOD = {"warmup_time_period": 5, "time_period": 30}


@pytest.mark.parametrize(
    ("found", "of", "kind"),
    [
        (handle(), allocation(**PERIOD), ProlongedPeriod),
        (handle(), allocation(warmup_iterations=5, iterations=30), ProlongedIterations),
        (handle(), allocation(warmup_iterations=0, iterations=30), str),
        (handle(), allocation(warmup_time_period=0, time_period=30), str),
        (handle(), allocation(warmup_time_period=5), str),
        (handle(), allocation(iterations=1), str),
        (handle(params=SimpleNamespace(infinite=False)), allocation(**PERIOD), str),
        (handle(runner=SimpleNamespace(completed=False)), allocation(**PERIOD), str),
        (handle(), allocation(total_clients=3, **PERIOD), str),
    ],
    ids=["a period", "iterations", "no warm-up", "a warm-up of nothing", "no end", "once", "finite", "by its runner",
         "beside others"],
)  # fmt: skip
def test_what_can_be_prolonged(tmp_path: Path, found: Any, of: Any, kind: type) -> None:
    prolonged_warmup.prolong(found, of, tmp_path, 60, TYPES)
    assert type(found.task_progress_control) is kind
    assert len(list(tmp_path.glob("*.task"))) == (kind is not str)


def module() -> Any:
    class Driver:
        taken: list[Any] = []  # noqa: RUF012

        def update_samples(self, samples: Any) -> None:
            self.taken.append(samples)

    return SimpleNamespace(schedule_for=lambda *_: handle(), Driver=Driver)


def test_nothing_changes_where_it_is_not_allowed(tmp_path: Path) -> None:
    driver = module()
    before = driver.schedule_for, driver.Driver.update_samples
    install(tmp_path, driver, TYPES)
    assert (driver.schedule_for, driver.Driver.update_samples) == before and read_prolonged(tmp_path) == {}


def test_rallys_driver_decides_and_the_runner_reads_it(tmp_path: Path) -> None:
    driver = module()
    allow(tmp_path, 60)
    install(tmp_path, driver, TYPES)
    assert isinstance(driver.schedule_for(allocation(**PERIOD), None).task_progress_control, ProlongedPeriod)
    assert read_prolonged(tmp_path) == {"t": ExtendedWarmup(60, settled=False)}
    rally = driver.Driver()
    for second in range(45):
        rally.update_samples([sample("t", 5000 + second + n / 20, 0.01) for n in range(20)])
    assert len(rally.taken) == 45 and read_prolonged(tmp_path) == {"t": ExtendedWarmup(60, settled=True)}
    rally.update_samples([SimpleNamespace(sample_type=0)])
    assert len(rally.taken) == 46, "what cannot be judged ends no race"
    assert (tmp_path / FOLDER).is_dir()
