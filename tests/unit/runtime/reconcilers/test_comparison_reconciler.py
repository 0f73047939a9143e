"""One Comparison's work against an API server in memory: what is said, then done, and what is believed."""

import asyncio
import base64
import copy
import gzip
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from prometheus_client import REGISTRY
from world import good_record

from fairlap.api.block_record import KEY_BLOCK, BlockRecord, Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus, CurrentBlock, RaceOfBlock, VariantStatus, Verdict
from fairlap.api.crd import COMPARISON, crd
from fairlap.api.names import NOISE_CONFIG_MAP
from fairlap.api.phases import is_over
from fairlap.comparison.noise.noise_store import Shown, encode_noise, noise_key
from fairlap.comparison.numbers.block_pack import pack_block
from fairlap.kube.api_error import ApiError
from fairlap.manifests.comparison import noise_config_map
from fairlap.plan import unforeseen
from fairlap.plan.comparison.comparison_seen import ComparisonLook, ComparisonPlan, ComparisonSeen, RaceToCreate
from fairlap.queue.summary import summarize, summarize_comparison
from fairlap.runtime.loop.object_tasks import Stop
from fairlap.runtime.loop.state import Operator
from fairlap.runtime.reconcilers import comparison_acts, comparison_reads
from fairlap.runtime.reconcilers.comparison_acts import OfBenchmark
from fairlap.runtime.reconcilers.comparison_deciders import DECIDERS
from fairlap.runtime.reconcilers.comparison_reads import build_comparison_seen
from fairlap.runtime.reconcilers.comparison_reconciler import VERDICTS, ComparisonReconciler, Deciders
from fairlap.settings import Settings
from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.recorded.record import KEY_RECORD
from fairlap_race.contract.watched_machines.machine_watch import Canary, MachineWatch
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable

Json = dict[str, Any]
SINCE = "2026-01-01T00:00:00Z"
SPEC: Json = {
    "template": {"elasticsearch": {"version": "8.11.0"}, "race": {"track": {"builtin": "log_ingest"}}},
    "variants": [{"name": "a"}, {"name": "b", "patch": {"elasticsearch": {"version": "9.0.0"}}}],
    "baseline": "a",
}
RACE = RaceOfBlock(variant="a", benchmark="cmp-1a")
BLOCK = CurrentBlock(number=1, order=["a"], races=[RACE], since=SINCE)
STARTING = ComparisonStatus(phase="Racing", admitted_time=SINCE, block=BLOCK)
RECORDING = STARTING.model_copy(
    update={
        "block": BLOCK.model_copy(
            update={"stage": "Recording", "races": [RACE.model_copy(update={"uid": "u-cmp-1a", "valid": True})]}
        )
    }
)


class Server:
    """Objects by kind and name; a Comparison's status is stored as it is written."""

    def __init__(self, status: ComparisonStatus | None = None) -> None:
        self.operator = Operator(Settings(race_image="race"))
        self.operator.api_server = self  # type: ignore[assignment]
        self.objects: dict[tuple[str, str], Json] = {}
        self.acts: list[str] = []
        self.refuses: dict[str, ApiError] = {}
        self.events: list[tuple[str, ...]] = []
        self.operator.post_event = lambda about, *event: self.events.append((about["kind"], *event))
        meta = {"name": "cmp", "namespace": "n", "uid": "c", "generation": 1, "creationTimestamp": SINCE}
        body = {"metadata": {**meta, "resourceVersion": "1"}, "spec": copy.deepcopy(SPEC)}
        body["status"] = status.to_json() if status else {}
        self.objects["Comparison", "cmp"] = body
        self.operator.places.observe(summarize_comparison(body))

    @property
    def status(self) -> Json:
        found: Json = self.objects["Comparison", "cmp"]["status"]
        return found

    async def list_objects(self, kind: str, *_: Any) -> dict[str, Any]:
        assert kind == "Node", "the machines, before the first race"
        return {}

    def add(self, manifest: Json, uid: str = "") -> Json:
        meta = manifest["metadata"]
        stored = copy.deepcopy(manifest)
        stored["metadata"] |= {"uid": uid or f"u-{meta['name']}", "resourceVersion": "1"}
        self.objects[manifest["kind"], meta["name"]] = stored
        return stored

    async def create(self, manifest: Json) -> Json:
        name = manifest["metadata"]["name"]
        self.acts.append(f"create {manifest['kind']} {name}")
        if error := self.refuses.get(name):
            raise error
        if (manifest["kind"], name) in self.objects:
            raise ApiError(409, "already exists")
        return self.add(manifest)

    async def try_out(self, manifest: Json) -> None:
        self.acts.append(f"try {manifest['metadata']['name']}")
        if error := self.refuses.get(manifest["metadata"]["name"]):
            raise error

    async def find(self, kind: str, _: str, name: str) -> Json | None:
        return copy.deepcopy(self.objects.get((kind, name)))

    async def list_metadata(self, kind: str, *_: Any) -> list[Json]:
        return [each for (of, _), each in self.objects.items() if of == kind]

    async def replace(self, manifest: Json, part: str) -> Json:
        assert (manifest["kind"], part) == ("Comparison", "status")
        body = self.objects["Comparison", "cmp"]
        if error := self.refuses.get("status"):
            raise error
        assert manifest["metadata"]["resourceVersion"] == body["metadata"]["resourceVersion"]
        body["metadata"]["resourceVersion"] = str(int(body["metadata"]["resourceVersion"]) + 1)
        body["status"] = manifest["status"]
        self.acts.append(f"say {manifest['status'].get('phase')}")
        self.operator.places.observe(summarize_comparison(body))
        return copy.deepcopy(body)

    async def patch(self, kind: str, _: str, name: str, body: Json) -> Json:
        self.acts.append(f"patch {kind} {name}")
        return self.objects[kind, name] | body

    def drive(self, plan: Callable[[ComparisonSeen], ComparisonPlan], seconds: float = 0.2) -> "Server":
        """Let its daemon work for so long with this plan."""
        return self.decide(deciders(plan), seconds)

    def decide(self, by: Deciders, seconds: float) -> "Server":
        """Let its daemon work for so long with these decisions, or for as many turns where the machine stalls."""

        async def work() -> None:
            stop = Stop()
            body, logger = self.objects["Comparison", "cmp"], logging.getLogger("test")
            driven = ComparisonReconciler(self.operator, copy.deepcopy(body), "c", None, logger, deciders=by)
            task = asyncio.create_task(driven.run(stop))
            end, turns = time.monotonic() + seconds, seconds / 0.01
            while (turns > 0 or time.monotonic() < end) and not self.status.get("completionTime"):
                await asyncio.sleep(0.01)
                turns -= 1
            stop.last_status = self.status if is_over(self.objects["Comparison", "cmp"]) else {}
            stop.set()
            await task

        asyncio.run(work())
        return self


