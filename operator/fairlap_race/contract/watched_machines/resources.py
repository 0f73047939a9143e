"""What the machines did while Rally ran: `resources.json` beside the record, and the contract for who writes it.

The runner writes it from Elasticsearch's node stats and its own control group; the operator adds what Prometheus and
Kubernetes know. Absent means that it could not be had; each machine lists those columns in `missing`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fairlap_race.contract.codec import decode_bounded, encode
from fairlap_race.contract.untrusted import read_object
from fairlap_race.contract.watched_machines.machine_settings import MachineSettings
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch

FORMAT = 1
KEY_RESOURCES = "resources.json"
MAX_RESOURCES_BYTES = 150 * 1024
"""Before it is compressed. A ConfigMap holds 1 MiB, of which the record and its two archives may take 800 KiB."""
ELASTICSEARCH = "elasticsearch"
LOAD_GENERATOR = "load-generator"
PROMETHEUS = "prometheus"
"""The source of columns that are of single containers; Elasticsearch itself tells of its whole device."""


@dataclass(frozen=True)
class Usage:
    """One machine over one span of time."""

    seconds: float = 0.0
    """length of the span"""
    samples: int = 0
    """moments inside the span at which it was looked at"""
    cpu_mean_cores: float | None = None
    cpu_peak_cores: float | None = None
    """the highest mean between two neighbouring samples"""
    throttled_periods: float | None = None
    throttled_seconds: float | None = None
    memory_peak_bytes: float | None = None
    """all that is charged to the container, page cache included"""
    working_set_mean_bytes: float | None = None
    working_set_peak_bytes: float | None = None
    page_cache_mean_bytes: float | None = None
    page_cache_peak_bytes: float | None = None
    minor_faults_per_minute: float | None = None
    major_faults_per_minute: float | None = None
    disk_read_bytes: float | None = None
    disk_reads: float | None = None
    disk_write_bytes: float | None = None
    disk_writes: float | None = None
    network_received_bytes: float | None = None
    network_sent_bytes: float | None = None
    cpu_waiting_share: float | None = None
    """share of the time (0 to 1) in which some task waited for CPU; the kernel's PSI, as are the next four"""
    memory_waiting_share: float | None = None
    memory_stalled_share: float | None = None
    """share of the time in which all tasks waited"""
    io_waiting_share: float | None = None
    io_stalled_share: float | None = None
    heap_mean_bytes: float | None = None
    heap_peak_bytes: float | None = None
    young_gc_count: float | None = None
    young_gc_millis: float | None = None
    old_gc_count: float | None = None
    old_gc_millis: float | None = None


GROUPS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("cpu_mean_cores", "cpu_peak_cores"),
    "throttling": ("throttled_periods", "throttled_seconds"),
    "memory": (
        *("memory_peak_bytes", "working_set_mean_bytes", "working_set_peak_bytes"),
        *("page_cache_mean_bytes", "page_cache_peak_bytes"),
    ),
    "faults": ("minor_faults_per_minute", "major_faults_per_minute"),
    "disk": ("disk_read_bytes", "disk_reads", "disk_write_bytes", "disk_writes"),
    "network": ("network_received_bytes", "network_sent_bytes"),
    "pressure": (
        *("cpu_waiting_share", "memory_waiting_share", "memory_stalled_share"),
        *("io_waiting_share", "io_stalled_share"),
    ),
    "jvm": (
        *("heap_mean_bytes", "heap_peak_bytes", "young_gc_count", "young_gc_millis"),
        *("old_gc_count", "old_gc_millis"),
    ),
}
"""Columns that come from one source together."""


@dataclass(frozen=True)
class TaskUsage:
    """One machine during the measured part of one task (all of it, when nothing was measured)."""

    task: str = ""
    started_at: str | None = None
    usage: Usage = Usage()


