"""`fairlap rerun`: what the operator has made of the question, and what it says where that is nothing yet."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from fairlap.cli.commands import run_command
from fairlap.cli.edge.connection import Connection
from fairlap.cli.edge.exits import CliError
from fairlap.plan.lifetimes.rerun import DONE, OF_UID, SAID, VALUE, Next

Json = dict[str, Any]
NEXT = "es-2"


class FakeCluster:
    """A cluster whose operator answers at once: it writes these annotations, and makes a Benchmark of this name."""

    namespace, context = "n", " --context c"
    command = Connection.command

    def __init__(self, *written: str, made: str = "") -> None:
        self.written, self.made = written, made
        self.first: Json = {"kind": "Benchmark", "metadata": {"name": "es", "uid": "u"}}
        self.there: list[Json] = [self.first, {"kind": "Benchmark", "metadata": {"name": NEXT, "uid": "a stranger's"}}]

    def benchmark(self, name: str) -> Json:
        return self.first

    def benchmarks(self) -> list[Json]:
        return self.there

    def annotate(self, name: str, key: str, value: str) -> Json:
        notes = {SAID: Next(value, NEXT).to_text(), DONE: value}
        self.first["metadata"]["annotations"] = {key: value, **{each: notes[each] for each in self.written}}
        if self.made:
            annotations = {OF_UID: "u", VALUE: value}
            self.there.append({"kind": "Benchmark", "metadata": {"name": self.made, "annotations": annotations}})
        return self.first

    def changes(self, stop: threading.Event, kinds: Sequence[str]) -> Iterator[Json | None]:
        run = {"kind": "Benchmark", "metadata": {"name": self.made or NEXT}}
        phases = [{**run, "status": {"phase": phase}} for phase in ("Racing", "Succeeded")]
        yield from itertools.chain([None, *phases], itertools.repeat(None))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_command, "_ANSWER_SECONDS", 0)


def rerun(cluster: FakeCluster, wait: bool = False) -> int:
    return run_command.rerun(cluster, "es", wait, timeout=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("written", [(SAID,), (SAID, DONE), (DONE,)])
def test_the_run_is_known_by_what_it_was_made_for(written: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """The name that was announced may be a stranger's by now."""
    assert rerun(FakeCluster(*written, made="es-3"), wait=True) == 0
    assert capsys.readouterr().out.startswith("benchmark/es-3 created\n")


@pytest.mark.parametrize("written", [(DONE,), (SAID, DONE)])
def test_a_refusal_is_told_as_one(written: tuple[str, ...]) -> None:
    said = "^the operator would not run es again: kubectl describe benchmarks es -n n --context c says why$"
    with pytest.raises(CliError, match=said):
        rerun(FakeCluster(*written))


@pytest.mark.parametrize("wait", [False, True])
def test_what_is_announced_is_not_asked_for_twice(wait: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert rerun(FakeCluster(SAID), wait) == 0
    said = capsys.readouterr()
    assert said.err.startswith("benchmark/es-2 is announced and not created yet, say while a quota is full")
    assert ("Succeeded" in said.out, "follow them" in said.out) == (wait, not wait)


def test_without_an_answer_that_is_said() -> None:
    with pytest.raises(CliError, match="the operator has not answered within 0 s: see whether it runs"):
        rerun(FakeCluster())
