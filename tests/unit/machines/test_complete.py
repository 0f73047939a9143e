"""Completing the table: what cannot be read is said, an API server that is away is asked again; limits of the pods."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from world import good_record, pod, seen, spec

from fairlap.kube.api_error import ApiError
from fairlap.machines import complete as module
from fairlap.machines.complete import RETRY_SECONDS, complete_table
from fairlap.manifests.elasticsearch import MOUNTS_CONTAINER
from fairlap.plan.basis.seen import Children
from fairlap.results.cadvisor import MARGIN_SECONDS
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.watched_machines.machine_settings import MachineSettings
from fairlap_race.contract.watched_machines.resources import KEY_RESOURCES, Machine, MachineTable, Usage, Volume

NODE = "bm-race-1-es-default-0"
MOUNTS = "510 500 254:0 / /usr/share/elasticsearch/data rw,noatime - xfs /dev/sdb rw\n"
CLAIM = {"metadata": {"name": "c", "uid": "own"}, "spec": {"storageClassName": "fast", "volumeName": "pv-1"}}
BOUND = {"claimRef": {"name": "c", "namespace": "ns", "uid": "own"}}


class Clock:
    """Moves on only by what somebody sleeps."""

    now = 0.0
    time = staticmethod(time.time)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr(module.asyncio, "sleep", found.sleep)
    return found


class FakeServer:
    """Answers as the API server would: an object, or a refusal by its status; a list has the answers one by one."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"log": MOUNTS, "PersistentVolumeClaim": CLAIM, "keep": None, **answers}
        self.kept: list[MachineTable | None] = []

    def _answer(self, what: str) -> Any:
        found = self.answers.get(what, 404)
        if isinstance(found, list):
            found = found.pop(0)
        if isinstance(found, int):
            raise ApiError(found, f"{what}: refused")
        return found

    async def read_log(self, namespace: str, pod: str, query: dict[str, str]) -> str:
        assert (namespace, pod, query["container"]) == ("ns", NODE, MOUNTS_CONTAINER)
        return str(self._answer("log"))

    async def read(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        assert (namespace == "ns") == (kind == "PersistentVolumeClaim") and name
        return dict(self._answer(kind))

    async def patch(self, kind: str, namespace: str, name: str, body: dict[str, Any]) -> None:
        assert (kind, namespace, name) == ("ConfigMap", "ns", "bm-race-1")
        self._answer("keep")
        self.kept.append(MachineTable.from_json(text_of(body, KEY_RESOURCES)))


def complete(server: FakeServer, table: MachineTable | None = None, **elasticsearch: Any) -> MachineTable:
    wanted = {"storage": {"className": "fast", "size": "1Gi"}, **elasticsearch}
    of = seen(of=spec(elasticsearch=wanted), children=Children(pods=[pod(NODE), pod("bm-race-1-x", "load-generator")]))
    told = table or MachineTable(
        race_id="r",
        machines=(Machine(NODE, "elasticsearch", race=Usage(60)), Machine("bm-race-1-x", "load-generator")),
        volumes=(Volume(NODE, "/data", type="xfs", total_bytes=10, available_bytes=5),),
    )
    return asyncio.run(complete_table(server, None, of, "race-1", told, good_record()))  # type: ignore[arg-type]


def test_everything_that_may_be_read_is_in_the_record() -> None:
    pv = {"spec": {**BOUND, "hostPath": {"path": "/d"}}}
    server = FakeServer(PersistentVolume=pv, StorageClass={"provisioner": "p"})
    table = complete(server)
    (volume,) = table.volumes
    assert (volume.provisioner, volume.source, volume.device) == ("p", "hostPath /d", "/dev/sdb")
    assert (volume.total_bytes, volume.remarks, table.remarks) == (10, (), ())
    assert table.completed and server.kept == [table]
    assert complete(server, table) is table and len(server.kept) == 1


@pytest.mark.parametrize("set_by", [{"clock_set_seconds": -90.0}, {"clock_shift_seconds": 30.0}])
def test_prometheus_is_not_asked_of_a_race_in_which_the_clock_was_set(set_by: dict[str, float]) -> None:
    good = good_record()
    times = {"started_at": "2026-11-26T08:00:00Z", "ended_at": "2026-11-26T08:01:00Z"}
    tasks = tuple(replace(task, **times, **set_by) for task in good.tasks)  # type: ignore[arg-type]
    record = replace(good, tasks=tasks)
    of = seen(of=spec(elasticsearch={"storage": {"ephemeral": {}}}), children=Children(pods=[pod(NODE)]))
    told = MachineTable(race_id="r", machines=(Machine(NODE, "elasticsearch", race=Usage(60)),))
    nobody: Any = object()  # which could not be asked
    table = asyncio.run(complete_table(FakeServer(), nobody, of, "race-1", told, record))  # type: ignore[arg-type]
    assert [it.partition(":")[0] for it in table.remarks] == ["Prometheus was not asked"]
    assert [it.race.seconds for it in table.machines] == [60]


class RareScrapes:
    """A Prometheus with a sample of two bytes a second each 30 s, from 10 s before the race on."""

    url = "http://prometheus"

    def __init__(self, clock: Clock, last: float) -> None:
        self.clock, self.last = clock, last

    async def query(self, _text: str, _at: float) -> dict[str, Any]:
        now = self.clock.time() - BEGAN
        values = [[BEGAN + at, str(2 * at + 20)] for at in (-10, 20, 50, 80) if at <= min(now, self.last)]
        labels = {"__name__": "container_fs_writes_bytes_total", "pod": NODE, "container": "elasticsearch"}
        return {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": labels, "values": values}]}}


BEGAN = datetime(2026, 11, 26, 8, tzinfo=UTC).timestamp()


def read_rarely(clock: Clock, monkeypatch: pytest.MonkeyPatch, last: float, after: float) -> MachineTable:
    """Complete the table of a race of a minute, so many seconds after its beginning, by samples up to `last`."""
    monkeypatch.setattr(Clock, "time", lambda self: BEGAN + after + self.now)
    times = {"started_at": "2026-11-26T08:00:00Z", "measured_from": None, "ended_at": "2026-11-26T08:01:00Z"}
    good = good_record()
    record = replace(good, tasks=tuple(replace(task, **times) for task in good.tasks))  # type: ignore[arg-type]
    of = seen(of=spec(elasticsearch={"storage": {"ephemeral": {}}}), children=Children(pods=[pod(NODE)]))
    own = Machine(NODE, "elasticsearch", sources={"disk": "nodeStats"}, race=Usage(60, disk_write_bytes=130.0))
    told = MachineTable(race_id="r", machines=(own,))
    prometheus: Any = RareScrapes(clock, last)
    return asyncio.run(complete_table(FakeServer(), prometheus, of, "race-1", told, record))  # type: ignore[arg-type]


@pytest.mark.parametrize(("last", "written", "source"), [(80.0, 120.0, "prometheus"), (50.0, 130.0, "nodeStats")])
def test_the_end_of_a_race_is_waited_for_and_no_total_is_told_without_it(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, last: float, written: float, source: str
) -> None:
    """Else what was written would be that of 50 of the 60 seconds, as the scrapes happen to fall."""
    (node,) = read_rarely(clock, monkeypatch, last, 70).machines
    assert (node.race.disk_write_bytes, node.sources["disk"], clock.now) == (written, source, 20)


def test_an_end_that_is_still_to_come_is_waited_for_no_longer_than_another(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load generator's clock is ahead: all patience went into one wait, and with it what Prometheus had told."""
    (node,) = read_rarely(clock, monkeypatch, 80, 30).machines
    assert (node.race.disk_write_bytes, clock.now) == (130.0, module.SETTLE_SECONDS + MARGIN_SECONDS)


def test_what_is_forbidden_is_said() -> None:
    (volume,) = complete(FakeServer(PersistentVolume=403, log=403)).volumes
    unread = ["mount options in effect could not be read", "PersistentVolume pv-1 could not be read"]
    assert [remark.split(":")[0] for remark in volume.remarks] == unread
    assert (volume.class_name, volume.persistent_volume, volume.type) == ("fast", "pv-1", "xfs")
    (volume,) = complete(FakeServer(PersistentVolume={"spec": BOUND}, StorageClass=403)).volumes
    assert volume.remarks == ("StorageClass fast could not be read: StorageClass: refused",)


@pytest.mark.parametrize("uid", ["theirs", None])
@pytest.mark.parametrize("own", ["own", "", None])
def test_a_volume_that_is_not_bound_to_the_claim_is_no_evidence(uid: str | None, own: str | None) -> None:
    """Whoever writes a claim names a volume and a class: the operator may read all, its writer need not."""
    nfs = {"server": "10.1.2.3", "path": "/exports/team-a"}
    reference = {"name": "c", "namespace": "team-a", "uid": uid}
    pv = {"metadata": {}, "spec": {"claimRef": reference, "capacity": {"storage": "9Ti"}, "nfs": nfs}}
    claim = {**CLAIM, "metadata": {"name": "c", "uid": own}}
    server = FakeServer(PersistentVolume=pv, PersistentVolumeClaim=claim, StorageClass={"parameters": {"secret": "s"}})
    (volume,) = complete(server).volumes
    assert volume.remarks == ("PersistentVolume pv-1 is not bound to this claim",)
    told = volume.source, volume.source_kind, volume.capacity, volume.class_name, volume.persistent_volume
    assert told == ("",) * 5 and not volume.parameters and volume.claim == "c"


@pytest.mark.parametrize("what", [("keep",), ("log", "keep"), ("log", "PersistentVolumeClaim", "keep")])
def test_an_api_server_that_is_away_is_asked_again_later(what: tuple[str, ...]) -> None:
    with pytest.raises(ApiError):
        complete(FakeServer(**dict.fromkeys(what, 503)))


@pytest.mark.parametrize("status", [0, 429, 500, 503])
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("log", "mount options in effect could not be read: log: refused"),
        ("PersistentVolumeClaim", f"PersistentVolumeClaim elasticsearch-data-{NODE} could not be read: "),
    ],
)
def test_what_alone_does_not_answer_is_said_after_a_time(clock: Clock, what: str, said: str, status: int) -> None:
    """A kubelet that died held a race that was over in its place for ever."""
    known: dict[str, Any] = {"PersistentVolume": {"spec": BOUND}, "StorageClass": {"provisioner": "p"}}
    server = FakeServer(**{**known, what: status})
    (volume,) = complete(server).volumes
    assert volume.remarks[0].startswith(said) and 0.5 * RETRY_SECONDS < clock.now <= RETRY_SECONDS
    assert len(server.kept) == 1, "it is not asked for again"


def test_what_answers_a_little_later_is_taken(clock: Clock) -> None:
    (volume,) = complete(FakeServer(log=[503, 0, MOUNTS], PersistentVolume=403, StorageClass=403)).volumes
    assert volume.device == "/dev/sdb" and clock.now == 3


def test_a_node_that_does_not_answer_takes_no_time_of_the_others() -> None:
    other = NODE[:-1] + "1"

    class Server(FakeServer):
        async def read_log(self, namespace: str, pod: str, query: dict[str, str]) -> str:
            if pod == NODE:
                raise ApiError(503, "dial tcp: no route to host")
            return MOUNTS

    of = seen(of=spec(elasticsearch={"storage": {"ephemeral": {}}}), children=Children(pods=[pod(NODE), pod(other)]))
    told = MachineTable(race_id="r")
    table = asyncio.run(complete_table(Server(), None, of, "race-1", told, good_record()))  # type: ignore[arg-type]
    assert [(each.node, each.device) for each in table.volumes] == [(NODE, ""), (other, "/dev/sdb")]


def test_a_record_that_takes_no_more_still_gives_the_numbers() -> None:
    table = complete(FakeServer(keep=413))
    assert table.completed and "could not be kept" in table.remarks[-1]


def test_data_without_a_claim() -> None:
    (volume,) = complete(FakeServer(PersistentVolumeClaim=500), storage={"ephemeral": {}}).volumes
    assert (volume.kind, volume.file_system, volume.mount_options) == ("emptyDir", "xfs", ("rw", "noatime"))


def test_settings_are_those_of_the_log_and_of_the_record() -> None:
    log = f"==> /sys/devices/system/cpu/cpufreq/boost <==\n1\n\n==> /proc/self/mountinfo <==\n{MOUNTS}"
    node, own = complete(FakeServer(log=log)).machines
    assert node.settings == MachineSettings(turbo=True) and own.settings is None
    assert complete(FakeServer(log=403)).machines[0].settings is None


def test_limits_are_those_of_the_pods() -> None:
    node, own = complete(FakeServer(), resources={"limits": {"cpu": "1500m", "memory": "2Gi"}}).machines
    assert (node.cpu_limit, node.memory_limit_bytes) == (1.5, 2**31)
    assert (own.cpu_limit, own.memory_limit_bytes) == (None, None)
    told = Machine(NODE, "elasticsearch", 1.0, 5.0)
    node, *_ = complete(FakeServer(), replace(MachineTable(race_id="r"), machines=(told,))).machines
    assert (node.cpu_limit, node.memory_limit_bytes) == (1.0, 5.0)
