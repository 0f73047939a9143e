"""What is wrong with a Comparison: the sentence that tells it, and where; nothing is raced before it is told."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from .controlplane import ControlPlane
from .manifests import Json, comparison
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
VERSION_9 = {"elasticsearch": {"version": "9.0.0"}}
VERSIONS: Json = {"path": "elasticsearch.version", "values": ["8.11.0", "9.0.0"]}
KEPT: Json = {"state": "Kept", "tasks": ["search-request"], "stop": "fixed", "blocks": 2}
NODES: Json = {"path": "elasticsearch.nodes", "values": [1, 2, 3, 4]}


@dataclass
class Case:
    """One Comparison that cannot be raced."""

    where: Literal["apply", "Accepted", "block 0"]
    """apply: the API server refuses it; Accepted: the condition, before any Benchmark; block 0: the condition, by what
    the first variant's check or test race has found"""
    sentence: str
    spec: Json
    knobs: Json = field(default_factory=dict)
    races: tuple[str, ...] = ()
    """what has begun by then"""


def variants(*others: Json) -> Json:
    return {"variants": [{"name": "8.11.0"}, *others]}


def of_matrix(*axes: Json, baseline: str) -> Json:
    return {"variants": None, "matrix": {"axes": list(axes)}, "baseline": baseline}


def gate(**values: Any) -> Json:
    return {"gates": [values]}


