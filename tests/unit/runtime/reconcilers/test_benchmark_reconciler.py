"""Two Benchmarks and one place: their daemons against an API server in memory, in the orders in which it can answer."""

import asyncio
import contextlib
import copy
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.plan import unforeseen
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.queue.summary import summarize, summarize_comparison
from fairlap.runtime.beside.last_word import INTERNAL_ERRORS
from fairlap.runtime.loop import unstored_fields
from fairlap.runtime.loop.state import Operator
from fairlap.runtime.objects.project import is_set_aside, set_spec_aside
from fairlap.runtime.reconcilers import benchmark_reconciler
from fairlap.runtime.reconcilers.benchmark_reconciler import BenchmarkReconciler
from fairlap.runtime.reconcilers.look import ChildIndexes
from fairlap.settings import Settings

Json = dict[str, Any]
PATIENCE = 60
"""seconds for what takes one or two; machines stall"""
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
        self.last_status: Json = {}

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
        self.indexes = ChildIndexes(*[{}] * 5)  # type: ignore[arg-type]
        self.owned: dict[str, list[Json]] = {}
        """objects of Benchmarks by kind, as the API server has them"""
        self.writes = self.refusals = 0
        self.stored: Callable[[Json], Json] = lambda status: status
        """what the API server makes of a status; raises ApiError when it refuses it"""

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
        self.writes += 1
        body = copy.deepcopy(self.change(uid, status=self.stored(copy.deepcopy(manifest["status"]))))
        self.on_write(body)
        await asyncio.sleep(0)
        return body

    async def find(self, kind: str, _: str, name: str) -> Json | None:
        await asyncio.sleep(0.01)
        return copy.deepcopy(self.bodies.get(name)) if kind == "Benchmark" else None

    async def list_metadata(self, kind: str, *_: Any) -> list[Json]:
        return list(self.owned.get(kind, ()))

    async def delete(self, kind: str, there: Json) -> None:
        self.owned[kind].remove(there)

    async def list_objects(self, *_: Any) -> list[Json]:
        return []

    async def create(self, manifest: Json) -> Json:
        return manifest

    async def drive(self, seconds: float, until: Callable[["Server"], bool] | None) -> None:
        """Let the daemons of all Benchmarks work for so long; on a slow machine for longer, until that is so."""
        stopped = Stopped()
        logger = logging.getLogger("test")
        daemons = [
            BenchmarkReconciler(self.operator, self.shown[uid], uid, self.indexes, logger) for uid in self.bodies
        ]
        working = [asyncio.create_task(daemon.run(stopped)) for daemon in daemons]
        await asyncio.sleep(seconds)
        end = time.monotonic() + PATIENCE
        while until and not until(self) and time.monotonic() < end:  # noqa: ASYNC110 - it is many things
            await asyncio.sleep(0.02)
        stopped.event.set()
        await asyncio.gather(*working)
        await self.operator.events.flush(1)


def play(
    prepare: Callable[[Server], None], seconds: float = 0.3, until: Callable[[Server], bool] | None = None
) -> Server:
    async def work() -> Server:
        server = Server()
        prepare(server)
        await server.drive(seconds, until)
        return server

    return asyncio.run(work())


def test_the_other_races_of_a_duet_are_others_but_no_strangers() -> None:
    server = Server()
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "duet", "uid": "c", "controller": True}
    for uid in ("a", "b"):
        server.add(uid, WAITS)
        server.bodies[uid]["metadata"]["ownerReferences"] = [owner]
        server.show(server.bodies[uid])
        server.show(server.change(uid, status=HOLDS))
    races = [{"benchmark": uid, "uid": uid} for uid in ("a", "b")]
    block = {"number": 1, "stage": "Running", "races": races}
    meta = {"uid": "c", "name": "duet", "namespace": "n", "creationTimestamp": SINCE}
    status = {"phase": "Racing", "admittedTime": SINCE, "block": block}
    server.operator.places.observe(summarize_comparison({"metadata": meta, "spec": {}, "status": status}))

    def seen(uid: str) -> tuple[bool, bool]:
        reconciler = BenchmarkReconciler(server.operator, server.shown[uid], uid, server.indexes, logging.getLogger())
        found = reconciler._see_more(reconciler._see(server.shown[uid]))
        return found.others_race, found.strangers_race

    assert [seen("a"), seen("b")] == [(True, False)] * 2
    server.add("stranger", HOLDS)
    assert [seen("a"), seen("b"), seen("stranger")] == [(True, True)] * 3


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


