"""The record of one step: what the runner saw, as facts; the operator judges them.

`Record.to_json` and `Record.from_json` are the contract between the race image and the operator. Keys are the
camelCase of the field names; times are ISO-8601 in UTC with a Z; a suffix says the unit. What could not be had is
None or empty, never guessed. Reading tolerates missing, unknown and wrongly typed parts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from fairlap_race.contract.codec import Bounds, Cut, decode_bounded, encode
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.cluster_course import ClusterCourse
from fairlap_race.contract.recorded.extended_warmup import ExtendedWarmup
from fairlap_race.contract.recorded.http_record import HttpAnswers, HttpRecord
from fairlap_race.contract.recorded.ingest_record import ProcessorWork
from fairlap_race.contract.recorded.kept_samples import KeptSamples, TaskHistogram
from fairlap_race.contract.recorded.request_evidence import BulkTrouble, RequestEvidence
from fairlap_race.contract.recorded.schedule_record import ScheduleRecord
from fairlap_race.contract.recorded.settling import Settling
from fairlap_race.contract.recorded.stored_metrics import StoredMetrics
from fairlap_race.contract.recorded.task_load import TaskLoad
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.request_files.probe import ProbeRecord
from fairlap_race.contract.specification.turns import TaskTurns, is_address
from fairlap_race.contract.untrusted import characters, parse_time, read_object, time_text
from fairlap_race.contract.watched_machines.machine_settings import MachineSettings

FORMAT = 1

KEY_PROGRESS = "progress"
KEY_RECORD = "record.json"
KEY_RACE = "race.json.gz"
KEY_LOG = "rally.log.gz"
KEY_TELEMETRY = "telemetry.jsonl.gz"
MAX_RECORD_BYTES = 400 * 1024
"""Compressed. A ConfigMap holds 1 MiB: this, two archives, and the table of the machines."""
MAX_ARTIFACT_BYTES = 200 * 1024
MAX_TELEMETRY_BYTES = 50 * 1024
MAX_PROGRESS_CHARACTERS = 4096
"""Of a progress text that is read; the runner writes a tenth of it."""
SCHEDULE_KEPT = 0.98
"""A task whose share of its target throughput is at least this kept its schedule."""


def timestamp(seconds: float) -> str:
    """Return seconds since the epoch as ISO-8601 in UTC with milliseconds and a Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_LONGEST_TASK = 200
_OF_PROGRESS = Bounds(text=300)


@dataclass(frozen=True)
class Progress:
    """How far a running step is; patched into a ConfigMap of its own whenever it changes."""

    at: str = ""
    stage: str = "preparing"
    """preparing, racing, collecting or done"""
    task: str | None = None
    percent: int | None = None
    step: int | None = None
    """1-based number of the schedule element that runs"""
    steps: int | None = None
    first_request_at: str | None = None
    meets_at: str = ""
    """where the races of a duet meet, ADDRESS:PORT; empty for all but the one that keeps the table"""

    def to_json(self) -> str:
        """Return the JSON text for `data.progress`; a long name of a task is cut, since long texts are not read."""
        short = replace(self, task=self.task and self.task[:_LONGEST_TASK])
        return json.dumps(encode(short), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | None) -> Progress | None:
        """Return the progress in a ConfigMap, or None when there is none or it is not JSON. Raises for no text."""
        data = read_object(text) if len(text or "") <= MAX_PROGRESS_CHARACTERS else None
        if data is None:
            return None
        found, _ = decode_bounded(Progress, data, _OF_PROGRESS)
        known = found.percent is not None and 0 <= found.percent <= 100
        meets_at = found.meets_at if is_address(found.meets_at) else ""
        return replace(found, percent=found.percent if known else None, meets_at=meets_at)


@dataclass(frozen=True)
class Outcome:
    """What stopped the step; no reason means that it ran to its end."""

    reason: Reason | None = None
    message: str = ""
    field: str = ""
    """what of the request it is about, as requireTasks, which the message names, too; empty where that is not known"""


