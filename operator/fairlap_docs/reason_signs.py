"""For each reason: how it is recognized, a message that a user sees, and the test that produces it.

In a message … stands for any text and every number for any number; the tests compare what they produce with it.
"""

import re
from typing import NamedTuple

from fairlap_race.contract.reasons import Reason

OVERDUE = "tests/e2e/test_overdue.py"
API, E2E, RACE = "tests/api/test_failures.py", "tests/e2e/test_failures.py", "tests/race/test_reasons.py"
SOURCES = "tests/e2e/test_track_sources.py"
TRACKS = "tests/rally/test_broken_tracks.py"


_NUMBER = r"[0-9]+(?:\.[0-9]+)?"


class Sign(NamedTuple):
    """How one reason shows."""

    recognized: str
    example: str
    test: str
    """the file whose tests produce it"""


def looks_like(example: str, message: str) -> bool:
    """Return whether a message is of an example's form: … matches any text, a number any number."""
    return re.fullmatch(_pattern(example), " ".join(message.split()), re.S) is not None


def _pattern(example: str) -> str:
    parts = re.split(f"(…|{_NUMBER})", " ".join(example.split()))
    return "".join(".*" if p == "…" else _NUMBER if re.match(_NUMBER, p) else re.escape(p) for p in parts)


SIGNS: dict[Reason, Sign] = {
    Reason.INVALID_SPEC: Sign(
        "The operator's checks of the spec before anything is created; an object that the API server refuses.",
        "elasticsearch.java is 24, but this installation has JDK images for: 17, 21; write one of these, leave java "
        "out for the JDK of the image, or add an image to the chart's value jdkImages",
        API,
    ),
    Reason.UNKNOWN_TRACK: Sign(
        "The name is not among the tracks that ship with the operator.",
        "race.track.builtin geonamez does not exist; the builtin tracks are: …",
        API,
    ),
    Reason.UNKNOWN_CHALLENGE: Sign(
        "Rally's loader, or the operator for a builtin track: no challenge of that name.",
        "race.challenge nope does not exist in track log_ingest; it has: default, high-concurrency, ramp-up",
        API,
    ),
    Reason.TRACK_INVALID: Sign(
        "The track is rendered and loaded by Rally before any cluster is built; its JSON or schema error.",
        "track.json line 28: track.json is not JSON once it is rendered: Expecting value. A variable without a value "
        'renders as nothing: write {{ name | default(VALUE) }}. The line: "bulk-size": {{ bulk_size }},',
        TRACKS,
    ),
    Reason.TRACK_NOT_FOUND: Sign(
        "The ConfigMap, or the key track.json in it, is not there 20 seconds after the Benchmark was created; or the "
        "path in the repository (at that revision) or in the volume has no track.json.",
        "race.track.configMap none does not exist: create it in namespace … with the key track.json and the files "
        "that it uses",
        API,
    ),
    Reason.TRACK_FETCH_FAILED: Sign(
        "Git could not fetch the repository in four attempts; the message has git's words.",
        "http://files:8000/tracks.git: git could not fetch main: … not found",
        SOURCES,
    ),
    Reason.TEMPLATE_ERROR: Sign(
        "Jinja2's syntax error or undefined variable while the track is rendered.",
        "track.json line 23: Jinja2: '_ingest' is undefined. These braces are for Elasticsearch, not for Jinja2: put "
        "them between {% raw %} and {% endraw %}, as in … The line: …",
        TRACKS,
    ),
    Reason.UNKNOWN_PARAMETER: Sign(
        "Rally's check of the given parameters against those that the track uses.",
        "params.bulk_sizes: the track has no such parameter. Did you mean bulk_size? It has: bulk_size, "
        "number_of_shards.",
        TRACKS,
    ),
    Reason.PARAMETER_MISSING: Sign(
        "Rally's parameter sources are asked for every task; in a race, Rally's words: mandatory parameter.",
        "track.json line 20: task put-notes-pipeline: the operation put-pipeline lacks the parameter 'id'. "
        'Add "id" to the operation. The line: "name": "put-notes-pipeline",',
        TRACKS,
    ),
    Reason.CORPUS_MISSING: Sign(
        "The files that the track names are looked for; in a race, Rally's words: cannot find, offline mode.",
        "track.json line 12: corpus notes: documents.json is not in the track. Put the file beside track.json, in a "
        'ConfigMap as one more key, or correct source-file. The line: "source-file": "documents.json",',
        TRACKS,
    ),
    Reason.CORPUS_COUNT_MISMATCH: Sign(
        "Lines and size of each corpus file are compared with what the track says, by the check and by Rally.",
        "track.json line 12: corpus notes: documents.json has 5 lines, the track says 6. Write 5 as document-count. "
        'The line: "source-file": "documents.json",',
        TRACKS,
    ),
    Reason.CORPORA_CACHE: Sign(
        "Sizes and eviction on the volume of race.corpora, or the operating system's words when it is written.",
        "corpus numbers: no room in the volume of race.corpora: 31890 bytes are needed to unpack it, the bound is 1024",
        SOURCES,
    ),
    Reason.VOLUME_CLAIM_MISSING: Sign(
        "Kubernetes says for two minutes that it cannot place the pod, since the claim is not found.",
        'pod noclaim-check-…: … persistentvolumeclaim "nowhere" not found…',
        SOURCES,
    ),
    Reason.SECRET_MISSING: Sign(
        "The files of a mounted Secret that the pod was to find are not there.",
        "there is no Secret nobody with the key username in the namespace …",
        "tests/e2e/test_existing_clusters.py",
    ),
    Reason.UNSCHEDULABLE: Sign(
        "The pod's condition PodScheduled is False until the deadline timeouts.provisioning.",
        "pod …-race-1-es-default-0: 0/1 nodes are available: …",
        OVERDUE,
    ),
    Reason.IMAGE_PULL: Sign(
        "A container waits with ErrImagePull, ImagePullBackOff or the like for two minutes.",
        "pod noimage-race-1-es-default-0, container …: image localhost/no/such-image:1: …",
        OVERDUE,
    ),
    Reason.ELASTICSEARCH_BOOTSTRAP: Sign(
        "The Elasticsearch container has ended twice; the message quotes the lines of its log that name the cause.",
        "pod badsetting-race-1-es-default-0, container elasticsearch: Error (exit code 1), started 3 times; its log "
        "ends with: …unknown setting [no.such.setting]…",
        E2E,
    ),
    Reason.EVICTED: Sign(
        "The pod's status says Evicted, or a Kubernetes event does for an Elasticsearch pod that was replaced.",
        "pod …-race-1-es-default-0 was evicted: …",
        OVERDUE,
    ),
    Reason.OUT_OF_MEMORY: Sign(
        "An Elasticsearch container ended with OOMKilled (its memory limit) or exit code 3 (Java's heap).",
        "pod …-race-1-es-default-0: Elasticsearch was killed for lack of memory (OOMKilled, exit code 137)…",
        API,
    ),
    Reason.CLUSTER_NOT_GREEN: Sign(
        "All pods are ready at the deadline, but ECK's health is yellow or red.",
        "the cluster was not ready in time: health is yellow",
        API,
    ),
    Reason.PROVISIONING_TIMEOUT: Sign(
        "The deadline timeouts.provisioning passed; the message says what was missing, with the newest warning of "
        "Kubernetes about it and the end of the log of a pod that runs but is not ready.",
        "the cluster was not ready in time: 0/1 http endpoints ready",
        API,
    ),
    Reason.RACE_TIMEOUT: Sign(
        "The runner ends the race at timeouts.race; the operator does, two minutes later, if the runner cannot.",
        "the race was not over at its deadline, in step 2 of 2, search at 4 %",
        RACE,
    ),
    Reason.RACE_STALLED: Sign(
        "No progress of Rally, no sample, no work in Elasticsearch and no CPU used for 15 minutes.",
        "nothing moved for 4 s in step 2 of 2, health at 0 %; …",
        RACE,
    ),
    Reason.RACE_ABORTED: Sign(
        "The runner got SIGTERM, as from a drained node.",
        "the runner was told to stop in step 2 of 2, search at 4 %",
        RACE,
    ),
    Reason.JOB_LOST: Sign(
        "The Job that the status names is gone, or its pod is, and there is no record.",
        "the race's Job was deleted before the race had written its record",
        "tests/api/test_lifecycle.py",
    ),
    Reason.RECORD_MISSING: Sign(
        "The Job has ended and 15 seconds later there is no record that can be read; or the record says that it would "
        "have been too large.",
        "pod dies-race-1-… ended with exit code 1; its log ends with: INFO the runner began",
        API,
    ),
    Reason.LOAD_GENERATOR_DIED: Sign(
        "A process of Rally is gone although the race has not ended.",
        "Rally's driver process ended in step 2 of 2, search at 4 %",
        RACE,
    ),
    Reason.LOAD_GENERATOR_OUT_OF_MEMORY: Sign(
        "The load generator's container was OOMKilled, or the kernel counted such a kill in its control group.",
        "pod out-of-memory-race-1-…: OOMKilled (exit code 137); its log ends with: INFO the runner began",
        API,
    ),
    Reason.RALLY_FAILED: Sign(
        "Rally ended with an error that no other reason's words are found in.",
        "Error in load generator [0] Cannot run task [broken]: the track's own runner is broken",
        RACE,
    ),
    Reason.CLUSTER_UNREACHABLE: Sign(
        "The runner or Rally got no connection, before or during the race.",
        "GET / at localhost:1: ConnectionRefusedError: [Errno 111] Connection refused",
        RACE,
    ),
    Reason.AUTHENTICATION_FAILED: Sign(
        "Elasticsearch answered with 401 or 403 to the runner or to Rally.",
        "GET /: HTTP 401: …unable to authenticate user [elastic] for REST request [/]…",
        RACE,
    ),
    Reason.TLS_UNTRUSTED: Sign(
        "The verification of the certificate failed in the runner or in Rally.",
        "GET / at localhost:9200: SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify "
        "failed: …",
        RACE,
    ),
    Reason.UNSUPPORTED_PRODUCT: Sign(
        "Elasticsearch's own client, inside of Rally, refuses a server without the X-elastic-product header.",
        "…The client noticed that the server is not Elasticsearch and we do not support this unknown product…",
        RACE,
    ),
    Reason.CLIENT_TOO_NEW: Sign(
        "Rally refuses the server and its version is below 6.8, or Elasticsearch refuses the client's media type.",
        "Elasticsearch 6.7.2 is too old for Rally 2.13.0; Rally said: …The client noticed that the server is not "
        "Elasticsearch and we do not support this unknown product…",
        RACE,
    ),
    Reason.ASSERTION_FAILED: Sign(
        "Rally's words: Expected [property] to be, a condition, but was.",
        "…Expected [hits] to be == [5] but was [1000].…",
        RACE,
    ),
    Reason.REQUEST_ERRORS: Sign(
        "Rally ended because a request was answered with an error (Rally runs with on-error=abort).",
        "…Request returned an error…no such index [nowhere]…",
        RACE,
    ),
    Reason.DISK_WATERMARK: Sign(
        "Elasticsearch's words: flood-stage watermark; or a race stands still for a minute, and full disks alone "
        "keep a shard from every node.",
        "…disk usage exceeded flood-stage watermark, index has read-only-allow-delete block…",
        RACE,
    ),
    Reason.CIRCUIT_BREAKER: Sign(
        "Elasticsearch's words: circuit_breaking_exception, Data too large.",
        "…Data too large…",
        RACE,
    ),
    Reason.CLEANUP_TIMEOUT: Sign(
        "The objects of a step were deleted, and the API server still has some of them; the message names their "
        "finalizers.",
        "still there 600 s after the end of race-1: Elasticsearch held-race-1 (finalizers: …)…",
        API,
    ),
    Reason.NO_TASKS: Sign(
        "The task filter leaves nothing of the challenge that Rally loaded.",
        "includeTasks (no-such-task) leave no task of the challenge index-and-search.",
        TRACKS,
    ),
    Reason.TASK_MISSING: Sign(
        "A task of the schedule that Rally reports on has no sample and no numbers in race.json.",
        "task nothing was to run but has no numbers",
        RACE,
    ),
    Reason.WARMUP_ATE_ALL: Sign(
        'A task has samples of warm-up only; Rally says "No throughput metrics available".',
        "task bulk has 10 requests in its warm-up and 0 after it: nothing was measured",
        RACE,
    ),
    Reason.ERROR_RATE: Sign(
        "Failed requests among Rally's samples, warm-up included, in a race that went on in spite of them.",
        "task search: 40 of 40 requests failed (0 of them in the warm-up); the first answer: HTTP 404: …",
        RACE,
    ),
    Reason.DOCUMENT_COUNT_MISMATCH: Sign(
        "The counts of the live indices after a refresh, against the documents that the track was to index.",
        "index t was to hold 1000 documents, Elasticsearch counts 1001",
        RACE,
    ),
    Reason.PIPELINE_MISSING: Sign(
        "Elasticsearch's words: pipeline with id [x] does not exist.",
        "…pipeline with id [nowhere] does not exist…",
        RACE,
    ),
    Reason.PIPELINE_NOT_APPLIED: Sign(
        "The pipeline's counters in Elasticsearch's node stats: none, fewer than documents, or failures.",
        "ingest pipeline p processed no document",
        RACE,
    ),
    Reason.SETTINGS_NOT_APPLIED: Sign(
        "The settings in effect, read from the live indices and nodes, against those asked for.",
        "index t: index.number_of_shards was to be 3, Elasticsearch has 1; …",
        RACE,
    ),
    Reason.CLUSTER_NOT_FRESH: Sign(
        "Before the race the cluster held user indices, or had spent more than two seconds indexing.",
        "before the race there were indices: left-over",
        RACE,
    ),
    Reason.VERSION_MISMATCH: Sign(
        "The version that Elasticsearch and each node reported, against the one asked for.",
        "asked for Elasticsearch 9.0.0, found 8.6.1",
        RACE,
    ),
    Reason.JAVA_MISMATCH: Sign(
        "The Java version that each node reported, against the one asked for.",
        "asked for Java 21, found 17.0.15",
        RACE,
    ),
    Reason.ELASTICSEARCH_RESTARTED: Sign(
        "A node's ephemeral id changed during the race, or Kubernetes counts a restart of its container.",
        "restarted or gone during the race: race-0; the race ended with: …",
        RACE,
    ),
    Reason.SAMPLES_DROPPED: Sign(
        "Rally's log: Dropping sample … due to a full sampling queue.",
        "Rally dropped samples because its queue was full",
        RACE,
    ),
    Reason.TRACK_CHANGED: Sign(
        "The digest over all files of the track differs between two races.",
        "race-2: the track is not the same in race-1, race-2",
        API,
    ),
    Reason.LOAD_GENERATOR_SHARED: Sign(
        "The pods' nodes: the load generator's is one of Elasticsearch's.",
        "Elasticsearch and the load generator shared the machine node-a",
        "tests/api/test_lifecycle.py",
    ),
    Reason.LOAD_GENERATOR_SATURATED: Sign(
        "The load generator used more than 80 % of its CPU, one of its processes more than 90 % of a core, it was "
        "throttled, or it sent requests late although its clients were free.",
        "the load generator was saturated: …sent requests late although its clients were free: …hungry (10% busy)…",
        RACE,
    ),
    Reason.SCHEDULE_NOT_KEPT: Sign(
        "Planned against real start of each request: below 98 % of the target throughput.",
        "task hungry reached 25 % of its target throughput 100",
        RACE,
    ),
}