def deciders(plan: Callable[[ComparisonSeen], ComparisonPlan]) -> Deciders:
    def record(race: OfBenchmark, builder: OfBenchmark | None, variant: str, spec: ComparisonSpec) -> RaceRecord:
        facts = {"record": str(bool(race[1])), "builder": builder[0]["metadata"]["name"] if builder else "itself"}
        return RaceRecord(variant=variant, benchmark="?", facts=facts)

    return Deciders(
        plan=plan,
        trials=lambda seen: [RaceToCreate(f"cmp-0{each}", each, 0, {}) for each in "ab"],
        record_race=record,
        priors=lambda data, seen: {},
        race_seconds=lambda data, seen: None,
        learnt=lambda data, seen: {"known": "1"} if data != {"known": "1"} else None,
    )


def owned(kind: str, name: str, uid: str = "c", **parts: Any) -> Json:
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Comparison", "name": "cmp", "uid": uid, "controller": True}
    return {"kind": kind, "metadata": {"name": name, "namespace": "n", "ownerReferences": [owner]}, **parts}


def test_a_race_is_said_before_it_is_created() -> None:
    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        if seen.status.block is None:
            return ComparisonPlan(STARTING) if seen.turn.may_go else ComparisonPlan(seen.status)
        return ComparisonPlan(seen.status, create=RaceToCreate("cmp-1a", "8 x/", 1, {"repetitions": 1}), wake_in=60)

    server = Server().drive(plan)
    assert server.acts == ["say Racing", "create Benchmark cmp-1a"]
    made = server.objects["Benchmark", "cmp-1a"]
    assert made["spec"] == {"repetitions": 1}
    assert made["metadata"]["labels"]["fairlap.dev/variant"] == "8-x-".strip("-")
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (
        "Comparison", "c", True, True,
    )  # fmt: skip
    assert server.operator.places.holders() == {"c"}


@pytest.mark.parametrize(("uid", "words"), [("c", ""), ("other", "which is not of this Comparison, to go away")])
def test_a_name_that_is_taken_is_a_success_when_it_is_its_own(uid: str, words: str) -> None:
    told: list[str] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        told.append(seen.foreign)
        return ComparisonPlan(seen.status, create=RaceToCreate("cmp-1a", "a", 1, {}), wake_in=60)

    server = Server(STARTING)
    server.add(owned("Benchmark", "cmp-1a", uid))
    server.drive(plan)
    assert told[-1].endswith(words) and bool(told[-1]) is bool(words)


def test_what_the_api_server_says_of_each_variant() -> None:
    found: list[Any] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        if seen.dry_runs is None:
            return ComparisonPlan(seen.status, look=("dry_runs", "priors"))
        found.append((seen.dry_runs, seen.priors))
        return ComparisonPlan(seen.status)

    server = Server()
    server.refuses = {"cmp-0a": ApiError(409, "already exists"), "cmp-0b": ApiError(422, "version is none")}
    server.drive(plan)
    assert found[0] == ({"a": "", "b": "version is none"}, {})
    assert not [act for act in server.acts if act.startswith("create")]


