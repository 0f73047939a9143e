"""Why a race or a Benchmark did not end well: a closed list, each with one sentence of cause and one of cure."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The only reasons a record, a condition or an event may carry."""

    # What was asked for cannot be done.
    INVALID_SPEC = "InvalidSpec"
    UNKNOWN_TRACK = "UnknownTrack"
    UNKNOWN_CHALLENGE = "UnknownChallenge"
    TRACK_INVALID = "TrackInvalid"
    TRACK_NOT_FOUND = "TrackNotFound"
    TRACK_FETCH_FAILED = "TrackFetchFailed"
    TEMPLATE_ERROR = "TemplateError"
    UNKNOWN_PARAMETER = "UnknownParameter"
    PARAMETER_MISSING = "ParameterMissing"
    CORPUS_MISSING = "CorpusMissing"
    CORPUS_COUNT_MISMATCH = "CorpusCountMismatch"
    CLIENT_TOO_NEW = "ClientTooNew"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, not a password
    CORPORA_CACHE = "CorporaCacheUnusable"
    VOLUME_CLAIM_MISSING = "VolumeClaimMissing"

    # The cluster under test did not come up.
    UNSCHEDULABLE = "Unschedulable"
    IMAGE_PULL = "ImagePull"
    ELASTICSEARCH_BOOTSTRAP = "ElasticsearchBootstrap"
    EVICTED = "Evicted"
    OUT_OF_MEMORY = "OutOfMemory"
    CLUSTER_NOT_GREEN = "ClusterNotGreen"
    PROVISIONING_TIMEOUT = "ProvisioningTimeout"

    # The race did not run to its end.
    RACE_TIMEOUT = "RaceTimeout"
    RACE_STALLED = "RaceStalled"
    RACE_ABORTED = "RaceAborted"
    JOB_LOST = "JobLost"
    RECORD_MISSING = "RecordMissing"
    LOAD_GENERATOR_DIED = "LoadGeneratorDied"
    LOAD_GENERATOR_OUT_OF_MEMORY = "LoadGeneratorOutOfMemory"
    RALLY_FAILED = "RallyFailed"
    CLUSTER_UNREACHABLE = "ClusterUnreachable"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    TLS_UNTRUSTED = "TLSUntrusted"
    UNSUPPORTED_PRODUCT = "UnsupportedProduct"
    ASSERTION_FAILED = "AssertionFailed"
    REQUEST_ERRORS = "RequestErrors"
    DISK_WATERMARK = "DiskWatermark"
    CIRCUIT_BREAKER = "CircuitBreaker"

    # What was built for it did not go away.
    CLEANUP_TIMEOUT = "CleanupTimeout"

    # The race ran to its end, but its numbers mean nothing.
    NO_TASKS = "NoTasks"
    TASK_MISSING = "TaskMissing"
    WARMUP_ATE_ALL = "WarmupAteAll"
    ERROR_RATE = "ErrorRate"
    DOCUMENT_COUNT_MISMATCH = "DocumentCountMismatch"
    PIPELINE_MISSING = "PipelineMissing"
    PIPELINE_NOT_APPLIED = "PipelineNotApplied"
    SETTINGS_NOT_APPLIED = "SettingsNotApplied"
    CLUSTER_NOT_FRESH = "ClusterNotFresh"
    VERSION_MISMATCH = "VersionMismatch"
    JAVA_MISMATCH = "JavaMismatch"
    ELASTICSEARCH_RESTARTED = "ElasticsearchRestarted"
    SAMPLES_DROPPED = "SamplesDropped"
    TRACK_CHANGED = "TrackChanged"

    # Said of a race that counts: its numbers are true, but a reader must know this.
    LOAD_GENERATOR_SHARED = "LoadGeneratorShared"
    LOAD_GENERATOR_SATURATED = "LoadGeneratorSaturated"
    SCHEDULE_NOT_KEPT = "ScheduleNotKept"

    @property
    def voids(self) -> bool:
        """Whether a race with this reason does not count."""
        return self not in _REMARKS

    @property
    def cause(self) -> str:
        """One sentence that says what happened."""
        return _TEXTS[self][0]

    @property
    def cure(self) -> str:
        """One sentence that says what to do about it."""
        return _TEXTS[self][1]


