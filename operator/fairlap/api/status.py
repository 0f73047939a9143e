"""What the operator answers: the status of a Benchmark, a record a colleague can read without asking."""

from typing import Annotated, Literal

from pydantic import Field

from fairlap.api.base import Answer, AtMost, Text
from fairlap.api.capacity_status import CapacityResult
from fairlap.api.figure import Figure
from fairlap.api.machine_status import MachineEvidence, MachineUse, StorageEvidence
from fairlap.api.noise_status import Noise
from fairlap.api.steering import Steers
from fairlap.api.sweep_status import SweepResult

Phase = Literal[
    "Pending", "Queued", "Provisioning", "SmokeTesting", "Racing", "Collecting", "CleaningUp", "Succeeded", "Failed"
]
Stage = Literal["Provisioning", "Starting", "Running", "Cleaning"]
Time = Annotated[str, Field(max_length=40)]
MOST_TASKS, MOST_PIPELINES, MOST_INDICES = 500, 100, 100
MOST_PERCENTILES, MOST_SETTINGS = 20, 200
MOST_STATUSES, MOST_HTTP_HOSTS = 50, 100


class Condition(Answer):
    """One observation in the form all of Kubernetes uses."""

    type: Annotated[str, Field(max_length=63), Steers()]
    """Accepted, ClusterReady, ClusterKept, TargetChecked, SettingsVerified, RacesValid, Complete, Failed, or a remark
    on the races."""
    status: Annotated[Literal["True", "False", "Unknown"], Steers()]
    """Whether the condition holds."""
    reason: Annotated[str, Field(max_length=63), Steers()]
    """Why, as one word from a closed list."""
    message: Text = ""
    """Why, as a sentence."""
    last_transition_time: Time
    """When status last changed."""
    observed_generation: int | None = None
    """The generation of the spec this was said of."""