def test_a_block_is_kept_once_and_read_back() -> None:
    seen_records: list[Any] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        if seen.records is None:
            return ComparisonPlan(seen.status, look=("records",))
        seen_records.append(seen.records)
        return ComparisonPlan(seen.status, record="" if seen.records[1] else "cmp-block-1", wake_in=60)

    server = Server(RECORDING)
    record = {"kind": "ConfigMap", "metadata": {"name": "cmp-1a-race-1", "namespace": "n"}}
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "uid": "u-cmp-1a", "controller": True}
    record["metadata"]["ownerReferences"] = [owner]  # type: ignore[index]
    server.add(record)
    server.add(owned("Benchmark", "cmp-1a", status={"races": [{"record": "cmp-1a-race-1"}]}))
    server.drive(plan)
    assert server.acts == ["create ConfigMap cmp-block-1"] and seen_records[0] == {1: None}
    kept = seen_records[-1][1]
    (race,) = kept.races
    assert (race.variant, race.benchmark, race.uid, race.valid) == ("a", "cmp-1a", "u-cmp-1a", True)
    assert race.facts == {"record": "True", "builder": "itself"}
    assert server.objects["ConfigMap", "cmp-block-1"]["metadata"]["labels"]["fairlap.dev/part"] == "record"


def test_a_race_that_is_gone_is_in_the_record_with_its_reason() -> None:
    server = Server(RECORDING)
    server.add(owned("Benchmark", "cmp-1a", status={}), uid="another")
    reads: list[BlockRecord | None] = []

    def look(seen: ComparisonSeen) -> ComparisonPlan:
        if seen.records is None:
            return ComparisonPlan(seen.status, look=("records",))
        reads.append(seen.records[1])
        return ComparisonPlan(seen.status, record="" if reads[-1] else "cmp-block-1", wake_in=60)

    server.drive(look)
    assert reads[-1] and (reads[-1].races[0].valid, reads[-1].races[0].reason) == (False, "RaceDeleted")


@pytest.mark.parametrize(
    ("uid", "data", "believed"),
    [("c", pack_block(BlockRecord(number=1)), True), ("other", pack_block(BlockRecord(number=1)), False)],
)
def test_a_record_is_believed_when_it_is_its_own(uid: str, data: bytes, believed: bool) -> None:
    found: list[Any] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        if seen.records is None:
            return ComparisonPlan(seen.status, look=("records",))
        found.append(seen.records[1])
        return ComparisonPlan(seen.status, wake_in=60)

    server = Server(RECORDING)
    server.add(owned("ConfigMap", "cmp-block-1", uid, binaryData={KEY_BLOCK: base64.b64encode(data).decode()}))
    server.drive(plan)
    assert bool(found[0]) is believed


def test_a_permission_that_stays_missing_in_a_dry_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlap.runtime.loop.attempts.random.uniform", lambda *_: 0.001)  # a minute in no time
    found: list[Any] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        if seen.dry_runs is None:
            return ComparisonPlan(seen.status, look=("dry_runs",))
        found.append(seen.dry_runs)
        return ComparisonPlan(seen.status, wake_in=60)

    server = Server()
    words = 'benchmarks.fairlap.dev is forbidden: User "x" cannot create resource "benchmarks"'
    server.refuses = {"cmp-0b": ApiError(403, words)}
    server.drive(plan, 1.0)
    assert found and found[0]["b"] == words
    assert server.acts.count("try cmp-0b") == 7, "it is asked again for about a minute"


def test_before_its_first_race_earlier_comparisons_tell_how_long_it_takes() -> None:
    for known, minutes in ((True, 40), (False, None)):
        server = Server()
        spec = server.objects["Comparison", "cmp"]["spec"]
        spec |= {"design": {"stop": "fixed", "blocks": 5}, "calibrate": False}
        if known:
            shown = Shown(datetime.now(UTC), "throughput mean", (4e-4, 5e-4, 3e-4), 4, race_seconds=240.0)
            data = encode_noise({f"{noise_key(ComparisonSpec.model_validate(spec), ())}m": (shown,)})
            server.add({"kind": "ConfigMap", "metadata": {"name": NOISE_CONFIG_MAP, "namespace": "n"}, "data": data})
        server.decide(DECIDERS, 0.2)
        assert server.status["expected"].get("minutes") == minutes and server.status["expected"]["races"] == 10


QUOTA = (
    'benchmarks.fairlap.dev "cmp-0a" is forbidden: exceeded quota: full, requested: count/benchmarks.fairlap.dev=1, '
    "used: count/benchmarks.fairlap.dev=9, limited: count/benchmarks.fairlap.dev=9"
)


