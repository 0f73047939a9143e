"""Reads how this machine is set up."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from fairlap_race.contract.watched_machines.cpu_list import NODE_CPUS, numa_nodes_of
from fairlap_race.contract.watched_machines.machine_settings import FILES, MachineSettings, parse
from fairlap_race.linux.kernel_files import read_text

_MOST_FILES = 4096
"""Of one pattern: two for each processor of a large machine are far less."""
_OTHERS = ("/proc/meminfo", "/proc/self/status")


def read_settings(root: Path = Path("/")) -> MachineSettings:
    """Return the settings of the machine whose files are below `root`; a missing one is unknown."""
    return parse(_read((*FILES, *_OTHERS), root))


def read_numa_nodes(cpus: str, root: Path = Path("/")) -> str | None:
    """Return the NUMA nodes that the processors `cpus`, like 0-1, are of; None where the kernel does not tell."""
    return numa_nodes_of(cpus, _read((NODE_CPUS,), root))


def _read(patterns: Iterable[str], root: Path) -> dict[str, str]:
    found = [path for pattern in patterns for path in islice(root.glob(pattern[1:]), _MOST_FILES)]
    return {f"/{path.relative_to(root)}": read_text(path) for path in found}