@dataclass(frozen=True)
class Rally:
    """The Rally that ran."""

    version: str | None = None
    exit_code: int | None = None
    """None when Rally was not started or was killed"""
    poll_intervals: Mapping[str, float] = field(default_factory=dict)
    """Rally's own waits as they were in this race, by name, in seconds"""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """One Elasticsearch node as it described itself before the race."""

    name: str = ""
    ephemeral_id: str | None = None
    version: str | None = None
    java_version: str | None = None
    java_vendor: str | None = None
    jvm: str | None = None
    gc: tuple[str, ...] = ()
    heap_bytes: int | None = None
    jvm_arguments: tuple[str, ...] = ()
    processors: int | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """the container's memory limit; None when there is none or it cannot be had"""
    machine_processors: int | None = None
    """of the machine that it runs on, as far as its container sees"""
    kernel: str | None = None
    holds_data: bool = True
    """copies of shards can be placed on it; also of an older runner, which did not ask"""


@dataclass(frozen=True)
class LoadGeneratorHost:
    """Where the load came from."""

    pod_name: str | None = None
    node_name: str | None = None
    cores: int | None = None
    """number of Rally's worker processes"""
    cpu_limit: float | None = None
    """the container's CPU limit in cores; None when there is none"""
    memory_limit_bytes: int | None = None
    kernel: str | None = None
    cpu_model: str | None = None
    machine_processors: int | None = None
    """of the machine, whatever the container may use of them"""
    machine_memory_bytes: int | None = None
    numa_nodes: int | None = None
    """whose memory the container may use; None where the kernel does not tell"""
    cpus: str | None = None
    """processors that the container may use, as the kernel lists them"""
    cpu_numa_nodes: str | None = None
    """NUMA nodes that these processors are of, as the kernel lists them"""
    settings: MachineSettings | None = None
    """of its machine"""
    python_version: str | None = None


@dataclass(frozen=True)
class EnvironmentRecord:
    """What really ran."""

    version: str | None = None
    build_hash: str | None = None
    build_flavor: str | None = None
    lucene_version: str | None = None
    plugins: tuple[str, ...] | None = None
    """each with its version, for people; None when not known"""
    plugin_versions: Mapping[str, str] | None = None
    """by name, with on how many nodes where not on all; None when not known, or where an older runner wrote it"""
    modules: tuple[str, ...] | None = None
    """parts of the release; None when not known, or left out of the record"""
    cluster_settings: Mapping[str, str] | None = None
    """set on the cluster itself; None when not known"""
    node_settings: Mapping[str, str] | None = None
    """what the nodes were started with, without names and addresses; None when not known"""
    nodes: tuple[Node, ...] = ()
    load_generator: LoadGeneratorHost = LoadGeneratorHost()

    @property
    def data_nodes(self) -> tuple[Node, ...]:
        """The nodes that copies of shards can be placed on; all of them where none says so."""
        return tuple(node for node in self.nodes if node.holds_data) or self.nodes


@dataclass(frozen=True)
class Fresh:
    """What the cluster held before the race."""

    user_indices: tuple[str, ...] = ()
    indexing_millis: int | None = None


@dataclass(frozen=True)
class IndexRecord:
    """One user index after the race, with the settings in effect."""

    name: str = ""
    data_stream: str | None = None
    """the data stream whose documents the index holds, if it is of one"""
    shards: int | None = None
    replicas: int | None = None
    codec: str | None = None
    health: str | None = None
    documents: int | None = None
    primary_bytes: int | None = None
    store_bytes: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """the settings that were asked for, by their full names, as they are in effect; None for one that is not set"""
    explicit: Mapping[str, str] = field(default_factory=dict)
    """settings that somebody set, without names and dates; 300 at most, of the first 50 indices"""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """settings that nobody set, 300 at most; of the first few indices, or left out of the record"""
    settings_digest: str | None = None
    """SHA-256 over all settings in effect"""
    mapping_digest: str | None = None
    """SHA-256 over the mapping, without the index's name and source mode"""
    aliases: tuple[str, ...] = ()
    default_pipeline: str | None = None
    """that the index itself names; None for none"""
    final_pipeline: str | None = None
    indexed: int | None = None
    """documents that were indexed into its primaries since they started, overwritten ones among them"""
    closed: bool = False
    """nothing in it can be counted"""


@dataclass(frozen=True)
class Shard:
    """One copy of a shard after the race."""

    index: str = ""
    shard: int | None = None
    primary: bool = False
    state: str = ""
    """STARTED, RELOCATING, INITIALIZING or UNASSIGNED"""
    node: str | None = None
    documents: int | None = None
    store_bytes: int | None = None
    why: str | None = None
    """why it is unassigned"""