def test_a_full_quota_is_told_and_waited_for() -> None:
    """Before anything is raced as in a block: it fails for no passing reason, and goes on when there is room."""
    server = Server()
    server.refuses = {"cmp-0a": ApiError(403, QUOTA)}
    server.decide(DECIDERS, 0.2)
    words = "quota exceeded (raise it, or delete what is over): full, requested: count/benchmarks"
    assert server.status["phase"] == "Pending" and server.status["progress"].startswith(f"not begun: {words}")
    assert server.acts == ["try cmp-0a", "say Pending", "try cmp-0a"]
    server.refuses = {}
    server.decide(DECIDERS, 0.2)
    assert server.status["phase"] == "Preparing" and "create Benchmark cmp-0a" in server.acts

    server = Server()
    tried = server.try_out

    async def then_full(manifest: Json) -> None:
        await tried(manifest)
        server.refuses = {"cmp-0a": ApiError(403, QUOTA)} if manifest["metadata"]["name"] == "cmp-0b" else {}

    server.try_out = then_full  # type: ignore[method-assign]
    server.decide(DECIDERS, 0.3)
    assert server.status["phase"] == "Preparing" and words in server.status["progress"]


NO_WEBHOOK = 'Internal error occurred: failed calling webhook "policy.example": failed to call webhook: EOF'