@pytest.mark.parametrize("code", [0, 504])
def test_what_was_written_without_an_answer_is_announced_once_when_it_stands(code: int) -> None:
    told: list[tuple[str, ...]] = []

    def prepare(server: Server) -> None:
        server.add("first", WAITS)
        server.operator.post_event = lambda about, *event: told.append(event)
        lost: list[Json] = []

        def lose(body: Json) -> None:
            server.show(body)
            if not lost:
                lost.append(body)
                raise ApiError(code, "no answer")

        server.on_write = lose

    server = play(prepare, until=lambda _: bool(told))
    phase = server.bodies["first"]["status"]["phase"]
    assert phase != WAITS["phase"] and [event[:2] for event in told] == [("Normal", phase)]


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


RACES = [{"name": "race-1", "id": "a", "valid": True}]
RACING = {**HOLDS, "phase": "Racing", "races": RACES, "environment": {"version": "9.0.0"}}
RACING["step"] = {"name": "race-1", "stage": "Running", "since": "2999-01-01T00:00:00Z", "jobUID": "j"}
OWNER = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "name": "first", "uid": "first", "controller": True}
CHILD = {"metadata": {"name": "c", "namespace": "n", "uid": "c", "ownerReferences": [OWNER]}}


def next_holds(server: Server) -> bool:
    return server.operator.places.holders() == {"next"}


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every decision on the Benchmark `first` ends in an error; what takes a minute takes no time."""

    def plan(seen: Seen) -> Plan:
        if seen.subject.name == "first":
            raise OverflowError("date value out of range")
        return planned(seen)

    planned = benchmark_reconciler.plan
    monkeypatch.setattr(benchmark_reconciler, "plan", plan)
    monkeypatch.setattr(unforeseen, "PAUSES", (0.01, 0.02))


def count(what: str) -> float:
    return float(INTERNAL_ERRORS.labels(what)._value.get())


@pytest.mark.usefixtures("odd")
def test_a_look_that_never_ends_well_ends_in_a_status(caplog: pytest.LogCaptureFixture) -> None:
    before, events = count("look"), []

    def prepare(server: Server) -> None:
        server.add("first", RACING)
        server.add("next", WAITS)
        server.owned = {"Elasticsearch": [CHILD], "Job": [{"metadata": {**CHILD["metadata"], "ownerReferences": []}}]}
        server.operator.post_event = lambda about, *event: events.append((about["metadata"]["name"], *event))

    server = play(prepare, 3, lambda server: next_holds(server) and bool(events))
    said = server.bodies["first"]["status"]
    assert (said["phase"], said["reason"]) == ("Failed", "InternalError") and "step" not in said
    assert said["message"].endswith("OverflowError: date value out of range")
    assert said["races"] == RACES and said["environment"] == {"version": "9.0.0"}
    assert server.owned["Elasticsearch"] == [] and len(server.owned["Job"]) == 1, "what it does not own stays"
    assert "next" in server.operator.places.holders() and "first" not in server.operator.places.holders()
    assert [event for event in events if event[0] == "first"] == [
        ("first", "Warning", "Failed", f"InternalError: {said['message']}")
    ]
    assert count("look") == before + 3
    assert "Traceback" in caplog.text and "date value out of range" in caplog.text


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize("status", [RACING, {}], ids=["holds a place", "without a status"])
def test_one_that_cannot_even_say_so_holds_up_nobody(status: Json) -> None:
    def prepare(server: Server) -> None:
        server.add("first", status)
        server.add("next", WAITS)

        async def replace(manifest: Json, part: str) -> Json:
            if manifest["metadata"]["uid"] == "first":
                raise ApiError(422, "Invalid value")
            return await Server.replace(server, manifest, part)

        server.replace = replace  # type: ignore[method-assign]

    server = play(prepare, 3, next_holds)
    assert server.bodies["first"]["status"] == status
    assert server.operator.places.holders() == {"next"}


RBAC = 'benchmarks is forbidden: User "o" cannot update resource "benchmarks/status" in API group "fairlap.dev"'
REFUSALS = [
    ApiError(403, RBAC),
    ApiError(403, 'admission webhook "policy.example" denied the request: no'),
    ApiError(500, 'Internal error occurred: failed calling webhook "policy.example": failed to call webhook: EOF'),
]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes half a minute takes a third of a second."""
    monkeypatch.setattr("fairlap.runtime.loop.attempts.random.uniform", lambda *_: 0.01)