Conditions = Annotated[
    list[Condition],
    Field(max_length=20, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
]
"""Those of one object, each of its type once."""


class Step(Answer):
    """Where the Benchmark is: one of probe, check, smoke, race-1 … race-N, and how far in it."""

    name: Annotated[str, Field(max_length=20), Steers()]
    """probe, check, smoke or race-K."""
    stage: Annotated[Stage, Steers()]
    """Provisioning (a cluster is built), Starting (the Job may be created), Running (its uid is known), Cleaning."""
    since: Annotated[Time, Steers()]
    """When the stage began; its deadlines count from here, but that of a race from jobStartedAt."""
    job_started: bool = False
    """The load generator's container has been seen running, or its progress."""
    job_started_at: Time | None = None
    """When that was first seen: timeouts.race counts from here, so that waiting for a machine is no part of it."""
    job_uid: Annotated[str | None, Field(alias="jobUID", max_length=64), Steers()] = None
    """The one Job that runs this step; if it vanishes the step has failed, it never runs twice."""
    meets_at: Annotated[str, Field(max_length=60)] = ""
    """Where the races of a block that are raced in turn meet: the address that the one which keeps the table has."""
    elasticsearch_on: Annotated[list[Text], AtMost(50)] = []
    """Its machines, said with the address: the others are bound to them."""
    load_generator_on: Text = ""
    """That of its load generator."""
    gives_way: Annotated[bool, Steers()] = False
    """No machine had room for its pods while others waited, or others have its place: it is cleaned up, and the
    Benchmark lines up again."""
    lacks_processors: Annotated[Text, Steers()] = ""
    """Kubernetes' words for whole processors that no machine had: it gives way for this, and its nodes share then."""


class HttpTaskResult(Answer):
    """How the measured requests of one task over HTTP were answered, all races together."""

    status_shares: Annotated[dict[str, float], AtMost(MOST_STATUSES)] = {}
    """Share of each status, 0 to 1; "0" is no answer: a timeout, a refused or a broken connection."""
    timeouts: int = 0
    """Requests that were given up after race.load.timeout."""
    dropped: int | None = None
    """Planned requests that were not sent, since no client was free; absent without a target throughput."""
    connections_opened: int | None = None
    """Requests for which a connection was opened first: that is in their service time; absent where it is unknown."""
    requests_by_host: Annotated[dict[str, int], AtMost(MOST_HTTP_HOSTS)] = {}
    """Requests that each host was sent."""
    latency_left_out: Text = ""
    """Why there is no latency, in the last race without it."""


class PlannedTask(Answer):
    """A task that a race is to run."""

    name: Text = ""
    """Its name in the challenge."""
    clients: int = 1
    """Concurrent clients."""
    parallel: int | None = None
    """Which of the schedule's parallel elements it is part of, from 1; absent for one that runs by itself."""
    reported: bool = True
    """Whether there will be numbers of it: Rally reports none of administrative tasks, nor of those that say so."""


class TaskResult(Answer):
    """The numbers of one task of the track."""

    task: Text
    """Name of the task in the challenge."""
    operation: Text = ""
    """The operation it runs."""
    type: Text = ""
    """The operation's type."""
    unit: Text = ""
    """Unit of the throughput, for example docs/s."""
    clients: int | None = None
    """Concurrent clients."""
    target_throughput: float | None = None
    """The rate asked for; absent means as fast as possible."""
    schedule_share: float | None = None
    """Requests sent against requests planned, 0 to 1, the worst race; below 0.98 see ScheduleNotKept."""
    slowest_client_share: float | None = None
    """The same of the slowest client alone; below 0.9 see ScheduleNotKept."""
    backlog_millis: float | None = None
    """How long measured requests waited on average for what the warm-up had left, the worst race; absent where fewer
    than a tenth of them did."""
    samples: int
    """Measured requests after warm-up, all races together."""
    throughput: Figure | None = None
    """Rally's median throughput. It is a running average since the start of the task, warm-up included. Absent of a
    race in turn (design.kind: Duet), whose rate is that of all races together, as is overallThroughput."""
    window_throughput: Figure | None = None
    """Median throughput of the one-second windows in which all clients measured, from the raw samples."""
    windows: int | None = None
    """Number of these windows, the race with the fewest."""
    window_requests: int | None = None
    """Requests in all of these windows together, the race with the fewest."""
    windows_left_out: Text = ""
    """Why windowThroughput is left out, in the last race without it: with fewer than ten requests in a window it would
    tell of how requests fall into windows."""
    warmup_seconds: float | None = None
    """From its first request to the first that was measured, the race with the shortest; absent without a warm-up."""
    settled: bool | None = None
    """Whether throughput, service time and, with a target throughput, latency stayed the same while it was measured, in
    each race; in turn the service time alone. Absent where it cannot be told."""
    unsettled_seconds: float | None = None
    """From the first measured moment until nothing changed any more, the worst race; of a race that never settled, all
    of its measured time."""
    settled_left_out: Text = ""
    """Why settled is left out, in the last race of which it cannot be told."""
    overall_throughput: Figure | None = None
    """Units done per second of the measured time, from the raw samples, the time in which some clients had ended
    included. By this Comparisons compare."""
    support: Annotated[dict[str, int], AtMost(MOST_PERCENTILES)] = {}
    """Requests at or beyond each percentile, the race with the fewest: a p99 of a hundred requests stands on one."""
    service_time_millis: Annotated[dict[str, Figure], AtMost(MOST_PERCENTILES)] = {}
    """Milliseconds from request to response, by percentile; a percentile is absent without enough samples, and stands
    on those in support."""
    latency_millis: Annotated[dict[str, Figure], AtMost(MOST_PERCENTILES)] = {}
    """Milliseconds from the scheduled start to the response, by percentile. None in turn (design.kind: Duet), where the
    time of other races is in it."""
    error_rate: float
    """Failed requests over all requests, warm-up included, the worst race."""
    http: HttpTaskResult | None = None
    """Only over HTTP."""


class PipelineResult(Answer):
    """What one ingest pipeline did during a race."""

    name: Text
    """The pipeline's id."""
    count: Figure
    """Documents that went through it."""
    time_millis: Figure
    """Milliseconds spent in it, all nodes together."""
    failed: int
    """Documents that failed in it, all races together."""


class StoreResult(Answer):
    """What the data took at the end of a race, replicas included."""

    store_bytes: Figure | None = None
    """Bytes of the segments that searches see; on disk, merges and the translog may take more for a while."""
    segments: Figure | None = None
    """Lucene segments of the primaries."""


class GcResult(Answer):
    """Garbage collection during a race, all nodes together."""

    young_count: Figure | None = None
    """Young collections."""
    young_millis: Figure | None = None
    """Milliseconds in young collections."""
    old_count: Figure | None = None
    """Old collections."""
    old_millis: Figure | None = None
    """Milliseconds in old collections."""


class ProbeResult(Answer):
    """What one condition on the system under test (race.probes) was in the races that count."""

    name: Text
    """The probe's name."""
    value: Figure
    """The races' own: of what the counters grew by, all hosts together; of a plain value that after the race, of each
    host."""
    before: Figure | None = None
    """As each host said it before each race; absent where nothing was counted yet."""
    after: Figure | None = None
    """As each host said it after each race."""
    hosts: int
    """Hosts that were asked, the race with the fewest."""


class Results(Answer):
    """Numbers of the valid races: medians with their spread."""

    tasks: Annotated[list[TaskResult], AtMost(MOST_TASKS)] = []
    """One entry a task, in the order of the schedule."""
    ingest_pipelines: Annotated[list[PipelineResult], AtMost(MOST_PIPELINES)] = []
    """One entry a pipeline that processed documents."""
    sweep: SweepResult | None = None
    """The curve over the steps of race.sweep, or a row for each probe of race.capacity; absent without."""
    capacity: CapacityResult | None = None
    """The highest rate at which the objective of race.capacity is kept; absent without one."""
    store: StoreResult = StoreResult()
    """Size of the data."""
    gc: GcResult = GcResult()
    """Garbage collection."""
    probes: Annotated[list[ProbeResult], AtMost(20)] = []
    """One entry for each of race.probes."""


MOST_REMARKS = 42
"""No fewer than there are reasons for remarks: of each there is at least one."""


class RemarkStatus(Answer):
    """What a reader must know of a race though it does not void it, for example a saturated load generator."""

    reason: Annotated[str, Field(max_length=63)]
    """What it is, as one word from the closed list of reasons."""
    message: Text
    """What it is, as a sentence."""


class RaceStatus(Answer):
    """One race (or the smoke test): when, whether it counts, and where its whole record is."""

    name: Annotated[str, Field(max_length=20), Steers()]
    """smoke or race-K."""
    id: Annotated[Text, Steers()]
    """Rally's race id."""
    started_at: Time | None = None
    """When the runner started."""
    first_request_at: Time | None = None
    """When Rally's first task started."""
    rally_exited_at: Time | None = None
    """When Rally ended."""
    seconds: float | None = None
    """How long the runner took."""
    valid: Annotated[bool, Steers()]
    """Whether every truth check passed."""
    reason: Annotated[str, Field(max_length=63)] = ""
    """Why it is not valid."""
    message: Text = ""
    """Why it is not valid, in the words of Rally, Elasticsearch or Kubernetes."""
    remarks: Annotated[list[RemarkStatus], AtMost(MOST_REMARKS)] = []
    """What a reader must know though it does not void the race; at least one of each reason that there is, and the
    last one of a reason says how many more were left out."""
    elasticsearch_on: Annotated[list[Text], AtMost(50)] = []
    """Machines that the Elasticsearch pods ran on."""
    load_generator_on: Text = ""
    """Machine that Rally ran on."""
    page_cache: Text = ""
    """Whether the page cache of Elasticsearch's machines was dropped before the race; empty without a helper."""
    record: Text = ""
    """ConfigMap with the whole record, compressed: record.json.gz, resources.json.gz, race.json.gz, rally.log.gz."""


class NodeCopies(Answer):
    """Nodes that each had the same number of copies of an index's shards."""

    nodes: int
    """Number of these nodes."""
    primaries: int
    """Primary shards on each of them."""
    replicas: int
    """Replicas on each of them."""


class IndexEvidence(Answer):
    """One index as Elasticsearch described it after the race."""

    name: Text
    """Name of the index."""
    shards: int | None = None
    """Primary shards."""
    replicas: int | None = None
    """Copies of each primary."""
    codec: Text = ""
    """Effective codec."""
    algorithm: Text = ""
    """What the codec is in this version: LZ4, DEFLATE or ZSTD."""
    settings: Annotated[dict[str, Text], AtMost(MOST_SETTINGS)] = {}
    """The other settings that were asked for, as they are in effect, defaults included."""
    health: Text = ""
    """green, yellow or red at the end of the race."""
    placement: Text = ""
    """Where the copies of its shards were at the end of the race: shard number, p(rimary) or r(eplica), node. A long
    one is cut; races are compared by copiesPerNode."""
    copies_per_node: Annotated[list[NodeCopies], AtMost(20)] = []
    """How many nodes had how many of these copies, the fullest first, whatever the nodes' names; a copy that was on no
    node is not counted. Empty when not known."""
    documents: int | None = None
    """Documents counted."""
    primary_bytes: int | None = None
    """Bytes of the primaries' segments that searches see."""
    store_bytes: int | None = None
    """The same, replicas included."""


class NodeData(Answer):
    """The memory of one Elasticsearch node against the data it held at the end of the race."""

    node: Text
    """Name of the node."""
    memory_bytes: int | None = None
    """Memory limit of its container, or the machine's memory where there is no limit."""
    heap_bytes: int | None = None
    """JVM heap."""
    primaries: int | None = None
    """Primary shards of the track on it; absent when not known."""
    replicas: int | None = None
    """Replicas of the track on it; absent when not known."""
    data_bytes: int | None = None
    """Bytes of the track's shards on it, primaries and replicas."""
    memory_to_data: float | None = None
    """(memoryBytes - heapBytes) / dataBytes. Below 1 the data cannot all be in the page cache; the memory that the JVM
    takes besides its heap makes the true share smaller still."""


class Environment(Answer):
    """What really ran, as read from the running system."""

    version: Text = ""
    """Version that Elasticsearch reported."""
    build_hash: Text = ""
    """Build hash that Elasticsearch reported."""
    lucene_version: Text = ""
    """Version of Lucene."""
    java: Text = ""
    """Version and vendor of the Java that really ran."""
    jvm: Annotated[list[Text], AtMost(10)] = []
    """Name and build of the JVM, each once."""
    jvm_flags: Annotated[list[Text], AtMost(200)] = []
    """The JVM's -X flags on the first node, among them Xms, Xmx and the garbage collector; system properties are in
    the record."""
    heap_bytes: int | None = None
    """JVM heap of a node."""
    gc: Annotated[list[Text], AtMost(10)] = []
    """Garbage collectors."""
    nodes: int = 0
    """Number of Elasticsearch nodes."""
    plugins: Annotated[list[Text], AtMost(50)] = []
    """Plugins with their versions; the release's own modules, and all settings in effect, are in the record."""
    images: Annotated[list[Text], AtMost(20)] = []
    """Images of the Elasticsearch pods by digest."""
    qos_class: Text = ""
    """Quality-of-service class of the Elasticsearch pods: Guaranteed where all requests are limits."""
    rally_version: Text = ""
    """Version of Rally."""
    rally_image: Text = ""
    """Image of the load generator by digest."""
    operator: Text = ""
    """Version of the operator that judged the race."""
    k6_version: Text = ""
    """Version of k6, which sends the requests of a race over HTTP."""
    http_hosts: Annotated[list[Text], AtMost(MOST_HTTP_HOSTS)] = []
    """Each host of an HTTP target, with what its header Server says."""
    rally_poll_intervals: Annotated[dict[str, float], AtMost(50)] = {}
    """Rally's waiting times that the runner shortens, in seconds; none is inside a measured interval."""
    track_digest: Text = ""
    """SHA-256 over all files of the track as it was run, corpora included."""
    track_repository: Text = ""
    """Address of the repository that the track came from."""
    track_revision: Text = ""
    """Commit of it."""
    corpora: Annotated[list[Text], AtMost(100)] = []
    """Documents that did not come with the track: corpus/file, bytes, SHA-256, and whether they were in the cache."""
    track_params: Text = ""
    """Parameters the track was given, as JSON."""
    storage: Annotated[list[StorageEvidence], AtMost(50)] = []
    """What really held each node's data."""
    indices: Annotated[list[IndexEvidence], AtMost(MOST_INDICES)] = []
    """The track's indices."""
    node_data: Annotated[list[NodeData], AtMost(50)] = []
    """Memory against data, node by node."""
    machines: Annotated[list[MachineEvidence], AtMost(51)] = []
    """What each node, and last the load generator, ran on."""
    differences: Annotated[list[Text], AtMost(100)] = []
    """In what later races ran differently; all else here is that of the first race that counts."""


class NodeProcessors(Answer):
    """What each Elasticsearch node is given where the manifest names no CPU."""

    cpu: Annotated[Text, Steers()] = ""
    """Processors that its pod requests."""
    whole: Annotated[bool, Steers()] = False
    """Whether they are its limit, too, so that a kubelet with the static CPU manager policy gives it whole ones."""
    refused: Annotated[bool, Steers()] = False
    """Whether whole ones had been asked for first, and no machine had them to spare."""
    message: Text = ""
    """Why so."""


class TargetStatus(Answer):
    """The existing cluster as it described itself before the first race."""

    cluster_name: Text = ""
    """Its name."""
    cluster_uuid: Annotated[str, Field(alias="clusterUUID", max_length=64)] = ""
    """Its own id."""
    build_hash: Text = ""
    """Build hash that it reported."""
    nodes: int = 0
    """Number of its nodes."""
    rally: Annotated[str, Field(max_length=20), Steers()]
    """Line of Rally that speaks to it, for example 2.13."""


class BenchmarkStatus(Answer):
    """Progress, verdict, numbers and evidence."""

    phase: Annotated[Phase | None, Steers()] = None
    """Where the Benchmark is."""
    progress: Text = ""
    """How far it is, for people."""
    reason: Annotated[str, Field(max_length=63), Steers()] = ""
    """Why it failed, from the closed list of reasons."""
    message: Annotated[Text, Steers()] = ""
    """Why it failed, as a sentence with the words of the part that failed."""
    field: Annotated[str, Field(max_length=63)] = ""
    """What of its spec it failed for, where a track check or a race says so, for example requireTasks; the message
    names it, too."""
    observed_generation: int | None = None
    """Generation of the spec that this status speaks of."""
    start_time: Annotated[Time | None, Steers()] = None
    """When the operator first saw it."""
    admitted_time: Annotated[Time | None, Steers()] = None
    """When it left the queue."""
    queued_time: Annotated[Time | None, Steers()] = None
    """When it lined up again, behind those that waited then, since no machine had room for it, or others had got its
    place; absent once it has a place again."""
    gave_way: Annotated[int, Steers()] = 0
    """How often its current step has given its place up to others."""
    completion_time: Time | None = None
    """When it ended."""
    conditions: Conditions = []
    """Observations for kubectl wait and for gates."""
    step: Step | None = None
    """Where the operator is; absent once it ended."""
    finished_step: Annotated[str | None, Field(max_length=20), Steers()] = None
    """The last step that went well and was cleaned up."""
    failing: Annotated[bool, Steers()] = False
    """A step has failed: the rest is cleaning up."""
    version: Text = ""
    """Version of Elasticsearch: the one that was asked for, or the target's own."""
    target: TargetStatus | None = None
    """The cluster that existed already, once it was looked at."""
    track: Text = ""
    """Name of the track, wherever it comes from."""
    track_revision: Annotated[Text, Steers()] = ""
    """Commit that the track's revision stood for when it was checked; every race runs this one."""
    challenge: Text = ""
    """Challenge that is raced."""
    tasks: Annotated[list[PlannedTask], AtMost(MOST_TASKS)] = []
    """Tasks that a race runs, in their order, as the track's check found them."""
    expected_documents: int | None = None
    """Documents that a race is to leave, by race.expect or else by the track; absent when neither says how many."""
    node_processors: NodeProcessors | None = None
    """What each Elasticsearch node is given; absent where the manifest names a CPU."""
    lacking_memory: Text = ""
    """What asks for more memory than the machines had when its first cluster was to be built, and what to write: it
    waits for a machine then. Absent once that cluster was there."""
    node_settings: Annotated[dict[str, Text], AtMost(MOST_SETTINGS), Steers()] = {}
    """Index settings that the nodes are given in elasticsearch.yml, because the track offers no way to set them."""
    track_services: Annotated[list[Text], AtMost(10), Steers()] = []
    """Services of Elasticsearch that the track may use and that are left on therefore: geoip, ml, watcher."""
    races_done: Text = ""
    """Valid races of those asked for."""
    races: Annotated[list[RaceStatus], AtMost(60)] = []
    """Each race that ran."""
    environment: Environment | None = None
    """What really ran."""
    results: Results | None = None
    """Numbers of the valid races."""
    noise: Noise | None = None
    """How small a difference of these numbers could be seen here."""
    resources: Annotated[list[MachineUse], AtMost(60)] = []
    """What the machines did meanwhile: one line for each Elasticsearch node and one for the load generator."""