@pytest.mark.parametrize("error", [ApiError(500, NO_WEBHOOK), ApiError(504, "Timeout"), ApiError(404, "not found")])
@pytest.mark.parametrize("what", ["variants", "machines"])
def test_one_that_cannot_be_asked_about_says_so_and_has_its_deadline(
    error: ApiError, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had no status at all for as long as that lasted, so that no deadline ran."""
    monkeypatch.setattr("fairlap.runtime.loop.attempts.random.uniform", lambda *_: 0.001)  # minutes in no time

    async def refuse(*_: Any) -> Any:
        raise error

    def refusing(status: ComparisonStatus | None = None) -> Server:
        server = Server(status)
        if what == "variants":
            server.refuses = {"cmp-0a": error}
        elif error.status == 404:  # of machines that means that there are none to be told of
            server.find = refuse  # type: ignore[method-assign]
        else:
            server.list_objects = refuse  # type: ignore[method-assign]
        server.decide(DECIDERS, 1.0)
        return server

    server = refusing()
    assert server.status["phase"] == "Pending" and server.status["startTime"]
    assert server.status["progress"].startswith(f"not begun: the API server could not be asked: {error}"[:100])
    assert server.events[0][:2] == ("Comparison", "Normal") and server.acts.count("say Pending") == 1
    again = Server(ComparisonStatus.model_validate(server.status))
    again.decide(DECIDERS, 0.3)
    assert again.status["phase"] == "Preparing", "and it begins as soon as it can"
    late = refusing(ComparisonStatus(phase="Pending", start_time="2020-01-01T00:00:00Z"))
    assert (late.status["phase"], late.status["reason"]) == ("Failed", "DeadlineReached")
    assert late.status["message"].endswith(f"the API server could not be asked: {error}")


def test_one_failure_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlap.runtime.loop.attempts.random.uniform", lambda *_: 0.01)
    server, failures = Server(), [ApiError(504, "Timeout")]
    tried = server.try_out

    async def then_well(manifest: Json) -> None:
        if failures:
            raise failures.pop()
        await tried(manifest)

    server.try_out = then_well  # type: ignore[method-assign]
    server.decide(DECIDERS, 0.3)
    assert server.status["phase"] == "Preparing" and "not begun" not in str(server.events)


def test_what_is_read_in_mid_comparison_is_waited_for_and_not_asked_for_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its plans asked for it again and again, with the room for large records taken."""
    monkeypatch.setattr("fairlap.runtime.loop.attempts.random.uniform", lambda *_: 0.003)  # a minute in no time
    status = RECORDING.model_copy(update={"variants": [VariantStatus(name="a", letter="a")]})
    server, asked = Server(status), list[str]()
    found = server.find

    async def find(kind: str, namespace: str, name: str) -> Json | None:
        if name != NOISE_CONFIG_MAP:
            return await found(kind, namespace, name)
        asked.append(name)
        await asyncio.sleep(0)
        if len(asked) < 100:
            raise ApiError(504, "Timeout")
        return None

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        look: tuple[ComparisonLook, ...] = ("records", "priors") if seen.priors is None else ()
        return ComparisonPlan(seen.status, look=look, wake_in=60)

    server.find = find  # type: ignore[method-assign]
    server.drive(plan, 0.5)
    assert 6 < len(asked) < 50, "it is asked again after a pause, which grows"


BOMB = gzip.compress(b'{"number":1,"races":[' + b"{}," * 1_000_000 + b"{}]}")
"""some KiB that are 200 MB of objects, for which the operator has no room"""


@pytest.mark.parametrize(
    "data",
    [
        "bm90IHBhY2tlZA==",
        base64.b64encode(pack_block(BlockRecord(number=1, attempt=2))).decode(),
        base64.b64encode(BOMB).decode(),
    ],
    ids=["not packed", "of another attempt", "a bomb"],
)
def test_a_record_that_cannot_be_read_ends_it(monkeypatch: pytest.MonkeyPatch, data: str) -> None:
    monkeypatch.setattr(unforeseen, "PAUSES", (0.01, 0.02))
    server = Server(RECORDING)
    server.add(owned("ConfigMap", "cmp-block-1", binaryData={KEY_BLOCK: data}))
    server.drive(lambda seen: ComparisonPlan(seen.status, look=() if seen.records else ("records",), wake_in=60), 30)
    assert (server.status["phase"], server.status["reason"]) == ("Failed", "InternalError")
    assert "cannot go on with this Comparison: ValueError: the record of a block" in server.status["message"]
    assert "block" not in server.status and not server.operator.places.holders()
    assert ("Comparison", "Warning", "Failed") in [event[:3] for event in server.events]


def test_records_that_are_too_large_together_end_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each within its bound: all of them would be more than the operator has, again after each start."""
    monkeypatch.setattr(unforeseen, "PAUSES", (0.01, 0.02))
    monkeypatch.setattr(comparison_reads, "MOST_MEMORY", 1 << 20)
    server = Server(RECORDING)
    numbers = [Measured(task=f"t{n}", metric="throughput", value=1.0) for n in range(4000)]
    block = BlockRecord(number=1, races=[RaceRecord(variant="a", benchmark="b", numbers=numbers)])
    data = base64.b64encode(pack_block(block)).decode()
    server.add(owned("ConfigMap", "cmp-block-1", binaryData={KEY_BLOCK: data}))
    server.drive(lambda seen: ComparisonPlan(seen.status, look=() if seen.records else ("records",), wake_in=60), 30)
    assert (server.status["phase"], server.status["reason"]) == ("Failed", "InternalError")
    assert "take more than 1 MiB of memory together: compare fewer variants, or tasks" in server.status["message"]


def test_a_spec_that_this_version_cannot_read_ends_it() -> None:
    server = Server()
    server.objects["Comparison", "cmp"]["spec"]["baseline"] = 1
    server.drive(lambda seen: ComparisonPlan(seen.status), 30)
    assert (server.status["phase"], server.status["reason"]) == ("Failed", "InvalidSpec")


@pytest.mark.parametrize(("value", "reads"), [("Fresh", True), ("Kept", False)])
def test_defaults_of_a_newer_crd_are_left_out_and_wishes_are_not(value: str, reads: bool) -> None:
    (version,) = crd(COMPARISON)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["newer"] = {"type": "string", "default": "Fresh"}
    kind = {"group": "fairlap.dev", "kind": "Comparison", "version": "v1alpha1"}
    server = Server()

    async def published(_: str) -> Json:
        return {"x": {**schema, "x-kubernetes-group-version-kind": [kind]}}

    server.read_schemas = published  # type: ignore[attr-defined]
    server.objects["Comparison", "cmp"]["spec"]["newer"] = value
    over = {"phase": "Complete", "completion_time": "2026-01-01T00:00:00Z"}
    server.drive(lambda seen: ComparisonPlan(seen.status.model_copy(update=over)), 30)
    if reads:
        assert server.status["phase"] == "Complete"
    else:
        assert (server.status["phase"], server.status["reason"]) == ("Failed", "InvalidSpec")
        assert "spec.newer: not known to this version of the operator" in server.status["message"]


def test_a_refused_race_is_told_to_the_plan() -> None:
    told: list[str] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        told.append(seen.refusal)
        return ComparisonPlan(seen.status, create=None if seen.refusal else RaceToCreate("cmp-1a", "a", 1, {}))

    server = Server(STARTING)
    server.refuses = {"cmp-1a": ApiError(422, "spec is wrong")}
    server.drive(plan)
    assert told[0] == "" and told[-1] == "spec is wrong"


@pytest.mark.parametrize("verdict", [*get_args(Verdict), "none"])
def test_each_verdict_is_exposed_before_the_first_comparison_ends(verdict: str) -> None:
    """Prometheus takes the first value that it sees for no increase."""
    assert REGISTRY.get_sample_value("fairlap_comparison_verdicts_total", {"verdict": verdict}) is not None


def test_a_verdict_is_learnt_from_counted_and_announced() -> None:
    over = ComparisonStatus(phase="Complete", verdict="Mixed", progress="more for more", completion_time=SINCE)
    before = VERDICTS.labels("Mixed")._value.get()
    server = Server(STARTING).drive(lambda seen: ComparisonPlan(over, learn=True))
    assert server.acts == ["create ConfigMap fairlap-noise", "say Complete"]
    assert server.objects["ConfigMap", "fairlap-noise"]["data"] == {"known": "1"}
    assert VERDICTS.labels("Mixed")._value.get() == before + 1
    assert ("Comparison", "Normal", "Complete", "Mixed: more for more") in server.events
    assert not server.operator.places.holders()


def odd_plan(_: ComparisonSeen) -> ComparisonPlan:
    raise OverflowError("date value out of range")


def test_an_end_that_nobody_decided_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unforeseen, "PAUSES", (0.01, 0.02))
    before = VERDICTS.labels("none")._value.get()
    server = Server(STARTING).drive(odd_plan, 30)
    assert (server.status["phase"], server.status["reason"]) == ("Failed", "InternalError")
    assert VERDICTS.labels("none")._value.get() == before + 1


OVER = ComparisonStatus(phase="Complete", verdict="Mixed", progress="more for more", completion_time=SINCE)


@pytest.mark.parametrize("code", [0, 504])
@pytest.mark.parametrize(
    ("plan", "verdict", "told"),
    [
        (lambda seen: ComparisonPlan(OVER), "Mixed", ("Comparison", "Normal", "Complete")),
        (odd_plan, "none", ("Comparison", "Warning", "Failed")),
    ],
    ids=["decided", "at once"],
)
def test_an_end_whose_answer_was_lost_is_counted_and_announced_once(
    monkeypatch: pytest.MonkeyPatch, plan: Any, verdict: str, told: tuple[str, ...], code: int
) -> None:
    monkeypatch.setattr(unforeseen, "PAUSES", (0.01, 0.02))
    before, server = VERDICTS.labels(verdict)._value.get(), Server(STARTING)
    write = server.replace

    async def lose(manifest: Json, part: str) -> Json:
        if is_over(server.objects["Comparison", "cmp"]):
            raise ApiError(409, "changed")
        await write(manifest, part)
        raise ApiError(code, "no answer")

    server.replace = lose  # type: ignore[method-assign]
    server.drive(plan, 30)
    assert VERDICTS.labels(verdict)._value.get() == before + 1
    assert [event[:3] for event in server.events] == [told]


@pytest.mark.parametrize("code", [200, 0, 504])
@pytest.mark.parametrize("shown", ["over", "racing, then over", "gone"])
def test_an_end_before_its_namespace_is_listed_anew_is_counted_and_announced_once(shown: str, code: int) -> None:
    """A watch that tells of nothing shows no end; the list may be older than a write that was on its way."""
    before, server, answer = VERDICTS.labels("Mixed")._value.get(), Server(STARTING), asyncio.Event()
    write, tasks, racing = server.replace, server.operator.object_tasks, copy.deepcopy(server.objects)

    async def late(manifest: Json, part: str) -> Json:
        if is_over(server.objects["Comparison", "cmp"]):
            raise ApiError(409, "changed")
        said = await write(manifest, part)
        await answer.wait()
        if code != 200:
            raise ApiError(code, "no answer")
        return said

    def follow() -> None:
        body, logger, by = racing["Comparison", "cmp"], logging.getLogger("test"), deciders(plan)
        tasks.follow("n", ComparisonReconciler(server.operator, body, "c", None, logger, deciders=by))

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        return ComparisonPlan(OVER)

    async def work() -> None:
        tasks.allow(True)
        follow()
        await asyncio.sleep(0.05)
        tasks.end_in("n")
        if shown == "racing, then over":
            follow()
        answer.set()
        await asyncio.sleep(0.05)
        tasks.end("c", None if shown == "gone" else {"phase": "Complete", "verdict": "Mixed"})
        server.operator.wakers.drop("c")
        await asyncio.sleep(0.05)
        await tasks.stop(1)

    server.replace = late  # type: ignore[method-assign]
    asyncio.run(work())
    known = shown != "gone" or code == 200
    assert VERDICTS.labels("Mixed")._value.get() == before + known
    assert [event[2] for event in server.events] == ["Complete"] * known
    assert not server.operator.wakers._events, "of what is over there is no alarm"


def test_what_was_learnt_by_others_is_kept_and_no_refusal_stops_anything() -> None:
    over = ComparisonStatus(phase="Complete", verdict="Mixed", completion_time=SINCE)
    known = noise_config_map("n", "fairlap-noise", {"known": "0"})
    server = Server(STARTING)
    server.add(known)
    server.drive(lambda seen: ComparisonPlan(over, learn=True))
    assert server.acts == ["patch ConfigMap fairlap-noise", "say Complete"]
    taken = Server(STARTING)
    taken.add({**known, "metadata": {"name": "fairlap-noise", "namespace": "n"}})
    taken.drive(lambda seen: ComparisonPlan(over, learn=True))
    assert taken.acts == ["say Complete"], "what somebody else has called so is left alone"
    forbidden = Server(STARTING)
    forbidden.refuses = {"fairlap-noise": ApiError(403, "cannot create resource")}
    forbidden.drive(lambda seen: ComparisonPlan(over, learn=True))
    assert forbidden.status["phase"] == "Complete"


def test_races_are_asked_for_of_the_api_server_itself() -> None:
    seen_races: list[Any] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        if not seen.confirmed:
            return ComparisonPlan(seen.status, look=("races",))
        seen_races.append(seen.races)
        return ComparisonPlan(seen.status, wake_in=60)

    server = Server(STARTING)
    server.add(owned("Benchmark", "cmp-1a", status={"phase": "Racing"}))
    server.add(owned("Benchmark", "cmp-1b", "other"))
    server.operator.races.observe(server.add(owned("Benchmark", "cmp-0a", status={"phase": "Succeeded"})))
    server.operator.races.observe(owned("Benchmark", "cmp-0b") | {"metadata": _gone()})
    server.drive(plan)
    assert {name: race.phase for name, race in seen_races[0].items()} == {"cmp-1a": "Racing", "cmp-0a": "Succeeded"}


@pytest.mark.parametrize("patience", [0, 3600])
def test_a_race_that_was_set_aside_is_told_after_a_time_in_which_it_may_come_back(patience: int) -> None:
    server, told = Server(STARTING), list[frozenset[str]]()
    server.operator.settings = Settings(race_image="race", cleanup_seconds=patience)
    child = server.add(owned("Benchmark", "cmp-1a", spec={}, status={"phase": "Racing"}))
    child["metadata"]["creationTimestamp"] = SINCE
    server.operator.places.observe(summarize(child))
    server.operator.places.set_aside("u-cmp-1a")

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        told.append(seen.aside)
        return ComparisonPlan(seen.status, wake_in=60)

    server.drive(plan)
    assert told[-1] == (frozenset() if patience else {"u-cmp-1a"})


def _gone() -> Json:
    meta: Json = owned("Benchmark", "cmp-0b")["metadata"]
    return {**meta, "uid": "gone"}


def test_two_comparisons_do_not_both_get_the_only_place() -> None:
    server = Server()
    waiting = {**server.objects["Comparison", "cmp"]["metadata"], "uid": "z", "name": "zmp"}
    server.operator.places.observe(
        summarize_comparison({"metadata": waiting, "status": {"phase": "Racing", "admittedTime": SINCE}})
    )
    server.drive(lambda seen: ComparisonPlan(STARTING if seen.turn.may_go else seen.status, wake_in=60))
    assert not server.acts and server.operator.places.holders() == {"z"}


class Races(Server):
    """Benchmarks succeed, each with a record of its race, as soon as they are created."""

    records = True
    slow: tuple[str, ...] = ()
    """Benchmarks around which the machine took twice as long for the same work"""

    def texts(self, name: str) -> dict[str, str]:
        seen = Canary(cpu_seconds=0.02 if name in self.slow else 0.01)
        table = MachineTable(race_id=name, watch=MachineWatch(before=seen, after=seen))
        return {KEY_RECORD: good_record().to_json(), KEY_RESOURCES: table.to_json()}

    async def create(self, manifest: Json) -> Json:
        made = await super().create(manifest)
        if manifest["kind"] == "Benchmark":
            name = manifest["metadata"]["name"]
            if self.records:
                owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "controller": True}
                meta = {"name": f"{name}-race-1", "namespace": "n", "ownerReferences": [{**owner, "uid": f"u-{name}"}]}
                self.add({"kind": "ConfigMap", "metadata": meta, "binaryData": packed(self.texts(name))})
            race = {"name": "race-1", "valid": True, "record": f"{name}-race-1", "elasticsearchOn": ["m1"]}
            race["loadGeneratorOn"] = "m1"
            times = {"phase": "Succeeded", "completionTime": "2026-01-01T00:01:00Z"}
            made["metadata"]["creationTimestamp"] = SINCE
            made["status"] = {**times, "races": [race], "version": manifest["spec"]["elasticsearch"]["version"]}
            self.operator.races.observe(made)
            self.operator.wakers.wake("c")
        return made


@pytest.mark.parametrize("records", [True, False])
def test_a_whole_comparison_by_the_real_decisions(records: bool) -> None:
    server = Races()
    server.records = records
    server.objects["Comparison", "cmp"]["spec"] |= {"design": {"stop": "fixed", "blocks": 2}, "calibrate": False}
    server.operator.settings = Settings(race_image="race")
    server.decide(DECIDERS, 20)
    status = ComparisonStatus.model_validate(server.status)
    made = [act.split()[-1] for act in server.acts if act.startswith("create Benchmark")]
    assert len(made) == len(set(made)), "no race twice"
    if records:
        assert (status.phase, status.cost_races, status.cost_preparations) == ("Complete", 4, 2) and status.verdict, (
            server.status
        )
        assert sorted(made) == [f"cmp-{block}{letter}" for block in range(3) for letter in "ab"]
        assert {name for kind, name in server.objects if kind == "ConfigMap" and "block" in name} == {
            "cmp-block-1", "cmp-block-2",
        }  # fmt: skip
    else:
        assert (status.phase, status.reason) == ("Failed", "RacesInvalid"), server.status
        assert {block.reason for block in status.blocks if not block.valid} == {"RecordMissing"}


def test_a_machine_that_was_slower_around_one_race_of_a_block_has_the_block_raced_again() -> None:
    """In both its canaries alike, so that the race itself knows nothing of it."""
    server = Races()
    server.slow = ("cmp-1b",)
    server.objects["Comparison", "cmp"]["spec"] |= {"design": {"stop": "fixed", "blocks": 2}, "calibrate": False}
    server.operator.settings = Settings(race_image="race")
    server.decide(DECIDERS, 20)
    status = ComparisonStatus.model_validate(server.status)
    assert (status.phase, status.cost_races) == ("Complete", 6), server.status
    aside, *counted = [block for block in status.blocks if block.number]
    assert (aside.number, aside.valid, aside.reason) == (1, False, "MachineDisturbed")
    assert all(block.valid for block in counted) and [block.number for block in counted] == [1, 2]
    told = {race.benchmark: race.message for race in aside.races}
    assert told["cmp-1a"] == "" and "20 ms around this race and 10 ms around that of a in its block" in told["cmp-1b"]


def test_variants_are_made_once_while_a_block_is_raced() -> None:
    meta = {"name": "c", "namespace": "n", "uid": "u", "generation": 1}
    variants = [{"name": "a"}, {"name": "b", "patch": {"elasticsearch": {"version": "9.1.0"}}}]
    template = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}}
    body = {"metadata": meta, "spec": {"template": template, "variants": variants, "baseline": "a"}}
    settings, now = Settings(race_image="r"), datetime.now(UTC)
    first = build_comparison_seen(body, settings, now).subject
    assert build_comparison_seen(body, settings, now, first).subject is first
    assert first.variants is first.variants and [each.name for each in first.variants] == ["a", "b"]
    for uid, generation in (("u", 2), ("another", 1)):
        changed = {**body, "metadata": {**meta, "uid": uid, "generation": generation}}
        other = build_comparison_seen(changed, settings, now, first).subject
        assert other is not first and (other.uid, other.generation) == (uid, generation)


def test_while_one_judges_its_numbers_others_go_on_but_none_judges_beside_it() -> None:
    """Judging the most that there may be takes seconds, and memory: the Lease is renewed meanwhile."""
    at_once, most, judged = 0, 0, list[str]()

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        nonlocal at_once, most
        if seen.records is None:
            return ComparisonPlan(seen.status, look=("records",))
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.2)
        at_once -= 1
        judged.append(seen.subject.name)
        return ComparisonPlan(seen.status, wake_in=60)

    async def work() -> int:
        server, stop, ticks = Server(RECORDING), Stop(), 0
        block = BlockRecord(number=1, races=[RaceRecord(variant="a", benchmark="cmp-1a")])
        packed_block = base64.b64encode(pack_block(block)).decode()
        server.add(owned("ConfigMap", "cmp-block-1", binaryData={KEY_BLOCK: packed_block}))
        body, logger = server.objects["Comparison", "cmp"], logging.getLogger("test")
        both = [
            ComparisonReconciler(server.operator, copy.deepcopy(body), "c", None, logger, deciders=deciders(plan))
            for _ in range(2)
        ]
        tasks = [asyncio.create_task(each.run(stop)) for each in both]
        while len(judged) < 2:
            await asyncio.sleep(0.01)
            ticks += 1
        stop.set()
        await asyncio.gather(*tasks)
        return ticks

    assert asyncio.run(asyncio.wait_for(work(), 20)) >= 10 and most == 1


def test_a_full_quota_has_its_time_once_the_operator_is_back() -> None:
    """Of one whose block began long before this process looked after it."""
    server = Server(STARTING)
    reconciler = ComparisonReconciler(
        server.operator, server.objects["Comparison", "cmp"], "c", None, logging.getLogger("test"), deciders=DECIDERS
    )
    seen = reconciler._see_more(reconciler._see(server.objects["Comparison", "cmp"]))
    assert seen.taken_up == reconciler.taken_up > datetime.fromisoformat(SINCE)


@pytest.mark.parametrize("hangs", ["create", "replace"])
def test_a_write_that_hangs_keeps_no_other_one_from_its_records(hangs: str) -> None:
    """A Comparison in a namespace with a webhook that hangs held up the end of everybody's blocks."""
    free: list[bool] = []

    def plan(seen: ComparisonSeen) -> ComparisonPlan:
        if seen.records is None:
            return ComparisonPlan(seen.status, look=("records",))
        if hangs == "replace":
            return ComparisonPlan(seen.status.model_copy(update={"progress": "judged"}))
        return ComparisonPlan(seen.status, record="" if seen.records[1] else "cmp-block-1", wake_in=60)

    server = Server(RECORDING)
    server.add(owned("Benchmark", "cmp-1a", status={}))
    write = getattr(server, hangs)

    async def slow(*args: Any) -> Json:
        try:
            await asyncio.wait_for(server.operator.large_records.enter("another"), 1)
        except TimeoutError:
            free.append(False)
        else:
            server.operator.large_records.leave("another")
            free.append(True)
        made: Json = await write(*args)
        return made

    setattr(server, hangs, slow)
    server.drive(plan, 0.2)
    assert free and all(free)


def test_what_is_learnt_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_acts, "_LEARN_SECONDS", 0.05)

    async def hang(*_: Any) -> Any:
        await asyncio.sleep(3600)

    server = Server(RECORDING)
    server.create = hang  # type: ignore[method-assign]
    over = {"phase": "Complete", "completion_time": "2026-01-01T00:00:00Z"}
    server.drive(lambda seen: ComparisonPlan(seen.status.model_copy(update=over), learn=True), 30)
    assert server.status["phase"] == "Complete"