_REMARKS = frozenset({Reason.LOAD_GENERATOR_SHARED, Reason.LOAD_GENERATOR_SATURATED, Reason.SCHEDULE_NOT_KEPT})
_TEXTS: dict[Reason, tuple[str, str]] = {
    Reason.INVALID_SPEC: (
        "The specification is not one that can be run.",
        "Correct the field that the message names.",
    ),
    Reason.UNKNOWN_TRACK: (
        "There is no builtin track of that name.",
        "Use one of the tracks that the message lists, or give your own in a ConfigMap.",
    ),
    Reason.UNKNOWN_CHALLENGE: (
        "The track has no challenge of that name.",
        "Use one of the challenges that the message lists, or leave the field out for the track's default.",
    ),
    Reason.TRACK_INVALID: (
        "The track is not valid JSON, or not a valid Rally track.",
        "Correct the file and line that the message names; `esrally render-track` shows the same error.",
    ),
    Reason.TRACK_NOT_FOUND: (
        "There is no track.json where the track should be.",
        "Check what race.track names: the ConfigMap and its key track.json, or path and revision in the repository, "
        "or the path in the volume.",
    ),
    Reason.TRACK_FETCH_FAILED: (
        "The track's repository could not be fetched.",
        "Read git's words in the message: check the address, the way there from the pod, and credentialsSecret.",
    ),
    Reason.TEMPLATE_ERROR: (
        "A Jinja2 template of the track could not be rendered.",
        "Correct the template; put Mustache braces, as in ingest pipelines, between {% raw %} and {% endraw %}.",
    ),
    Reason.UNKNOWN_PARAMETER: (
        "A track parameter was given that the track does not use.",
        "Remove the parameter or correct its spelling; the message lists the parameters that the track has.",
    ),
    Reason.PARAMETER_MISSING: (
        "An operation of the track lacks a parameter that it must have.",
        "Add the parameter that the message names to the operation in the track.",
    ),
    Reason.CORPUS_MISSING: (
        "The documents that the track indexes are not there and could not be downloaded.",
        "Put the file that the message names beside the track, or make its address reachable from the pod; the smoke "
        "test needs the '-1k' file too.",
    ),
    Reason.CORPUS_COUNT_MISMATCH: (
        "A corpus file does not have as many documents as the track says.",
        "Set the track's document-count to the real number, or restore the file.",
    ),
    Reason.CLIENT_TOO_NEW: (
        "This Elasticsearch is too old for the Rally that was to race against it, or for every one installed here.",
        "Add the race image of an older Rally line to the chart's value raceImages, as far as there is one.",
    ),
    Reason.SECRET_MISSING: (
        "A Secret that the Benchmark names does not exist, or lacks a key.",
        "Create it in the Benchmark's namespace with the keys that the message names.",
    ),
    Reason.CORPORA_CACHE: (
        "The documents could not be kept: there is no room for them, or the volume cannot be written.",
        "Raise race.corpora.maxSize or the size of the volume, set race.corpora where there is none, and let user 1000 "
        "write to the volume.",
    ),
    Reason.VOLUME_CLAIM_MISSING: (
        "A volume claim that the race needs does not exist.",
        "Create the claim that the message names in the Benchmark's namespace.",
    ),
    Reason.UNSCHEDULABLE: (
        "Kubernetes found no node for a pod.",
        "Lower the resources, or free or add a node that fits the pod's resources, node selector and tolerations.",
    ),
    Reason.IMAGE_PULL: (
        "An image could not be pulled.",
        "Check the image's name, the registry's credentials and the node's way to the registry.",
    ),
    Reason.ELASTICSEARCH_BOOTSTRAP: (
        "Elasticsearch ended while it started.",
        "Read the log lines in the message; most often a setting is unknown or memory is short.",
    ),
    Reason.EVICTED: (
        "Kubernetes evicted a pod, because it used more of its node than it may or the node ran short.",
        "Raise the limit that the message names, for example storage.ephemeral.sizeLimit, or free the node.",
    ),
    Reason.OUT_OF_MEMORY: (
        "Elasticsearch was killed because its container or its heap ran out of memory.",
        "Raise elasticsearch.resources.limits.memory to at least twice the heap; if the heap is exhausted, raise that.",
    ),
    Reason.CLUSTER_NOT_GREEN: (
        "The cluster did not become green.",
        "Use fewer replicas than there are data nodes, and check disk space and allocation settings.",
    ),
    Reason.PROVISIONING_TIMEOUT: (
        "The cluster, the load generator's pod or the track check was not ready before the deadline "
        "timeouts.provisioning.",
        "Look at what the message says was missing, or raise the deadline.",
    ),
    Reason.RACE_TIMEOUT: (
        "The race took longer than timeouts.race.",
        "Raise the deadline or make the race smaller.",
    ),
    Reason.RACE_STALLED: (
        "The race stood still: no progress, no sample and no work in Elasticsearch for a long time.",
        "Look at the task in the message: a health check that can never become green (too many replicas, full disk) "
        "is the most common one.",
    ),
    Reason.RACE_ABORTED: (
        "The race was told to stop before its end.",
        "Nothing is wrong with the race: run it again when the node is not being drained.",
    ),
    Reason.JOB_LOST: (
        "The race's Job or pod disappeared before it had written a record.",
        "Look for an eviction, a node that went away, or somebody who deleted it, and run the Benchmark again.",
    ),
    Reason.RECORD_MISSING: (
        "The race's pod ended without writing a record, or what a race is judged by did not fit into one.",
        "Read the pod's log: the runner's permission to patch its ConfigMap is the first thing to check; where the "
        "message says that the record is too large, use fewer nodes, indices or tasks.",
    ),
    Reason.LOAD_GENERATOR_DIED: (
        "A process of the load generator ended unexpectedly.",
        "Give the load generator more memory and read Rally's log in the record.",
    ),
    Reason.LOAD_GENERATOR_OUT_OF_MEMORY: (
        "The load generator was killed because it ran out of memory.",
        "Raise its memory limit (about 200 MiB plus 6 KiB for each request of the race), or make fewer requests.",
    ),
    Reason.RALLY_FAILED: (
        "Rally ended with an error that has no reason of its own.",
        "Read Rally's own words in the message and its log in the record.",
    ),
    Reason.CLUSTER_UNREACHABLE: (
        "Rally could not connect to Elasticsearch.",
        "Check that the pods are ready and that no network policy stands between them.",
    ),
    Reason.AUTHENTICATION_FAILED: (
        "Elasticsearch refused the user or password.",
        "Check the secret that holds the password of the user.",
    ),
    Reason.TLS_UNTRUSTED: (
        "The certificate of Elasticsearch could not be verified.",
        "Check that the CA belongs to this cluster and that the certificate covers the host name.",
    ),
    Reason.UNSUPPORTED_PRODUCT: (
        "The server that answered is not an Elasticsearch that Rally can race against.",
        "Race against Elasticsearch itself, without a proxy that strips the X-elastic-product header.",
    ),
    Reason.ASSERTION_FAILED: (
        "An assertion of the track did not hold.",
        "Compare the expected and the real value in the message: data or query are not what the track expects.",
    ),
    Reason.REQUEST_ERRORS: (
        "A request of the race was answered with an error, and the race was ended there.",
        "Read the answer of Elasticsearch in the message.",
    ),
    Reason.DISK_WATERMARK: (
        "The disk of Elasticsearch is too full for it to accept or allocate data.",
        "Make the volume larger than three times the corpus, or the corpus smaller, or, where volumes share a "
        "machine's disk, free space on it: Elasticsearch places no shard on a disk that is 90 % full.",
    ),
    Reason.CIRCUIT_BREAKER: (
        "Elasticsearch refused a request because its heap would not have sufficed.",
        "Raise the heap, or lower bulk size or the number of clients.",
    ),
    Reason.CLEANUP_TIMEOUT: (
        "What was built for a race was still there ten minutes after its end.",
        "Look at what holds the objects that the message names (a finalizer, a volume that is not let go, a node that "
        "is not ready), and delete what is left before you run the Benchmark again.",
    ),
    Reason.NO_TASKS: (
        "The race had no task to run.",
        "Correct includeTasks or excludeTasks: together they leave nothing of the challenge.",
    ),
    Reason.TASK_MISSING: (
        "A task that was to run has no numbers.",
        "Read Rally's log for the task that the message names.",
    ),
    Reason.WARMUP_ATE_ALL: (
        "A task ended during its warm-up, so that nothing was measured.",
        "Shorten the warm-up or give the task more work.",
    ),
    Reason.ERROR_RATE: (
        "Requests failed, measured or during warm-up; failing requests are fast and make numbers meaningless.",
        "Read the first error in the message and remove its cause.",
    ),
    Reason.DOCUMENT_COUNT_MISMATCH: (
        "Elasticsearch does not hold as many documents as the race was to index.",
        "Look for rejected documents, duplicate ids or a pipeline that drops documents.",
    ),
    Reason.PIPELINE_MISSING: (
        "The ingest pipeline that the track uses does not exist in Elasticsearch.",
        "Create it in the schedule before the bulk that uses it.",
    ),
    Reason.PIPELINE_NOT_APPLIED: (
        "The ingest pipeline did not process every document that was indexed.",
        "Check the bulk's pipeline parameter and the pipeline's failures in the message.",
    ),
    Reason.SETTINGS_NOT_APPLIED: (
        "Elasticsearch ran with another index setting, number of nodes, heap or JVM option than was asked for.",
        "The message names both; let the track take index settings as parameters, or ask for what it sets.",
    ),
    Reason.CLUSTER_NOT_FRESH: (
        "The cluster held user data or had indexed before the race, or what the track makes was there already.",
        "Let nothing else write to the cluster; every race needs one of its own; on an existing cluster remove what "
        "the message names, or allow it with target.overwrite.",
    ),
    Reason.VERSION_MISMATCH: (
        "The Elasticsearch that ran is not the version that was asked for.",
        "Check elasticsearch.image: its content must match elasticsearch.version.",
    ),
    Reason.JAVA_MISMATCH: (
        "The Java that ran is not the version that was asked for.",
        "Check the JDK image that is configured for this Java version.",
    ),
    Reason.ELASTICSEARCH_RESTARTED: (
        "An Elasticsearch node restarted or disappeared during the race.",
        "Look for out-of-memory kills, evictions or failing probes of the pod; raise its memory.",
    ),
    Reason.SAMPLES_DROPPED: (
        "The load generator could not keep all samples, so its numbers are incomplete.",
        "Use fewer clients, throttle the task, or give the load generator more CPU.",
    ),
    Reason.TRACK_CHANGED: (
        "The track was changed between the races of one Benchmark, so that they did not measure the same.",
        "Leave the track's ConfigMap alone while a Benchmark runs; create another Benchmark for another track.",
    ),
    Reason.LOAD_GENERATOR_SHARED: (
        "Elasticsearch and the load generator ran on the same machine and took resources from each other.",
        "Add a machine; the operator keeps the two apart as soon as there is room.",
    ),
    Reason.LOAD_GENERATOR_SATURATED: (
        "The load generator had no CPU left or fell behind its own schedule, so that it measured itself.",
        "Raise race.resources.limits.cpu, use fewer clients, or lower the target throughput.",
    ),
    Reason.SCHEDULE_NOT_KEPT: (
        "A task reached less than 98 % of its target throughput, so its latencies contain a growing wait.",
        "Lower the rate or use more clients; or take it as the answer: this is more than the cluster can do.",
    ),
}
