"""What is read of a Benchmark: only what belongs to it, and only as much as is needed."""

import asyncio
import json
import tracemalloc
from typing import Any

import pytest
from world import START, cluster, good_record, later, seen

from fairlap.api.status import BenchmarkStatus, RaceStatus, Step
from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Checker, Children, LogOf
from fairlap.runtime.objects import reads
from fairlap_race.contract.config_maps import packed
from fairlap_race.contract.recorded.record import KEY_RECORD
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, MachineTable

Json = dict[str, Any]
SEEN = seen(BenchmarkStatus(step=Step(name="race-1", stage="Running", since=stamp(START))))
LABELS = {"fairlap.dev/uid": SEEN.subject.uid, "fairlap.dev/step": "race-1"}


def of(uid: str) -> Json:
    """Metadata of an object that wears our labels and is controlled by the Benchmark of that uid."""
    owner = {"apiVersion": "fairlap.dev/v1alpha1", "kind": "Benchmark", "name": "bm", "uid": uid, "controller": True}
    meta = {"name": "bm-race-1", "namespace": "ns", "uid": "job-1", "labels": LABELS}
    return {**meta, "ownerReferences": [owner] if uid else []}


OWN, OTHER = of(SEEN.subject.uid), of("of an earlier one")


class Server:
    """Objects by kind and name; a refusal where there is a number."""

    def __init__(self, **objects: Any) -> None:
        self.objects = objects
        self.asked: list[Any] = []
        self.read: list[str] = []

    async def read_schemas(self, path: str) -> Json:
        return {}

    def _answer(self, kind: str) -> Any:
        found = self.objects.get(kind)
        if isinstance(found, int):
            raise ApiError(found, "refused")
        return found

    async def find(self, kind: str, namespace: str, name: str) -> Json | None:
        assert namespace == "ns"
        self.read.append(name)
        return (self._answer(kind) or {}).get(name)  # type: ignore[no-any-return]

    async def list_objects(self, kind: str, namespace: str, query: Json, keep: Any) -> list[Any]:
        self.asked.append(query)
        return [kept for each in self._answer(kind) or () if (kept := keep(each)) is not None]

    async def read_log(self, namespace: str, pod: str, query: Json) -> str:
        self.asked.append((pod, query))
        return str(self._answer("log"))


def run(reading: Any) -> Any:
    return asyncio.run(reading)


@pytest.mark.parametrize(("meta", "there"), [(OWN, True), (OTHER, False), (of(""), False)])
def test_a_record_counts_when_it_is_of_this_benchmark(meta: Json, there: bool) -> None:
    entries = packed({KEY_RECORD: good_record().to_json(), KEY_RESOURCES: MachineTable(race_id="1").to_json()})
    server: Any = Server(ConfigMap={"bm-race-1": {"metadata": meta, "binaryData": entries}})
    found = run(reads.read_records(server, SEEN.subject, ("race-1", "race-2")))
    whole = reads.Written(good_record(), MachineTable(race_id="1"))
    assert found == {"race-1": whole if there else reads.Written(), "race-2": reads.Written()}
    assert server.read == ["bm-race-2", "bm-race-1"], "a record is large: each is read once, the newest first"


