"""Whether a container had whole processors to itself, as the kubelet's static CPU manager policy gives them."""

from collections.abc import Iterator, Sequence

from fairlap.api.machine_status import MachineEvidence
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.cpu_list import count_of
from fairlap_race.contract.reasons import Reason


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
