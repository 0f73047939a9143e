"""What the settings of the machines of a race do to its numbers, in one remark."""

from collections.abc import Iterator, Sequence

from fairlap.api.machine_status import MachineEvidence, SettingsEvidence
from fairlap.api.names import NODE_OF_THE_LOAD
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.machine_settings import MachineSettings, advice, numa_advice

_SHOWN = 3
"""Machines that a sentence names."""


def remarks(evidence: Sequence[MachineEvidence]) -> Iterator[RaceRemark]:
    """Yield one remark with each sentence of `advice`, and the nodes whose machines it is for; none for the unknown."""
    whose: dict[str, list[str]] = {}
    for machine in evidence:
        numa = numa_advice(machine.cpus, machine.cpu_numa_nodes, machine.exclusive_cpus)
        found = advice(_settings(machine.settings), machine.exclusive_cpus, _resources(machine.node))
        for sentence in (*found, *filter(None, [numa])):
            whose.setdefault(sentence, []).append(machine.node)
    if whose:
        said = [f"machine of {_listed(nodes)}: {sentence}" for sentence, nodes in whose.items()]
        yield RaceRemark(Reason.MACHINE_SETTINGS, "; ".join(said))


def _resources(node: str) -> str:
    """Return the field that asks for a node's processors, which are not those of the load generator."""
    return "race.resources" if node == NODE_OF_THE_LOAD else "elasticsearch.resources"


def _settings(found: SettingsEvidence | None) -> MachineSettings | None:
    if found is None:
        return None
    values = {name: getattr(found, name) for name in SettingsEvidence.model_fields}
    return MachineSettings(**{**values, "governors": tuple(found.governors)})


def _listed(nodes: Sequence[str]) -> str:
    more = [f"{len(nodes) - _SHOWN} more"] if len(nodes) > _SHOWN else []
    *rest, last = [*nodes[:_SHOWN], *more]
    return f"{', '.join(rest)} and {last}" if rest else last
