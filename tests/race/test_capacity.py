"""A capacity is looked for: by Rally and by k6, where each request takes a known time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.parts.timed_server import TimedServer

from fairlap.api.capacity_status import CapacityResult
from fairlap.plan.verdict.checks import first_violation
from fairlap.plan.verdict.http_checks import HTTP_CHECKS
from fairlap.results.capacity_found import capacity_result
from fairlap_race.contract.codec import encode
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.specification.capacity_search import MOST_TRIES, CapacitySearch
from fairlap_race.contract.specification.sweep import SEARCH, SweepSpec, search_steps

from .runner import Race, Runner, asked
from .tracks import BULK, CREATE, search, write

HELD = 0.02
"""Seconds that each request takes: one client, and a server that answers one by one, carry 50 a second at most."""


def wanted(task: str, **changes: Any) -> SweepSpec:
    found: dict[str, Any] = {"lowest": 10.0, "highest": 160.0, "resolution": 0.4, "percentile": "p50", "millis": 60.0}
    about = CapacitySearch(**{**found, **changes})
    return SweepSpec(
        task=task,
        order=SEARCH,
        duration_seconds=1.0,
        warmup_seconds=0.3,
        steps=search_steps(task, about),
        search=about,
    )


def proves_a_search(record: Record, most: float) -> None:
    """Assert that a record's probes are consistent, and that what they found can be what no more than `most` carries.

    Outside of a container the load generator's CPU is that of the whole machine, which other tests use, too.
    """
    record = replace(record, tasks=tuple(replace(task, load=None) for task in record.tasks))
    swept = record.track.sweep
    assert swept is not None and 5 <= len(swept.steps) <= MOST_TRIES
    assert {step.kept for step in swept.steps} == {True, False}
    tasks = {task.task: task for task in record.tasks}
    assert not [name for name in tasks if "@probe-" in name and name not in swept.names], (
        "nothing of what was not needed"
    )
    for step in swept.steps:
        assert tasks[step.name].target_throughput == pytest.approx(step.target_throughput)
    found = capacity_result([record])
    assert found is not None and found.rate is not None, found
    # One side is physics; the other is not: a busy machine carries less. A backlog needs time to pass the objective.
    assert found.rate.low <= 1.1 * most and 0.4 * most <= found.rate.high, found
    assert found.rate.low <= found.rate.value <= found.rate.high and found.races[0].probes == len(swept.steps)
    assert "carries" in found.sentences[0] and "90 % interval" in found.sentences[0]


def what_is_found(record: Record) -> CapacityResult:
    """Return the capacity as it is told, whatever the machine's other tests took from the load generator."""
    found = capacity_result([replace(record, tasks=tuple(replace(task, load=None) for task in record.tasks))])
    assert found is not None
    return found


@pytest.mark.long
def test_rally_finds_what_one_client_carries(runner: Runner, tmp_path: Path) -> None:
    operation = {"operation-type": "sleep", "name": "held", "duration": HELD, "include-in-reporting": True}
    held = {"name": "held", "operation": operation, "time-period": 2}
    track = write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, held, search("after", seconds=1))
    ran = runner.run(track, sweep=encode(wanted("held")))
    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    proves_a_search(ran.record, 1 / HELD)
    assert "after" in {task.task for task in ran.record.tasks}, "what comes behind the search is raced"
    assert not [text for text in ran.record.rally.warnings if "@probe-" in text]
    names = {task.name for task in ran.record.track.tasks}
    assert not [name for name in names if "@probe-40" in name]


@pytest.fixture
def timed() -> Iterator[TimedServer]:
    found = TimedServer(one_by_one=True)
    yield found
    found.close()


@pytest.fixture
def patient() -> Iterator[TimedServer]:
    """A server that answers any number of requests at a time, each after as long."""
    found = TimedServer()
    yield found
    found.close()


@pytest.fixture
def http_race(account: Path, k6: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Record]:
    monkeypatch.setenv("PATH", f"{k6.parent}:/usr/bin:/bin")

    def run(server: TimedServer, sweep: SweepSpec, clients: int = 100) -> Record:
        (tmp_path / "terms.txt").write_text(f"/{1000 * HELD:.0f}?q=1\n")
        loads = [
            {
                "name": step.name, "seconds": sweep.duration_seconds, "clients": clients,
                "rate": step.target_throughput, "warmupSeconds": sweep.warmup_seconds,
            }
            for step in sweep.steps
        ]  # fmt: skip
        race = Race(account, {
            "cores": None, "hosts": [server.host], "requests": {"path": str(tmp_path), "file": "terms.txt"},
            "http": {"loads": loads, "health": "/0"}, "sweep": encode(sweep),
        })  # fmt: skip
        try:
            return race.result(120).record
        finally:
            race.end()

    return run


def test_k6_finds_what_the_server_carries(http_race: Callable[..., Record], timed: TimedServer) -> None:
    record = http_race(timed, wanted("requests"))
    assert first_violation(record, asked(), HTTP_CHECKS) is None
    proves_a_search(record, 1 / HELD)


@pytest.mark.long
def test_clients_that_are_too_few_are_not_taken_for_the_server(
    http_race: Callable[..., Record], patient: TimedServer
) -> None:
    # On a machine that stalls the answers themselves break the objective, at any rate, and clients may not be why.
    for _ in range(4):
        record = http_race(patient, wanted("requests"), clients=1)
        found = what_is_found(record)
        if found.rate and "The only client was busy where the objective broke" in found.sentences[-1]:
            return proves_a_search(record, 1 / HELD)
    pytest.fail(f"of four races none tells it: {found}")


def test_an_objective_that_cannot_be_met_is_said(http_race: Callable[..., Record], timed: TimedServer) -> None:
    record = http_race(timed, wanted("requests", millis=5.0))
    found = what_is_found(record)
    assert found.rate is None and found.races[0].end == "NeverKept"
    assert "the objective is not kept at 10 ops/s, the lowest rate that was tried" in found.sentences[0]
    assert len(record.tasks) <= 5, "and nothing above it was tried"
