"""Whether a container had whole processors to itself, as the kubelet's static CPU manager policy gives them."""

from collections.abc import Collection, Iterator, Sequence

from fairlap.api.machine_status import MachineEvidence
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.cpu_list import count_of, members


def exclusive(cpus: str | None, wanted: int | None, processors: int | None) -> bool | None:
    """Return whether `cpus`, a list like 2-3, are processors that no other container may use; None where unknown.

    `wanted` is how many whole ones the container asked for, None for a share of all; `processors` is how many the
    machine has. The static policy gives exactly those asked for, and never all of a machine (Kubernetes: "Control
    CPU Management Policies on the Node").
    """
    if (given := count_of(cpus or "")) is None:
        return None
    if wanted is None:
        return False
    return given == wanted < processors if processors is not None else None


def without_claims_of_others(evidence: Sequence[MachineEvidence]) -> list[MachineEvidence]:
    """Return the evidence, the load generator's last, with processors that two containers may use called shared.

    Where the kubelet itself may use a part of its machine alone, as in a container, all its pods have that part, and a
    pod that asks for as many seems to have them to itself. Of the load generator what it has says more than of a node:
    it began last, when whole processors were given away.
    """
    *nodes, load = evidence
    lists = [(it.machine, members(it.cpus) or frozenset[int]()) for it in evidence]

    def is_shared(number: int, others: Collection[int]) -> bool:
        machine, own = lists[number]
        return bool(machine) and any(lists[it][0] == machine and lists[it][1] & own for it in others if it != number)

    whole = [number for number, it in enumerate(nodes) if it.exclusive_cpus]
    taken = {number for number in whole if is_shared(number, [*whole, len(nodes)])}
    taken |= {len(nodes)} if load.exclusive_cpus and is_shared(len(nodes), whole) else set()
    return [
        it.model_copy(update={"exclusive_cpus": False}) if number in taken else it for number, it in enumerate(evidence)
    ]


def remarks(evidence: Sequence[MachineEvidence], wanted: int | None, withheld: str = "") -> Iterator[RaceRemark]:
    """Yield one remark for the Elasticsearch nodes that asked for `wanted` whole processors and shared theirs.

    `withheld` is why nodes of a manifest that names no CPU were not given whole ones.
    """
    if wanted is None:
        if withheld:
            yield RaceRemark(Reason.PROCESSORS_SHARED, withheld)
        return
    shared = [it for it in evidence[:-1] if it.exclusive_cpus is False]
    if shared:
        first = shared[0]
        more = f" and {len(shared) - 1} more nodes" if len(shared) > 1 else ""
        text = (
            f"elasticsearch.resources asks for {wanted} whole {'processor' if wanted == 1 else 'processors'} a node, "
            f"but node {first.node}{more} ran on processors {first.cpus}, which others may use, too"
        )
        yield RaceRemark(Reason.PROCESSORS_SHARED, text)