@dataclass(frozen=True)
class Pipeline:
    """One ingest pipeline: what it did during the race, summed over the nodes."""

    name: str = ""
    count: int = 0
    time_millis: int = 0
    failed: int = 0
    """documents that it gave up; not those whose failure a processor ignores or handles"""
    work: ProcessorWork | None = None
    """None when Elasticsearch does not count its processors"""


@dataclass(frozen=True)
class Counts:
    """A count for warm-up samples and one for measured samples."""

    warmup: int = 0
    normal: int = 0


@dataclass(frozen=True)
class Throughput:
    """Rally's throughput: statistics of a running average since the task's start, warm-up inside."""

    min: float | None = None
    mean: float | None = None
    median: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class RallyNumbers:
    """Rally's own numbers as they are; a percentile is present only when Rally gives it (keys p50 … p100, mean).

    Those of a race over HTTP are the runner's own.
    """

    throughput: Throughput = Throughput()
    service_time_millis: Mapping[str, float] = field(default_factory=dict)
    latency_millis: Mapping[str, float] = field(default_factory=dict)
    processing_time_millis: Mapping[str, float] = field(default_factory=dict)
    error_rate: float | None = None


@dataclass(frozen=True)
class Windows:
    """Throughput of each full window in which all clients measured: not a running average."""

    seconds: float = 1.0
    count: int = 0
    median: float | None = None
    """None, as the next two, where it would mislead; `left_out` says why"""
    p10: float | None = None
    p90: float | None = None
    over_time: tuple[float, ...] = ()
    """means of parts of equal length, 60 at most, each of ten requests or more, in the order of time; left out of a
    record that has no room"""
    requests: int | None = None
    """in all of the windows; None in a record that did not count them"""
    left_out: str = ""
    """why there is no throughput of windows"""


@dataclass(frozen=True)
class Task:
    """What was measured of one task."""

    task: str = ""
    operation: str | None = None
    type: str | None = None
    unit: str | None = None
    clients: int | None = None
    target_throughput: float | None = None
    started_at: str | None = None
    """start of the first request, warm-up included"""
    measured_from: str | None = None
    """start of the first measured request; None when there was none"""
    ended_at: str | None = None
    """end of the last request"""
    duration_seconds: float | None = None
    """from the start of the first measured request to the end of the last one"""
    client_seconds: float | None = None
    """the same of each client, of all of them together"""
    hung_clients: int | None = None
    """that were in a request of their warm-up for more than twice as long as any measured one took, together for more
    than 5 % of all clients' time; None for none, and where the requests were planned"""
    hung_seconds: float | None = None
    """of the measured time, those of the client that hung longest"""
    samples: Counts = Counts()
    errors: Counts = Counts()
    first_error: str | None = None
    schedule_share: float | None = None
    """requests sent against requests planned, 0 to 1; None without a target or with too few requests"""
    client_busy_share: float | None = None
    """share of the time in which the clients waited for an answer, 0 to 1; present with schedule_share"""
    schedule: ScheduleRecord | None = None
    """client by client; present with schedule_share"""
    rally: RallyNumbers | None = None
    """None when Rally has no numbers for this task"""
    fastest_millis: float | None = None
    """service time of the fastest measured request, to three digits; None without one"""
    units_done: float | None = None
    """documents (or operations) of the successful measured requests"""
    rate: float | None = None
    """units done per second of the measured time: of each client's own where it ends by the clock, and to each one's
    last request where they were planned"""
    load: TaskLoad | None = None
    """None where the load generator was not looked at"""
    windows: Windows | None = None
    settling: Settling | None = None
    """None where nothing was measured"""
    extended_warmup: ExtendedWarmup | None = None
    """None where its warm-up ended as the track says"""
    planned_warmup_seconds: float | None = None
    """for how long it was to warm up where it ends by the clock; None without, and where requests are due at moments"""
    support: Mapping[str, int] = field(default_factory=dict)
    """for each percentile the number of measured samples at or beyond it, of those whose times Rally kept"""
    times_kept: int | None = None
    """of so many measured requests Rally kept the times; None where it kept those of all"""
    fewest_hits: int | None = None
    """of a successful search, as far as Elasticsearch counted; None where nothing is found by it"""
    most_hits: int | None = None
    timed_out: int | None = None
    """measured searches that did, as Rally read it; None for none, and where it does not read that"""
    shards_failed: int | None = None
    """measured searches of which shards failed, likewise"""
    bulk_trouble: BulkTrouble | None = None
    """None where no bulk met any"""
    clock_shift_seconds: float | None = None
    """by how much at least the load generator's wall clock was set while the task ran; None when nothing shows it"""
    clock_set_seconds: float | None = None
    """by how much it had been set from the race's beginning to the task's first request, below 0 for back; None for
    less than a second. All times of tasks are by the clock as it was at the race's beginning."""
    histogram: TaskHistogram | None = None
    """None without a measured request, or left out of the record"""
    http: HttpAnswers | None = None
    """only of a race over HTTP"""
    turns: TaskTurns | None = None
    """only where races take turns"""

    @property
    def warmup_seconds(self) -> float | None:
        """From its first request to the first that was measured; None without a warm-up, or where it is not known."""
        began, measured = parse_time(self.started_at), parse_time(self.measured_from)
        return (measured - began).total_seconds() if self.samples.warmup and began and measured else None

    @property
    def keeps_schedule(self) -> bool:
        """True when all clients sent what was planned when it was planned, but for 2 %, or nothing was planned."""
        plan = self.schedule
        return not self.fell_behind and (plan is None or not (plan.has_slow_client or plan.has_backlog))

    @property
    def fell_behind(self) -> bool:
        """True when less than 98 % of what was planned was sent, by a whole request at least: of ten, 2 % are none."""
        plan = self.schedule
        whole = plan is None or not plan.planned or plan.planned > plan.sent
        return whole and self.schedule_share is not None and self.schedule_share < SCHEDULE_KEPT


