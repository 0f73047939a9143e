"""How many processors each Elasticsearch node is given where the manifest names none.

One that is nobody else's, where the machines have enough: a share of all makes the numbers depend on what else runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlap.api.base import Json
from fairlap.api.quantity import parse_quantity
from fairlap.api.spec import BenchmarkSpec, Scheduling, Toleration
from fairlap.api.status import NodeProcessors
from fairlap.wording.counts import counted

# What a node asks for, the best first; below one whole processor it may use whatever is idle, without a limit.
_SHARES = ("1", "500m", "100m")
_KEEPS_OFF = ("NoSchedule", "NoExecute")
# Kubernetes' own taints come and go with a machine's condition, and races of one Comparison must be given the same.
_OF_THE_MOMENT = "node.kubernetes.io/"


@dataclass(frozen=True)
class MachineCapacity:
    """What one machine of the Kubernetes cluster has for pods."""

    name: str
    millicores: int
    """thousandths of processors that the kubelet gives to pods altogether (status.allocatable)"""
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, Any]] = ()
    memory: int | None = None
    """bytes that the kubelet gives to pods altogether; None where it tells none"""


def capacity_of(node: Json) -> MachineCapacity | None:
    """Return what a Node has for pods; None for one that takes none, or tells nothing that can be read.

    Whatever one Node tells, all Benchmarks are decided by what the others have.
    """
    spec, meta = node.get("spec") or {}, node["metadata"]
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    cores, memory = str(allocatable.get("cpu") or ""), str(allocatable.get("memory") or "")
    millicores = _known_millicores(cores)
    if spec.get("unschedulable") or millicores is None:
        return None
    taints = tuple(it for it in spec.get("taints") or () if not str(it.get("key")).startswith(_OF_THE_MOMENT))
    return MachineCapacity(str(meta["name"]), millicores, meta.get("labels") or {}, taints, _bytes(memory))


def decide(spec: BenchmarkSpec, machines: Sequence[MachineCapacity] | None) -> NodeProcessors:
    """Return what each node of a cluster that names no CPU is given.

    `machines` are those of the Kubernetes cluster, None where they could not be read. Only what they have decides, not
    what is in use just now, so that all races of all variants are given the same. Raises ValueError for any other
    cluster.
    """
    built = spec.elasticsearch
    if built is None or built.resources.names_cpu():
        raise ValueError("only for clusters of ours that name no CPU")
    if built.resources.with_cpu(_SHARES[0], whole=True).whole_cores() is None:
        less, cure = "requests less memory than its limit", "request as much as the limit"
        if built.resources.limits.memory is None:
            less, cure = "names no limit of memory", "write limits.memory"
        why = (
            f"elasticsearch.resources {less}, and only pods whose requests are their "
            f"limits are given whole processors: nodes share them; {cure}, or name a CPU"
        )
        return NodeProcessors(cpu=_largest(spec, machines, _SHARES[1:]), whole=False, message=why)
    if not machines:
        return NodeProcessors(cpu=_SHARES[0], whole=True, message="one whole processor a node: no CPU was named")
    cpu = _largest(spec, machines, _SHARES)
    if cpu == _SHARES[0]:
        return NodeProcessors(cpu=cpu, whole=True, message="one whole processor a node: no CPU was named")
    why = _left_to_chance(spec, machines) or f"{_lack(spec, machines)}: nodes share them"
    return NodeProcessors(cpu=cpu, whole=False, message=f"elasticsearch.resources names no CPU, and {why}")


def _left_to_chance(spec: BenchmarkSpec, machines: Sequence[MachineCapacity]) -> str:
    """Return why nodes share although some placement has room for whole processors; "" where none has.

    Nodes are placed before the load generator, and the scheduler does not know then which machine that needs.
    """
    built, asked = spec.elasticsearch, _asked(spec)
    assert built is not None  # noqa: S101 - asked for clusters of ours alone
    mine = {it.name: it.millicores for it in machines if may_use(it, built.scheduling)}
    its = [it for it in machines if may_use(it, spec.race.scheduling) and it.millicores >= asked]
    all_of_mine = sum(map(_whole_ones, mine.values()))
    elsewhere = {it.name: all_of_mine - _whole_ones(mine.get(it.name, 0)) for it in its}
    beside = {it.name: _whole_ones(mine[it.name] - asked) if it.name in mine else 0 for it in its}
    if _is_exclusive(spec) or not any(elsewhere[name] + beside[name] >= built.nodes for name in elsewhere):
        return ""
    left_out = next((name for name, whole in elsewhere.items() if whole >= built.nodes), None)
    named = f"; name other machines than {left_out} in elasticsearch.scheduling.machines"
    return (
        f"{_have(spec, machines)} can give a whole one to each of {counted(built.nodes, 'node')}, but Kubernetes may "
        f"place nodes so that the load generator's {_cores(asked)} have no room: nodes share them"
        f"{f'{named}, to leave it to the load generator' if left_out else ''}"
    )


def _whole_ones(millicores: int) -> int:
    return millicores // _millicores(_SHARES[0])


def _lack(spec: BenchmarkSpec, machines: Sequence[MachineCapacity]) -> str:
    """Return why machines cannot give whole processors; what those have that Elasticsearch may not use is left out."""
    built, asked = spec.elasticsearch, _asked(spec)
    assert built is not None  # noqa: S101 - asked for clusters of ours alone
    mine = [it for it in machines if may_use(it, built.scheduling)]
    its = [it for it in machines if may_use(it, spec.race.scheduling)]
    for field, usable in (("elasticsearch.scheduling", mine), ("race.scheduling", its)):
        if not usable:
            return f"no machine matches {field} (machines, nodeSelector and tolerations)"
    if max(it.millicores for it in its) < asked:
        return (
            f"no machine that race.scheduling allows has {_cores(asked)} processors for pods, which the load generator "
            "asks for (race.resources)"
        )
    names = {it.name for it in mine}
    elsewhere = any(it.millicores >= asked for it in its if it.name not in names)
    apart = " (exclusiveNodes: each alone on a machine)" if _is_exclusive(spec) else ""
    beside = "" if elsewhere else f" beside the load generator's {_cores(asked)}"
    return f"{_have(spec, machines)} cannot give a whole one to each of {counted(built.nodes, 'node')}{apart}{beside}"


def _have(spec: BenchmarkSpec, machines: Sequence[MachineCapacity]) -> str:
    built = spec.elasticsearch
    mine = [it for it in machines if may_use(it, built.scheduling if built else None)]
    only = " (elasticsearch.scheduling allows no other)" if len(mine) < len(machines) else ""
    altogether = _cores(sum(it.millicores for it in mine))
    return f"{counted(len(mine), 'machine')} of {altogether} processors for pods altogether{only}"


def share_instead(words: str) -> NodeProcessors:
    """Return what nodes are given that were given whole processors which no machine has; `words`: Kubernetes' own.

    The smallest share is the surest to find room, and has no limit: nobody is asked a third time.
    """
    why = (
        "elasticsearch.resources names no CPU, and no machine had a whole processor to spare for each node "
        f"({words}): nodes share them"
    )
    return NodeProcessors(cpu=_SHARES[-1], whole=False, refused=True, message=why)


def _largest(spec: BenchmarkSpec, machines: Sequence[MachineCapacity] | None, shares: Sequence[str]) -> str:
    if not machines:
        return shares[0]
    return next((it for it in shares if _fits(spec, machines, _millicores(it))), shares[-1])


def _fits(spec: BenchmarkSpec, machines: Sequence[MachineCapacity], share: int) -> bool:
    """Return whether nodes of `share` processors each and the load generator have room, the emptiest machine first."""
    built = spec.elasticsearch
    assert built is not None  # noqa: S101 - asked for clusters of ours alone
    left = {it.name: it.millicores for it in machines}
    mine = [it.name for it in machines if may_use(it, built.scheduling)]
    its = [it.name for it in machines if may_use(it, spec.race.scheduling)]
    if _is_exclusive(spec):
        enough = {name for name in mine if left[name] >= share}
        return any(len(enough - {name}) >= built.nodes for name in its if left[name] >= _asked(spec))
    for _ in range(built.nodes):
        best = max(mine, key=lambda name: left[name], default=None)
        if best is None or left[best] < share:
            return False
        left[best] -= share
    return max((left[name] for name in its), default=0) >= _asked(spec)


def _is_exclusive(spec: BenchmarkSpec) -> bool:
    """Return whether each node has a machine without any other pod of a Benchmark, the load generator included."""
    scheduling = spec.elasticsearch.scheduling if spec.elasticsearch else None
    return scheduling is not None and scheduling.exclusive_nodes


def may_use(machine: MachineCapacity, wanted: Scheduling | None) -> bool:
    """Return whether pods with that scheduling may run on a machine."""
    wanted = wanted or Scheduling()
    named = not wanted.machines or machine.name in wanted.machines
    labelled = all(machine.labels.get(key) == value for key, value in wanted.node_selector.items())
    kept_off = [it for it in machine.taints if it.get("effect") in _KEEPS_OFF]
    return named and labelled and all(any(_tolerates(t, it) for t in wanted.tolerations) for it in kept_off)


def _tolerates(toleration: Toleration, taint: Mapping[str, Any]) -> bool:
    """Return whether a taint is tolerated (Kubernetes: "Taints and Tolerations")."""
    if toleration.effect not in (None, taint.get("effect")):
        return False
    if toleration.key is None:
        return toleration.operator == "Exists"
    same = toleration.operator == "Exists" or (toleration.value or "") == (taint.get("value") or "")
    return toleration.key == taint.get("key") and same


def _asked(spec: BenchmarkSpec) -> int:
    resources = spec.race.resources
    return _millicores(resources.requests.cpu or resources.limits.cpu or "0")


def _millicores(quantity: str) -> int:
    return round(parse_quantity(quantity) * 1000)


def _known_millicores(quantity: str) -> int | None:
    try:
        return _millicores(quantity)
    except ValueError:
        return None


def _bytes(quantity: str) -> int | None:
    try:
        return int(parse_quantity(quantity))
    except ValueError:
        return None


def _cores(millicores: int) -> str:
    return f"{millicores / 1000:.4g}"
