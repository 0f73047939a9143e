"""What a node's pod ran on: from the kernel's own words in the log of the container that shows them, and the record."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

from fairlap.api.base import Json
from fairlap.api.machine_status import MachineEvidence, SettingsEvidence
from fairlap.api.names import NODE_OF_THE_LOAD
from fairlap.api.spec import BenchmarkSpec
from fairlap.results.cores import exclusive, without_claims_of_others
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.watched_machines import proc_files
from fairlap_race.contract.watched_machines.cpu_list import ONLINE, count_of, numa_nodes_of
from fairlap_race.contract.watched_machines.machine_settings import MachineSettings, parse, sections
from fairlap_race.contract.watched_machines.resources import ELASTICSEARCH, MachineTable

_LONGEST = 300


class MachineFacts(NamedTuple):
    """A machine as its kernel describes it; None for what it does not tell."""

    cpu_model: str | None = None
    memory_bytes: int | None = None
    numa_nodes: int | None = None
    cpus: str | None = None
    cpu_numa_nodes: str | None = None
    processors: int | None = None
    settings: MachineSettings | None = None


def facts_of(text: str) -> MachineFacts:
    """Return the facts in /proc/cpuinfo, /proc/meminfo and /proc/self/status, all in one text (proc(5)).

    Settings are known only where the text has some of their files.
    """
    files, cpus = sections(text), _short(proc_files.allowed_cpus(text))
    model = proc_files.cpu_model(text)
    return MachineFacts(
        cpu_model=model and model[:_LONGEST],
        memory_bytes=proc_files.memory_bytes(text),
        numa_nodes=proc_files.numa_nodes(text),
        cpus=cpus,
        cpu_numa_nodes=_short(numa_nodes_of(cpus or "", files)),
        processors=_processors(files, text),
        settings=parse(files) if any(path.startswith("/sys/") for path in files) else None,
    )


def _processors(files: Mapping[str, str], text: str) -> int | None:
    """Return how many processors run; /proc/cpuinfo, cut for a large machine, tells only where nothing else does."""
    told = count_of(files.get(ONLINE, "").strip())
    return told or len(re.findall(r"^processor[ \t]*:", text, re.MULTILINE)) or None


def _short(text: str | None) -> str | None:
    return text if text and len(text) <= _LONGEST else None


def machine_evidence(
    record: Record,
    table: MachineTable | None,
    elasticsearch_pods: Sequence[Json],
    load_generator_on: str,
    spec: BenchmarkSpec,
    whole: int | None,
) -> list[MachineEvidence]:
    """Return what each Elasticsearch node ran on, in the order of their names, and last the load generator.

    `whole` is how many whole processors each node asked for, None for a share.
    """
    told = {it.name: it for it in (table.machines if table else ()) if it.role == ELASTICSEARCH}
    on = _machines(elasticsearch_pods)
    found = []
    for node in sorted(record.environment.nodes, key=lambda it: it.name)[:50]:
        facts = told.get(node.name)
        found.append(
            MachineEvidence(
                node=node.name,
                machine=on.get(node.name, ""),
                cpu_model=(facts.cpu_model if facts else "") or "",
                processors=node.machine_processors,
                memory_bytes=facts.machine_memory_bytes if facts else None,
                numa_nodes=facts.numa_nodes if facts else None,
                kernel=node.kernel or "",
                cpus=(facts.cpus if facts else "") or "",
                cpu_numa_nodes=(facts.cpu_numa_nodes if facts else "") or "",
                exclusive_cpus=exclusive(facts.cpus, whole, facts.processors) if facts else None,
                settings=_settings(facts.settings) if facts else None,
            )
        )
    load = record.environment.load_generator
    found.append(
        MachineEvidence(
            node=NODE_OF_THE_LOAD,
            machine=load_generator_on,
            cpu_model=load.cpu_model or "",
            processors=load.machine_processors,
            memory_bytes=load.machine_memory_bytes,
            numa_nodes=load.numa_nodes,
            kernel=load.kernel or "",
            cpus=load.cpus or "",
            cpu_numa_nodes=load.cpu_numa_nodes or "",
            exclusive_cpus=exclusive(load.cpus, spec.race.resources.whole_cores(), load.machine_processors),
            settings=_settings(load.settings),
        )
    )
    return without_claims_of_others(found)


def _settings(found: MachineSettings | None) -> SettingsEvidence | None:
    return SettingsEvidence(**{**asdict(found), "governors": list(found.governors)}) if found else None


def _machines(pods: Iterable[Json]) -> Mapping[str, str]:
    return {str(pod["metadata"]["name"]): str(pod.get("spec", {}).get("nodeName") or "") for pod in pods}
