"""`fairlap gate`: which verdict is which exit code, and what a pipeline's log says."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fairlap.cli import main as program
from fairlap.cli.commands import gate_command
from fairlap.cli.edge.exits import CliError, RefusedError, UnknownKindError, UnknownNameError

Json = dict[str, Any]


def comparison(
    passed: str = "",
    reason: str = "",
    phase: str = "Complete",
    verdict: str = "NoDifference",
    gates: tuple[Json, ...] = (),
    others: tuple[Json, ...] = (),
) -> Json:
    conditions = [{"type": "GatePassed", "status": passed, "reason": reason}] if passed else []
    contenders = [{"name": "9.0.0", "verdict": verdict, "gates": list(gates)}, *others]
    status = {
        "phase": phase,
        "verdict": verdict,
        "progress": "a sentence",
        "conditions": conditions,
        "contenders": contenders,
    }
    return {"metadata": {"name": "upgrade"}, "status": status}


def gate(verdict: str, passed: bool | None) -> Json:
    return {"metric": "throughput", "verdict": verdict, "sentence": f"throughput is {verdict}"} | (
        {"policy": "reportOnly"} if passed is None else {"passed": passed}
    )


ODD: Json = {"name": "odd", "verdict": "NotComparable", "sentence": "odd differs in two variables"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (comparison("True", "AllGatesPassed"), 0),
        (comparison("True", "Inconclusive", verdict="Inconclusive"), 0),  # onInconclusive: pass
        (comparison("Unknown", "NothingToDecide"), 0),
        (comparison("False", "GateNotPassed", gates=(gate("Regressed", False),)), 1),
        (
            comparison(
                "False", "GateNotPassed", gates=(gate("NoDifference", True), gate("RegressedWithinMargin", False))
            ),
            1,
        ),
        (comparison("False", "Inconclusive", verdict="Inconclusive", gates=(gate("Inconclusive", False),)), 3),
        (comparison("False", "Inconclusive", gates=(gate("Inconclusive", False), gate("Regressed", False))), 1),
        (comparison("False", "GateNotPassed", gates=(gate("Inconclusive", False), gate("Regressed", None))), 3),
        (comparison("False", "GateNotPassed", gates=(gate("NoDifference", False),)), 1),  # failOnAnyRegression
        (comparison("False", "GateNotPassed"), 1),
        (comparison("False", "NotComparable", verdict="NotComparable", gates=(gate("Regressed", False),)), 3),
        (comparison("False", "NotComparable", gates=(gate("NoDifference", True),), others=(ODD,)), 3),
        (comparison("False", "GateNotPassed", gates=(gate("Regressed", False),), others=(ODD,)), 1),
        (comparison("", phase="Failed"), 3),
        (comparison("False", "GateNotPassed", phase="Racing"), 3),
        ({"metadata": {"name": "upgrade"}}, 3),
    ],
)
def test_exit_codes(given: Json, code: int) -> None:
    assert gate_command.exit_code(given) == code


class Cluster:
    """A Comparison that changes."""

    def __init__(self, *steps: Json | None) -> None:
        self.steps = steps

    def comparison(self, name: str) -> Json:
        if name != "upgrade":
            raise UnknownNameError("there is no Comparison of this name")
        assert self.steps[0] is not None
        return self.steps[0]

    def comparison_changes(self, stop: threading.Event) -> Iterator[Json | None]:
        yield from self.steps
        while not stop.is_set():
            yield None


class Hiccups(Cluster):
    """One whose API server fails at the first questions for a name, each time in another way."""

    def __init__(self, *steps: Json | None, failures: list[CliError]) -> None:
        super().__init__(*steps)
        self.failures = failures

    def comparison(self, name: str) -> Json:
        if self.failures:
            raise self.failures.pop(0)
        return super().comparison(name)


def opened(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
    monkeypatch.setattr("fairlap.cli.edge.connection.Connection.open", lambda context, namespace: cluster)


def test_it_prints_verdict_and_gates(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    gates = (gate("Regressed", False), gate("NoDifference", True), gate("Inconclusive", None))
    opened(monkeypatch, Cluster(comparison("False", "GateNotPassed", verdict="Regressed", gates=gates)))
    assert program.main(["gate", "upgrade"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "Regressed: a sentence",
        "* NOT PASSED: 9.0.0: throughput is Regressed",
        "* passed: 9.0.0: throughput is NoDifference",
        "* only reported: 9.0.0: throughput is Inconclusive",
    ]


@pytest.mark.parametrize(
    ("policy", "words"),
    [("reportOnly", "only reported"), ("requireNonInferior", "open"), ("failOnAnyRegression", "open")],
)
def test_a_gate_that_is_open_yet_is_not_called_only_reported(policy: str, words: str) -> None:
    racing = comparison(phase="Racing", gates=(gate("Inconclusive", None) | {"policy": policy},))
    found = gate_command.verdict_lines(racing)
    assert found[1:] == [f"* {words}: 9.0.0: throughput is Inconclusive"]


def test_it_names_who_cannot_be_compared() -> None:
    judged = comparison("False", "NotComparable", gates=(gate("NoDifference", True),), others=(ODD,))
    found = gate_command.verdict_lines(judged)
    assert found[1:] == [
        "* passed: 9.0.0: throughput is NoDifference",
        "* NOT COMPARABLE: odd: odd differs in two variables",
    ]


def test_it_waits_for_the_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    racing, other = comparison(phase="Racing"), {**comparison("True", "x"), "metadata": {"name": "other"}}
    opened(monkeypatch, Cluster(racing, None, other, racing, comparison("True", "AllGatesPassed")))
    assert program.main(["gate", "upgrade", "--wait"]) == 0
    assert capsys.readouterr().err == "upgrade: a sentence\n"


def racing(progress: str) -> Json:
    found = comparison(phase="Racing")
    found["status"]["progress"] = progress
    return found


AWAY = CliError("the API server at https://a does not answer: refused")


NO_KIND = UnknownKindError("the cluster knows no Comparisons")


@pytest.mark.parametrize(
    "failure", [AWAY, RefusedError(503, "apiserver not ready"), RefusedError(403, "forbidden"), NO_KIND]
)
def test_a_failure_of_the_first_question_ends_no_waiting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failure: CliError
) -> None:
    opened(monkeypatch, Hiccups(racing("block 1/3"), comparison("True", "AllGatesPassed"), failures=[failure]))
    assert program.main(["gate", "upgrade", "--wait"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"upgrade: nothing is known of it yet: {failure}",
        "upgrade: block 1/3",
    ]


def test_what_is_not_there_is_told_once_that_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(monkeypatch, Hiccups(failures=[AWAY, RefusedError(500, "etcd")]))
    assert program.main(["gate", "nobody", "--wait"]) == 2
    assert capsys.readouterr().err.endswith("fairlap: there is no Comparison of this name\n")


def test_a_cluster_that_never_answers_is_a_time_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def away(name: str) -> Json:
        raise CliError(str(AWAY))

    cluster = Cluster()
    monkeypatch.setattr(cluster, "comparison", away)
    opened(monkeypatch, cluster)
    assert program.main(["gate", "upgrade", "--wait", "--timeout", "1s"]) == 124
    words = f"nothing is known of it yet: {AWAY}"
    assert capsys.readouterr().err.splitlines() == [
        f"upgrade: {words}",
        f"fairlap: upgrade is not at an end after 1 s: {words}",
    ]


def test_a_cluster_that_is_silent_does_not_outlast_the_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client asks an API server that does not answer for minutes."""
    silent = threading.Event()
    cluster = Cluster()
    monkeypatch.setattr(cluster, "comparison", lambda name: silent.wait(30))
    opened(monkeypatch, cluster)
    began = time.monotonic()
    assert program.main(["gate", "upgrade", "--wait", "--timeout", "1s"]) == 124
    assert time.monotonic() - began < 20
    silent.set()
    assert "not at an end after 1 s: nothing is known of it yet: the API server does not answer" in (
        capsys.readouterr().err
    )