def test_records_of_earlier_races_that_are_too_large_together_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty of them, each as large as one may be, would be more memory than the operator has."""
    entries = packed({KEY_RECORD: (text := good_record().to_json())})
    names = tuple(f"race-{number}" for number in range(1, 6))
    there = {f"bm-{name}": {"metadata": OWN, "binaryData": entries} for name in names}
    monkeypatch.setattr(reads, "MOST_VALUES_TOGETHER", int(2.5 * reads.weight_of(text)))
    server: Any = Server(ConfigMap=there)
    found = run(reads.read_records(server, SEEN.subject, names))
    assert [name for name in names if found[name].record] == ["race-4", "race-5"] and set(found) == set(names)
    assert server.read == ["bm-race-5", "bm-race-4", "bm-race-3"]
    monkeypatch.setattr(reads, "MOST_VALUES_TOGETHER", 1)
    alone = run(reads.read_records(Server(ConfigMap=there), SEEN.subject, names))  # type: ignore[arg-type]
    assert alone["race-5"].record and not alone["race-4"].record, "the race that is to be judged is read in any case"


@pytest.mark.parametrize(("key", "field"), [(KEY_RECORD, "leftOut"), (KEY_RESOURCES, "remarks")])
def test_texts_count_as_values_do(key: str, field: str) -> None:
    """A character beyond the BMP makes Python hold 4 bytes for each of its text: 11 KB, compressed, held 32 MiB."""
    texts = ["x" * 4095 + "\U0001f600"] * 2035
    entries = packed({key: json.dumps({"format": 1, field: texts}, ensure_ascii=False)})
    assert len(str(entries)) < 50_000
    names, waits = tuple(f"race-{number}" for number in range(1, 6)), list[str]()

    async def has_room() -> None:
        assert tracemalloc.get_traced_memory()[0] < 17 << 20, "who waits holds what was read before, and nothing more"
        waits.append(server.read[-1])

    server: Any = Server(ConfigMap={f"bm-{name}": {"metadata": OWN, "binaryData": entries} for name in names})
    tracemalloc.start()
    try:
        found = run(reads.read_records(server, SEEN.subject, names, has_room))
        assert tracemalloc.get_traced_memory()[0] < 17 << 20
    finally:
        tracemalloc.stop()
    assert [name for name in names if found[name] != reads.Written()] == ["race-5"]
    assert waits == server.read == ["bm-race-5", "bm-race-4"]


@pytest.mark.parametrize(("large", "waited"), [(10_000, 0), (0, 1)])
def test_who_reads_what_is_large_waits_for_room(large: int, waited: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A race and two checks may end at once, and the record of each may take a hundred megabytes to be read."""
    waits = list[str]()

    async def has_room() -> None:
        waits.append(server.read[-1])

    monkeypatch.setattr(reads, "LARGE_VALUES", large)
    entries = packed({KEY_RECORD: good_record().to_json()})
    server: Any = Server(ConfigMap={"bm-race-1": {"metadata": OWN, "binaryData": entries}})
    found = run(reads.read_records(server, SEEN.subject, ("race-1",), has_room))
    assert found["race-1"].record == good_record() and waits == ["bm-race-1"] * waited


def test_what_an_earlier_race_image_wrote_is_read_too() -> None:
    data = {KEY_RECORD: good_record().to_json()}
    server: Any = Server(ConfigMap={"bm-race-1": {"metadata": OWN, "data": data}})
    assert run(reads.read_records(server, SEEN.subject, ("race-1",))) == {"race-1": reads.Written(good_record())}


def test_the_steps_whose_records_are_read() -> None:
    races = [RaceStatus(name="race-1", id="1", valid=True), RaceStatus(name="race-2", id="2", valid=False)]
    step = Step(name="race-3", stage="Running", since=stamp(START))
    assert reads.recorded_steps(BenchmarkStatus(races=races, step=step)) == ("race-1", "race-3")
    assert reads.recorded_steps(BenchmarkStatus()) == ("check",)


def test_children_are_those_of_this_benchmark() -> None:
    job = {"metadata": OWN, "spec": {"suspend": True}}
    other = {"metadata": OTHER, "status": {}}

    def made_by(job_uid: str, node: str) -> Json:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "bm-race-1", "uid": job_uid, "controller": True}
        labels = {**LABELS, "fairlap.dev/role": "load-generator"}
        meta = {"name": node, "namespace": "ns", "labels": labels, "ownerReferences": [owner]}
        return {"metadata": meta, "spec": {"nodeName": node}, "status": {"phase": "Running"}}

    def slice_of(service: str, namespace: str) -> Json:
        owner = {"apiVersion": "v1", "kind": "Service", "name": service, "uid": "s-1", "controller": True}
        labels = {**LABELS, "kubernetes.io/service-name": service}
        meta = {"name": "s", "namespace": namespace, "labels": labels, "ownerReferences": [owner]}
        return {"metadata": meta, "endpoints": [{"addresses": ["1", "2"]}]}

    pods = [made_by("job-1", "n1"), made_by("job-0", "n2")]
    slices = [
        slice_of("bm-race-1-es-http", "ns"), slice_of("bm-race-1-es-http", "other"), slice_of("theirs", "ns"),
    ]  # fmt: skip
    server: Any = Server(
        Job={"bm-race-1": job}, Elasticsearch={"bm-race-1": other}, Pod=pods, EndpointSlice=slices
    )  # fmt: skip
    found = run(reads.read_children(server, SEEN))
    assert found.ready_endpoints == 2
    assert found.job and found.job["spec"] == {"suspend": True} and found.elasticsearch is None
    assert [pod["spec"]["nodeName"] for pod in found.pods] == ["n1"]
    assert server.asked == [{"labelSelector": f"fairlap.dev/uid={SEEN.subject.uid},fairlap.dev/step=race-1"}] * 2
    assert run(reads.read_children(server, seen())) == Children(), "between two steps nothing is asked"