def refusing(server: Server, error: ApiError, *names: str) -> list[str]:
    """Let all writes about these be refused while they stand in the list that is returned."""
    refused = list(names)

    async def replace(manifest: Json, part: str) -> Json:
        if manifest["metadata"]["uid"] in refused:
            await asyncio.sleep(0)
            server.refusals += 1
            raise error
        return await Server.replace(server, manifest, part)

    server.replace = replace  # type: ignore[method-assign]
    return refused


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("error", REFUSALS, ids=["RBAC", "denied", "no webhook"])
@pytest.mark.parametrize("status", [{}, WAITS], ids=["without a status", "first in line"])
def test_one_whose_status_is_refused_for_good_holds_up_nobody(status: Json, error: ApiError) -> None:
    """It is said again, ever more rarely."""

    def prepare(server: Server) -> None:
        server.add("first", status)
        server.add("next", WAITS)
        refusing(server, error, "first")

    server = play(prepare, 1.5, lambda server: next_holds(server) and server.refusals >= 3)
    assert server.bodies["first"]["status"] == status
    assert server.holders() == ["next"] and server.operator.places.holders() == {"next"}
    assert 3 <= server.refusals <= 12


@pytest.mark.usefixtures("odd", "impatient")
def test_a_kind_that_the_api_server_does_not_have_has_no_objects() -> None:
    """Without ECK's CustomResourceDefinitions the place was held until the time for cleaning up was over."""

    def prepare(server: Server) -> None:
        server.add("first", RACING)
        server.add("next", WAITS)
        server.owned = {"Job": [CHILD]}
        ask = server.list_metadata

        async def listed(kind: str, *rest: Any) -> list[Json]:
            if kind == "Elasticsearch":
                raise ApiError(404, "the server could not find the requested resource")
            return await ask(kind, *rest)

        server.list_metadata = listed  # type: ignore[method-assign]

    assert Settings(race_image="race").cleanup_seconds > 2 * PATIENCE, "so that this is not what ends it"
    server = play(prepare, 3, lambda server: next_holds(server) and "reason" in server.bodies["first"]["status"])
    said = server.bodies["first"]["status"]
    assert (said["phase"], said["reason"]) == ("Failed", "InternalError")
    assert server.owned["Job"] == [] and "could be removed" not in said["message"]
    assert said["observedGeneration"] == 1


NOT_OURS = 'elasticsearches "c" is forbidden: User "o" cannot delete resource "elasticsearches" in the namespace "n"'


@pytest.mark.usefixtures("odd", "impatient")
@pytest.mark.parametrize("asked", ["delete", "list_metadata"])
@pytest.mark.parametrize(
    "error", [ApiError(403, NOT_OURS), ApiError(500, "etcdserver: no leader")], ids=["forbidden", "fails"]
)
def test_what_may_not_be_removed_is_said_when_the_time_for_that_is_over(asked: str, error: ApiError) -> None:
    def prepare(server: Server) -> None:
        server.operator.settings = replace(server.operator.settings, cleanup_seconds=1)
        server.add("first", RACING)
        server.add("next", WAITS)
        server.owned = {"Elasticsearch": [CHILD], "Job": [CHILD]}
        ask = getattr(server, asked)

        async def refuse(kind: str, *rest: Any) -> Any:
            if kind == "Elasticsearch":
                raise error
            return await ask(kind, *rest)

        setattr(server, asked, refuse)

    server = play(prepare, 3, lambda server: next_holds(server) and not server.owned["Job"])
    said = server.bodies["first"]["status"]
    assert (said["phase"], said["reason"]) == ("Failed", "InternalError")
    assert said["message"].endswith(f"could be removed: {error}")
    assert server.holders() == ["first", "next"] and server.operator.places.holders() == {"next"}
    assert server.owned["Job"] == [], "what may be removed is"