CASES: dict[str, Case] = {
    "a patch that changes nothing": Case(
        "Accepted",
        "variant same: variants[1].patch changes nothing of the template; leave it out if the template is meant, else "
        "write what is other. variants 8.11.0 and same are the same: change one of them, or leave it out (the baseline "
        "is raced against itself with calibrate: true)",
        variants({"name": "same", "patch": {"elasticsearch": {"version": "8.11.0"}}}),
    ),
    "a patch that changes something other than its name says": Case(
        "Accepted",
        "variant 9.0.0 is called after version 9.0.0, but its elasticsearch.version is 8.11.0: mend the name or the "
        "version",
        variants({"name": "9.0.0", "patch": {"elasticsearch": {"heap": "1g"}}}),
    ),
    "another Java than its name says": Case(
        "Accepted",
        "variant java17 is called after Java 17, but its elasticsearch.java is 21: mend the name or write java: 17",
        variants({"name": "java17", "patch": {"elasticsearch": {"heap": "1g"}}}),
    ),
    "a baseline that is no variant": Case(
        "apply",
        'spec.baseline 8.12.0 is none of the variants: write one of ["8.11.0", "9.0.0"]',
        {"baseline": "8.12.0"},
    ),
    "a baseline that is no variant of a matrix": Case(
        "Accepted",
        "baseline 8.12.0 is none of the variants: write one of 8.11.0, 9.0.0",
        of_matrix(VERSIONS, baseline="8.12.0"),
    ),
    "a gate on a task that the challenge does not have": Case(
        "block 0",
        "gates[].task: variant 8.11.0: the challenge default has no task search. There are: bulk-index, search-request",
        gate(task="search", metric="throughput", margin=5),
        knobs={"race": "unknown-task", "steps": ("check",)},
        races=("cmp-0a-check",),
    ),
    "a matrix above its bound": Case(
        "Accepted",
        "matrix gives 8 variants, and matrix.maxVariants is 6: leave values out, exclude more, or raise maxVariants "
        "(12 at most)",
        of_matrix(VERSIONS, NODES, baseline="8.11.0-1"),
    ),
    "a margin of 0": Case(
        "apply",
        "gates[].margin 0 can never be shown to be kept: write the smallest change that matters, for example 2 (per "
        "cent)",
        gate(metric="throughput", margin=0),
    ),
    "two variants that are equal": Case(
        "Accepted",
        "variants 9.0.0 and 9.0.0-again are the same: change one of them, or leave it out (the baseline is raced "
        "against itself with calibrate: true)",
        variants({"name": "9.0.0", "patch": VERSION_9}, {"name": "9.0.0-again", "patch": VERSION_9}),
    ),
    "two variants without anything": Case(
        "apply",
        'spec.variants ["8.11.0", "same"] are the same, each the template as it is: give all but one a patch or a '
        "target",
        variants({"name": "same"}),
    ),
    "a t-test of a metric without noise": Case(
        "apply",
        "gates[].margin is not for segments and documents: they have no noise, any change is real",
        gate(metric="segments", margin=2),
    ),
    "a gate on the task of a sweep": Case(
        "apply",
        "gates[].task is the task of template.race.sweep, whose steps take its place: write one of them",
        {**gate(task="s", metric="throughput", margin=5), "template__race__sweep": {"task": "s", "clients": [1, 2]}},
    ),
    "a gate on the task of a capacity search": Case(
        "apply",
        "gates[].task is the task of template.race.capacity, in whose place probes are raced",
        {
            **gate(task="s", metric="serviceTimeP50", margin=5),
            "template__race__capacity": {
                "task": "s",
                "objective": {"p99": "50ms"},
                "targetThroughput": {"from": 50, "to": 500},
            },
        },
    ),
    "a gate on the store of a server that is asked over HTTP": Case(
        "apply",
        "gates[].metric takes throughput, capacity, service times and latencies with a target of kind http",
        {
            **gate(metric="storeBytes", margin=5),
            **variants({"name": "b", "target": {"kind": "http", "hosts": ["http://b:1"]}}),
            "template__elasticsearch": None,
            "template__target": {"kind": "http", "hosts": ["http://a:1"]},
            "template__race": {
                "requests": {"configMap": {"name": "queries"}},
                "load": {"clients": 2, "duration": "30s"},
            },
        },
    ),
    "variants in turn that run with other numbers of clients": Case(
        "block 0",
        "variant few: its task bulk-index has 2 clients, the baseline's 4; its task search-request has 2 clients, the "
        "baseline's 4: with design.kind: Duet one request of each is sent in turn, so let all variants run the same "
        "tasks with as many clients, or write design.kind: Races",
        {
            **variants({"name": "few", "patch": {"race": {"params": {"bulk_indexing_clients": 2}}}}),
            "design": {"kind": "Duet", "stop": "fixed", "blocks": 3},
            "template__smokeTest": False,
        },
        races=("cmp-0a-check", "cmp-0b-check"),
    ),
    "variants in turn of which one ends at a time of its own": Case(
        "Accepted",
        "variant steady: race.steady contradicts design.kind: Duet, where all variants must send as many requests: "
        "leave it out",
        {
            **variants({"name": "steady", "patch": {"race": {"steady": {"maxWarmup": "60s"}}}}),
            "design": {"kind": "Duet", "stop": "fixed", "blocks": 3},
        },
    ),
    "kept clusters of which one has machines of its own": Case(
        "Accepted",
        "variant alone: elasticsearch.scheduling.exclusiveNodes contradicts design.state: Kept, where the clusters of "
        "all variants are on the same machines: leave it out",
        {
            **variants({"name": "alone", "patch": {"elasticsearch": {"scheduling": {"exclusiveNodes": True}}}}),
            "design": KEPT,
        },
    ),
    "steps of a task that is not raced on kept clusters": Case(
        "Accepted",
        "variant steps: race.sweep.task bulk-index must be one of design.tasks: with design.state: Kept no other one "
        "is raced in the blocks",
        {
            **variants({"name": "steps", "patch": {"race": {"sweep": {"task": "bulk-index", "clients": [1, 2]}}}}),
            "design": KEPT,
        },
    ),
    "a bulk on kept clusters": Case(
        "block 0",
        "design.tasks: variant 8.11.0: task bulk-index (bulk) changes index access-logs, so that each race would find "
        "another cluster than the one before. Leave it out there: it is run once, when the cluster is filled.",
        {"design": {**KEPT, "tasks": ["bulk-index"]}},
        knobs={"race": "changes-what-is-left", "steps": ("check",)},
        races=("cmp-0a-check",),
    ),
    "variants that need more memory than a machine has": Case(
        "block 0",
        "variant 8.11.0: Unschedulable: pod cmp-0a-smoke-es-default-0: 0/2 nodes are available: 2 Insufficient memory.",
        {"template__timeouts": {"provisioning": "3s"}},
        knobs={"cluster": "unschedulable", "steps": ("smoke",)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_told_where_and_in_a_sentence(
    stage: Stage, plane: ControlPlane, operator: Operator, namespace: str, name: str
) -> None:
    case = CASES[name]
    manifest = comparison(namespace, **case.spec)
    if case.where == "apply":
        done = plane.kubectl("create", "--filename=-", stdin=json.dumps(manifest))
        assert done.returncode != 0 and case.sentence in done.stderr, done.stderr
        return
    stage.behave(namespace, **{"eck": (0.0, 0.05), "run": (0.05, 0.1), **case.knobs})
    stage.apply(manifest)
    status = stage.compares(namespace, "cmp")
    told = {each["type"]: each for each in status["conditions"]}
    assert (status["phase"], told["Accepted"]["status"], told["Failed"]["status"]) == ("Failed", "False", "True")
    assert told["Accepted"]["message"] == status["message"] == case.sentence
    assert stage.runs(namespace) == [*case.races], "nothing was raced"
    assert bool(stage.all("benchmarks", namespace)) is (case.where == "block 0")


@pytest.fixture
def machine_of_8_gib(plane: ControlPlane) -> Iterator[str]:
    """The only machine that there is: it tells what it has for pods, and no pod is ever put on it."""
    name, room = "m-of-8-gib", {"cpu": "4", "memory": "8Gi", "pods": "20"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    assert plane.kubectl("create", "--filename=-", stdin=json.dumps(node)).returncode == 0
    status = json.dumps({"status": {"capacity": room, "allocatable": room}})
    done = plane.kubectl("patch", "node", name, "--subresource=status", "--patch", status)
    assert done.returncode == 0, done.stderr
    yield name
    plane.kubectl("delete", "node", name)


def test_more_memory_than_any_machine_has_is_said_and_shown_before_the_first_race(
    stage: Stage, plane: ControlPlane, operator: Operator, namespace: str, machine_of_8_gib: str
) -> None:
    stage.behave(namespace, cluster="unschedulable", steps=("smoke",), eck=(0.0, 0.05), run=(0.05, 0.1))
    large = {"name": "large", "patch": {"elasticsearch": {"resources": {"limits": {"memory": "64Gi"}}}}}
    hurried = {"template__timeouts": {"provisioning": "3s"}, "template__smokeTest": False}
    stage.apply(comparison(namespace, **variants(large), **hurried))
    status = stage.compares(namespace, "cmp")
    lacking = (
        f"elasticsearch.resources.limits.memory is 64Gi, and the largest machine that it may use, {machine_of_8_gib}, "
        "has 8192Mi for pods: write less, or add a larger machine"
    )
    assert status["findings"] == [f"variant large: {lacking}"], "said when it was accepted"
    assert [each.get("lackingMemory") for each in status["variants"]] == [None, lacking]
    told = {each["type"]: each for each in status["conditions"]}
    assert (status["reason"], told["Accepted"]["status"]) == ("PreparationFailed", "False")
    words = "pod cmp-0b-smoke-es-default-0: 0/2 nodes are available: 2 Insufficient memory."
    assert status["message"] == f"variant large: Unschedulable: {words}; {lacking}"
    assert not stage.runs(namespace), "nothing was raced"
    assert stage.built(namespace, "cmp-") == ["cmp-0b-smoke"], "the other variant has cost nothing yet"
