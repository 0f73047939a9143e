"""What the kernel says of the machine itself."""

from __future__ import annotations

import re
from pathlib import Path

from fairlap_race.contract.watched_machines.cpu_list import count_of
from fairlap_race.linux.kernel_files import read_text


def cpu_model(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the name of the first CPU; None where the kernel does not tell, as on many ARM machines."""
    return _value("model name", path)


def memory_bytes(path: Path = Path("/proc/meminfo")) -> int | None:
    """Return the memory of the whole machine (proc_meminfo(5))."""
    kibibytes = re.fullmatch(r"([0-9]{1,20}) kB", _value("MemTotal", path) or "")
    return int(kibibytes[1]) * 1024 if kibibytes else None


def numa_nodes(path: Path = Path("/proc/self/status")) -> int | None:
    """Return of how many NUMA nodes this process may use the memory (proc_pid_status(5)); None where it is not told."""
    return count_of(_value("Mems_allowed_list", path) or "")


def allowed_cpus(path: Path = Path("/proc/self/status")) -> str | None:
    """Return the processors that this process may use, like 0-1,4 (proc_pid_status(5)); None where it is not told."""
    listed = _value("Cpus_allowed_list", path) or ""
    return listed if count_of(listed) else None


def _value(key: str, path: Path) -> str | None:
    found = re.search(rf"^{key}\s*:\s*(\S.*)$", read_text(path), re.MULTILINE)
    return found[1].strip() if found else None
