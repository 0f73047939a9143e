"""What the kernel says of the machine itself: reads its files, whose words `proc_files` knows."""

from __future__ import annotations

from pathlib import Path

from fairlap_race.contract.watched_machines import proc_files
from fairlap_race.linux.kernel_files import read_text


def cpu_model(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the name of the first CPU; None where the kernel does not tell."""
    return proc_files.cpu_model(read_text(path))


def memory_bytes(path: Path = Path("/proc/meminfo")) -> int | None:
    """Return the memory of the whole machine."""
    return proc_files.memory_bytes(read_text(path))


def numa_nodes(path: Path = Path("/proc/self/status")) -> int | None:
    """Return of how many NUMA nodes this process may use the memory; None where it is not told."""
    return proc_files.numa_nodes(read_text(path))


def allowed_cpus(path: Path = Path("/proc/self/status")) -> str | None:
    """Return the processors that this process may use, like 0-1,4; None where it is not told."""
    return proc_files.allowed_cpus(read_text(path))
