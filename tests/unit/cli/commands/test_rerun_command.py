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
from fairlap.plan.lifetimes.rerun import ASKED, DONE, OF_UID, SAID, VALUE, Next

Json = dict[str, Any]
NEXT = "es-2"


class FakeCluster:
    """A cluster whose operator answers at once: it writes these annotations, and makes a Benchmark of this name."""

    namespace, context = "n", " --context c"
    command = Connection.command

    def __init__(self, *written: str, made: str = "", late: Sequence[str] = ()) -> None:
        self.written, self.made, self.late = written, made, late
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

    def changed(self, how: str) -> Json | None:
        """What a watch tells of the first Benchmark, or of the run that it has now."""
        meta: Json = self.first["metadata"]
        notes = meta["annotations"]
        value = notes[ASKED]
        if how == "made":
            run = {"name": "es-3", "annotations": {OF_UID: "u", VALUE: value}}
            self.there.append({"kind": "Benchmark", "metadata": run})
            return self.there[-1]
        return {
            "quiet": None,
            "done": {**self.first, "metadata": {**meta, "annotations": {**notes, DONE: value}}},
            "deleted": {**self.first, "deleted": True},
            "being deleted": {**self.first, "metadata": {**meta, "deletionTimestamp": "2020-01-01T00:00:00Z"}},
            "made anew": {**self.first, "metadata": {"name": "es", "uid": "another"}},
            "asked again": {**self.first, "metadata": {**meta, "annotations": {ASKED: "another"}}},
            "not asked": {**self.first, "metadata": {**meta, "annotations": {}}},
            "a stranger's": self.there[1],
        }[how]

    def changes(self, stop: threading.Event, kinds: Sequence[str], known: Sequence[Json] = ()) -> Iterator[Json | None]:
        assert [each["metadata"]["name"] for each in known] in (["es"], [self.there[-1]["metadata"]["name"]])
        late, self.late = self.late, ()
        yield from (self.changed(how) for how in late)
        run = {"kind": "Benchmark", "metadata": {"name": self.there[-1]["metadata"]["name"]}}
        phases = [{**run, "status": {"phase": phase}} for phase in ("Racing", "Succeeded")]
        yield from itertools.chain([None, *phases], (None for _ in range(1000)))
        raise AssertionError("it would wait for ever")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_command, "_ANSWER_SECONDS", 0)


def rerun(cluster: FakeCluster, wait: bool = False, timeout: float | None = None) -> int:
    return run_command.rerun(cluster, "es", wait, timeout)  # type: ignore[arg-type]


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


ANNOUNCED = "benchmark/es-2 is announced and not created yet, say while a quota is full"


@pytest.mark.parametrize("wait", [False, True])
def test_what_is_announced_is_not_asked_for_twice(wait: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is the name that was announced taken for the run: a stranger's may have it, and the run another."""
    cluster = FakeCluster(SAID, late=("quiet", "a stranger's", "quiet", "made"))
    if not wait:
        cluster.there.pop()
    assert rerun(cluster, wait) == 0
    said = capsys.readouterr()
    assert said.err.startswith(ANNOUNCED) and said.err.count("announced") == 1
    assert ("es-3 created" in said.out, "follow them" in said.out) == (wait, not wait)
    assert ("Succeeded" in said.out) == wait


def test_a_name_that_is_a_strangers_by_now_is_not_told_as_the_runs() -> None:
    with pytest.raises(CliError, match="es-2 was announced and is another's by now") as error:
        rerun(FakeCluster(SAID))
    assert error.value.code == 1


@pytest.mark.parametrize(
    ("late", "says"),
    [
        ("done", "the operator would not run es again: kubectl describe benchmarks es -n n --context c says why"),
        ("deleted", "the Benchmark es was deleted before it was run again"),
        ("being deleted", "the Benchmark es was deleted before it was run again"),
        ("made anew", "the Benchmark es was deleted before it was run again"),
        ("asked again", "the annotation fairlap.dev/rerun of es was changed before it was run again: ask once more"),
        ("not asked", "the annotation fairlap.dev/rerun of es was changed before it was run again: ask once more"),
    ],
)
def test_what_is_announced_and_never_made_ends_the_waiting(late: str, says: str) -> None:
    with pytest.raises(CliError, match=f"^{says}$") as error:
        rerun(FakeCluster(SAID, late=("quiet", late)), wait=True)
    assert error.value.code == 1


@pytest.mark.parametrize("last", ["done", "deleted"])
def test_a_list_may_tell_the_first_before_its_run(last: str, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = FakeCluster(SAID, late=(last,))
    told = cluster.changed

    def made_meanwhile(how: str) -> Json | None:
        told("made")
        return told(how)

    cluster.changed = made_meanwhile  # type: ignore[method-assign]
    assert rerun(cluster, wait=True) == 0
    assert "benchmark/es-3 created" in capsys.readouterr().out


def test_the_time_to_wait_is_over_for_what_is_announced_too() -> None:
    with pytest.raises(CliError, match="next run of es is not created after 0 s; the operator goes on trying") as error:
        rerun(FakeCluster(SAID, late=("quiet",) * 9), wait=True, timeout=0)
    assert error.value.code == 124


def test_without_an_answer_that_is_said() -> None:
    with pytest.raises(CliError, match="the operator has not answered within 0 s: see whether it runs"):
        rerun(FakeCluster())
