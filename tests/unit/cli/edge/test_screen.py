"""Progress on a terminal and elsewhere, and which step a log is of."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlap.cli.commands.logs_command import current_step
from fairlap.cli.edge import benchmarks as bm
from fairlap.cli.edge.screen import Screen


def benchmark(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": status}


def test_without_a_terminal_only_changes_are_printed() -> None:
    out = io.StringIO()
    screen = Screen(out)
    for percent in (1, 2, 50):
        screen.show([benchmark("es", phase="Racing", progress=f"race 1/2 · bulk-index {percent} %")])
    screen.show([benchmark("es", phase="Succeeded"), benchmark("two")])
    lines = [line.split("] ", 1)[1].split() for line in out.getvalue().splitlines()]
    assert [line[:2] for line in lines] == [["es", "Racing"], ["es", "Succeeded"], ["two", "Pending"]]
    assert "\x1b" not in out.getvalue()


def test_a_log_has_every_number_of_what_is_said() -> None:
    said = [
        "race 1/2 · bulk-index 43 %",
        "2 variants; changes from 2.4 % on are found four times in five",
        "2 variants; changes from 3 % on are found four times in five",
        "9.0.0 is worse: throughput is 12.3 % lower (95 % interval -15.0 % to -9.6 %, 10 pairs)",
    ]
    out = io.StringIO()
    screen = Screen(out)
    for progress in said:
        screen.show([benchmark("up", phase="Racing", progress=progress)])
    assert [line.split("Racing", 1)[1].strip() for line in out.getvalue().splitlines()] == said


def test_a_benchmark_and_a_comparison_of_one_name_are_two() -> None:
    out = io.StringIO()
    screen = Screen(out)
    both = [{**benchmark("es", phase=phase), "kind": kind} for kind, phase in (("Benchmark", "a"), ("Comparison", "b"))]
    screen.show(both)
    screen.show(both)
    assert out.getvalue().count("\n") == 2


def test_on_a_terminal_lines_are_redrawn() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    screen = Screen(out)
    both = [benchmark("a", phase="Racing", progress="x" * 500), benchmark("b")]
    screen.show(both)
    screen.show(both)
    assert out.getvalue().count("\n") == 4
    assert out.getvalue().count("\x1b[2A") == 1
    assert all(len(line) < 120 for line in out.getvalue().splitlines())


@pytest.mark.parametrize(
    ("status", "step"),
    [
        ({}, None),
        ({"phase": "Queued"}, None),
        ({"phase": "Racing", "step": {"name": "race-2"}, "races": [{"name": "race-1"}]}, "race-2"),
        ({"phase": "Succeeded", "races": [{"name": "smoke"}, {"name": "race-1"}]}, "race-1"),
        ({"phase": "Failed"}, "check"),
        ({"phase": "Queued", "finishedStep": "check"}, "check"),
    ],
)
def test_the_step_that_a_log_is_of(status: dict[str, Any], step: str | None) -> None:
    assert current_step(benchmark("es", **status)) == step


BUILT: dict[str, Any] = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}}
THERE: dict[str, Any] = {"target": {"hosts": ["http://es:9200"]}, "race": BUILT["race"]}


@pytest.mark.parametrize(
    ("spec", "status", "step"),
    [
        (THERE, {}, "probe"),
        (THERE, {"finishedStep": "probe"}, "check"),
        (THERE, {"finishedStep": "check"}, "smoke"),
        (THERE, {"finishedStep": "check", "races": [{"name": "smoke"}]}, "smoke"),
        (BUILT, {}, "smoke"),
        ({**BUILT, "smokeTest": False}, {}, "race-1"),
        ({**BUILT, "field": "of a later version"}, {"finishedStep": "of a later version"}, "of a later version"),
    ],
)
def test_the_step_that_one_failed_in(spec: dict[str, Any], status: dict[str, Any], step: str) -> None:
    assert current_step({**benchmark("es", phase="Failed", **status), "spec": spec}) == step


CREATED = "2026-11-24T10:00:00Z"


@pytest.mark.parametrize(
    ("status", "created", "second", "said"),
    [
        ({}, CREATED, 29, "not seen by the operator yet"),
        ({}, None, 59, "not seen by the operator yet"),
        (
            {},
            CREATED,
            30,
            f"not seen by an operator since {CREATED}: does it run, and does it watch the namespace bench? "
            "(the chart's scope.namespaces; without it the operator's own)",
        ),
        ({"phase": "Queued", "progress": "2 before it"}, CREATED, 59, "2 before it"),
    ],
)
def test_what_nobody_sees_is_said_with_the_namespace(
    status: dict[str, Any], created: str | None, second: int, said: str
) -> None:
    unseen = {"metadata": {"name": "es", "namespace": "bench", "creationTimestamp": created}, "status": status}
    assert bm.progress(unseen, datetime(2026, 11, 24, 10, 0, second, tzinfo=UTC)) == said
