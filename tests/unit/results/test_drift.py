"""What differs between two races' surroundings is named, and names of pods are no difference."""

import importlib.metadata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.message_form import looks_like

from fairlap.api.machine_status import MachineEvidence, SettingsEvidence, StorageEvidence
from fairlap.api.status import Environment, IndexEvidence, NodeCopies
from fairlap.results import drift
from fairlap.results.environment import _own_version
from fairlap.results.environment import environment as environment_of
from fairlap.results.machine_facts import MachineFacts, facts_of
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import IndexRecord, Record, Shard
from fairlap_race.contract.watched_machines.machine_settings import MachineSettings


def environment(race: int = 1, **changes: Any) -> Environment:
    machine: dict[str, Any] = {
        "machine": "node-a",
        "cpu_model": "Xeon",
        "numa_nodes": 1,
        "kernel": "6.1",
        "memory_bytes": 64,
    }
    machine["settings"] = SettingsEvidence(governors=["powersave"])
    return Environment(
        images=["es:9 sha256:1"], build_hash="abc", jvm_flags=["-Xmx1g"],
        machines=[
            MachineEvidence(node=f"bm-race-{race}-es-default-0", **{**machine, **changes.pop("machine", {})}),
            MachineEvidence(node="load generator", machine="node-b"),
        ],
        storage=[StorageEvidence(node=f"bm-race-{race}-es-default-0", claim=f"data-{race}", device=f"/dev/sd{race}",
                                 source=f"csi driver vol-{race}",
                                 **{"file_system": "xfs", "source_kind": "csi", **changes.pop("storage", {})})],
        indices=[IndexEvidence(name="t", placement=f"0p es-{race}, 1p other-{race}",
                               copies_per_node=changes.pop("copies", [NodeCopies(nodes=2, primaries=1, replicas=0)]))],
    ).model_copy(update=changes)  # fmt: skip


def test_races_that_ran_alike() -> None:
    assert drift.differences(environment(1), environment(2)) == []
    assert drift.differences(environment(1), Environment()) == drift.differences(Environment(), environment(1)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"machine": {"machine": "node-c"}}, "machine of node 0 node-a, now node-c"),
        ({"machine": {"cpu_model": "EPYC"}}, "cpu_model of node 0 Xeon, now EPYC"),
        ({"machine": {"kernel": "6.2"}}, "kernel of node 0 6.1, now 6.2"),
        (
            {"machine": {"settings": SettingsEvidence(governors=["performance"], turbo=True)}},
            'governors of the machine of node 0 ["powersave"], now ["performance"]',
        ),
        ({"machine": {"numa_nodes": 2}}, "numa_nodes of node 0 1, now 2"),
        ({"storage": {"file_system": "ext4"}}, "storage file_system of node 0 xfs, now ext4"),
        ({"images": ["es:9 sha256:2"]}, 'images ["es:9 sha256:1"], now ["es:9 sha256:2"]'),
        ({"build_hash": "def"}, "build_hash abc, now def"),
        ({"jvm_flags": ["-Xmx2g"]}, 'jvm_flags ["-Xmx1g"], now ["-Xmx2g"]'),
        ({"storage": {"source_kind": "nfs"}}, "storage source_kind of node 0 csi, now nfs"),
        (
            {"copies": [NodeCopies(nodes=1, primaries=2, replicas=0)]},
            'copies per node of index t ["2 nodes with 1 primary shard and 0 replicas"], '
            'now ["1 node with 2 primary shards and 0 replicas"]',
        ),
    ],
)
def test_each_difference_is_named(changes: dict[str, Any], said: str) -> None:
    found = drift.differences(environment(1), environment(2, **changes))
    assert found == [said]
    remark = drift.remark("race-1", found)
    assert remark.reason is Reason.ENVIRONMENT_CHANGED and remark.text == f"unlike in race-1: {said}"
    if "kernel" in said:
        assert looks_like(remark.reason.example, remark.text.replace("node 0", "load generator"))


def test_another_name_of_the_same_image_is_no_difference() -> None:
    first = environment(1, images=["es:9 r/es@sha256:1"], rally_image="race:1 r/race@sha256:2")
    now = environment(2, images=["mirror/es:9 m/es@sha256:1"], rally_image="race:latest r/race@sha256:2")
    assert drift.differences(first, now) == []
    other = environment(2, images=["es:9 r/es@sha256:1"], rally_image="race:1 r/race@sha256:3")
    assert drift.differences(first, other) == ["rally_image race:1 r/race@sha256:2, now race:1 r/race@sha256:3"]


def test_which_operator_judged_a_race_stands_beside_what_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"{name} 0.2.0")
    _own_version.cache_clear()
    try:
        assert raced().operator == "fairlap 0.2.0" and drift.differences(Environment(operator="0.1.0"), raced()) == []
    finally:
        _own_version.cache_clear()


def raced(*shards: Shard) -> Environment:
    """Return the environment of a race at whose end the copies of the index t were these."""
    return environment_of(Record(indices=(IndexRecord("t"),), shards=shards), [], [])


def primary(number: int, node: str, state: str = "STARTED") -> Shard:
    return Shard("t", number, True, state, node)