@dataclass(frozen=True)
class Machine:
    """One Elasticsearch node, or the load generator."""

    name: str = ""
    """Elasticsearch's node name (under ECK also the pod's), or the load generator's pod"""
    role: str = ""
    """elasticsearch or load-generator"""
    cpu_limit: float | None = None
    """cores"""
    memory_limit_bytes: float | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    """group of columns -> prometheus, nodeStats or cgroup; a group that nobody knows is absent"""
    missing: tuple[str, ...] = ()
    """columns that could not be had"""
    notes: tuple[str, ...] = ()
    """what a reader must know of a column"""
    race: Usage = Usage()
    """from the first request to the last"""
    tasks: tuple[TaskUsage, ...] = ()
    cpu_model: str | None = None
    """of the machine that it ran on, as are the following"""
    machine_memory_bytes: int | None = None
    numa_nodes: int | None = None
    cpus: str | None = None
    """processors that its pod may use, as the kernel lists them"""
    cpu_numa_nodes: str | None = None
    """NUMA nodes that these processors are of, as the kernel lists them"""
    processors: int | None = None
    """of the machine, or as many of them as its kernel's words had room for"""
    settings: MachineSettings | None = None
    """of the machine; None where nothing told them"""


@dataclass(frozen=True)
class Sampler:
    """How the runner's own sampling went."""

    interval_seconds: float = 0.0
    samples: int = 0
    failures: int = 0
    last_failure: str = ""
    widest_gap_seconds: float | None = None
    """longest time between two samples"""
    request_millis_mean: float | None = None
    """how long Elasticsearch took to answer"""
    cpu_seconds: float | None = None
    """CPU that the sampling thread itself used"""


