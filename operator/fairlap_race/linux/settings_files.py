"""Reads how this machine is set up."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from fairlap_race.contract.machine_settings import FILES, MachineSettings, parse
from fairlap_race.linux.kernel_files import read_text

_MOST_FILES = 4096
"""Of one pattern: two for each processor of a large machine are far less."""
_OTHERS = ("/proc/meminfo", "/proc/self/status")


def read_settings(root: Path = Path("/")) -> MachineSettings:
    """Return the settings of the machine whose files are below `root`; a missing one is unknown."""
    found = [path for pattern in (*FILES, *_OTHERS) for path in islice(root.glob(pattern[1:]), _MOST_FILES)]
    return parse({f"/{path.relative_to(root)}": read_text(path) for path in found})
