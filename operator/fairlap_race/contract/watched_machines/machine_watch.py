"""The part of the machine table that says what else happened to the load generator's machine, and how fast it was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WatchedSpan:
    """The whole machine during the measured part of one task, or during the race; None where it does not tell."""

    task: str = ""
    """empty for the race from its first request to its last"""
    seconds: float = 0.0
    steal_share: float | None = None
    """of all processors' time (0 to 1) in which the hypervisor ran something else (proc_stat(5))"""
    processors: float | None = None
    """that there were"""
    busy_cores: float | None = None
    """all processes together, in and outside of containers"""
    own_cores: float | None = None
    """of these the load generator's container, by the same looks: those of Prometheus are further apart"""
    elasticsearch_cores: float | None = None
    """of all of Elasticsearch's nodes together, by the same looks; None where not each of them told"""
    data_written_bytes: float | None = None
    """by whoever, to the disk of a node's data, of the node with most; None where none told"""
    data_read_bytes: float | None = None
    """from there, likewise"""
    merging: bool | None = None
    """whether a node merged segments, of its own accord or asked to; None where none told"""
    cpu_waiting_share: float | None = None
    """share of the time (0 to 1) in which some task of the machine waited for CPU (PSI), as are the next two"""
    memory_waiting_share: float | None = None
    io_waiting_share: float | None = None
    interrupts_per_second: float | None = None
    megahertz: float | None = None
    """mean of what the processors ran at; with cpufreq of the first 64"""


@dataclass(frozen=True)
class Canary:
    """Fixed work outside the measurement: the lower quartile of the seconds that each piece of it took."""

    at: str = ""
    cpu_seconds: float | None = None
    """SHA-256, on all processors that the load generator may use, 16 at most, at the same time"""
    memory_seconds: float | None = None
    """reading 96 MiB again and again: memory, or a cache that is larger and shared with others"""
    disk_seconds: float | None = None
    """writing and waiting for the disk (fsync), where the load generator has its files"""
    took_seconds: float = 0.0
    """all of it"""


@dataclass(frozen=True)
class Stall:
    """A time in which the load generator did not run, or Elasticsearch did not answer at all."""

    at: str = ""
    """when it began, or up to an interval of the sampler later"""
    task: str = ""
    """whose measured part it fell into; empty for none"""
    seconds: float = 0.0
    """that were noticed: it may have begun before somebody asked"""
    collected_seconds: float = 0.0
    """that Elasticsearch's garbage collections took between the looks before and after it"""


@dataclass(frozen=True)
class MachineWatch:
    """The load generator's machine, and with it Elasticsearch's where they share one."""

    before: Canary | None = None
    """None where it was not run, as on a smoke test"""
    after: Canary | None = None
    race: WatchedSpan = WatchedSpan()
    tasks: tuple[WatchedSpan, ...] = ()
    stalls: tuple[Stall, ...] = ()