@pytest.mark.usefixtures("odd", "impatient")
@pytest.mark.parametrize("error", REFUSALS, ids=["RBAC", "denied", "no webhook"])
def test_one_whose_last_word_is_refused_gives_its_place_back(error: ApiError) -> None:
    def prepare(server: Server) -> None:
        server.add("first", RACING)
        server.add("next", WAITS)
        refusing(server, error, "first")

    server = play(prepare, 2, lambda server: next_holds(server) and server.refusals >= 3)
    assert server.bodies["first"]["status"] == RACING
    assert server.operator.places.holders() == {"next"} and server.refusals >= 3


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("error", REFUSALS, ids=["RBAC", "denied", "no webhook"])
def test_all_that_were_refused_go_on_when_they_are_not_any_more(error: ApiError) -> None:
    def prepare(server: Server) -> None:
        for name in ("first", "next", "last"):
            server.add(name, WAITS if name == "next" else {})
        refused = refusing(server, error, "first", "next", "last")
        asyncio.get_running_loop().call_later(1, refused.clear)

    def all_said(server: Server) -> bool:
        return bool(server.holders()) and all(body["status"].get("progress") for body in server.bodies.values())

    server = play(prepare, 2.5, all_said)
    assert len(server.holders()) == 1 == server.most_holders
    assert all(body["status"]["progress"] for body in server.bodies.values())
    others = set(server.bodies) - set(server.holders())
    assert not any(server.operator.places.turn(uid).may_go for uid in others)
    assert server.refusals <= 3 * 12


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("error", REFUSALS, ids=["RBAC", "denied", "no webhook"])
def test_who_holds_a_place_keeps_it_while_its_status_is_refused(error: ApiError) -> None:
    def prepare(server: Server) -> None:
        server.add("first", HOLDS)
        server.add("next", WAITS)
        refusing(server, error, "first")

    assert play(prepare, 1.5).operator.places.holders() == {"first"}


@pytest.mark.usefixtures("impatient")
def test_who_is_refused_all_the_time_does_not_hold_a_place_for_ever() -> None:
    """Its namespace's owner has taken the operator's rights there away: others are not to wait for that."""

    def prepare(server: Server) -> None:
        server.operator.settings = Settings(race_image="race", cleanup_seconds=1)
        server.add("first", HOLDS)
        server.add("next", WAITS)
        refusing(server, ApiError(403, "forbidden: no more"), "first")

    server = play(prepare, 1.5, lambda server: server.bodies["next"]["status"].get("admittedTime"))
    assert server.bodies["next"]["status"]["admittedTime"] and "next" in server.operator.places.holders()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("everybody", [False, True], ids=["its own", "everybody's"])
def test_who_gets_no_answer_to_its_status_holds_a_place_only_while_nobody_gets_one(everybody: bool) -> None:
    """Two webhooks of one namespace that hang end each write in a time-out, and each deadline needs a status."""

    def prepare(server: Server) -> None:
        server.operator.settings = Settings(race_image="race", cleanup_seconds=1)
        server.add("first", HOLDS)
        server.add("next", WAITS)
        server.add("other", WAITS)
        refusing(server, ApiError(504, "Timeout"), "first", *(("next", "other") if everybody else ()))

        def write_another(suspended: bool) -> None:
            server.show(server.change("other", spec={**SPEC, "suspend": suspended}))
            loop.call_later(0.1, write_another, not suspended)

        loop = asyncio.get_running_loop()
        loop.call_later(0.1, write_another, True)

    def goes_on(server: Server) -> bool:
        return everybody or bool(server.bodies["next"]["status"].get("admittedTime"))

    server = play(prepare, 2, goes_on)
    assert bool(server.bodies["next"]["status"].get("admittedTime")) is not everybody
    assert ("first" in server.operator.places.holders()) is everybody


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_status_that_is_refused_for_its_content_is_said_in_short(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unforeseen, "PAUSES", (0.01, 0.02))

    def prepare(server: Server) -> None:
        server.add("first", {**HOLDS, "environment": {"version": "9.0.0"}})

        def stored(status: Json) -> Json:
            if "environment" in status:
                raise ApiError(code, "environment.version: Too long")
            return status

        server.stored = stored

    server = play(prepare, 1, lambda server: server.bodies["first"]["status"]["phase"] == "Failed")
    said = server.bodies["first"]["status"]
    assert (said["phase"], said["reason"]) == ("Failed", "InternalError")
    assert said["message"].endswith(f"ApiError: {code}: environment.version: Too long")
    assert "environment" not in said


