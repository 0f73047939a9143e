"""Two Benchmarks and one place: their daemons against an API server in memory, in the orders in which it can answer."""

import asyncio
import copy
import logging
from collections.abc import Callable
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.queue.summary import summarize
from fairlap.runtime.daemon import Daemon
from fairlap.runtime.look import ChildIndexes
from fairlap.runtime.state import Operator
from fairlap.settings import Settings

Json = dict[str, Any]
SPEC = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}, "params": {"days": 1}}}
SINCE = "2026-01-01T00:00:00Z"
CHECKED = {"phase": "Pending", "step": {"name": "check", "stage": "Cleaning", "since": SINCE}}
"""in its track check it is not in the queue, so that the others do not see it there"""
WAITS = {"phase": "Pending", "progress": "new", "finishedStep": "check"}
HOLDS = {**WAITS, "admittedTime": SINCE}
UNCHECKED = {"phase": "Pending", "progress": "new"}
IN_CHECK = {"phase": "Pending", "step": {"name": "check", "stage": "Starting", "since": "2099-01-01T00:00:00Z"}}


class Stopped:
    """kopf's sign that a daemon must end."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def __bool__(self) -> bool:
        return self.event.is_set()

    async def wait(self) -> None:
        await self.event.wait()


class Server:
    """Benchmarks by uid; the event of a write comes before its answer, unless a test has it otherwise."""

    def __init__(self) -> None:
        self.operator = Operator(Settings(race_image="race"))
        self.operator.api_server = self  # type: ignore[assignment]
        self.bodies: dict[str, Json] = {}
        self.shown: dict[str, Json] = {}
        """what the watch has shown of them"""
        self.on_write: Callable[[Json], None] = self.show
        self.most_holders = self.most_checks = 0

    def add(self, uid: str, status: Json, **spec: Any) -> None:
        meta = {"name": uid, "namespace": "n", "uid": uid, "generation": 1, "creationTimestamp": SINCE}
        meta["resourceVersion"] = "1"
        self.bodies[uid] = {"metadata": meta, "spec": {**SPEC, **spec}, "status": status}
        self.shown[uid] = {}
        self.show(self.bodies[uid])

    def show(self, body: Json) -> None:
        """An event tells of it."""
        self.shown[body["metadata"]["uid"]].update(copy.deepcopy(body))
        self.operator.places.observe(summarize(body))
        self.operator.wakers.wake(body["metadata"]["uid"])

    def change(self, uid: str, **parts: Any) -> Json:
        body = self.bodies[uid]
        body.update(parts)
        body["metadata"]["resourceVersion"] = str(int(body["metadata"]["resourceVersion"]) + 1)
        self.most_holders = max(self.most_holders, len(self.holders()))
        self.most_checks = max(self.most_checks, len(self.checking()))
        return body

    def holders(self) -> list[str]:
        return sorted(uid for uid, body in self.bodies.items() if body["status"].get("admittedTime"))

    def checking(self) -> list[str]:
        steps = {uid: body["status"].get("step", {}).get("name") for uid, body in self.bodies.items()}
        return sorted(uid for uid, step in steps.items() if step == "check" and uid not in self.holders())

    async def replace(self, manifest: Json, part: str) -> Json:
        assert part == "status"
        uid = manifest["metadata"]["uid"]
        await asyncio.sleep(0)
        if manifest["metadata"]["resourceVersion"] != self.bodies[uid]["metadata"]["resourceVersion"]:
            raise ApiError(409, "changed")
        body = copy.deepcopy(self.change(uid, status=manifest["status"]))
        self.on_write(body)
        await asyncio.sleep(0)
        return body

    async def find(self, *_: str) -> None:
        await asyncio.sleep(0.01)

    async def list_objects(self, *_: Any) -> list[Json]:
        return []

    async def create(self, manifest: Json) -> Json:
        return manifest

    async def drive(self, seconds: float) -> None:
        """Let the daemons of all Benchmarks work for so long."""
        stopped = Stopped()
        indexes = ChildIndexes(*[{}] * 5)  # type: ignore[arg-type]
        logger = logging.getLogger("test")
        daemons = [Daemon(self.operator, self.shown[uid], uid, indexes, logger) for uid in self.bodies]
        working = [asyncio.create_task(daemon.run(stopped)) for daemon in daemons]
        await asyncio.sleep(seconds)
        stopped.event.set()
        await asyncio.gather(*working)
        await self.operator.events.flush(1)


def play(prepare: Callable[[Server], None], seconds: float = 0.3) -> Server:
    async def work() -> Server:
        server = Server()
        prepare(server)
        await server.drive(seconds)
        return server

    return asyncio.run(work())


def test_two_that_decide_at_once_do_not_both_get_the_only_place() -> None:
    def prepare(server: Server) -> None:
        server.add("first", CHECKED)
        server.add("next", CHECKED)

    server = play(prepare)
    assert len(server.holders()) == 1 == server.most_holders


def suspended(server: Server) -> None:
    server.add("first", HOLDS, suspend=True)
    server.add("next", WAITS)


def not_admitted(server: Server) -> None:
    """The user suspends it while its admission is on its way, which is refused for that."""
    server.add("first", WAITS)
    server.add("next", WAITS)
    refused: list[str] = []

    async def replace(manifest: Json, part: str) -> Json:
        if manifest["metadata"]["uid"] == "first" and not refused:
            refused.append("first")
            server.show(server.change("first", spec={**SPEC, "suspend": True}))
            await asyncio.sleep(0.05)  # meanwhile the next one looks: the place is taken
            assert server.operator.places.holders() == {"first"} and not server.holders()
        return await Server.replace(server, manifest, part)

    server.replace = replace  # type: ignore[method-assign]


@pytest.mark.parametrize("prepare", [suspended, not_admitted], ids=["suspended", "not admitted after all"])
def test_who_waits_looks_again_when_a_place_is_really_free(prepare: Callable[[Server], None]) -> None:
    server = play(prepare, 0.6)
    assert server.holders() == ["next"] and server.most_holders == 1
    assert server.bodies["first"]["status"]["progress"].startswith("suspended before")


@pytest.mark.parametrize("status", [0, 504])
def test_a_place_that_may_have_been_written_is_not_given_to_another(status: int) -> None:
    """The admission was carried out, but its answer was lost and its event is late; then another one lines up."""

    def prepare(server: Server) -> None:
        server.add("first", CHECKED)
        server.add("next", WAITS, suspend=True)
        lost: list[str] = []

        def lose(body: Json) -> None:
            if server.holders() != ["first"] or lost:
                server.show(body)
                return
            lost.append("first")
            loop = asyncio.get_running_loop()
            loop.call_later(0.01, lambda: server.show(server.change("next", spec=SPEC)))
            loop.call_later(0.1, server.show, body)
            raise ApiError(status, "no answer")

        server.on_write = lose

    server = play(prepare)
    assert (server.holders(), server.most_holders) == (["first"], 1)


def test_a_place_in_doubt_is_given_up_when_it_was_not_written() -> None:
    def prepare(server: Server) -> None:
        server.add("first", WAITS)
        server.add("next", WAITS)

        async def replace(manifest: Json, part: str) -> Json:
            if manifest["metadata"]["uid"] == "first" and not server.bodies["first"]["spec"].get("suspend"):
                server.change("first", spec={**SPEC, "suspend": True})
                asyncio.get_running_loop().call_later(0.05, server.show, server.bodies["first"])
                raise ApiError(0, "no answer")
            return await Server.replace(server, manifest, part)

        server.replace = replace  # type: ignore[method-assign]

    server = play(prepare)
    assert server.holders() == ["next"]


@pytest.mark.parametrize("begun", [0, 1, 2])
def test_checks_run_two_at_a_time_also_after_a_restart(begun: int) -> None:
    """The check of those that an earlier operator has begun holds its place."""

    def prepare(server: Server) -> None:
        for number in range(8):
            server.add(f"b{number}", IN_CHECK if number >= 8 - begun else UNCHECKED)

    server = play(prepare, 1.0)
    expected = [f"b{number}" for number in range(2 - begun)] + [f"b{number}" for number in range(8 - begun, 8)]
    assert (server.checking(), server.most_checks) == (expected, 2)
    told = server.bodies["b2"]["status"]["progress"]
    assert told.startswith("waiting for ") and " before it in the line for track checks, the last is n/b" in told


def test_a_check_that_may_have_begun_keeps_its_place() -> None:
    """It was written, but the answer was lost and the event is late."""

    def prepare(server: Server) -> None:
        for name in ("first", "next", "other"):
            server.add(name, UNCHECKED)
        lost: list[str] = []

        def lose(body: Json) -> None:
            if body["metadata"]["uid"] != "first" or "step" not in body["status"] or lost:
                server.show(body)
                return
            lost.append("first")
            asyncio.get_running_loop().call_later(0.2, server.show, body)
            raise ApiError(504, "no answer")

        server.on_write = lose

    server = play(prepare, 0.6)
    assert (server.checking(), server.most_checks) == (["first", "next"], 2)


def test_a_check_that_was_refused_gives_its_place_to_the_next() -> None:
    def prepare(server: Server) -> None:
        for name in ("a", "b", "c"):
            server.add(name, UNCHECKED)

        async def replace(manifest: Json, part: str) -> Json:
            if manifest["metadata"]["uid"] == "a" and "step" in manifest["status"]:
                server.show(server.change("a", spec={**SPEC, "suspend": True}))
            return await Server.replace(server, manifest, part)

        server.replace = replace  # type: ignore[method-assign]

    server = play(prepare, 1.0)
    assert (server.checking(), server.most_checks) == (["b", "c"], 2)


def test_who_lines_up_again_does_not_take_the_place_that_late_events_still_show() -> None:
    """Its own write is known before its event; another one is before it in line."""
    gives_way = {"name": "race-1", "stage": "Cleaning", "since": "2099-01-01T00:00:00Z", "givesWay": True}

    def prepare(server: Server) -> None:
        server.add("first", {**HOLDS, "step": gives_way, "queuedTime": "2099-01-01T00:00:00Z", "gaveWay": 1})
        server.add("next", WAITS)

        def late(body: Json) -> None:
            asyncio.get_running_loop().call_later(0.1, server.show, body)

        server.on_write = late

    server = play(prepare, 1.0)
    assert (server.holders(), server.most_holders) == (["next"], 1)
    assert server.bodies["first"]["status"]["phase"] == "Queued"
