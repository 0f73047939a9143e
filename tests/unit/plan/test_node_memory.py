"""What asks for more memory than the machines have: said before it is waited for, and refused nowhere."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import cluster, later, pod, seen, spec

from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.node_processors import MachineCapacity
from fairlap.plan.basis.seen import Children
from fairlap.plan.benchmark import plan
from fairlap.plan.node_memory import lacking_memory, lacking_together

GIB = 2**30


def machine(name: str, gib: float | None, **more: Any) -> MachineCapacity:
    return MachineCapacity(name, 4000, **{"labels": {}, "memory": None if gib is None else int(gib * GIB), **more})


SMALL, LARGE = machine("small", 8), machine("large", 30.5, labels={"disk": "ssd"})
TAINTED = machine("tainted", 256, taints=({"key": "team", "value": "search", "effect": "NoSchedule"},))
ACCEPTED = BenchmarkStatus(phase="Pending", start_time="2026-01-01T00:00:00Z")


def memory(limit: str, request: str | None = None) -> dict[str, Any]:
    return {"resources": {"limits": {"memory": limit}, **({"requests": {"memory": request}} if request else {})}}


ONE = "elasticsearch.resources.limits.memory is 64Gi, and the largest machine that it may use, "
WRITE = " for pods: write less, or add a larger machine"


@pytest.mark.parametrize(
    ("elasticsearch", "race", "machines", "said"),
    [
        pytest.param({}, {}, [SMALL], "", id="the-defaults-fit"),
        pytest.param(memory("64Gi"), {}, [SMALL, LARGE], f"{ONE}large, has 31232Mi{WRITE}", id="more-than-any"),
        pytest.param(memory("30Gi"), {}, [SMALL, LARGE], "", id="as-much-as-one-has"),
        pytest.param(memory("64Gi"), {}, [], "", id="machines-that-cannot-be-read"),
        pytest.param(memory("64Gi"), {}, None, "", id="machines-not-looked-at"),
        pytest.param(memory("64Gi"), {}, [SMALL, machine("silent", None)], "", id="one-does-not-tell"),
        pytest.param(memory("64Gi"), {}, [SMALL, TAINTED], f"{ONE}small, has 8192Mi{WRITE}", id="kept-off"),
        pytest.param(
            {**memory("64Gi"), "scheduling": {"tolerations": [{"key": "team", "value": "search"}]}},
            {}, [SMALL, TAINTED], "", id="tolerated",
        ),
        pytest.param(
            {**memory("64Gi"), "scheduling": {"machines": ["small"]}},
            {}, [SMALL, machine("huge", 128)], f"{ONE}small, has 8192Mi{WRITE}", id="named",
        ),
        pytest.param(
            {**memory("64Gi"), "scheduling": {"nodeSelector": {"pool": "new"}}}, {}, [SMALL], "", id="a-pool-to-come"
        ),
        pytest.param(memory("64Gi", "4Gi"), {}, [SMALL], "", id="requests-less-than-its-limit"),
        pytest.param(
            memory("64Gi", "9Gi"), {}, [SMALL],
            "elasticsearch.resources.requests.memory is 9Gi, and the largest machine that it may use, small, has "
            f"8192Mi{WRITE}", id="requests-too-much",
        ),
        pytest.param({"nodes": 3, **memory("4Gi")}, {}, [SMALL, machine("other", 7.9)], "", id="three-nodes-have-room"),
        pytest.param(
            {"nodes": 3, **memory("5Gi")}, {}, [SMALL, machine("other", 7.9)],
            "elasticsearch.nodes is 3, elasticsearch.resources.limits.memory is 5Gi, and the machines that they may "
            "use have memory for 2 of them: write fewer nodes or less memory, or add machines",
            id="for-two-of-three-nodes",
        ),
        pytest.param(
            {}, memory("16Gi"), [SMALL],
            f"race.resources.limits.memory is 16Gi, and the largest machine that it may use, small, has 8192Mi{WRITE}",
            id="the-load-generator",
        ),
    ],
)  # fmt: skip
def test_what_no_machine_has(elasticsearch: Any, race: Any, machines: Any, said: str) -> None:
    assert lacking_memory(spec(elasticsearch=elasticsearch, race=race), machines) == said


@given(st.integers(1, 6), st.integers(1, 12), st.lists(st.integers(0, 16), min_size=1, max_size=5), st.integers(0, 16))
def test_what_is_said_is_true_and_one_more_machine_makes_nothing_worse(
    nodes: int, gib: int, sizes: list[int], more: int
) -> None:
    wanted = spec(elasticsearch={"nodes": nodes, **memory(f"{gib}Gi")}, race=memory("1Ki"))
    machines = [machine(f"m{number}", size) for number, size in enumerate(sizes)]
    left = sorted(sizes, reverse=True)  # each node where most is left: if they fit at all, they do so
    for _ in range(nodes):
        left = sorted([left[0] - gib, *left[1:]], reverse=True) if left[0] >= gib else left
    placed = (sum(sizes) - sum(left)) // gib
    assert bool(lacking_memory(wanted, machines)) is (placed < nodes)
    if not lacking_memory(wanted, machines):
        assert not lacking_memory(wanted, [*machines, machine("more", more)])


@pytest.mark.parametrize(
    ("nodes", "machines", "said"),
    [
        ((1, 1), [8], ""),
        ((1, 1), [7], "10240Mi of memory, and the largest machine has 7168Mi"),
        ((1, 1), [7, 7, 7], "10240Mi of memory, and the largest machine has 7168Mi"),
        ((2, 2), [7, 7], "20480Mi of memory, and the 2 largest machines have 14336Mi"),
        ((1, 2), [8, 7], ""),
        ((1, 2), [7, 7], "15360Mi of memory, and the 2 largest machines have 14336Mi"),
        ((1, 1), [], ""),
    ],
)
def test_clusters_that_are_kept_side_by_side(nodes: tuple[int, ...], machines: list[int], said: str) -> None:
    wanted = [spec(elasticsearch={"nodes": count, **memory("5Gi")}) for count in nodes]
    # 5Gi beside 5Gi do not fit on 8Gi; what they leave of a machine is not reckoned with, but what they are together.
    there = [machine(f"m{number}", size + (3 if said == "" else 0)) for number, size in enumerate(machines)]
    found = lacking_together(wanted, there)
    assert found.startswith("design.state: Kept needs the clusters of all variants at once") is bool(said)
    assert said in found and not lacking_together(wanted, None)
    assert not lacking_together(wanted, [*there, machine("silent", None)])


def test_it_is_said_before_the_first_cluster_and_with_the_scheduler_s_words() -> None:
    for elasticsearch in (memory("64Gi"), {"resources": {"limits": {"cpu": "2", "memory": "64Gi"}}}):
        wanted = spec(elasticsearch=elasticsearch)
        assert plan(seen(of=wanted, status=ACCEPTED, machines=None)).look == ("machines",)
        begun = plan(seen(of=wanted, status=ACCEPTED, machines=(SMALL,)))
        assert begun.status.lacking_memory == f"{ONE}small, has 8192Mi{WRITE}"
        assert begun.status.step and begun.status.step.stage == "Provisioning", "a machine may still come"
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
        lonely = pod("es-0", ready=False, containerStatuses=[], conditions=[condition])
        waits = seen(
            begun.status, wanted, children=Children(elasticsearch=cluster(phase="ApplyingChanges"), pods=[lonely])
        )
        ready = next(each for each in plan(waits).status.conditions if each.type == "ClusterReady")
        assert f"0/1 nodes; {ONE}small, has 8192Mi" in ready.message
        failed = plan(replace(waits, now=later(seconds=901))).status
        assert failed.reason == "Unschedulable" and f"0/1 nodes; {ONE}small" in failed.message


def test_once_a_cluster_was_there_nothing_is_said_of_it_any_more() -> None:
    wanted = spec(elasticsearch=memory("64Gi"))
    begun = plan(seen(of=wanted, status=ACCEPTED, machines=(SMALL,))).status
    assert begun.step and begun.step.name == "smoke"
    cleaning = begun.model_copy(update={"step": begun.step.model_copy(update={"stage": "Cleaning"})})
    over = plan(seen(cleaning, wanted, machines=None)).status
    assert (over.finished_step, over.lacking_memory) == ("smoke", "") and over.step and over.step.name == "race-1"