def without_started(status: Json) -> Json:
    status.get("step", {}).pop("jobStarted", None)
    return status


def test_a_field_that_is_not_stored_is_no_flood_of_writes() -> None:
    """The CustomResourceDefinition is older than the operator: step.jobStarted is dropped."""
    events = []

    def prepare(server: Server) -> None:
        server.add("first", RACING)
        labels = {"fairlap.dev/uid": "first", "fairlap.dev/step": "race-1", "fairlap.dev/role": "load-generator"}
        job = {"metadata": {**CHILD["metadata"], "name": "first-race-1", "uid": "j", "labels": labels}, "spec": {}}
        made_by = {"apiVersion": "batch/v1", "kind": "Job", "name": "first-race-1", "uid": "j", "controller": True}
        pod = {
            "metadata": {"name": "p", "namespace": "n", "labels": labels, "ownerReferences": [made_by]},
            "status": {"containerStatuses": [{"state": {"running": {}}}]},
        }
        server.indexes = server.indexes._replace(jobs={"first": [job]}, pods={"first": [pod]})
        server.stored = without_started
        server.operator.post_event = lambda _, *event: events.append(event)

    server = play(prepare, 2)
    assert server.writes <= 4
    said = server.bodies["first"]["status"]
    assert any(c["type"] == "CRDOutdated" and c["status"] == "True" for c in said["conditions"])
    assert said["phase"] == "Racing" and said["progress"].endswith("starting Rally"), "the race goes on"
    (event,) = (event for event in events if event[1] == "CRDOutdated")
    assert "status.step.jobStarted" in event[2] and "kubectl apply" in event[2]


def test_nothing_goes_on_without_what_decisions_stand_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said again, less and less often, until the CustomResourceDefinition is mended."""
    monkeypatch.setattr(unstored_fields, "_FIRST_PAUSE", 0.2)
    mended: list[str] = []
    seen: list[str] = []

    def prepare(server: Server) -> None:
        server.add("first", HOLDS)

        def stored(status: Json) -> Json:
            if mended:
                return status
            asyncio.get_running_loop().call_later(0.5, mended.append, "now")
            seen.append(status["progress"])
            return {key: value for key, value in status.items() if key != "step"}

        server.stored = stored

    server = play(prepare, 3, lambda server: "step" in server.bodies["first"]["status"])
    assert 2 <= len(seen) <= 4 and seen[1].startswith("CRDOutdated: the CustomResourceDefinition")
    assert server.bodies["first"]["status"]["step"]["name"] == "smoke"


def test_writes_are_bounded_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that never comes to rest writes some dozen times, and then a few times a second."""

    def restless(seen: Seen) -> Plan:
        return Plan(seen.status.model_copy(update={"progress": f"{seen.status.progress[-1000:]}x"}))

    monkeypatch.setattr(benchmark_reconciler, "plan", restless)
    server = play(lambda server: server.add("first", HOLDS), 2)
    assert 50 <= server.writes <= 65


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


LARGE = {"track": {"builtin": "log_ingest"}, "params": {"days": 1, "more": [[] for _ in range(2000)]}}


def held_small(server: Server) -> list[str]:
    """Let events leave large specs out, as the index does, and count how often one is read."""
    reads = list[str]()
    show, find = server.show, server.find

    def shown(body: Json) -> None:
        show(body)
        set_spec_aside(server.shown[body["metadata"]["uid"]])

    async def read(kind: str, namespace: str, name: str) -> Json | None:
        reads.append(name)
        return await find(kind, namespace, name)

    server.show = server.on_write = shown  # type: ignore[method-assign]
    server.find = read  # type: ignore[method-assign]
    return reads


def test_a_large_spec_is_read_when_something_is_decided_and_not_held() -> None:
    reads: list[str] = []

    def prepare(server: Server) -> None:
        nonlocal reads
        reads = held_small(server)
        server.add("first", WAITS, race=LARGE)
        server.add("next", WAITS)

    server = play(prepare)
    assert server.holders() == ["first"] and set(reads) == {"first"}
    assert is_set_aside(server.shown["first"]) and not is_set_aside(server.shown["next"])
    assert server.bodies["first"]["spec"]["race"] == LARGE


