"""What is over says the newest generation of its spec; nothing else is written, and nothing that is not behind."""

import asyncio
import copy
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.runtime.beside.generations import Generations
from fairlap.runtime.objects.project import drop_comparison, drop_numbers

Json = dict[str, Any]
SINCE = "2026-01-01T00:00:00Z"


def record(name: str = "bm", *, generation: int = 3, **status: Any) -> Json:
    """Return what was over in its first generation."""
    meta = {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "7", "generation": generation}
    done = {"type": "Complete", "status": "True", "lastTransitionTime": SINCE, "observedGeneration": 1}
    there = {"phase": "Succeeded", "completionTime": SINCE, "results": {"median": 1.5}, "conditions": [done]}
    return {"metadata": meta, "spec": {"suspend": True}, "status": {**there, "observedGeneration": 1, **status}}


class Server:
    """Objects by name; answers writes with these errors first."""

    def __init__(self, *there: Json, errors: tuple[ApiError, ...] = ()) -> None:
        self.bodies = {body["metadata"]["name"]: copy.deepcopy(body) for body in there}
        self.errors = [*errors]
        self.acts: list[str] = []
        self.at_once = self.most_at_once = 0

    async def find(self, kind: str, _: str, name: str) -> Json | None:
        self.acts.append(f"read {kind} {name}")
        await self._work()
        return copy.deepcopy(self.bodies.get(name))

    async def _work(self) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1

    async def replace(self, manifest: Json, part: str) -> Json:
        meta = manifest["metadata"]
        there = self.bodies[meta["name"]]
        await self._work()
        assert part == "status" and meta["resourceVersion"] == there["metadata"]["resourceVersion"]
        if self.errors:
            raise self.errors.pop(0)
        self.acts.append(f"write {manifest['kind']} {meta['name']}")
        there["metadata"]["resourceVersion"] = "8"
        there["status"] = manifest["status"]
        return copy.deepcopy(there)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    real = asyncio.sleep
    monkeypatch.setattr("fairlap.runtime.beside.chores.asyncio.sleep", lambda _: real(0))


def show(server: Server, *shown: Json, kind: str = "Benchmark") -> list[str]:
    """Return what is asked of the API server when events show these bodies."""

    async def work() -> None:
        generations = Generations(lambda: server)  # type: ignore[arg-type, return-value]
        for body in shown:
            generations.look(kind, body)
        await asyncio.gather(*generations.running())
        assert not generations.running()

    asyncio.run(work())
    return server.acts


@pytest.mark.parametrize(("kind", "drop"), [("Benchmark", drop_numbers), ("Comparison", drop_comparison)])
def test_what_is_over_and_behind_says_the_newest_generation_and_nothing_else_new(kind: str, drop: Any) -> None:
    """By what is kept of an event; a second one that comes meanwhile asks for nothing more."""
    before, shown = record(), record()
    drop(shown)
    assert "results" not in shown["status"]
    server = Server(before)
    assert show(server, shown, shown, kind=kind) == [f"read {kind} bm", f"write {kind} bm"]
    (done,) = before["status"]["conditions"]
    expected = {**before["status"], "observedGeneration": 3, "conditions": [{**done, "observedGeneration": 3}]}
    assert server.bodies["bm"]["status"] == expected


@pytest.mark.parametrize(
    "body",
    [
        record(generation=1),
        record(phase="Racing"),
        record(phase=""),
        {**record(), "status": {"phase": "Failed"}},
        {**record(), "status": None},
        {**record(), "metadata": {**record()["metadata"], "deletionTimestamp": SINCE}},
    ],
    ids=["over and not behind", "it races", "new", "of an operator that wrote none", "without a status", "deleted"],
)
def test_nothing_is_asked_for_any_other(body: Json) -> None:
    """At a start thousands are listed that are over; a deletion makes a generation, too, which nobody waits for."""
    assert show(Server(body), body) == []


def test_what_is_deleted_meanwhile_is_not_written() -> None:
    deleted = record()
    deleted["metadata"]["deletionTimestamp"] = SINCE
    assert show(Server(deleted), record()) == ["read Benchmark bm"]


@pytest.mark.parametrize("status", [409, 0, 503])
def test_it_is_tried_until_it_is_written(status: int) -> None:
    server = Server(record(), errors=(ApiError(status, "not now"),) * 3)
    assert show(server, record()) == ["read Benchmark bm"] * 4 + ["write Benchmark bm"]


def test_what_is_refused_for_good_is_left_alone_until_the_next_event() -> None:
    server = Server(record(), errors=(ApiError(422, "Invalid value"),))
    assert show(server, record()) == ["read Benchmark bm"]
    assert show(server, record()) == ["read Benchmark bm"] * 2 + ["write Benchmark bm"]


def test_what_was_made_anew_under_its_name_is_another() -> None:
    new = record()
    new["metadata"]["uid"] = "another"
    assert show(Server(new), record()) == ["read Benchmark bm"] == show(Server(), record())


def test_a_patch_that_names_many_is_followed_by_few_at_once() -> None:
    many = [record(f"bm-{number}") for number in range(40)]
    server = Server(*many)
    show(server, *many)
    assert {body["status"]["observedGeneration"] for body in server.bodies.values()} == {3}
    assert server.most_at_once == 4
