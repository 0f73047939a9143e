"""Where the load comes from: this container, and the machine under it."""

from __future__ import annotations

import os
import platform

from fairlap_race.contract.recorded.record import LoadGeneratorHost
from fairlap_race.contract.watched_machines.cpu_list import count_of
from fairlap_race.linux import cgroup, machine
from fairlap_race.linux.settings_files import read_numa_nodes, read_settings


def look_at_machine(cores: int | None = None) -> tuple[LoadGeneratorHost, int, float]:
    """Return what it is, how many cores Rally shall take it for (`cores` at most), and how many it may use."""
    limits, allowed = cgroup.read_limits(), machine.allowed_cpus()
    # Elasticsearch, which may have whole processors that are taken away here, was there before this container began.
    may_use = usable_processors(limits.cpus, allowed, os.cpu_count())
    cores = worker_processes(cores, may_use)
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
        cpus=allowed,
        cpu_numa_nodes=read_numa_nodes(allowed or ""),
        settings=read_settings(),
        python_version=platform.python_version(),
    )
    return about, cores, may_use


def usable_processors(limit: float | None, allowed: str | None, machine_has: int | None) -> float:
    """Return how many processors a container may use at a time: those allowed, like 0-1, or its CPU limit if less."""
    processors = float(count_of(allowed or "") or machine_has or limit or 1)
    return processors if limit is None else min(limit, processors)


def worker_processes(asked: int | None, may_use: float) -> int:
    """Return how many processes Rally shall send from: those asked for, and no more than can run at a time."""
    most = max(1, int(may_use))
    return most if asked is None else min(asked, most)