def test_one_with_a_large_spec_that_is_gone_is_left_alone() -> None:
    def prepare(server: Server) -> None:
        held_small(server)
        server.add("first", WAITS, race=LARGE)
        meta = server.bodies["first"]["metadata"]
        server.bodies["first"] = {**server.bodies["first"], "metadata": {**meta, "uid": "another"}}
        server.shown["another"] = {}

    server = play(prepare)
    assert server.writes == 0 and server.holders() == []


def test_large_ones_whose_writes_hang_keep_no_other_large_one_from_its_look() -> None:
    """A webhook on the statuses of one namespace held eight large specs at a time, and all others waited for these."""
    ended: list[str] = []
    looked = asyncio.Event()

    def prepare(server: Server) -> None:
        held_small(server)
        hanging = [f"hangs-{number}" for number in range(12)]
        for name in (*hanging, "first"):
            server.add(name, {}, race=LARGE)

        async def replace(manifest: Json, part: str) -> Json:
            uid = manifest["metadata"]["uid"]
            if uid in hanging:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(looked.wait(), 20)
                ended.append(uid)
                raise ApiError(504, "Timeout")
            ended.append(uid)
            looked.set()
            return await Server.replace(server, manifest, part)

        server.replace = replace  # type: ignore[method-assign]

    play(prepare, 0.7, lambda _: bool(ended))
    assert ended[0] == "first", "though it is the last that looks"


def test_large_ones_whose_reads_hang_leave_half_of_the_room_to_other_namespaces() -> None:
    asked: list[str] = []

    async def work() -> None:
        server = Server()
        held_small(server)
        for number in range(12):
            server.add(f"hangs-{number}", WAITS, race=LARGE)
        server.add("first", WAITS, race=LARGE)
        server.shown["first"]["metadata"]["namespace"] = "other"

        async def find(kind: str, namespace: str, name: str) -> Json | None:
            asked.append(namespace)
            await asyncio.sleep(10 if namespace == "n" else 0)
            return None

        server.find = find  # type: ignore[method-assign]
        logger = logging.getLogger("test")
        looks = [
            BenchmarkReconciler(server.operator, server.shown[uid], uid, server.indexes, logger)._look(woken=True)
            for uid in server.bodies
        ]
        tasks = [asyncio.create_task(look) for look in looks]
        await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(work())
    assert sorted(asked) == ["n"] * 4 + ["other"]


def test_of_what_was_written_no_spec_is_held() -> None:
    written: list[Json] = []

    class Watched(BenchmarkReconciler):
        async def _look(self, *, woken: bool) -> float:
            pause = await super()._look(woken=woken)
            written.append(self.writer.written)
            return pause

    async def work() -> None:
        server = Server()
        server.add("first", WAITS)
        server.bodies["first"]["metadata"]["managedFields"] = ["large"]
        stopped, logger = Stopped(), logging.getLogger("test")
        watched = Watched(server.operator, server.shown["first"], "first", server.indexes, logger)
        working = asyncio.create_task(watched.run(stopped))
        await asyncio.sleep(0.1)
        stopped.event.set()
        await working

    asyncio.run(work())
    assert written[-1].keys() == {"metadata", "status"} and "managedFields" not in written[-1]["metadata"]


@pytest.mark.parametrize("target", ["cmp-0a", "somebodys"])
def test_a_race_on_a_kept_cluster_knows_the_machines_of_that_one(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its builder's status alone tells them: the pods are none of its own."""
    looks: list[Seen] = []
    led = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "uid": "c", "controller": True}
    comparison = {"name": "cmp", "namespace": "n", "uid": "c", "creationTimestamp": SINCE}

    def note(seen: Seen) -> Plan:
        looks.append(seen)
        return Plan(seen.status)

    def prepare(server: Server) -> None:
        server.operator.places.observe(summarize_comparison({"metadata": comparison, "status": {"phase": "Racing"}}))
        hosts = [f"https://{target}-race-1-es-http.n.svc:9200"]
        ran = {"phase": "Succeeded", "races": [{"name": "race-1", "id": "a", "valid": True, "elasticsearchOn": ["m1"]}]}
        server.add("cmp-0a", ran)
        server.add("cmp-1a", {})
        server.bodies["cmp-1a"]["spec"] = {"target": {"hosts": hosts}, "race": SPEC["race"]}
        for body in server.bodies.values():
            body["metadata"]["ownerReferences"] = [led]
            server.show(body)
            server.operator.races.observe(body)

    monkeypatch.setattr(benchmark_reconciler, "plan", note)
    play(prepare, 0.1)
    assert {seen.kept_on for seen in looks} == {("m1",) if target == "cmp-0a" else ()}
    assert {seen.kept_for_it for seen in looks} == {target == "cmp-0a"}, "what it may do there is the same"