@dataclass(frozen=True)
class LoadGenerator:
    """Whether the load generator itself was the bottleneck."""

    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    cpu_share: float | None = None
    """of the CPU that it may use, 0 to 1"""
    throttled_periods: int | None = None
    throttled_seconds: float | None = None
    saturated: bool = False
    why: str = ""


@dataclass(frozen=True)
class Totals:
    """Sums over the cluster after the race; counters are those of the race on a fresh cluster."""

    store_bytes: int | None = None
    dataset_bytes: int | None = None
    segments: int | None = None
    young_gc_count: int | None = None
    young_gc_millis: int | None = None
    old_gc_count: int | None = None
    old_gc_millis: int | None = None
    merge_millis: int | None = None
    refresh_millis: int | None = None
    flush_millis: int | None = None
    indexing_millis: int | None = None


@dataclass(frozen=True)
class Touch:
    """Something on an existing cluster that the track creates, writes to or deletes."""

    kind: str = ""
    """index, data stream, index template, component template, legacy template or ingest pipeline"""
    name: str = ""
    """its name, or a pattern when the track deletes by pattern"""
    creates: bool = False
    """the track creates it or writes to it"""
    deletes: bool = False
    existing: tuple[str, ...] = ()
    """what there was of that name (or alias) before the step"""
    documents: int | None = None
    """documents in the existing indices; None when not counted"""


@dataclass(frozen=True)
class OtherLoad:
    """What an existing cluster did during the race in an index that is not the track's."""

    index: str = ""
    indexed: int = 0
    searched: int = 0


@dataclass(frozen=True)
class TargetReport:
    """An existing cluster: what the track does to it, what else it did meanwhile, and what was left there."""

    cluster_name: str | None = None
    cluster_uuid: str | None = None
    touches: tuple[Touch, ...] = ()
    unforeseen: tuple[str, ...] = ()
    """tasks whose effects cannot be told before they run"""
    removed: tuple[str, ...] = ()
    """what the race had created and the runner has removed again"""
    left: tuple[str, ...] = ()
    """what the race had created and is still there"""
    others: tuple[OtherLoad, ...] = ()
    searches_unknown: bool = False
    """which indices the track itself searches is not known of all its requests: `others` may have some of them"""


