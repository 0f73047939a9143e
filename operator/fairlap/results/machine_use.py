"""From the tables of what the machines did to the few lines that the status has of it."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from fairlap.api.machine_status import MachineUse
from fairlap.results.race_figures import median_of_known
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.resources import GROUPS, LOAD_GENERATOR, Machine, MachineTable

IN_STATUS = (
    *("cpu_mean_cores", "cpu_peak_cores", "throttled_periods", "memory_peak_bytes", "working_set_peak_bytes"),
    *("page_cache_mean_bytes", "minor_faults_per_minute", "major_faults_per_minute"),
    *("disk_read_bytes", "disk_reads", "disk_write_bytes", "disk_writes"),
    *("network_received_bytes", "network_sent_bytes", "cpu_waiting_share", "memory_waiting_share", "io_waiting_share"),
    *("heap_peak_bytes", "young_gc_millis", "old_gc_millis"),
)


def machine_uses(tables: Sequence[tuple[str, MachineTable]], most: int) -> list[MachineUse]:
    """Return one line a machine, medians over the races, of the first `most` machines.

    `tables`: the name of a race's objects, and its table.
    """
    lines: dict[str, list[Machine]] = {}
    for name, table in tables:
        for machine in table.machines:
            lines.setdefault(short_name(machine, name), []).append(machine)
    return [_line(name, machines) for name, machines in islice(lines.items(), most)]


def short_name(machine: Machine, race: str) -> str:
    """Return a machine's name without what differs from race to race."""
    return LOAD_GENERATOR if machine.role == LOAD_GENERATOR else machine.name.removeprefix(f"{race}-")


def remarks(table: MachineTable | None) -> list[RaceRemark]:
    """Return what a reader of the race must know of its table."""
    if table is None:
        return [RaceRemark(Reason.MACHINE_FIGURES_INCOMPLETE, "what the machines did was not recorded")]
    found = list(table.remarks)
    if table.sampler.failures:
        looks = table.sampler.failures + table.sampler.samples
        found.append(
            f"{table.sampler.failures} of {looks} looks at the machines failed, the last one with: "
            f"{table.sampler.last_failure}"
        )
    return [RaceRemark(Reason.MACHINE_FIGURES_INCOMPLETE, text) for text in found]


def _line(name: str, machines: Sequence[Machine]) -> MachineUse:
    sources = [source for machine in machines for source in machine.sources.values()]
    unknown = {column for machine in machines for column in machine.missing}
    numbers: dict[str, Any] = {
        column: median_of_known(getattr(machine.race, column) for machine in machines) for column in IN_STATUS
    }
    return MachineUse(
        name=name,
        role=machines[0].role,
        races=len(machines),
        sources=list(dict.fromkeys(sources)),
        cpu_limit_cores=machines[-1].cpu_limit,
        memory_limit_bytes=machines[-1].memory_limit_bytes,
        missing=[group for group, columns in GROUPS.items() if unknown.issuperset(columns)],
        **numbers,
    )