@pytest.mark.parametrize("avoided", [True, False])
def test_a_race_knows_the_kept_clusters_of_every_namespace(avoided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each watched namespace has an index of its own: a race in one shared its machine with a cluster of another."""
    looks: list[Seen] = []

    def note(seen: Seen) -> Plan:
        looks.append(seen)
        return Plan(seen.status)

    def prepare(server: Server) -> None:
        settings = Settings(race_image="race", namespaces=("n", "other"), avoid_kept_clusters=avoided)
        server.operator.settings = settings
        meta = {"name": "kept", "namespace": "other", "uid": "k", "creationTimestamp": SINCE}
        server.operator.places.observe(summarize({"metadata": meta, "spec": {}, "status": {"phase": "Succeeded"}}))
        there = {"k": [{"metadata": {"name": "kept-race-1", "namespace": "other"}}], "first": []}
        server.operator.elasticsearches = {"n": {}, "other": there}  # type: ignore[dict-item]
        server.add("first", HOLDS)

    monkeypatch.setattr(benchmark_reconciler, "plan", note)
    play(prepare, 0.1)
    assert looks and all(seen.kept == ({"k": "other/kept"} if avoided else {}) for seen in looks)


def test_events_that_cannot_be_listed_hold_no_race_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """With events in an etcd of their own, which was down, no race with a replaced pod was ever judged."""
    server, clock, down = Server(), SimpleNamespace(seconds=1000.0), [True]
    server.add("first", RACING)
    monkeypatch.setattr(benchmark_reconciler, "time", SimpleNamespace(monotonic=lambda: clock.seconds))

    async def list_objects(*asked: Any) -> Any:
        assert asked[0] == "Event"
        if down:
            raise ApiError(500, "etcdserver: no leader")
        return [("first-race-1-es-0", "low on memory")]

    server.list_objects = list_objects  # type: ignore[method-assign]
    logger = logging.getLogger("test")
    reconciler = BenchmarkReconciler(server.operator, server.shown["first"], "first", server.indexes, logger)
    seen = reconciler._see(server.shown["first"])
    cluster = {"metadata": {"creationTimestamp": SINCE}}
    seen = replace(seen, children=replace(seen.children, elasticsearch=cluster))

    def evictions(seconds: float) -> Any:
        clock.seconds += seconds
        return asyncio.run(reconciler._look_at("evictions", seen)).evictions

    patience = server.operator.settings.cleanup_seconds
    for seconds in (0.0, patience - 1):
        with pytest.raises(ApiError):
            evictions(seconds)
    assert evictions(1) == {} and evictions(30) == {}, "it is asked again, and not waited for"
    down.clear()
    assert evictions(30) == {"first-race-1-es-0": "low on memory"}
    down.append(True)
    with pytest.raises(ApiError):
        evictions(30)
    clock.seconds += patience
    reconciler._has_written(seen.status, seen.status.model_copy(update={"step": None}))
    with pytest.raises(ApiError):
        evictions(0)


def test_nothing_else_is_given_up_as_events_are() -> None:
    server = Server()
    server.operator.settings = replace(server.operator.settings, cleanup_seconds=0)
    server.add("first", RACING)

    async def list_objects(*_: Any) -> list[Json]:
        raise ApiError(500, "etcdserver: no leader")

    server.list_objects = list_objects  # type: ignore[method-assign]
    logger = logging.getLogger("test")
    reconciler = BenchmarkReconciler(server.operator, server.shown["first"], "first", server.indexes, logger)
    with pytest.raises(ApiError):
        asyncio.run(reconciler._look_at("children", reconciler._see(server.shown["first"])))