@dataclass(frozen=True)
class Record:
    """Everything known about one step."""

    format: int = FORMAT
    mode: str = ""
    race_id: str = ""
    started_at: str | None = None
    first_request_at: str | None = None
    rally_exited_at: str | None = None
    finished_at: str | None = None
    outcome: Outcome = Outcome()
    rally: Rally = Rally()
    track: TrackRecord = field(default_factory=TrackRecord)
    environment: EnvironmentRecord = EnvironmentRecord()
    fresh: Fresh | None = None
    """None when Elasticsearch could not be asked"""
    indices: tuple[IndexRecord, ...] | None = None
    """user indices after the race; None when Elasticsearch could not be asked"""
    shards: tuple[Shard, ...] | None = None
    """copies of the user indices' shards after the race; None when not known, or left out of the record"""
    pipelines: tuple[Pipeline, ...] | None = None
    """None when Elasticsearch could not be asked"""
    failure_stores: Mapping[str, int] = field(default_factory=dict)
    """for each data stream that has a failure store the documents in it: the bulk was told that they are indexed"""
    course: ClusterCourse = field(default_factory=ClusterCourse)
    """what happened to the cluster while the race ran"""
    nodes_restarted: tuple[str, ...] | None = None
    """nodes that restarted or went away; None when this could not be found out"""
    tasks: tuple[Task, ...] = ()
    samples_dropped: bool = False
    """True when Rally lost samples: its numbers are incomplete"""
    load_generator: LoadGenerator = LoadGenerator()
    totals: Totals = Totals()
    requests: RequestEvidence | None = None
    """None when the steps of the race were not looked at, or left out of the record"""
    target: TargetReport | None = None
    """only for a cluster that exists already"""
    sample_file: KeptSamples | None = None
    """None where race.samples is not asked for"""
    stored_metrics: StoredMetrics | None = None
    """None where race.metricsStore is not asked for, and in a smoke test"""
    http: HttpRecord | None = None
    """only of a race over HTTP"""
    probes: tuple[ProbeRecord, ...] = ()
    """one for each of race.probes, in their order; none of a race that did not come to its end"""
    left_out: tuple[str, ...] = ()
    """parts that are missing here because the record would have been too large"""

    @property
    def probe_names(self) -> frozenset[str]:
        """The tasks that are probes of a search: each at a rate that follows from this race's own earlier ones."""
        swept = self.track.sweep
        return frozenset(swept.names) if swept and swept.search else frozenset()

    @property
    def comparable_tasks(self) -> tuple[Task, ...]:
        """The tasks that another race of the same work has, too, under the same name and with the same load."""
        probes = self.probe_names
        return tuple(task for task in self.tasks if task.task not in probes)

    def to_json(self) -> str:
        """Return the JSON text that is kept, compressed, in the record's ConfigMap."""
        return json.dumps(encode(self), separators=(",", ":"), allow_nan=False)

    @staticmethod
    def from_json(text: str | None) -> Record | None:
        """Return the record in a ConfigMap, or None when there is none, it is not JSON, or of another format.

        Raises for no text, and what it returns is of bounded size.
        """
        data = read_object(text)
        if data is None or data.get("format") != FORMAT:
            return None
        record, cut = decode_bounded(Record, data)
        outcome = data.get("outcome")
        given = outcome.get("reason") if isinstance(outcome, Mapping) else "no outcome"
        if given is not None and record.outcome.reason is None:
            # A reason this version does not know must never read as "nothing went wrong".
            named = characters(given, 63) if isinstance(given, str) else "no reason"
            record = replace(record, outcome=Outcome(Reason.RALLY_FAILED, f"{named}: {record.outcome.message}"))
        return _with_times(_without_cut(record, cut))


def _without_cut(record: Record, cut: tuple[Cut, ...]) -> Record:
    """Return a record that was cut as one that cannot be judged, unless only the places of shards were cut."""
    if any(it.path == "shards" for it in cut):
        record = replace(record, shards=None, left_out=(*record.left_out, "where the copies of the shards were"))
    judged = [it for it in cut if it.path != "shards"]
    if not judged or record.outcome.reason:
        return record
    lists = ", ".join(map(str, judged[:5]))
    return replace(record, outcome=Outcome(Reason.RECORD_MISSING, f"the record is too large to be judged by: {lists}"))


def _with_times(record: Record) -> Record:
    """Return the record without times that are none."""
    return replace(
        record,
        started_at=time_text(record.started_at),
        first_request_at=time_text(record.first_request_at),
        rally_exited_at=time_text(record.rally_exited_at),
        finished_at=time_text(record.finished_at),
        tasks=tuple(
            replace(
                task,
                started_at=time_text(task.started_at),
                measured_from=time_text(task.measured_from),
                ended_at=time_text(task.ended_at),
            )
            for task in record.tasks
        ),
    )
