"""`fairlap run` with Comparisons: applied, followed to their end, and ended with the exit code of a gate."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlap.api.base import Answer
from fairlap.api.comparison_status import ComparisonStatus, ContenderStatus, DifferenceStatus, GateStatus
from fairlap.api.status import Condition
from fairlap.cli.commands import run_command
from fairlap.cli.commands.gate_command import exit_code
from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import CliError
from fairlap.cli.tables.comparison_end import end_lines

NOW = "2026-01-01T00:00:00Z"
Json = dict[str, Any]


def as_json(model: Answer) -> Json:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def gate_passed(status: str, reason: str, message: str = "") -> Condition:
    return Condition(type="GatePassed", status=status, reason=reason, message=message, last_transition_time=NOW)


def comparison(name: str = "upgrade", status: ComparisonStatus | None = None) -> Json:
    return {
        "apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "metadata": {"name": name}, "spec": {},
        **({"status": as_json(status)} if status else {}),
    }  # fmt: skip


def ended(verdict: Any, condition: Condition, **more: Any) -> ComparisonStatus:
    return ComparisonStatus(phase="Complete", verdict=verdict, conditions=[condition], **more)


def benchmark(name: str, phase: str) -> Json:
    return {
        "kind": "Benchmark",
        "apiVersion": "fairlap.dev/v1alpha1",
        "metadata": {"name": name},
        "status": {"phase": phase},
    }


REGRESSED = ended(
    "Regressed",
    gate_passed("False", "GateNotPassed", "9.0.0: throughput"),
    contenders=[
        ContenderStatus(
            name="9.0.0", verdict="Regressed", sentence="9.0.0 is worse than 8.11.0",
            gates=[
                GateStatus(metric="throughput", policy="requireNonInferior", verdict="Regressed", sentence="8 % less")
            ],
        )
    ],
    findings=["8.11.0 lost 2 of 7 races"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (ended("NoDifference", gate_passed("True", "AllGatesPassed")), 0),
        (ended("Inconclusive", gate_passed("True", "Inconclusive")), 0),  # onInconclusive: pass
        (REGRESSED, 1),
        (ended("Inconclusive", gate_passed("False", "Inconclusive")), 3),
        (ended("Inconclusive", gate_passed("Unknown", "Inconclusive")), 3),
        (ended("NotComparable", gate_passed("False", "NotComparable")), 3),
        (ComparisonStatus(phase="Complete", verdict="Inconclusive"), 3),
        (ComparisonStatus(phase="Failed", reason="RacesInvalid", message="too many"), 3),
    ],
)
def test_the_exit_code_is_that_of_a_gate(status: ComparisonStatus, code: int) -> None:
    assert exit_code(comparison(status=status)) == code


def test_the_end_tells_verdict_gates_and_findings() -> None:
    assert list(end_lines(comparison(status=REGRESSED))) == [
        "upgrade: Regressed",
        "* 9.0.0 is worse than 8.11.0",
        "  - 8 % less",
        "* 8.11.0 lost 2 of 7 races",
        "Gates: not passed: 9.0.0: throughput",
    ]


def test_where_no_gate_decides_the_end_calls_none_passed() -> None:
    nothing = ended("Regressed", gate_passed("True", "NothingToDecide", "no gate decides: 8 % less"))
    assert list(end_lines(comparison(status=nothing)))[-1] == "Gates: nothing to decide: no gate decides: 8 % less"
    passed = ended("Improved", gate_passed("True", "AllGatesPassed", "all"))
    assert list(end_lines(comparison(status=passed)))[-1] == "Gates: passed: all"


def test_the_end_names_what_made_it_unfair_and_what_mends_it() -> None:
    unfair = DifferenceStatus(
        what="java", rule="MayFollow", fair=False, values={"8": "17", "9": "21"}, message="Write elasticsearch.java: 21"
    )
    listed = DifferenceStatus(what="Lucene", rule="FollowsRelease", fair=True, values={"8": "9.8", "9": "10.1"})
    status = ended("NotComparable", gate_passed("False", "NotComparable"), differences=[unfair, listed])
    lines = list(end_lines(comparison(status=status)))
    assert "* not the same: java (8 17, 9 21). Write elasticsearch.java: 21" in lines
    assert not any("Lucene" in line for line in lines)


def test_one_that_failed_says_why() -> None:
    failed = ComparisonStatus(phase="Failed", reason="RacesInvalid", message="9.0.0 lost 4 of 4 races")
    assert list(end_lines(comparison(status=failed))) == ["upgrade failed: RacesInvalid: 9.0.0 lost 4 of 4 races"]


class FakeCluster:
    """A cluster that takes what is applied and then tells these changes."""

    context = ""

    def __init__(self, *changes: Json, there: Sequence[Json] = ()) -> None:
        self.namespace = "n"
        self._changes, self._there = changes, {each["metadata"]["name"]: each for each in there}
        self.watched: tuple[str, ...] = ()

    command = Connection.command

    def apply(self, manifest: Json, dry_run: bool = False) -> tuple[Json, str]:
        found = self._there.get(manifest["metadata"]["name"])
        return (found, "unchanged") if found else (manifest, "created")

    def benchmark(self, name: str) -> Json:
        return self._there[name]

    def changes(self, stop: threading.Event, kinds: Sequence[str], known: Sequence[Json]) -> Iterator[Json | None]:
        self.watched = tuple(kinds)
        yield from itertools.chain(self._changes, itertools.repeat(None))


def run(tmp_path: Path, cluster: FakeCluster, *objects: Json, wait: bool = True, timeout: float | None = 20) -> int:
    (tmp_path / "m.yaml").write_text(yaml.safe_dump_all(objects))
    return run_command.run(cluster, [str(tmp_path / "m.yaml")], wait, timeout, dry_run=False)  # type: ignore[arg-type]


def test_one_is_followed_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    racing = ComparisonStatus(phase="Racing", progress="block 1 of at most 10: 9.0.0 races")
    cluster = FakeCluster(
        comparison(), comparison("strangers", REGRESSED), comparison(status=racing), comparison(status=REGRESSED)
    )
    assert run(tmp_path, cluster, comparison()) == 1
    said = capsys.readouterr().out
    assert cluster.watched == ("Comparison",)
    assert "comparison/upgrade created" in said
    assert "block 1 of at most 10: 9.0.0 races" in said
    assert "upgrade: Regressed" in said and "strangers" not in said
    assert "fairlap report upgrade -n n" in said


@pytest.mark.parametrize(
    ("phase", "status", "code"),
    [
        ("Succeeded", ended("NoDifference", gate_passed("True", "AllGatesPassed")), 0),
        ("Succeeded", ended("Inconclusive", gate_passed("False", "Inconclusive")), 3),
        ("Failed", ended("Inconclusive", gate_passed("False", "Inconclusive")), 1),
        ("Failed", ended("NoDifference", gate_passed("True", "AllGatesPassed")), 1),
    ],
)
def test_both_kinds_are_followed_together(tmp_path: Path, phase: str, status: ComparisonStatus, code: int) -> None:
    # A Benchmark and a Comparison may have the same name.
    cluster = FakeCluster(benchmark("upgrade", "Racing"), comparison(status=status), benchmark("upgrade", phase))
    assert run(tmp_path, cluster, benchmark("upgrade", ""), comparison()) == code
    assert set(cluster.watched) == {"Benchmark", "Comparison"}


def test_one_that_is_deleted_meanwhile_is_told(tmp_path: Path) -> None:
    cluster = FakeCluster({**comparison(), "deleted": True})
    with pytest.raises(CliError, match="the Comparison upgrade was deleted"):
        run(tmp_path, cluster, comparison())


@pytest.mark.parametrize("after", [{"deleted": True}, {"status": {"phase": "Pending"}}])
def test_one_that_is_over_stays_so_while_others_go_on(tmp_path: Path, after: Json) -> None:
    """It may expire, and whoever applies it again makes another of its name."""
    done = benchmark("one", "Succeeded")
    cluster = FakeCluster(done, benchmark("two", "Racing"), {**done, **after}, benchmark("two", "Succeeded"))
    assert run(tmp_path, cluster, benchmark("one", ""), benchmark("two", "")) == 0


def test_waiting_ends_with_124(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FakeCluster(comparison()), comparison(), timeout=0) == 124
    assert "kubectl get comparisons -n n --watch" in capsys.readouterr().err


def test_without_waiting_it_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FakeCluster(), comparison(), benchmark("one", ""), wait=False) == 0
    said = capsys.readouterr().out
    assert "kubectl get comparisons,benchmarks -n n\n" in said  # kubectl watches one kind at a time
    assert "fairlap results one -n n" in said and "fairlap report upgrade -n n" in said


def test_one_that_ended_before_is_not_raced_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    over = comparison(status=REGRESSED)
    assert run(tmp_path, FakeCluster(over, there=[over]), comparison()) == 1
    said = capsys.readouterr().err
    assert "upgrade has ended before" in said and "another metadata.name" in said and "rerun" not in said


def test_one_that_is_named_twice_is_waited_for_once(tmp_path: Path) -> None:
    """A directory, and a file in it."""
    cluster = FakeCluster(benchmark("one", "Succeeded"))
    assert run(tmp_path, cluster, benchmark("one", ""), benchmark("one", "")) == 0


def test_a_reader_that_has_seen_enough_makes_no_failure_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writer, "w"))
    cluster = FakeCluster(benchmark("one", "Racing"), benchmark("one", "Failed"))
    assert run(tmp_path, cluster, benchmark("one", "")) == 1


def test_a_race_of_a_comparison_is_not_run_again_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The operator refuses it, too: nobody waits for that."""
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "cmp", "uid": "c", "controller": True}
    race = benchmark("cmp-1b", "Succeeded")
    race["metadata"]["ownerReferences"] = [owner]
    cluster = FakeCluster(race, there=[race])
    said = "cmp-1b is a race of Comparison cmp, which is not run again alone: to compare once more, apply Comparison"
    with pytest.raises(CliError, match=said):
        run_command.rerun(cluster, "cmp-1b", wait=False, timeout=None)  # type: ignore[arg-type]
    run(tmp_path, cluster, race)
    assert said in capsys.readouterr().err