def test_which_of_many_shards_is_on_which_node_is_no_difference() -> None:
    name = "bm-race-{}-es-a-set-of-nodes-with-a-long-name-{}".format
    first = raced(*(primary(number, name(1, number % 3)) for number in range(120)))
    other = raced(*(primary(number, name(2, number // 40)) for number in range(120)))
    assert drift.differences(first, other) == []
    placements = [it.indices[0].placement for it in (first, other)]
    assert placements[0] != placements[1] and {len(it) for it in placements} == {4096}, "both are cut, in another name"


def test_a_copy_that_moves_is_no_difference_until_it_is_elsewhere() -> None:
    first = raced(primary(0, "x-0"), primary(1, "x-0"))
    assert drift.differences(first, raced(primary(0, "x-0"), primary(1, "x-0", "RELOCATING"))) == []
    assert len(drift.differences(first, raced(primary(0, "x-0"), primary(1, "x-1")))) == 1


def test_of_what_a_status_of_an_older_operator_lacks_nothing_is_said() -> None:
    older = environment(1, copies=[], storage={"source_kind": ""})
    newer = environment(2, copies=[NodeCopies(nodes=1, primaries=2, replicas=0)], storage={"source_kind": "nfs"})
    assert older.indices[0].placement and older.storage[0].source
    assert drift.differences(older, newer) == drift.differences(newer, older) == []


def test_a_heap_that_java_tells_otherwise_is_none_where_its_flag_is_the_same() -> None:
    flagged = [environment(1, heap_bytes=heap) for heap in (1029177344, 1030225920)]
    assert drift.differences(*flagged) == []
    silent = [environment(1, heap_bytes=heap, jvm_flags=[]) for heap in (1, 2)]
    assert drift.differences(*silent) == ["heap_bytes 1, now 2"]


MANY = [f"-XX:Flag{number}=1" for number in range(40)]


@pytest.mark.parametrize(
    ("flags", "now", "said"),
    [
        ([*MANY, "-Xmx1g"], [*MANY, "-Xmx2g"], 'jvm_flags ["-Xmx1g"], now ["-Xmx2g"]'),
        (MANY, [*MANY, "-Xmx2g"], 'jvm_flags [], now ["-Xmx2g"]'),
        (["-Xa", "-Xb"], ["-Xa", "-Xc"], 'jvm_flags ["-Xa", "-Xb"], now ["-Xa", "-Xc"]'),
    ],
)
def test_of_long_lists_what_differs_is_shown(flags: list[str], now: list[str], said: str) -> None:
    assert drift.differences(environment(1, jvm_flags=flags), environment(2, jvm_flags=now)) == [said]


def test_a_long_list_in_another_order_is_shown_as_far_as_there_is_room() -> None:
    (said,) = drift.differences(environment(1, jvm_flags=MANY), environment(2, jvm_flags=MANY[::-1]))
    assert said.startswith('jvm_flags ["-XX:Flag0=1"') and ', now ["-XX:Flag39=1"' in said and said.endswith("…")


@given(st.lists(st.text(max_size=400), max_size=200), st.lists(st.text(max_size=9000), max_size=20))
def test_the_status_has_room_for_what_is_noted(earlier: list[str], found: list[str]) -> None:
    kept = drift.noted(earlier, "race-2", found)
    assert len(kept) <= 100 and sum(map(len, kept)) <= 20_000
    assert all(len(it) <= 1000 for it in kept[len(earlier) :])


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "==> /proc/self/status <==\nMems_allowed_list:\t0-1,4\n==> /proc/meminfo <==\nMemTotal:   2048 kB\n"
            "==> /proc/cpuinfo <==\nprocessor\t: 0\nmodel name\t: Xeon \n",
            MachineFacts("Xeon", 2 << 20, 3, processors=1),
        ),
        (
            "processor\t: 0\nmodel name\t: Xeon\nprocessor\t: 1\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n",
            MachineFacts("Xeon", cpus="0-1", processors=2),
        ),
        (
            "==> /sys/devices/system/node/node0/cpulist <==\n0-1\n\n==> /sys/devices/system/node/node1/cpulist <==\n"
            "2-3\n\n==> /proc/self/status <==\nCpus_allowed_list:\t1-2\nMems_allowed_list:\t0-1\n",
            MachineFacts(numa_nodes=2, cpus="1-2", cpu_numa_nodes="0-1", settings=MachineSettings()),
        ),
        # Of a machine with 96 processors /proc/cpuinfo is cut after the 37th; 4 of 100 are offline.
        (
            "==> /sys/devices/system/cpu/online <==\n0-95\n\n==> /proc/cpuinfo <==\n" + "processor\t: 1\n" * 37,
            MachineFacts(processors=96, settings=MachineSettings()),
        ),
        ("Cpus_allowed_list:\t" + ",".join("1" * 200) + "\n", MachineFacts()),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", MachineFacts("implementer 0x41 part 0xd0c", None, None)),
        ("Mems_allowed_list: 0-\nMemTotal: much\n", MachineFacts()),
        (
            "==> /sys/devices/system/cpu/cpufreq/boost <==\n1\n",
            MachineFacts(settings=MachineSettings(turbo=True)),
        ),
        ("", MachineFacts()),
    ],
)
def test_what_the_kernel_says_of_the_machine(text: str, facts: MachineFacts) -> None:
    assert facts_of(text) == facts


@given(st.text())
def test_any_text_may_be_in_a_log(text: str) -> None:
    facts_of(text)