def test_a_cluster_without_comparisons_has_none_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    opened(monkeypatch, Hiccups(failures=[NO_KIND]))
    assert program.main(["gate", "upgrade"]) == 2


def test_what_no_operator_has_seen_is_not_said_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    created = "2020-01-01T00:00:00Z"
    opened(
        monkeypatch,
        Cluster({"metadata": {"name": "upgrade", "namespace": "bench", "creationTimestamp": created}}),
    )
    assert program.main(["gate", "upgrade", "--wait", "--timeout", "1s"]) == 124
    first, last = capsys.readouterr().err.splitlines()
    words = f"not seen by an operator since {created}: does it run, and does it watch the namespace bench?"
    assert first.startswith(f"upgrade: {words}")
    assert last.startswith(f"fairlap: upgrade is not at an end after 1 s: {words}")


def test_a_task_is_one_line_and_keeps_its_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [racing(f"block 1/3 · bulk {percent} %") for percent in (1, 2, 50)]
    steps += [racing(f"changes from {change} % on are found") for change in ("2.4", "3")]
    opened(monkeypatch, Cluster(*steps, comparison("True", "AllGatesPassed")))
    assert program.main(["gate", "upgrade", "--wait"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "upgrade: block 1/3 · bulk 1 %",
        "upgrade: changes from 2.4 % on are found",
        "upgrade: changes from 3 % on are found",
    ]


def test_one_that_was_over_when_it_was_deleted_has_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    over = {**comparison("True", "AllGatesPassed"), "deleted": True}
    opened(monkeypatch, Cluster(comparison(phase="Racing"), over))
    assert program.main(["gate", "upgrade", "--wait"]) == 0


def test_not_at_an_end_is_undecided(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened(monkeypatch, Cluster(comparison(phase="Racing")))
    assert program.main(["gate", "upgrade"]) == 3
    assert "is not at an end, so nothing can be told; --wait waits for it" in capsys.readouterr().err


def test_a_time_out_is_124(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened(monkeypatch, Cluster(comparison(phase="Racing")))
    assert program.main(["gate", "upgrade", "--wait", "--timeout", "1s"]) == 124
    assert "not at an end after 1 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "code"), [(("True", "AllGatesPassed"), 0), (("False", "GateNotPassed"), 1), (("False", "NotComparable"), 3)]
)
def test_a_reader_that_has_seen_enough_changes_no_exit_code(
    monkeypatch: pytest.MonkeyPatch, end: tuple[str, str], code: int
) -> None:
    opened(monkeypatch, Cluster(comparison(phase="Racing"), comparison(phase="Racing"), comparison(*end)))
    for name in ("stdout", "stderr"):
        reader, writer = os.pipe()
        os.close(reader)
        monkeypatch.setattr(sys, name, os.fdopen(writer, "w"))
    assert program.main(["gate", "upgrade", "--wait"]) == code


def test_a_deleted_comparison_is_undecided(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    racing = comparison(phase="Racing")
    opened(monkeypatch, Cluster(racing, {**racing, "deleted": True}))
    assert program.main(["gate", "upgrade", "--wait"]) == 3
    assert "was deleted" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["gate"], ["gate", "upgrade", "--timeout", "1m"], ["gate", "nobody"]])
def test_wrong_usage_is_2(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    opened(monkeypatch, Cluster(comparison("True", "x")))
    assert program.main(words) == 2


def test_no_cluster_is_no_regression(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def away(context: str | None, namespace: str | None) -> None:
        raise CliError("the API server does not answer")

    monkeypatch.setattr("fairlap.cli.edge.connection.Connection.open", away)
    assert program.main(["gate", "upgrade"]) == 3
    assert capsys.readouterr().err == "fairlap: the API server does not answer\n"


def test_a_watch_that_ends_is_undecided(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(comparison(phase="Racing"))
    monkeypatch.setattr(cluster, "comparison_changes", lambda stop: iter(cluster.steps))
    opened(monkeypatch, cluster)
    assert program.main(["gate", "upgrade", "--wait"]) == 3
    assert "fairlap: nothing more was heard of upgrade before its end" in capsys.readouterr().err


def test_the_whole_sentence_is_told_and_not_the_column_that_is_cut() -> None:
    found = comparison("True", "AllGatesPassed")
    found["status"]["conditions"].append({"type": "Complete", "status": "True", "message": "all of the sentence"})
    assert gate_command.verdict_lines(found)[0] == "NoDifference: all of the sentence"


def test_what_nobody_foresaw_is_no_regression(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(comparison("False", "GateNotPassed"))
    monkeypatch.setattr(
        cluster, "comparison", lambda name: {"status": {"phase": "Failed", "message": "x", "contenders": [7]}}
    )
    opened(monkeypatch, cluster)
    assert program.main(["gate", "upgrade"]) == 3
    assert "this should not have happened: AttributeError" in capsys.readouterr().err
    monkeypatch.setenv("FAIRLAP_DEBUG", "1")
    with pytest.raises(AttributeError):
        program.main(["gate", "upgrade"])


def test_a_full_disk_and_a_terminal_without_unicode_change_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    found = comparison("False", "GateNotPassed", gates=(gate("Regressed", False),))
    found["status"]["progress"] = "±0.3 %"
    opened(monkeypatch, Cluster(found))
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert program.main(["gate", "upgrade"]) == 1
    assert raw.getvalue().startswith(b"Regressed: ".replace(b"Regressed", b"NoDifference") + b"\\xb10.3 %")
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        assert program.main(["gate", "upgrade"]) == 1


@pytest.mark.parametrize(
    "words", [["gate", ""], ["results", "x", " "], ["rerun", ""], ["report", ""], ["logs", ""], ["compare", "", "x"]]
)
def test_an_empty_name_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    opened(monkeypatch, Cluster(comparison("True", "x")))
    assert program.main(words) == 2
    assert "is empty: write a name" in capsys.readouterr().err
