"""Where the load comes from: this container, and the machine under it."""

from __future__ import annotations

import os
import platform

from fairlap_race.contract.record import LoadGeneratorHost
from fairlap_race.linux import cgroup, machine
from fairlap_race.linux.settings_files import read_settings


def look_at_machine(cores: int | None = None) -> tuple[LoadGeneratorHost, int, float]:
    """Return what it is, how many cores Rally shall take it for (`cores` if given), and how many it may use."""
    limits = cgroup.read_limits()
    cores = cores or max(1, int(limits.cpus or os.cpu_count() or 1))
    about = LoadGeneratorHost(
        pod_name=os.environ.get("POD_NAME"),
        node_name=os.environ.get("NODE_NAME"),
        cores=cores,
        cpu_limit=limits.cpus,
        memory_limit_bytes=limits.memory_bytes,
        kernel=platform.release(),
        cpu_model=machine.cpu_model(),
        machine_processors=os.cpu_count(),
        machine_memory_bytes=machine.memory_bytes(),
        numa_nodes=machine.numa_nodes(),
        cpus=machine.allowed_cpus(),
        settings=read_settings(),
        python_version=platform.python_version(),
    )
    return about, cores, limits.cpus or float(os.cpu_count() or 1)
