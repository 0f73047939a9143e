"""Completing the table: what may not be read is said, what does not answer now is asked again; limits of the pods."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from world import good_record, pod, seen, spec

from fairlap.kube.api_error import ApiError
from fairlap.machines.complete import complete_table
from fairlap.manifests.elasticsearch import MOUNTS_CONTAINER
from fairlap.plan.seen import Children
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.machine_settings import MachineSettings
from fairlap_race.contract.resources import KEY_RESOURCES, Machine, MachineTable, Usage, Volume

NODE = "bm-race-1-es-default-0"
MOUNTS = "510 500 254:0 / /usr/share/elasticsearch/data rw,noatime - xfs /dev/sdb rw\n"
CLAIM = {"metadata": {"name": "c"}, "spec": {"storageClassName": "fast", "volumeName": "pv-1"}}


class FakeServer:
    """Answers as the API server would: an object, or a refusal by its status."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"log": MOUNTS, "PersistentVolumeClaim": CLAIM, "keep": None, **answers}
        self.kept: list[MachineTable | None] = []

    def _answer(self, what: str) -> Any:
        found = self.answers.get(what, 404)
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
    server = FakeServer(PersistentVolume={"spec": {"hostPath": {"path": "/d"}}}, StorageClass={"provisioner": "p"})
    table = complete(server)
    (volume,) = table.volumes
    assert (volume.provisioner, volume.source, volume.device) == ("p", "hostPath /d", "/dev/sdb")
    assert (volume.total_bytes, volume.remarks, table.remarks) == (10, (), ())
    assert table.completed and server.kept == [table]
    assert complete(server, table) is table and len(server.kept) == 1


def test_what_is_forbidden_is_said() -> None:
    (volume,) = complete(FakeServer(PersistentVolume=403, StorageClass=403, log=403)).volumes
    assert [remark.split(":")[0] for remark in volume.remarks] == [
        "mount options in effect could not be read", "PersistentVolume pv-1 could not be read",
        "StorageClass fast could not be read",
    ]  # fmt: skip
    assert (volume.class_name, volume.persistent_volume, volume.type) == ("fast", "pv-1", "xfs")


@pytest.mark.parametrize("what", ["log", "PersistentVolumeClaim", "keep"])
def test_an_api_server_that_is_away_is_asked_again_later(what: str) -> None:
    with pytest.raises(ApiError):
        complete(FakeServer(**{what: 503}))


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