@dataclass(frozen=True)
class Volume:
    """What holds the data of one Elasticsearch node, at the end of the race.

    The first part is Elasticsearch's own word, the second what Kubernetes provisioned and the kernel mounted.
    """

    node: str = ""
    path: str | None = None
    mount: str | None = None
    type: str | None = None
    """the file system's type as Elasticsearch sees it"""
    total_bytes: int | None = None
    available_bytes: int | None = None
    kind: str = ""
    """volumeClaim or emptyDir; empty for a cluster that is not ours"""
    claim: str = ""
    class_name: str = ""
    provisioner: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    reclaim_policy: str = ""
    binding_mode: str = ""
    persistent_volume: str = ""
    capacity: str = ""
    source: str = ""
    """kind of the volume's source and what identifies it, for example csi ebs.csi.aws.com vol-1"""
    source_kind: str = ""
    """the kind alone"""
    file_system: str = ""
    """as the kernel mounted it"""
    device: str = ""
    mount_options: tuple[str, ...] = ()
    """in effect when the node started, as the kernel tells them; else those asked for"""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachineTable:
    """The whole table of one race."""

    format: int = FORMAT
    race_id: str = ""
    sampler: Sampler = Sampler()
    machines: tuple[Machine, ...] = ()
    volumes: tuple[Volume, ...] = ()
    watch: MachineWatch | None = None
    """None in a table that was made without"""
    remarks: tuple[str, ...] = ()
    """what could not be found out, and why"""
    completed: bool = False
    """whether the operator has added what only it can find out"""
    dropped_tasks: int = 0
    """tasks left out because the table would have been too large; the shortest go first"""

    def to_json(self) -> str:
        """Return the JSON text within the bound; what is None or empty is left out."""
        table = self
        while len(text := _text(table)) > MAX_RESOURCES_BYTES and any(m.tasks for m in table.machines):
            table = table.without_half_of_the_tasks()
        while len(text := _text(table)) > MAX_RESOURCES_BYTES and len(table.machines) > 1:
            left_out = len(table.machines) - len(table.machines) // 2
            words = f"{left_out} machines were left out: the table would have been too large"
            table = replace(table, machines=table.machines[: len(table.machines) // 2], remarks=(words,))
        return text

    def without_half_of_the_tasks(self) -> MachineTable:
        """Return the table with only the longer half of the tasks."""
        longest = {t.task: t.usage.seconds for m in self.machines for t in m.tasks}
        kept = set(sorted(longest, key=lambda name: -longest[name])[: len(longest) // 2])
        machines = tuple(replace(m, tasks=tuple(t for t in m.tasks if t.task in kept)) for m in self.machines)
        watch = self.watch and replace(self.watch, tasks=tuple(it for it in self.watch.tasks if it.task in kept))
        return replace(
            self, machines=machines, watch=watch, dropped_tasks=self.dropped_tasks + len(longest) - len(kept)
        )

    @staticmethod
    def from_json(text: str | None) -> MachineTable | None:
        """Return the table in a ConfigMap, or None when there is none, it is not JSON, or of another format.

        Raises for no text, and what it returns is of bounded size.
        """
        data = read_object(text)
        if data is None or data.get("format") != FORMAT:
            return None
        table, cut = decode_bounded(MachineTable, data)
        return replace(table, remarks=(*table.remarks, *map(str, cut[:5])))


def _text(table: MachineTable) -> str:
    return json.dumps(_without_empty(encode(table)), separators=(",", ":"), allow_nan=False)


def _without_empty(data: Any) -> Any:
    if isinstance(data, dict):
        found = {key: _without_empty(value) for key, value in data.items()}
        return {key: value for key, value in found.items() if value is not None and value not in ("", [], {})}
    return [_without_empty(item) for item in data] if isinstance(data, list) else data


def note(about: str, words: str) -> str:
    """Return a note of a machine that is about a group of columns, or about whoever told them."""
    return f"{about}: {words}"


def is_note_on(text: str, about: str) -> bool:
    """Return whether a note, as it stands in a stored table, is about this group of columns."""
    return text.startswith(note(about, ""))


def known(usage: Usage, columns: Iterable[str]) -> bool:
    """Tell whether any of the columns has a value."""
    return any(getattr(usage, column) is not None for column in columns)


def missing(machine: Machine) -> tuple[str, ...]:
    """Return the columns that a machine should have but has not, in the order of the table."""
    does_not_apply = () if machine.role == ELASTICSEARCH else GROUPS["jvm"]
    names = (f.name for f in fields(Usage))
    return tuple(n for n in names if n not in does_not_apply and getattr(machine.race, n) is None)


def merged(base: Machine, better: Machine, source: str) -> Machine:
    """Return `base` with each group of columns that `better` (from `source`) knows taken from there as a whole.

    A task that the samples there are too sparse for keeps its own, unless they mean something else: `base` notes that.
    """
    taken = [group for group, columns in GROUPS.items() if known(better.race, columns)]
    apart = {group for group in taken if any(is_note_on(it, group) for it in base.notes)}
    of_task = {task.task: task.usage for task in better.tasks}
    kept = set[str]()

    def mix(usage: Usage, other: Usage) -> Usage:
        values: dict[str, Any] = {}
        for group in taken:
            if group not in apart and known(usage, GROUPS[group]) and not known(other, GROUPS[group]):
                kept.add(group)
            else:
                values |= {column: getattr(other, column) for column in GROUPS[group]}
        return replace(usage, samples=max(usage.samples, other.samples), **values)

    tasks = tuple(replace(t, usage=mix(t.usage, of_task.get(t.task, Usage()))) for t in base.tasks)
    notes = [it for it in base.notes if not any(is_note_on(it, group) for group in taken)]
    for group in sorted(kept):
        notes.append(note(group, f"{base.sources.get(group, 'another source')} where a task is too short for {source}"))
    result = replace(
        base,
        race=mix(base.race, better.race),
        tasks=tasks or better.tasks,
        sources={**base.sources, **dict.fromkeys(taken, source)},
        notes=(*notes, *better.notes),
        cpu_limit=base.cpu_limit if better.cpu_limit is None else better.cpu_limit,
        memory_limit_bytes=base.memory_limit_bytes if better.memory_limit_bytes is None else better.memory_limit_bytes,
    )
    return replace(result, missing=missing(result))
