"""How many processors the load generator has: its CPU limit, and the processors that it is let run on."""

from __future__ import annotations

import os

import pytest

from fairlap_race.linux.cgroup import CgroupUsage, Limits
from fairlap_race.runner.watching import host
from fairlap_race.runner.watching.load_generator import judge_load_generator


@pytest.mark.parametrize(
    ("limit", "allowed", "machine_has", "expected"),
    [
        (2.0, "0-1", 2, 2.0),
        (2.0, "0", 2, 1.0),  # a whole processor is Elasticsearch's
        (0.5, "0", 2, 0.5),
        (2.0, "0,2-5", 8, 2.0),
        (None, "0,2-5", 8, 5.0),
        (None, None, 4, 4.0),
        (2.0, None, 4, 2.0),
        (8.0, None, 4, 4.0),
        (2.0, "nonsense", None, 2.0),
        (None, None, None, 1.0),
    ],
)
def test_it_may_use_its_limit_and_no_more_than_it_may_run_on(
    limit: float | None, allowed: str | None, machine_has: int | None, expected: float
) -> None:
    assert host.usable_processors(limit, allowed, machine_has) == expected


@pytest.mark.parametrize(
    ("asked", "may_use", "expected"),
    [(2, 1.0, 1), (2, 2.0, 2), (1, 4.0, 1), (None, 3.5, 3), (None, 0.5, 1), (2, 0.5, 1)],
)
def test_rally_sends_from_no_more_processes_than_can_run(asked: int | None, may_use: float, expected: int) -> None:
    assert host.worker_processes(asked, may_use) == expected


def test_one_processor_of_two_is_full_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.cgroup, "read_limits", lambda: Limits(2.0, None))
    monkeypatch.setattr(host.machine, "allowed_cpus", lambda: "0")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    about, cores, may_use = host.look_at_machine(2)
    assert (about.cores, cores, may_use) == (1, 1, 1.0)
    assert (about.cpus, about.cpu_limit, about.machine_processors) == ("0", 2.0, 2)
    found = judge_load_generator(CgroupUsage(0.0, cpu_seconds=0.0), CgroupUsage(10.0, cpu_seconds=9.0), may_use, None)
    assert found.saturated and found.why == "used 90 % of its 1 CPUs"
