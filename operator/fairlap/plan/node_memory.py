"""Whether the machines there are have the memory that pods ask for, so that it is said before it is waited for.

Said, and nothing is refused for it: a machine may be added, also one that is larger than all there are.
"""

from collections.abc import Iterable, Sequence

from fairlap.api.quantity import parse_quantity
from fairlap.api.spec import BenchmarkSpec, Resources, Scheduling
from fairlap.plan.basis.node_processors import MachineCapacity, may_use


def lacking_memory(spec: BenchmarkSpec, machines: Sequence[MachineCapacity] | None) -> str:
    """Return in a sentence what asks for more memory than the machines that it may use have for pods, "" without any.

    What is in use just now is left out, so that what is said stays true. `machines` are those of the Kubernetes
    cluster: None or none where they could not be read, and then nothing is known.
    """
    built, race = spec.elasticsearch, spec.race
    parts: list[tuple[str, int, Resources, Scheduling | None]] = []
    if built:
        parts.append(("elasticsearch", built.nodes, built.resources, built.scheduling))
    parts.append(("race", 1, race.resources, race.scheduling))
    found = (_lacking(part, pods, asked, _usable(machines, [where])) for part, pods, asked, where in parts)
    return "; ".join(text for text in found if text)


def lacking_together(
    specs: Iterable[BenchmarkSpec],
    machines: Sequence[MachineCapacity] | None,
    asks: str = "design.state: Kept",
    else_write: str = "design.state: Fresh",
) -> str:
    """Return a sentence where clusters that stand side by side ask for more memory than is there for pods, else "".

    `asks`: the field that wants them so; `else_write`: the one that does not.

    They are placed on the machines of the first one, which are as many as it has nodes at most, unless another one has
    more nodes than that.
    """
    built = [spec.elasticsearch for spec in specs if spec.elasticsearch]
    usable = _usable(machines, [it.scheduling for it in built])
    asked = sum(it.nodes * _bytes(it.resources) for it in built)
    most = {it.nodes for it in built}
    sizes = sorted(usable.values(), reverse=True)
    theirs = sizes[: most.pop()] if len(most) == 1 else sizes
    if not theirs or asked <= sum(theirs):
        return ""
    where = "the largest machine has" if len(theirs) == 1 else f"the {len(theirs)} largest machines have"
    return (
        f"{asks} needs the clusters of all variants at once, which ask for {_shown(asked)} of memory, and "
        f"{where} {_shown(sum(theirs))} for pods: write less memory, fewer variants, or {else_write}"
    )


def _lacking(part: str, pods: int, asked: Resources, usable: dict[str, int]) -> str:
    each = _bytes(asked)
    if not usable or not each:
        return ""
    largest = max(usable, key=lambda name: usable[name])
    field = f"{part}.resources.{'requests' if asked.requests.memory else 'limits'}.memory"
    written = asked.requests.memory or asked.limits.memory
    if each > usable[largest]:
        return (
            f"{field} is {written}, and the largest machine that it may use, {largest}, has "
            f"{_shown(usable[largest])} for pods: write less, or add a larger machine"
        )
    room = sum(int(size // each) for size in usable.values())
    if room >= pods:
        return ""
    return (
        f"{part}.nodes is {pods}, {field} is {written}, and the machines that they may use have memory for {room} of "
        "them: write fewer nodes or less memory, or add machines"
    )


def _usable(machines: Sequence[MachineCapacity] | None, wanted: Sequence[Scheduling | None]) -> dict[str, int]:
    """Return the memory of each machine that some of these may use; nothing where one of them does not tell it."""
    found = {it.name: it.memory for it in machines or () if any(may_use(it, each) for each in wanted)}
    known = {name: memory for name, memory in found.items() if memory is not None}
    return known if len(known) == len(found) else {}


def _bytes(asked: Resources) -> float:
    """Return what a pod asks for: no other container of it asks for more than its main one."""
    return parse_quantity(asked.requests.memory or asked.limits.memory or "0")


def _shown(size: float) -> str:
    return f"{int(size // 2**20)}Mi"