def test_evictions_since_the_cluster_was_made() -> None:
    there = cluster()
    there["metadata"]["creationTimestamp"] = stamp(START)

    def event(pod: str, seconds: float) -> Json:
        about = {"kind": "Pod", "name": pod}
        return {"involvedObject": about, "message": "low on memory", "lastTimestamp": stamp(later(seconds=seconds))}

    odd = [
        {"metadata": {}},
        {"metadata": {}, "involvedObject": None},
        {"metadata": {}, "involvedObject": {"kind": "Pod"}},
        {"metadata": {}, "involvedObject": {"kind": "Pod", "name": "bm-race-1-es-2"}},
        {**event("bm-race-1-es-3", 5), "lastTimestamp": "0000-01-01T00:00:00Z"},
        {**event("theirs", 5), "lastTimestamp": "0000-01-01T00:00:00Z"},
    ]
    events = [*odd, event("bm-race-1-es-0", 5), event("bm-race-1-es-1", -5), event("bm-race-2-es-0", 5)]
    subject = seen(SEEN.status, children=Children(elasticsearch=there))
    server: Any = Server(Event=events)
    assert run(reads.read_evictions(server, subject)) == {"bm-race-1-es-0": "low on memory"}
    assert run(reads.read_evictions(server, seen())) == {}


@pytest.mark.parametrize(
    ("config_map", "keys"),
    [({"data": {"track.json": ""}, "binaryData": {"docs.bz2": ""}}, {"track.json", "docs.bz2"}), ({}, set())],
)
def test_keys_of_a_config_map(config_map: Json, keys: set[str]) -> None:
    server: Any = Server(ConfigMap={"mine": config_map})
    assert run(reads.read_config_map_keys(server, "ns", "mine")) == keys
    assert run(reads.read_config_map_keys(server, "ns", "other")) == frozenset()


def test_what_only_explains_may_be_missing() -> None:
    server: Any = Server(Event=500, log=404)
    assert run(reads.read_warnings(server, SEEN)) == ()
    assert run(reads.read_log_tail(server, "ns", LogOf("p", "c", previous=True))) == "(no log: refused)"
    server = Server(log="started\nfatal: no room\n")
    assert run(reads.read_log_tail(server, "ns", LogOf("p", "c", previous=True))) == "fatal: no room"
    assert server.asked == [("p", {"container": "c", "tailLines": "200", "previous": "true"})]


def nested(levels: int) -> Json:
    made: Json = {}
    for _ in range(levels):
        made = {"deep": made}
    return made


def test_another_benchmark_is_read_as_far_as_it_can_be() -> None:
    good = {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}}
    status = {"finishedStep": "check", "challenge": "default"}
    there = {
        "good": {"spec": good, "status": status},
        "new": {"spec": good},
        "other": {"spec": {**good, "fromAnotherRelease": 1}, "status": status},
        "deep": {"spec": {**good, "race": {**good["race"], "params": nested(5000)}}},
        "odd": {"spec": good, "status": {"phase": "NoSuchPhase"}},
    }
    server = Server(Benchmark=there)

    def read(name: str) -> Checker:
        return run(reads.read_checker(server, "ns", name))  # type: ignore[no-any-return]

    found = read("good")
    assert found.spec and found.spec.elasticsearch and found.status.challenge == "default"
    assert read("new").spec and read("new").status == BenchmarkStatus()
    assert [read(name) for name in ("other", "odd", "none")] == [Checker()] * 3
    assert read("deep").spec is not None, "and nothing breaks"


@pytest.mark.parametrize(
    ("config_maps", "data"),
    [
        ({"fairlap-noise": {"data": {"noise.json": "{}"}}}, {"noise.json": "{}"}),
        ({"fairlap-noise": {"data": 7}}, {}),
        ({}, {}),
        (403, None),
    ],
)
def test_what_comparisons_have_shown_of_noise_is_read_or_unknown(config_maps: Any, data: Any) -> None:
    assert run(reads.read_noise(Server(ConfigMap=config_maps), "ns")) == data  # type: ignore[arg-type]


def test_of_what_is_larger_than_any_that_is_accepted_a_part_is_read() -> None:
    """checkedBy may name a megabyte of lists in lists, which is forty in Python, and many may name it at once."""
    large = {"metadata": {"name": "large"}, "spec": {"race": {"params": {"a": [[]] * 300_000}}}}
    found = run(reads.find_run(Server(Benchmark={"large": large}), "Benchmark", "ns", "large"))  # type: ignore[arg-type]
    assert len(found["spec"]["race"]["params"]["a"]) < 30_000
    assert run(reads.find_run(Server(Benchmark={}), "Benchmark", "ns", "none")) is None  # type: ignore[arg-type]
