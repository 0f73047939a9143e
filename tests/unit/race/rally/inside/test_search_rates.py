"""The driver judges each probe, its workers take the next rate, and what is not needed sends nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.contract.codec import encode
from fairlap_race.contract.recorded.record import Task
from fairlap_race.contract.recorded.track_record import TrackRecord, TrackTask
from fairlap_race.contract.specification.capacity_search import CapacitySearch, is_kept
from fairlap_race.contract.specification.sweep import SEARCH, SweepSpec, search_steps
from fairlap_race.rally.inside import search_rates
from fairlap_race.rally.inside.steps_in_the_track import SWEEP
from fairlap_race.rally.schedule import Drift
from fairlap_race.rally.sweep_steps import PAUSE

ABOUT = CapacitySearch(lowest=10.0, highest=100.0, resolution=0.2, percentile="p50", millis=50.0)
PLANNED = SweepSpec(task="s", order=SEARCH, duration_seconds=1.0, steps=search_steps("s", ABOUT), search=ABOUT)
TYPES = SimpleNamespace(Warmup=0, Normal=1)


class Driver:
    def __init__(self, name: str) -> None:
        self.current_step, self.name = 0, name

    def update_samples(self, samples: list[Any]) -> None: ...

    def update_progress_message(self, task_finished: bool = False) -> None: ...


def sample(name: str, number: int, rate: float, seconds: float, kind: int = 1) -> Any:
    return SimpleNamespace(
        task=SimpleNamespace(name=name), sample_type=kind, latency=seconds, service_time=seconds,
        processing_time=seconds, client_id=0, request_start=number / rate, request_meta_data={"success": True},
    )  # fmt: skip


def test_a_search_on_stand_ins_for_rallys_own(tmp_path: Path) -> None:
    (tmp_path / SWEEP).write_text(json.dumps({"challenge": None, "sweep": encode(PLANNED)}))
    made: list[Any] = []

    def schedule_for(allocation: Any, _: Any) -> Any:
        made.append(SimpleNamespace(task_progress_control="rally's"))
        return made[-1]

    driver_class = type("Driver", (Driver,), {})
    module = SimpleNamespace(schedule_for=schedule_for, Driver=driver_class)
    search_rates.install(tmp_path, module, TYPES, lambda driver, _: [driver.name])
    rates = []
    for step in PLANNED.steps:
        task = SimpleNamespace(name=step.name, params={})
        handle = module.schedule_for(SimpleNamespace(task=task), None)
        if handle.task_progress_control != "rally's":
            assert handle.task_progress_control.completed
            break
        rates.append(task.params["target-throughput"])
        running, slow = driver_class(step.name), rates[-1] > 40.0
        running.update_samples([sample(step.name, 0, rates[-1], 9.0, kind=0)])
        running.update_samples([sample(step.name, it, rates[-1], 0.2 if slow else 0.02) for it in range(40)])
        running.update_progress_message()
        running.update_progress_message(task_finished=True)
    ran = search_rates.read_search(tmp_path, PLANNED)
    assert rates[0] == 10.0 and [it.target_throughput for it in ran.steps] == rates and 5 < len(rates) < 40
    assert [it.kept for it in ran.steps] == [rate <= 40.0 for rate in rates]
    pause = SimpleNamespace(name=f"{PAUSE}{PLANNED.steps[-1].name}", params={})
    assert module.schedule_for(SimpleNamespace(task=pause), None).task_progress_control.completed
    other = SimpleNamespace(name="other", params={})
    assert module.schedule_for(SimpleNamespace(task=other), None).task_progress_control == "rally's"
    assert not other.params and "target-throughput" not in pause.params


def test_clients_that_begin_all_at_once_keep_the_objective() -> None:
    """A hundred with one request a second each, which one process sends one after the other, 0.36 ms apart."""
    probe, about = search_rates.ProbeSamples(), replace(ABOUT, percentile="p99", millis=500.0)
    for due in range(30):
        for client in range(100):
            wait = client * 0.00036
            probe.add(
                SimpleNamespace(
                    latency=wait + 0.01, service_time=0.01, processing_time=0.01, client_id=client,
                    request_start=due + wait, request_meta_data={},
                )
            )  # fmt: skip
    found = probe.measured("p99")
    assert found.millis == pytest.approx(45.28) and is_kept(about, found)


@pytest.mark.parametrize(
    ("planned", "clients", "sent", "kept"),
    [
        pytest.param(9, 1, 2, False, id="seven of nine are missing"),
        pytest.param(400, 1, 8, False, id="nearly all are missing"),
        pytest.param(6, 1, 6, True, id="all"),
        pytest.param(8, 1, 6, True, id="a plan that was drawn"),
        pytest.param(10.5, 8, 8, True, id="each client sent once"),
        pytest.param(450, 300, 300, True, id="one burst of all clients"),
    ],
)
def test_of_few_requests_too_it_is_seen_that_many_were_not_sent(
    planned: float, clients: int, sent: int, kept: bool
) -> None:
    probe = search_rates.ProbeSamples()
    for number in range(sent):
        probe.add(_timed("search", number % clients, number // clients * 3.0, 0.0, 0.01))
    assert probe.measured("p50", planned).keeps_schedule is kept


@pytest.mark.parametrize("case", ["a client hangs in its warm-up", "the warm-up leaves a backlog", "neither"])
def test_a_probe_is_judged_by_the_schedule_that_its_record_has(case: str, tmp_path: Path) -> None:
    """Eight clients with ten requests a second each, of which the first 5 s are the warm-up."""
    sent, step = [], PLANNED.steps[0].name
    for client in range(8):
        hangs = case == "a client hangs in its warm-up" and client == 7
        end = 40.0 if hangs else 11.0 if case == "the warm-up leaves a backlog" else 4.95
        sent.append(_timed(step, client, 4.9, 0.0, end - 4.9, kind=TYPES.Warmup))
        for number in range(0 if hangs else 50, 0 if hangs else 350):
            due = number / 10 + client / 80
            start = max(due, end)
            end = start + 0.05
            sent.append(_timed(step, client, start, start - due, 0.05))
    searcher, drift = search_rates.Searcher(tmp_path, PLANNED, replace(ABOUT, millis=60.0)), Drift()
    searcher.add(sent, TYPES.Normal)
    searcher.end([step])
    for it in sent:
        if it.sample_type == TYPES.Normal:
            drift.add(it.client_id, it.request_start, it.latency - it.service_time, it.processing_time)
        else:
            drift.join(it.client_id, it.request_start + it.processing_time)
    recorded = Task(schedule_share=drift.share(), schedule=drift.record())
    (judged,) = search_rates.read_search(tmp_path, PLANNED).steps
    assert judged.kept is recorded.keeps_schedule is (case == "neither")


def _timed(name: str, client: int, start: float, wait: float, took: float, kind: int = TYPES.Normal) -> Any:
    return SimpleNamespace(
        task=SimpleNamespace(name=name), sample_type=kind, latency=wait + took, service_time=took,
        processing_time=took, client_id=client, request_start=start, request_meta_data={"success": True},
    )  # fmt: skip


def test_a_probe_without_an_answer_keeps_nothing(tmp_path: Path) -> None:
    searcher = search_rates.Searcher(tmp_path, PLANNED, ABOUT)
    searcher.end(["other"])
    searcher.end(["s@probe-1"])
    (step,) = search_rates.read_search(tmp_path, PLANNED).steps
    assert step.kept is False


def test_the_record_has_what_ran_alone() -> None:
    names = [name for step in PLANNED.steps for name in (f"{PAUSE}{step.name}", step.name)]
    track = TrackRecord(tasks=tuple(TrackTask(name) for name in ["bulk", *names[1:]]), sweep=PLANNED)
    ran = SweepSpec(task="s", steps=PLANNED.steps[:2], search=ABOUT)
    found = search_rates.as_it_ran(track, PLANNED, ran)
    assert [it.name for it in found.tasks] == ["bulk", "s@probe-1", f"{PAUSE}s@probe-2", "s@probe-2"]
    assert found.sweep and found.sweep.digest and len(found.sweep.steps) == 2


def test_nothing_is_changed_without_a_search(tmp_path: Path) -> None:
    module = SimpleNamespace(schedule_for="as it is")
    search_rates.install(tmp_path, module, TYPES, lambda *_: [])
    (tmp_path / SWEEP).write_text(json.dumps({"challenge": None, "sweep": encode(SweepSpec(task="s"))}))
    search_rates.install(tmp_path, module, TYPES, lambda *_: [])
    assert module.schedule_for == "as it is"
