"""Why a race or a Benchmark did not end well, and what is remarked on one that did: a closed list.

All that a reason has stands here: its word, its texts, how it shows, and the test that produces it. From it
docs/reasons.md is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, Self

_API: Final = "tests/api/test_failures.py"
_LIFECYCLE: Final = "tests/api/test_lifecycle.py"
_STEADY: Final = "tests/race/test_steady_cluster.py"
_DOWN_SAMPLING: Final = "tests/race/test_down_sampling.py"
_E2E: Final = "tests/e2e/test_failures.py"
_OVERDUE: Final = "tests/e2e/test_overdue.py"
_SOURCES: Final = "tests/e2e/test_track_sources.py"
_COUNTS: Final = "tests/race/test_document_counts.py"
_RACE: Final = "tests/race/test_reasons.py"
_ACCEPTED: Final = "tests/race/test_accepted_errors.py"
_ANSWERS: Final = "tests/race/test_answers.py"
_METRICS_STORE: Final = "tests/race/test_metrics_store.py"
_PROBES: Final = "tests/race/test_probes.py"
_MEASUREMENTS: Final = "tests/race/test_measurements.py"
_HTTP_RACES: Final = "tests/race/test_http_races.py"
_UNFORESEEN: Final = "tests/api/test_unforeseen.py"
_TURNS: Final = "tests/race/test_taking_turns.py"
_TRACKS: Final = "tests/rally/test_broken_tracks.py"
Fault = Literal["spec", "cluster", "race", "none"]
"""whose fault it is that a race ended: of what is written, so that it ends alike each time; of the machines or the
cluster that it was on, which may be others the next time; of the race itself, or nobody can tell; of none"""


@dataclass(frozen=True)
class _ReasonEntry:
    word: str
    fault: Fault
    cause: str
    cure: str
    recognized: str
    example: str
    test: str


class Reason(StrEnum):
    """The only reasons a record, a condition, a remark or an event may carry."""

    cause: str
    """one sentence that says what happened"""
    cure: str
    """one sentence that says what to do about it"""
    recognized: str
    """one sentence that says how it shows"""
    example: str
    """a message that a user sees; … stands for any text and every number for any number"""
    test: str
    """the file whose tests produce it, and compare what they produce with the example"""
    fault: Fault
    """whose fault it is; "none" of a remark, which ends no race"""
    remark: bool
    """whether it is said of a race that counts: its numbers are true, but a reader must know this"""

    def __new__(cls, entry: _ReasonEntry) -> Self:
        """Make the word of the entry a member that has its texts."""
        member = str.__new__(cls, entry.word)
        member._value_ = entry.word
        member.cause, member.cure = entry.cause, entry.cure
        member.recognized, member.example, member.test = entry.recognized, entry.example, entry.test
        member.fault, member.remark = entry.fault, entry.fault == "none"
        return member

    # What was asked for cannot be done.
    INVALID_SPEC = _ReasonEntry(
        "InvalidSpec",
        fault="spec",
        cause="The specification is not one that can be run.",
        cure="Correct the field that the message names.",
        recognized=(
            "The operator's checks of the spec before anything is created; an object that the API server or ECK "
            "refuses."
        ),
        example=(
            "elasticsearch.java is 24, but this installation has JDK images for: 17, 21; write one of these, leave "
            "java out for the JDK of the image, or add an image to the chart's value jdkImages"
        ),
        test=_API,
    )
    UNKNOWN_TRACK = _ReasonEntry(
        "UnknownTrack",
        fault="spec",
        cause="There is no builtin track of that name.",
        cure="Use one of the tracks that the message lists, or give your own in a ConfigMap.",
        recognized="The name is not among the tracks that ship with the operator.",
        example="race.track.builtin geonamez does not exist; the builtin tracks are: …",
        test=_API,
    )
    UNKNOWN_CHALLENGE = _ReasonEntry(
        "UnknownChallenge",
        fault="spec",
        cause="The track has no challenge of that name.",
        cure="Use one of the challenges that the message lists, or leave the field out for the track's default.",
        recognized="Rally's loader, or the operator for a builtin track: no challenge of that name.",
        example=(
            "race.challenge nope does not exist in track log_ingest; it has: default, quick, high-concurrency, ramp-up"
        ),
        test=_API,
    )
    TRACK_INVALID = _ReasonEntry(
        "TrackInvalid",
        fault="race",  # a package of the track's own code that was not to be had ends so, too
        cause="The track is not valid JSON, or not a valid Rally track.",
        cure="Correct the file and line that the message names; `esrally render-track` shows the same error.",
        recognized="The track is rendered and loaded by Rally before any cluster is built; its JSON or schema error.",
        example=(
            "track.json line 28: track.json is not JSON once it is rendered: Expecting value. A variable without a "
            'value renders as nothing: write {{ name | default(VALUE) }}. The line: "bulk-size": {{ bulk_size }},'
        ),
        test=_TRACKS,
    )
    REQUESTS_INVALID = _ReasonEntry(
        "RequestsInvalid",
        fault="race",
        cause="The file of requests is not there, or has a line that cannot be replayed.",
        cure="Correct the line that the message names: each is a path, or a JSON object with method, path and body.",
        recognized=(
            "The ConfigMap, or the file's key in it, is not there 20 seconds after the Benchmark was created; every "
            "line of the file is read by the track check, and again before each race."
        ),
        example=(
            "race.requests.configMap none does not exist: create it in namespace … with the key requests.ndjson and "
            "documents.json and index.json, if there are any"
        ),
        test=_API,
    )
    TRACK_NOT_FOUND = _ReasonEntry(
        "TrackNotFound",
        fault="race",
        cause="There is no track.json where the track should be.",
        cure=(
            "Check what race.track names: the ConfigMap and its key track.json, or path and revision in the "
            "repository, or the path in the volume."
        ),
        recognized=(
            "The ConfigMap, or the key track.json in it, is not there 20 seconds after the Benchmark was created; or "
            "the path in the repository (at that revision) or in the volume has no track.json."
        ),
        example=(
            "race.track.configMap none does not exist: create it in namespace … with the key track.json and the files "
            "that it uses"
        ),
        test=_API,
    )
    TRACK_FETCH_FAILED = _ReasonEntry(
        "TrackFetchFailed",
        fault="race",
        cause="The track's repository could not be fetched.",
        cure="Read git's words in the message: check the address, the way there from the pod, and credentialsSecret.",
        recognized="Git could not fetch the repository in four attempts; the message has git's words.",
        example="http://files:8000/tracks.git: git could not fetch main: … not found",
        test=_SOURCES,
    )
    TEMPLATE_ERROR = _ReasonEntry(
        "TemplateError",
        fault="spec",
        cause="A Jinja2 template of the track could not be rendered.",
        cure="Correct the template; put Mustache braces, as in ingest pipelines, between {% raw %} and {% endraw %}.",
        recognized="Jinja2's syntax error or undefined variable while the track is rendered.",
        example=(
            "track.json line 23: Jinja2: '_ingest' is undefined. These braces are for Elasticsearch, not for Jinja2: "
            "put them between {% raw %} and {% endraw %}, as in … The line: …"
        ),
        test=_TRACKS,
    )
    UNKNOWN_PARAMETER = _ReasonEntry(
        "UnknownParameter",
        fault="spec",
        cause="A track parameter was given that the track does not use.",
        cure="Remove the parameter or correct its spelling; the message lists the parameters that the track has.",
        recognized="Rally's check of the given parameters against those that the track uses.",
        example=(
            "params.bulk_sizes: the track has no such parameter. Did you mean bulk_size? It has: bulk_size, "
            "number_of_shards."
        ),
        test=_TRACKS,
    )
    UNKNOWN_TASK = _ReasonEntry(
        "UnknownTask",
        fault="spec",
        cause="A task that is required by its name is not among those that would be raced.",
        cure="Write a name that the message lists in the field that it names, or leave the task in.",
        recognized=(
            "The names in requireTasks and race.allow.errorRate are compared with those of the challenge, once its "
            "filters are applied."
        ),
        example=(
            "requireTasks: the challenge index-and-search has no task find-note. Did you mean find-notes? There are: "
            "create-index, put-notes-pipeline, index-notes, find-notes."
        ),
        test=_TRACKS,
    )
    PARAMETER_MISSING = _ReasonEntry(
        "ParameterMissing",
        fault="spec",
        cause="An operation of the track lacks a parameter that it must have.",
        cure="Add the parameter that the message names to the operation in the track.",
        recognized="Rally's parameter sources are asked for every task; in a race, Rally's words: mandatory parameter.",
        example=(
            "track.json line 20: task put-notes-pipeline: the operation put-pipeline lacks the parameter 'id'. Add "
            '"id" to the operation. The line: "name": "put-notes-pipeline",'
        ),
        test=_TRACKS,
    )
    CORPUS_MISSING = _ReasonEntry(
        "CorpusMissing",
        fault="race",
        cause="The documents that the track indexes are not there and could not be downloaded.",
        cure=(
            "Put the file that the message names beside the track, or make its address reachable from the pod; the "
            "smoke test needs the '-1k' file too."
        ),
        recognized=(
            "The files that the track names are looked for; in a race, Rally's words: cannot find, offline mode."
        ),
        example=(
            "track.json line 12: corpus notes: documents.json is not in the track. Put the file beside track.json, in "
            'a ConfigMap as one more key, or correct source-file. The line: "source-file": "documents.json",'
        ),
        test=_TRACKS,
    )
    CORPUS_COUNT_MISMATCH = _ReasonEntry(
        "CorpusCountMismatch",
        fault="race",
        cause="A corpus file does not have as many documents as the track says.",
        cure="Set the track's document-count to the real number, or restore the file.",
        recognized=(
            "Lines and size of each corpus file are compared with what the track says, by the check and by Rally."
        ),
        example=(
            "track.json line 12: corpus notes: documents.json has 5 lines, the track says 6. Write 5 as "
            'document-count. The line: "source-file": "documents.json",'
        ),
        test=_TRACKS,
    )
    CLIENT_TOO_NEW = _ReasonEntry(
        "ClientTooNew",
        fault="race",
        cause=(
            "This Elasticsearch is too old for the Rally that was to race against it, or for every one installed here."
        ),
        cure="Add the race image of an older Rally line to the chart's value raceImages, as far as there is one.",
        recognized=(
            "Rally refuses a server older than any it speaks to, or Elasticsearch refuses the client's media type."
        ),
        example=(
            "Elasticsearch 6.7.2 is too old for Rally 2.13.0; Rally said: …The client noticed that the server is not "
            "Elasticsearch and we do not support this unknown product…"
        ),
        test=_RACE,
    )
    SECRET_MISSING = _ReasonEntry(
        "SecretMissing",
        fault="race",
        cause="A Secret that the Benchmark names does not exist, or lacks a key.",
        cure="Create it in the Benchmark's namespace with the keys that the message names.",
        recognized="The files of a mounted Secret that the pod was to find are not there.",
        example="there is no Secret nobody with the key username in the namespace …",
        test="tests/e2e/test_existing_clusters.py",
    )
    METRICS_STORE_UNUSABLE = _ReasonEntry(
        "MetricsStoreUnusable",
        fault="race",
        cause="The Elasticsearch of race.metricsStore does not answer, or whoever asks may not write there.",
        cure="Look at what the message says: its address and CA, the Secret's content, or the privileges of that user.",
        recognized=(
            "Its answers to GET / and to the question which privileges the user has, before anything is measured."
        ),
        example="race.metricsStore: GET /: HTTP 401 security_exception: who asks with the Secret … is not accepted",
        test=_METRICS_STORE,
    )
    CORPORA_CACHE = _ReasonEntry(
        "CorporaCacheUnusable",
        fault="race",
        cause="The documents could not be kept: there is no room for them, or the volume cannot be written.",
        cure=(
            "Raise race.corpora.maxSize or the size of the volume, set race.corpora where there is none, and let user "
            "1000 write to the volume."
        ),
        recognized=(
            "Sizes and eviction on the volume of race.corpora, or the operating system's words when it is written."
        ),
        example=(
            "corpus numbers: no room in the volume of race.corpora: 31890 bytes are needed to unpack it, the bound is "
            "1024"
        ),
        test=_SOURCES,
    )
    VOLUME_CLAIM_MISSING = _ReasonEntry(
        "VolumeClaimMissing",
        fault="race",
        cause="A volume claim that the race needs does not exist.",
        cure="Create the claim that the message names in the Benchmark's namespace.",
        recognized="Kubernetes says for two minutes that it cannot place the pod, since the claim is not found.",
        example='pod noclaim-check-…: … persistentvolumeclaim "nowhere" not found…',
        test=_SOURCES,
    )

    # The cluster under test did not come up.
    UNSCHEDULABLE = _ReasonEntry(
        "Unschedulable",
        fault="race",
        cause="Kubernetes found no node for a pod.",
        cure="Lower the resources, or free or add a node that fits the pod's resources, node selector and tolerations.",
        recognized="The pod's condition PodScheduled is False for timeouts.provisioning, all tries together.",
        example="pod …-race-1-es-default-0: 0/1 nodes are available: …",
        test=_OVERDUE,
    )
    POD_REFUSED = _ReasonEntry(
        "PodRefused",
        fault="race",
        cause="Kubernetes refuses a pod that the race needs: the namespace's Pod Security level does not allow it.",
        cure=(
            "Give the namespace a level that allows it (the label pod-security.kubernetes.io/enforce), or use "
            "Elasticsearch 8.8 or later, whose pods fit restricted; docs/security.md says what older ones need."
        ),
        recognized=(
            "A pod is missing for 15 seconds, and Kubernetes' event FailedCreate about the StatefulSet or the Job says "
            "that it violates PodSecurity; a refusal that may pass, as a full quota, is only told until the deadline."
        ),
        example=(
            'StatefulSet …-race-1-es-default: FailedCreate: create Pod … failed error: pods "…" is forbidden: violates '
            'PodSecurity "restricted:latest": …'
        ),
        test="tests/api/test_pod_security.py",
    )
    IMAGE_PULL = _ReasonEntry(
        "ImagePull",
        fault="race",
        cause="An image could not be pulled.",
        cure="Check the image's name, the registry's credentials and the node's way to the registry.",
        recognized="A container waits with ErrImagePull, ImagePullBackOff or the like for two minutes.",
        example="pod noimage-race-1-es-default-0, container …: image localhost/no/such-image:1: …",
        test=_OVERDUE,
    )
    ELASTICSEARCH_BOOTSTRAP = _ReasonEntry(
        "ElasticsearchBootstrap",
        fault="race",
        cause="Elasticsearch ended while it started.",
        cure="Read the log lines in the message; most often a setting is unknown or memory is short.",
        recognized=(
            "The Elasticsearch container has ended twice; the message quotes the lines of its log that name the cause."
        ),
        example=(
            "pod badsetting-race-1-es-default-0, container elasticsearch: Error (exit code 1), started 3 times; its "
            "log ends with: …unknown setting [no.such.setting]…"
        ),
        test=_E2E,
    )
    EVICTED = _ReasonEntry(
        "Evicted",
        fault="cluster",
        cause="Kubernetes evicted a pod, because it used more of its node than it may or the node ran short.",
        cure="Raise the limit that the message names, for example storage.ephemeral.sizeLimit, or free the node.",
        recognized=(
            "The pod's status says Evicted, or a Kubernetes event does for an Elasticsearch pod that was replaced."
        ),
        example="pod …-race-1-es-default-0 was evicted: …",
        test=_OVERDUE,
    )
    OUT_OF_MEMORY = _ReasonEntry(
        "OutOfMemory",
        fault="race",
        cause="Elasticsearch was killed because its container or its heap ran out of memory.",
        cure=(
            "Raise elasticsearch.resources.limits.memory to at least twice the heap; if the heap is exhausted, raise "
            "that."
        ),
        recognized=(
            "An Elasticsearch container ended with OOMKilled (its memory limit) or exit code 3 (Java's heap), or was "
            "killed (exit code 137) whenever it started."
        ),
        example="pod …-race-1-es-default-0: Elasticsearch was killed for lack of memory (OOMKilled, exit code 137)…",
        test=_API,
    )
    CLUSTER_NOT_GREEN = _ReasonEntry(
        "ClusterNotGreen",
        fault="race",
        cause="The cluster did not become green.",
        cure="Use fewer replicas than there are data nodes, and check disk space and allocation settings.",
        recognized="All pods are ready at the deadline, but ECK's health is yellow or red.",
        example="the cluster was not ready in time: health is yellow",
        test=_API,
    )
    PROVISIONING_TIMEOUT = _ReasonEntry(
        "ProvisioningTimeout",
        fault="cluster",
        cause=(
            "The cluster, the load generator's pod or the track check was not ready before the deadline "
            "timeouts.provisioning."
        ),
        cure="Look at what the message says was missing, or raise the deadline.",
        recognized=(
            "The deadline timeouts.provisioning passed; the message says what was missing, with the newest warning of "
            "Kubernetes about it and the end of the log of a pod that runs but is not ready."
        ),
        example="the cluster was not ready in time: 0/1 http endpoints ready",
        test=_API,
    )

    # The race did not run to its end.
    RACE_TIMEOUT = _ReasonEntry(
        "RaceTimeout",
        fault="race",
        cause="The race took longer than timeouts.race.",
        cure="Raise the deadline or make the race smaller.",
        recognized=(
            "The runner ends the race at timeouts.race; the operator does, two minutes later, if the runner cannot."
        ),
        example="the race was not over at its deadline, in step 2 of 2, search at 4 %",
        test=_RACE,
    )
    RACE_STALLED = _ReasonEntry(
        "RaceStalled",
        fault="race",
        cause="The race stood still: no progress, no request done and no work in Elasticsearch for a long time.",
        cure=(
            "Look at the task in the message: a health check that can never become green (too many replicas, full "
            "disk) is the most common one."
        ),
        recognized=(
            "No progress of Rally, no sample, no work in Elasticsearch and no CPU used for 15 minutes; over HTTP no "
            "answer, for at least a minute more than race.load.timeout and the time between two requests."
        ),
        example="nothing moved for 4 s in step 2 of 2, health at 0 %; …",
        test=_RACE,
    )
    RACE_ABORTED = _ReasonEntry(
        "RaceAborted",
        fault="cluster",
        cause="The race was told to stop before its end.",
        cure="Nothing is wrong with the race: run it again when the node is not being drained.",
        recognized="The runner got SIGTERM, as from a drained node.",
        example="the runner was told to stop in step 2 of 2, search at 4 %",
        test=_RACE,
    )
    JOB_LOST = _ReasonEntry(
        "JobLost",
        fault="cluster",
        cause="The race's Job or pod disappeared, or was suspended, before it had written a record.",
        cure=(
            "Look for an eviction, a node that went away, or somebody who deleted or suspended it, and run the "
            "Benchmark again."
        ),
        recognized=(
            "The Job that the status names is gone or suspended after it was seen running, or its pod is gone, and "
            "there is no record."
        ),
        example="the race's Job was deleted before the race had written its record",
        test=_LIFECYCLE,
    )
    RECORD_MISSING = _ReasonEntry(
        "RecordMissing",
        fault="race",
        cause="The race's pod ended without writing a record, or what a race is judged by did not fit into one.",
        cure=(
            "Read the pod's log: the runner's permission to patch its ConfigMap is the first thing to check; where "
            "the message says that the record is too large, use fewer nodes, indices or tasks."
        ),
        recognized=(
            "The Job has ended, and 15 seconds later the API server has no record that can be read; or the record says "
            "that it would have been too large."
        ),
        example="pod dies-race-1-… ended with exit code 1; its log ends with: INFO the runner began",
        test=_API,
    )
    LOAD_GENERATOR_DIED = _ReasonEntry(
        "LoadGeneratorDied",
        fault="race",
        cause="A process of the load generator ended unexpectedly.",
        cure="Give the load generator more memory and read its log in the record.",
        recognized="A process of Rally is gone although the race has not ended, or k6 ended with an error.",
        example="Rally's driver process ended in step 2 of 2, search at 4 %",
        test=_RACE,
    )
    LOAD_GENERATOR_OUT_OF_MEMORY = _ReasonEntry(
        "LoadGeneratorOutOfMemory",
        fault="race",
        cause="The load generator, which is Rally or over HTTP k6, was killed because it ran out of memory.",
        cure=(
            "Raise race.resources.limits.memory; Rally needs about 200 MiB plus 2 KiB for each request of the race, so "
            "make fewer or set race.downSampling, and k6 more for each client and for each line of race.requests, so "
            "use fewer of these."
        ),
        recognized=(
            "The load generator's container was OOMKilled, or the kernel counted such a kill in its control group."
        ),
        example="pod out-of-memory-race-1-…: OOMKilled (exit code 137); its log ends with: INFO the runner began",
        test=_API,
    )
    RALLY_FAILED = _ReasonEntry(
        "RallyFailed",
        fault="race",
        cause=(
            "Rally ended with an error that has no reason of its own, the runner itself failed, or a race image gave a "
            "reason that this operator does not know."
        ),
        cure=(
            "Read the error in the message and the log in the record; report both where the runner failed, and give "
            "the operator the version of the race image where it does not know the reason."
        ),
        recognized=(
            "Rally ended with an error that no other reason's words are found in, or with an exit code alone; or the "
            "message begins with `the runner failed`, or with the reason that is not known."
        ),
        example="Error in load generator [0] Cannot run task [broken]: the track's own runner is broken",
        test=_RACE,
    )
    CLUSTER_UNREACHABLE = _ReasonEntry(
        "ClusterUnreachable",
        fault="cluster",
        cause="The load generator could not connect to what it is to race.",
        cure="Check that the pods are ready and that no network policy stands between them.",
        recognized=(
            "The runner or Rally got no connection, before or during the race; of an HTTP target, a host does not "
            "answer its health path with 200 to 299."
        ),
        example="GET / at localhost:1: ConnectionRefusedError: [Errno 111] Connection refused",
        test=_RACE,
    )
    AUTHENTICATION_FAILED = _ReasonEntry(
        "AuthenticationFailed",
        fault="race",
        cause="Elasticsearch, or an HTTP target, refused the user, the password or the key, or they cannot be sent.",
        cure="Check the secret that holds the password of the user.",
        recognized="The runner or Rally was answered with 401 or 403; a file of the Secret cannot be read, or sent.",
        example="GET /: HTTP 401 security_exception",
        test=_RACE,
    )
    TLS_UNTRUSTED = _ReasonEntry(
        "TLSUntrusted",
        fault="race",
        cause="The certificate of what is to be raced could not be verified.",
        cure="Check that the CA belongs to this cluster and that the certificate covers the host name.",
        recognized="The verification of the certificate failed in the runner or in Rally.",
        example=(
            "GET / at localhost:9200: SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify "
            "failed: …"
        ),
        test=_RACE,
    )
    UNSUPPORTED_PRODUCT = _ReasonEntry(
        "UnsupportedProduct",
        fault="race",
        cause="The server that answered is not an Elasticsearch that Rally can race against.",
        cure="Race against Elasticsearch itself, without a proxy that strips the X-elastic-product header.",
        recognized=(
            "The runner refuses a server whose GET / has no version.number of Elasticsearch's or a "
            "version.distribution, and one that lists no node; Elasticsearch's own client, inside of Rally, refuses a "
            "server without the X-elastic-product header."
        ),
        example="…The client noticed that the server is not Elasticsearch and we do not support this unknown product…",
        test=_RACE,
    )
    ASSERTION_FAILED = _ReasonEntry(
        "AssertionFailed",
        fault="race",
        cause="An assertion of the track did not hold.",
        cure="Compare the expected and the real value in the message: data or query are not what the track expects.",
        recognized="Rally's words: Expected [property] to be, a condition, but was.",
        example="…Expected [hits] to be == [5] but was [1000].…",
        test=_RACE,
    )
    REQUEST_ERRORS = _ReasonEntry(
        "RequestErrors",
        fault="race",
        cause="A request of the race was answered with an error, and the race was ended there.",
        cure="Read the answer of Elasticsearch in the message.",
        recognized="Rally ended because a request was answered with an error (Rally runs with on-error=abort).",
        example="…Request returned an error…no such index [nowhere]…",
        test=_RACE,
    )
    DISK_WATERMARK = _ReasonEntry(
        "DiskWatermark",
        fault="race",
        cause="The disk of Elasticsearch is too full for it to accept or allocate data.",
        cure=(
            "Make the volume larger than three times the corpus, or the corpus smaller, or, where volumes share a "
            "machine's disk, free space on it: Elasticsearch places no shard on a disk that is 90 % full."
        ),
        recognized=(
            "Elasticsearch's words: flood-stage watermark; or a race stands still for a minute, and full disks alone "
            "keep a shard from every node."
        ),
        example="…disk usage exceeded flood-stage watermark, index has read-only-allow-delete block…",
        test=_RACE,
    )
    CIRCUIT_BREAKER = _ReasonEntry(
        "CircuitBreaker",
        fault="race",
        cause="Elasticsearch refused a request because its heap would not have sufficed.",
        cure="Raise the heap, or lower bulk size or the number of clients.",
        recognized="Elasticsearch's words: circuit_breaking_exception, Data too large.",
        example="…Data too large…",
        test=_RACE,
    )

    # What was built for it did not go away.
    CLEANUP_TIMEOUT = _ReasonEntry(
        "CleanupTimeout",
        fault="race",
        cause="What was built for a race was still there ten minutes after its end.",
        cure=(
            "Look at what holds the objects that the message names (a finalizer, a volume that is not let go, a node "
            "that is not ready), and delete what is left before you run the Benchmark again."
        ),
        recognized=(
            "The objects of a step were deleted, and the API server still has some of them; the message names their "
            "finalizers."
        ),
        example="still there 600 s after the end of race-1: Elasticsearch held-race-1 (finalizers: …)…",
        test=_API,
    )

    # The race ran to its end, but its numbers mean nothing.
    NO_TASKS = _ReasonEntry(
        "NoTasks",
        fault="race",  # an engine that does not answer may end so, too
        cause="The race had no task to run, or none that Rally measures.",
        cure=(
            "Correct includeTasks or excludeTasks where they leave nothing that is measured, or put a task into the "
            "schedule that is, such as a bulk or a search."
        ),
        recognized=(
            "The task filter leaves nothing of the challenge that Rally loaded, or only tasks that Rally does not "
            "report on, such as create-index."
        ),
        example="includeTasks (no-such-task) leave no task of the challenge index-and-search.",
        test=_TRACKS,
    )
    TASK_MISSING = _ReasonEntry(
        "TaskMissing",
        fault="race",
        cause="A task that was to run has no numbers.",
        cure="Read Rally's log for the task that the message names.",
        recognized="A task of the schedule that Rally reports on has no sample, or no numbers in race.json.",
        example="task nothing was to run but has no numbers",
        test=_RACE,
    )
    WARMUP_ATE_ALL = _ReasonEntry(
        "WarmupAteAll",
        fault="race",
        cause="A task ended during its warm-up, so that nothing was measured.",
        cure="Shorten the warm-up or give the task more work.",
        recognized='A task has samples of warm-up only; Rally says "No throughput metrics available".',
        example="task bulk has 10 requests in its warm-up and 0 after it: nothing was measured",
        test=_RACE,
    )
    ERROR_RATE = _ReasonEntry(
        "ErrorRate",
        fault="race",
        cause="Requests failed, measured or during warm-up; failing requests are fast and make numbers meaningless.",
        cure="Read the first error in the message and remove its cause, or accept some in race.allow.errorRate.",
        recognized=(
            "Failed requests among the samples, warm-up included, in a race that went on in spite of them; more "
            "than race.allow.errorRate accepts in that task."
        ),
        example="task search: 40 of 40 requests failed (0 of them in the warm-up); the first answer: HTTP 404: …",
        test=_RACE,
    )
    DOCUMENT_COUNT_MISMATCH = _ReasonEntry(
        "DocumentCountMismatch",
        fault="race",
        cause="Elasticsearch does not hold as many documents as the race was to index, or could not count them.",
        cure=(
            "Look for rejected documents, duplicate ids or a pipeline that drops documents, and where they could not "
            "be counted for shards that were lost."
        ),
        recognized="The counts of the live indices after a refresh, against the documents that the track was to index.",
        example="index t was to hold 1000 documents, Elasticsearch counts 1001",
        test=_RACE,
    )
    PIPELINE_MISSING = _ReasonEntry(
        "PipelineMissing",
        fault="race",
        cause="The ingest pipeline that the track uses does not exist in Elasticsearch.",
        cure="Create it in the schedule before the bulk that uses it.",
        recognized="Elasticsearch's words: pipeline with id [x] does not exist.",
        example="…pipeline with id [nowhere] does not exist…",
        test=_RACE,
    )
    PIPELINE_NOT_APPLIED = _ReasonEntry(
        "PipelineNotApplied",
        fault="race",
        cause="The ingest pipeline did not process every document that was indexed.",
        cure="Check the bulk's pipeline parameter and the pipeline's failures in the message.",
        recognized="The pipeline's counters in Elasticsearch's node stats: none, fewer than documents, or failures.",
        example="ingest pipeline p processed no document",
        test=_RACE,
    )
    SETTINGS_NOT_APPLIED = _ReasonEntry(
        "SettingsNotApplied",
        fault="race",
        cause="Elasticsearch ran with another index setting, number of nodes, heap or JVM option than was asked for.",
        cure="The message names both; let the track take index settings as parameters, or ask for what it sets.",
        recognized="The settings in effect, read from the live indices and nodes, against those asked for.",
        example="index t: index.number_of_shards was to be 3, Elasticsearch has 1; …",
        test=_RACE,
    )
    CLUSTER_NOT_FRESH = _ReasonEntry(
        "ClusterNotFresh",
        fault="race",
        cause="The cluster held user data or had indexed before the race, or what the track makes was there already.",
        cure=(
            "Let nothing else write to the cluster; every race needs one of its own; on an existing cluster remove "
            "what the message names, or allow it with target.overwrite."
        ),
        recognized="Before the race the cluster held user indices, or had spent more than two seconds indexing.",
        example="before the race there were indices: left-over",
        test=_RACE,
    )
    VERSION_MISMATCH = _ReasonEntry(
        "VersionMismatch",
        fault="race",
        cause="The Elasticsearch that ran is not the version that was asked for.",
        cure="Check elasticsearch.image: its content must match elasticsearch.version.",
        recognized="The version that Elasticsearch and each node reported, against the one asked for.",
        example="asked for Elasticsearch 9.0.0, found 8.6.1",
        test=_RACE,
    )
    JAVA_MISMATCH = _ReasonEntry(
        "JavaMismatch",
        fault="race",
        cause="The Java that ran is not the version that was asked for.",
        cure="Check the JDK image that is configured for this Java version.",
        recognized="The Java version that each node reported, against the one asked for.",
        example="asked for Java 21, found 17.0.15",
        test=_RACE,
    )
    ELASTICSEARCH_RESTARTED = _ReasonEntry(
        "ElasticsearchRestarted",
        fault="cluster",
        cause="An Elasticsearch node restarted or disappeared during the race.",
        cure="Look for out-of-memory kills, evictions or failing probes of the pod; raise its memory.",
        recognized="A node's ephemeral id changed during the race, or Kubernetes counts a restart of its container.",
        example="restarted or gone during the race: race-0; the race ended with: …",
        test=_RACE,
    )
    REPLICAS_MISSING = _ReasonEntry(
        "ReplicasMissing",
        fault="race",
        cause="Replicas that were asked for were not there while a task was measured, so that it had less work to do.",
        cure=(
            "Let the track wait for a green cluster before it measures, and see that there are nodes with room for "
            "all replicas."
        ),
        recognized=(
            "Looks at the shards while Rally runs: a replica not started for more than a second and 1 % of a task's "
            "measured time, unless the track added it later."
        ),
        example=(
            "index t: 1 replica(s) not started for 4.1 s of the 5.0 s in which task search was measured (INDEX_CREATED)"
        ),
        test=_STEADY,
    )
    NODE_LEFT = _ReasonEntry(
        "NodeLeft",
        fault="cluster",
        cause="A node was out of the cluster for a while during the race, without a restart.",
        cure="Look for pauses of the node (garbage collection, no CPU) and for the network between the machines.",
        recognized=(
            "Whole cluster states that a node was sent, elections of a master, and the number of nodes at each look."
        ),
        example="left the cluster during the race and joined it again: race-1",
        test=_STEADY,
    )
    SAMPLES_DROPPED = _ReasonEntry(
        "SamplesDropped",
        fault="race",
        cause="The load generator could not keep all samples, so its numbers are incomplete.",
        cure="Use fewer clients, throttle the task, or give the load generator more CPU.",
        recognized="Rally's log: Dropping sample … due to a full sampling queue.",
        example="Rally dropped samples because its queue was full",
        test=_RACE,
    )
    NOT_IN_TURN = _ReasonEntry(
        "NotInTurn",
        fault="race",
        cause="Races that were to take turns, request by request, did not: their requests met other moments.",
        cure="Race tasks that send as many requests in all variants, or for as long: a number of searches, say.",
        recognized="Rally's clients count what they sent in turn: 95 % of a task's requests, or all but one a client.",
        example=("task search sent 20 of 220 requests while the others that it takes turns with did not"),
        test=_TURNS,
    )
    TRACK_CHANGED = _ReasonEntry(
        "TrackChanged",
        fault="race",
        cause=(
            "The track, or the file of race.requests, was changed between the races of one Benchmark, so that they did "
            "not measure the same."
        ),
        cure=(
            "Leave what race.track or race.requests names alone while a Benchmark runs; create another Benchmark for "
            "another track or other requests."
        ),
        recognized="The digest over all files of the track, or over the requests, differs between two races.",
        example="race-2: the track is not the same in race-1, race-2",
        test=_API,
    )

    # The operator itself, or what it was installed with.
    INTERNAL_ERROR = _ReasonEntry(
        "InternalError",
        fault="race",
        cause="The operator met an error that it did not foresee with this Benchmark, or its status was refused.",
        cure="Report it with the traceback in the operator's log; then change what the message names, or run it again.",
        recognized=(
            "An exception in the operator's look at this Benchmark, or a status that the API server refuses for its "
            "content, three times in a row; or an end of all steps with fewer valid races than were asked for."
        ),
        example="the operator cannot go on with this Benchmark: …: …",
        test=_UNFORESEEN,
    )
    CRD_OUTDATED = _ReasonEntry(
        "CRDOutdated",
        fault="race",
        cause="The CustomResourceDefinition is older than the operator, so that parts of the status are not stored.",
        cure=(
            "Apply the one of this release: kubectl apply --server-side --force-conflicts -f charts/fairlap/crds (helm "
            "upgrade leaves it as it is)."
        ),
        recognized="The API server's answer to a status lacks fields that were written.",
        example="the CustomResourceDefinition in the cluster does not know …, so that these are not stored",
        test=_UNFORESEEN,
    )

    # Requests did not do what they were for, although Rally calls them a success.
    SEARCHES_HIT_NOTHING = _ReasonEntry(
        "SearchesHitNothing",
        fault="race",
        cause="Searches reached no shard: there is no index of the name or pattern that the task searches.",
        cure="Correct the index that the task names, or create and fill it earlier in the schedule.",
        recognized=(
            "Elasticsearch resolves what the task searches to no shard, the search counters of these indices did "
            "not grow while it ran, or no shard answered what the task sends, sent once more after it."
        ),
        example=(
            "task nothing: its 40 searches of nope-* reached no shard, there is no such index: correct the index that "
            "the task names"
        ),
        test=_ANSWERS,
    )
    SEARCHES_INCOMPLETE = _ReasonEntry(
        "SearchesIncomplete",
        fault="race",
        cause="Elasticsearch answered a search in part only: shards failed, it timed out, or a part of it failed.",
        cure="Look at the named failure in Elasticsearch's log, and correct the query, the mapping or the cluster.",
        recognized=(
            "The answer to the task's search, sent once more after the task (_shards, timed_out, responses), or what "
            "Rally read of the measured ones, as it does with detailed-results and of pages."
        ),
        example=(
            "task search: its search was sent once more after the task, and 1 of 2 shards failed "
            "(illegal_argument_exception); Rally counts such an answer as success"
        ),
        test=_ANSWERS,
    )
    DOCUMENTS_LOST = _ReasonEntry(
        "DocumentsLost",
        fault="race",
        cause="Documents were refused and never indexed, in bulks that Rally calls a success because it repeated them.",
        cure="Correct the documents or the mapping, and set retries_on_429 to 0 to see each refusal as an error.",
        recognized="A bulk that was sent again has fewer documents taken than sent, by Rally's own counts.",
        example=(
            "task bulk: 2 documents were never indexed, in bulks that Rally calls a success because it sent them again "
            "(1 bulks, 3 refused documents)"
        ),
        test=_ANSWERS,
    )

    # The system under test was not as the user said it must be (race.probes).
    CONDITION_NOT_MET = _ReasonEntry(
        "ConditionNotMet",
        fault="race",
        cause="A condition on the system under test (race.probes), read from itself, did not hold for this race.",
        cure=(
            "See why it was another race than you meant, for example too few distinct requests for the hit rate; or "
            "correct race.probes[].between."
        ),
        recognized="What each host answers to the probe's path before the race and after it, against its bounds.",
        example=(
            "race.probes hit_rate is 95 in this race, and must be between 45 and 55: at localhost:9200 it was … before "
            "and 95 after"
        ),
        test=_PROBES,
    )
    PROBE_UNREADABLE = _ReasonEntry(
        "ProbeUnreadable",
        fault="race",
        cause="A condition on the system under test (race.probes) cannot be read: no answer, or no number in it.",
        cure="Ask the path yourself, and correct path or pointer; the message names the deepest level that exists.",
        recognized="Each host is asked before anything is measured, and again after the race.",
        example=(
            "race.probes hit_rate: GET /_nodes/stats/indices/request_cache at localhost:9200: "
            "/nodes/*/indices/request_cache/hits finds nothing: the deepest level that exists is "
            "/nodes/*/indices/request_cache, an object without 'hits'"
        ),
        test=_PROBES,
    )

    # Said of a race that counts: its numbers are true, but a reader must know this.
    LOAD_GENERATOR_SHARED = _ReasonEntry(
        "LoadGeneratorShared",
        fault="none",
        cause="Elasticsearch and the load generator ran on the same machine and took resources from each other.",
        cure="Add a machine; the operator keeps the two apart as soon as there is room.",
        recognized="The pods' nodes: the load generator's is one of Elasticsearch's.",
        example="Elasticsearch and the load generator shared the machine node-a",
        test=_LIFECYCLE,
    )
    PROCESSORS_SHARED = _ReasonEntry(
        "ProcessorsShared",
        fault="none",
        cause=(
            "Elasticsearch asked for whole processors (or named no CPU, to be given one), and what else runs on its "
            "machine may use them, too."
        ),
        cure=(
            "Start the machine's kubelet with --cpu-manager-policy=static (and a reserve, like "
            "--system-reserved=cpu=500m); ask for a part of a processor where sharing is meant; where machines have "
            "too few, take fewer nodes, larger machines, or less for the load generator."
        ),
        recognized=(
            "The kernel's list of the processors that the container may use is longer than what it asked for, or the "
            "machines have not a whole processor for each node (status.nodeProcessors)."
        ),
        example=(
            "elasticsearch.resources asks for 1 whole processor a node, but node bm-race-1-es-default-0 ran on "
            "processors 0-1, which others may use, too"
        ),
        test=_LIFECYCLE,
    )
    PAGE_CACHE_KEPT = _ReasonEntry(
        "PageCacheKept",
        fault="none",
        cause="The page cache of Elasticsearch's machine was to be dropped before the race, and was not.",
        cure=(
            "Look at the log of the helper on that machine, a pod of the chart's DaemonSet (pageCache.enabled); where "
            "others raced at the same time let one race alone (maxActive: 1)."
        ),
        recognized=(
            "The helper did not answer in 15 seconds, or its kernel refused; or somebody else held a place for races, "
            "and the helper was not asked."
        ),
        example="the page cache was not dropped on node-a: no answer of its helper in 15 s",
        test="tests/api/test_page_cache.py",
    )
    MACHINE_SETTINGS = _ReasonEntry(
        "MachineSettings",
        fault="none",
        cause="A machine of the race is set up so that its speed depends on load, heat or neighbours: more noise.",
        cure=(
            "Change on the machine what the message names, for all machines alike, and race again; where that cannot "
            "be had, more repetitions are the price."
        ),
        recognized=(
            "The kernel's own files, read by the load generator and by an init container of each Elasticsearch pod: a "
            "cpufreq governor that lets the clock follow the load, turbo, SMT without whole cores of one's own, "
            "transparent huge pages that everybody waits for, processors of its own on several NUMA nodes; what the "
            "machine does not tell is not remarked on."
        ),
        example=(
            "machine of bm-race-1-es-default-1: the cpufreq governor is powersave, so the "
            "processors' clock follows their load or stays low: set performance (cpupower frequency-set -g "
            "performance)"
        ),
        test=_LIFECYCLE,
    )
    LOAD_GENERATOR_SATURATED = _ReasonEntry(
        "LoadGeneratorSaturated",
        fault="none",
        cause="The load generator had no CPU left or fell behind its own schedule, so that it measured itself.",
        cure="Raise race.resources.limits.cpu, use fewer clients, or lower the target throughput.",
        recognized=(
            "While a task was measured, or for a twentieth of that time, the load generator used more than 80 % of its "
            "CPU, one of its processes (over HTTP the thread that reads k6's lines) more than 90 % of a core, or it "
            "was throttled for more than 1 % of the task; or it sent requests late although its clients were free."
        ),
        example=(
            "the load generator was saturated: …sent requests late although its clients were free: …hungry (10 % busy)…"
        ),
        test=_RACE,
    )
    SCHEDULE_NOT_KEPT = _ReasonEntry(
        "ScheduleNotKept",
        fault="none",
        cause=(
            "A task's requests were not sent when they were planned, so its latencies contain a wait that is not the "
            "cluster's answer to this rate."
        ),
        cure=(
            "Lower the rate or use more clients, give the warm-up a rate that leaves no backlog, or take it as the "
            "answer: this is more than the cluster can do."
        ),
        recognized=(
            "Planned against real start of each request, client by client: below 98 % of the target throughput, a "
            "client below 90 % of its plan, or a tenth of the requests waiting for what the warm-up had left."
        ),
        example="task hungry reached 25 % of its target throughput 100",
        test=_RACE,
    )

    LOAD_GENERATOR_THROTTLED = _ReasonEntry(
        "LoadGeneratorThrottled",
        fault="none",
        cause="The CPU limit of the load generator held it back, though for too short a time to call it saturated.",
        cure="Raise race.resources.limits.cpu if the slowest requests matter to you.",
        recognized=(
            "The load generator's control group: throttled in more than 1 % of the periods of a task that has numbers, "
            "for at most 1 % of its time."
        ),
        example="the load generator was throttled in 7 periods, 0.2 s in all",
        test=_LIFECYCLE,
    )
    FEW_SAMPLES = _ReasonEntry(
        "FewSamples",
        fault="none",
        cause="A task was measured with so few requests that one of them moves its figures.",
        cure="Give the task more iterations, or a longer time-period, in the track.",
        recognized="Fewer than 36 measured requests: with fewer even p90 may be any of them.",
        example="few requests were measured: once 1 request",
        test=_MEASUREMENTS,
    )
    SHORT_MEASUREMENT = _ReasonEntry(
        "ShortMeasurement",
        fault="none",
        cause="A task was measured for so short a time that what happened in it by chance weighs as much as its rate.",
        cure=(
            "Give the task more documents, more iterations, or a longer time-period; or shorten its warm-up, or look "
            "what stood still as it ended."
        ),
        recognized=(
            "Less than ten seconds from the first measured request to the last, or less than a warm-up took that "
            "race.steady could not prolong; or the last request of the warm-up, longer than all that were measured, "
            "took more than 5 % of their time, or those of some clients, twice as long, 5 % of that of all clients."
        ),
        example="measured for a short time: short for 2.1 s (after 4.5 s of warm-up)",
        test=_MEASUREMENTS,
    )
    NO_WARMUP = _ReasonEntry(
        "NoWarmup",
        fault="none",
        cause="The first bulk task was measured from its first request on, while the JVM was still compiling its code.",
        cure="Give the task a warmup-time-period, of the seconds that its rate takes to settle, in the track.",
        recognized="A bulk task before any other had ended, without a request in its warm-up, on a cluster just built.",
        example="measured without a warm-up on a cold JVM: bulk",
        test=_MEASUREMENTS,
    )
    WARMUP_TOO_SHORT = _ReasonEntry(
        "WarmupTooShort",
        fault="none",
        cause="A task's warm-up was still changing, or could not be judged, when race.steady.maxWarmup was over.",
        cure=(
            "Raise race.steady.maxWarmup, or look why the task changes for so long (merges, caches, a growing index); "
            "where few requests or parts without any kept it from being judged, no longer one helps, but more requests "
            "a second or fewer clients in the track."
        ),
        recognized=(
            "The requests of the last 36 seconds of the warm-up, at least 80 and some in each of 16 parts, by the test "
            "of NotSettled without latency, each second; where no second had enough of them, the message says why."
        ),
        example=(
            "race.steady.maxWarmup 45 s was over before it could be judged whether it had settled: search warmed up "
            "for 45.2 s (30 s since its first answer: it takes 36)"
        ),
        test=_MEASUREMENTS,
    )
    CONNECTIONS_OPENED = _ReasonEntry(
        "ConnectionsOpened",
        fault="none",
        cause="For measured requests a connection had to be opened first, and that is in their service time.",
        cure=(
            "Take fewer clients (race.load.clients: each keeps connections of its own), a longer warm-up, or a server "
            "that keeps connections for longer and for more requests; where they were opened again, look whether it "
            "restarted or broke them."
        ),
        recognized=(
            "Of each request over HTTP k6 tells whether a connection was opened for it: of 1 % of a task's measured "
            "requests, or without a target throughput of one whose client had had a connection to that host."
        ),
        example="measured requests opened a connection first: requests 200 of 300",
        test=_HTTP_RACES,
    )
    NOT_SETTLED = _ReasonEntry(
        "NotSettled",
        fault="none",
        cause="A task was still changing while it was measured: its figures depend on how long that lasted.",
        cure=(
            "Give the task a longer warm-up than the message names, or measure it for a longer time, in the track; "
            "where its latency grows, ask for a lower rate."
        ),
        recognized=(
            "Throughput, service time or, where requests are planned, latency of the first third of the measured time "
            "against the last half (in turn the service time alone): another one by more than a tenth, latency by more "
            "than a third, and by more than chance (rank sum, 1 %); or by more than a third from its first half to its "
            "last third, or from its first quarter to a little more than its last half; but no latency that grows at a "
            "search's probe beyond the capacity."
        ),
        example=(
            "had not settled when they were measured: search for 8.0 of 24.0 s (throughput +53 % from its beginning "
            "to its end)"
        ),
        test=_MEASUREMENTS,
    )
    ELASTICSEARCH_THROTTLED = _ReasonEntry(
        "ElasticsearchThrottled",
        fault="none",
        cause="The CPU limit of an Elasticsearch node held it back while a task was measured.",
        cure="Raise or remove elasticsearch.resources.limits.cpu, or take it as the answer for nodes of this size.",
        recognized=(
            "The node's own control group: throttled for more than 1 % of the time, or of the periods, of a task that "
            "has numbers; pauses have none."
        ),
        example=("task bulk-index: node … was throttled by its CPU limit of 2 CPUs for 6.0 s of 60 s, in 120 periods"),
        test=_LIFECYCLE,
    )
    DOCUMENTS_NOT_COUNTED = _ReasonEntry(
        "DocumentsNotCounted",
        fault="none",
        cause="There is no number that the documents in the end could be compared with, or they are gone by then.",
        cure="Compare what the message says was found with what you expect, or write it down in race.expect.documents.",
        recognized=(
            "The track, as Rally loaded it: bulks that end early, conflicts, documents that say where they go, the "
            "track's own code, requests that write, deleted or closed indices."
        ),
        example="task drop-it deleted index t: the 1000 documents in it were not counted",
        test=_COUNTS,
    )
    TIMES_DOWN_SAMPLED = _ReasonEntry(
        "TimesDownSampled",
        fault="none",
        cause="Percentiles of times stand on a part of the measured requests, as race.downSampling asks for.",
        cure="Read `support` beside each percentile, or lower race.downSampling and raise the memory limit.",
        recognized="The requests that Rally chose are counted as it chooses them.",
        example=(
            "times are those of a part of the measured requests (race.downSampling): bulk 10 of 100, search 40 of 400"
        ),
        test=_DOWN_SAMPLING,
    )
    ERRORS_ACCEPTED = _ReasonEntry(
        "ErrorsAccepted",
        fault="none",
        cause="Requests failed, and no more of them than race.allow.errorRate accepts, or in a probe of race.capacity.",
        cure="Read the first answer in the message; the times of failed requests are among the percentiles.",
        recognized=(
            "Failed requests among the samples, in a task that race.allow.errorRate names, or in a probe of "
            "race.capacity, where they are an answer."
        ),
        example=(
            "task search: 4 of 400 requests failed (0 of them in the warm-up), which is 1 %, and race.allow.errorRate "
            "accepts 5 %; the first answer: HTTP 404: …"
        ),
        test=_ACCEPTED,
    )
    DOCUMENTS_DIVERTED = _ReasonEntry(
        "DocumentsDiverted",
        fault="none",
        cause="Documents were dropped by a drop processor, or are in other indices than the bulk named.",
        cure="Check that this is what the pipelines are for; race.expect.documents says what must be where.",
        recognized=(
            "The shortfall is what drop processors counted, or all documents together are as many as there should be."
        ),
        example="index t holds 0 of 1000 documents: the others are in indices other",
        test=_COUNTS,
    )
    PIPELINE_PARTLY_APPLIED = _ReasonEntry(
        "PipelinePartlyApplied",
        fault="none",
        cause="Processors of an ingest pipeline failed, which the pipeline ignores or handles, or never ran.",
        cure="Check the processors that the message names: fields they need, their `if`, ignore_failure, on_failure.",
        recognized="The counters of each processor in Elasticsearch's node stats.",
        example="ingest pipeline p, 1000 documents: processor 1 (…) failed for 1000 of 1000 documents, which …",
        test=_COUNTS,
    )
    PIPELINE_BYPASSED = _ReasonEntry(
        "PipelineBypassed",
        fault="none",
        cause="Documents were indexed without the pipeline that the index itself names.",
        cure="Take `pipeline` out of action lines and requests, or the pipeline out of the index, whichever is meant.",
        recognized=(
            "What was indexed into the index against the counters of its default_pipeline and final_pipeline in "
            "Elasticsearch's node stats."
        ),
        example="ingest pipeline p, default_pipeline of index t, processed 900 of the 1000 documents indexed there: …",
        test=_COUNTS,
    )
    PIPELINE_NOT_VERIFIED = _ReasonEntry(
        "PipelineNotVerified",
        fault="none",
        cause="What an ingest pipeline did could not be counted.",
        cure="Let the schedule keep the pipeline until its end; give one without processors something to do, or none.",
        recognized="A task deletes the pipeline, or it has no processors, which Elasticsearch skips.",
        example="what ingest pipeline p did could not be counted: it has no processors, and Elasticsearch skips it",
        test=_COUNTS,
    )
    SETTINGS_ON_NODES = _ReasonEntry(
        "SettingsOnNodes",
        fault="none",
        cause="An index setting was given to all indices of the nodes, because the track has no parameter for it.",
        cure="Let the track take the setting as a parameter if it is to hold for the track's own indices alone.",
        recognized="The track check: nothing that the track takes carries the setting.",
        example="index.codec was set on the nodes (elasticsearch.yml): the track has no parameter for it",
        test=_LIFECYCLE,
    )
    SETTINGS_PARTLY_VERIFIED = _ReasonEntry(
        "SettingsPartlyVerified",
        fault="none",
        cause="An index beside those of the bulks has another index setting than was asked for, or one was deleted.",
        cure="Let the track set it there, too, or delete nothing before the end, where the comparison depends on it.",
        recognized=(
            "The settings in effect: an index that bulks write to has what was asked for, and the one that has not is "
            "named by no bulk, is a transform's, or holds at most one document of a hundred."
        ),
        example="index t was deleted before it could be asked for …",
        test=_COUNTS,
    )
    SHARDS_UNASSIGNED = _ReasonEntry(
        "ShardsUnassigned",
        fault="none",
        cause="Copies of shards were on no node at the end of the race.",
        cure="Use fewer replicas than there are data nodes, and check disk space and allocation settings.",
        recognized="Elasticsearch's list of shards after the race.",
        example="index access-logs: 1 replica(s) unassigned at the end (NODE_LEFT)",
        test=_LIFECYCLE,
    )
    PRIMARIES_ON_ONE_NODE = _ReasonEntry(
        "PrimariesOnOneNode",
        fault="none",
        cause="All primary shards of an index were on one of several nodes.",
        cure="Give the index as many primary shards as there are nodes, or use one node.",
        recognized="Elasticsearch's list of shards after the race.",
        example="index access-logs: … on …, one of 2 nodes: the others did not index for it except as replicas",
        test=_LIFECYCLE,
    )
    SHARDS_IN_MOTION = _ReasonEntry(
        "ShardsInMotion",
        fault="none",
        cause="Copies of shards were made, moved or not yet there while a task was measured.",
        cure="Compare this race with others, and let the track wait for a green cluster before it measures.",
        recognized="Looks at the shards while Rally runs, and Elasticsearch's list of recoveries after it.",
        example=(
            "index t: shard 0p was made from race-0 to race-1 for 0.2 s of the 10.0 s in which task search was measured"
        ),
        test=_STEADY,
    )
    ENVIRONMENT_CHANGED = _ReasonEntry(
        "EnvironmentChanged",
        fault="none",
        cause="A race ran in other surroundings than the first one of its Benchmark.",
        cure=(
            "Write the machines down in elasticsearch.scheduling and race.scheduling, and images by digest, where the "
            "difference matters."
        ),
        recognized=(
            "Image, build, JVM flags, machine, storage and placement of each race, compared with those of the first."
        ),
        example="unlike in race-1: kernel of load generator 6.1.0, now 6.2.0",
        test=_LIFECYCLE,
    )
    CACHE_MEASURED = _ReasonEntry(
        "CacheMeasured",
        fault="none",
        cause="Most look-ups of a searching task were answered by a cache, since it repeats the same searches.",
        cure='Vary the searches, or send them with "cache": false, unless the cache is what you want to measure.',
        recognized=(
            "The hits and misses of the request cache while the task ran, and of the query cache unless each of its "
            "requests is drawn."
        ),
        example=(
            "task search: 90 of 100 look-ups in the request cache were hits, for 100 requests: repeated searches "
            "measured the cache"
        ),
        test=_STEADY,
    )
    REQUESTS_UNEVEN = _ReasonEntry(
        "RequestsUneven",
        fault="none",
        cause=(
            "One of several nodes took far more than its share of the requests, or over HTTP nobody knows what each "
            "machine behind one name took."
        ),
        cure=(
            "Use as many clients as there are nodes, or a multiple of that; over HTTP write each address of the name "
            "as a host of its own in target.hosts."
        ),
        recognized=(
            "Elasticsearch's count of the requests of Rally's clients, node by node: 1.5 times the mean; over HTTP a "
            "host whose name has several addresses, of which k6 draws one for each connection."
        ),
        example="node race-0 took 900 of 1000 requests, an even share of 2 nodes is 500",
        test=_STEADY,
    )
    MERGES_RUNNING = _ReasonEntry(
        "MergesRunning",
        fault="none",
        cause="Merges still ran when the size of the data was read, a minute after the race.",
        cure="Let the track end with a force-merge, or compare the sizes with care.",
        recognized="Elasticsearch's count of running merges, which are waited for for a minute.",
        example=("2 merge(s) still ran when the size of the data was read: it would have become another one"),
        test=_STEADY,
    )
    CLOCK_STEPPED = _ReasonEntry(
        "ClockStepped",
        fault="none",
        cause=(
            "The load generator's clock was set while a task ran, and Rally's throughput is computed from it, or "
            "between two tasks."
        ),
        cure="Keep the machines' clocks right all the time; believe the throughput of windows, of another clock.",
        recognized=(
            "Each sample holds the wall clock and one that only goes forward; their difference changed, in a task or, "
            "by a second or more, between two."
        ),
        example=(
            "task search: the load generator's clock was set by 30.00 s or more while it ran: Rally's throughput is "
            "computed from it, the throughput of windows is not"
        ),
        test=_STEADY,
    )
    MACHINE_DISTURBED = _ReasonEntry(
        "MachineDisturbed",
        fault="none",
        cause=(
            "The load generator's machine did something else during the race, or was not as fast as before it, or as "
            "around another race of its block."
        ),
        cure=(
            "Keep other work off the machine while races run, or take one whose processors are your own, and race "
            "again; where reading memory alone was slower, it is most often a neighbour on the machine's host: race in "
            "turn (design.kind: Duet), where it meets all variants alike."
        ),
        recognized=(
            "Fixed work before and after the race (by 1.25, the disk's by 3; in a Comparison also from race to race "
            "of a block on one machine), the hypervisor's steal (5 % of a task's processor time, or of what of it was "
            "wanted, or of a race of short ones), CPU that neither Rally nor Elasticsearch used (half a core in a "
            "task, or 5 % of all), a second or more in which nothing went on, or somebody who wrote to the disk while "
            "Elasticsearch only read."
        ),
        example=(
            "the load generator's machine was disturbed: beside Rally something else used 0.9 cores of it in task "
            "search"
        ),
        test=_MEASUREMENTS,
    )
    TARGET_SHARED = _ReasonEntry(
        "TargetShared",
        fault="none",
        cause="The existing cluster indexed or searched for others during the race.",
        cure="Race while nobody else uses the cluster.",
        recognized=(
            "The counters of all indices before and after the race, but for those that the track writes to, and for "
            "the searches in those that it searches."
        ),
        example="the target worked for others during the race: orders +12 documents, +3 searches",
        test=_LIFECYCLE,
    )
    LEFT_ON_TARGET = _ReasonEntry(
        "LeftOnTarget",
        fault="none",
        cause="Something that the track created is still on the existing cluster.",
        cure="Delete what the message names, unless keepCluster asked for it to stay.",
        recognized="After the race the cluster is asked for what the track creates.",
        example="left on the target: index access-logs",
        test=_LIFECYCLE,
    )
    RECORD_CUT = _ReasonEntry(
        "RecordCut",
        fault="none",
        cause="Some evidence was left out: of the record, which must fit into a ConfigMap, or of the status.",
        cure="Use fewer nodes, indices or tasks if you need the parts that the message names.",
        recognized="The runner measures the record, the operator what it puts into the status, before they write it.",
        example="left out of the record, which would have been too large: shards",
        test=_LIFECYCLE,
    )
    RALLY_WARNING = _ReasonEntry(
        "RallyWarning",
        fault="none",
        cause="Rally warned of something.",
        cure="Read the warning, and what Rally's log in the record has around it.",
        recognized="The warnings in Rally's output.",
        example="Rally: …",
        test=_LIFECYCLE,
    )
    METRICS_NOT_STORED = _ReasonEntry(
        "MetricsNotStored",
        fault="none",
        cause="Rally's documents did not all reach the Elasticsearch of race.metricsStore; its numbers are untouched.",
        cure="Look at what the message says the store answered, and race again if you need them there.",
        recognized="The store's answers, while the documents are sent to it after the race.",
        example=("race.metricsStore: 0 documents were stored, not all: GET /_index_template/rally-metrics: HTTP 401 …"),
        test=_METRICS_STORE,
    )
    SAMPLES_NOT_KEPT = _ReasonEntry(
        "SamplesNotKept",
        fault="none",
        cause="The samples of a race could not be written to the claim of race.samples; its numbers are not touched.",
        cure="Look at what the message says (most often the volume is full), and race again if you need them.",
        recognized="The operating system's words when the file is written after the race.",
        example="race.samples: …parquet could not be written: No such file or directory",
        test="tests/race/test_kept_samples.py",
    )
    MACHINE_FIGURES_INCOMPLETE = _ReasonEntry(
        "MachineFiguresIncomplete",
        fault="none",
        cause="Some of what the machines did during the race could not be recorded.",
        cure=(
            "Look at the source that the message names: Prometheus, Elasticsearch's node stats, or the pod's control "
            "group."
        ),
        recognized="Failed looks of the runner, and sources that gave the operator no answer.",
        example="the runner left no table of its own",
        test="tests/api/test_machines.py",
    )
    SEARCHES_WITHOUT_HITS = _ReasonEntry(
        "SearchesWithoutHits",
        fault="none",
        cause="A search found no document, which may be meant, or a mistake in the query, the mapping or the order.",
        cure="Look whether the query should find something, and whether the documents are refreshed before it.",
        recognized=(
            "The answer to the task's search, sent once more after the task, has no hits, or no answer had any that "
            "Rally read while the task ran."
        ),
        example="task search: its search found nothing in t, sent once more after the task",
        test=_ANSWERS,
    )
    SEARCHES_IN_DOUBT = _ReasonEntry(
        "SearchesInDoubt",
        fault="none",
        cause="It could not be told whether some searches did what they are for.",
        cure="Read why in the message, and look at one answer of the search yourself.",
        recognized=(
            "The task's search could not be sent once more after the task, it allows a partial answer and got one, a "
            "part of it reached no shard, shards counted fewer searches than there were requests, or not every line of "
            "a file of requests could be asked again for its hits in time, or its searches may be answered in part."
        ),
        example="task search: 1 of 2 shards failed, which the search allows",
        test=_ANSWERS,
    )
    REQUESTS_REJECTED = _ReasonEntry(
        "RequestsRejected",
        fault="none",
        cause="Elasticsearch rejected requests because it had too much to do, and they were repeated or done in part.",
        cure="Use fewer clients or smaller bulks; or take it as the answer: this is more than the cluster can do.",
        recognized="The nodes' counters of rejected writes and searches around each step, and the bulks sent again.",
        example="…3 writes were rejected while bulk ran",
        test=_ANSWERS,
    )
