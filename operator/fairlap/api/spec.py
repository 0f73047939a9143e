"""What a user writes: the spec of a Benchmark, with every rule that the API server can enforce by itself."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from fairlap.api.base import FREE_FORM, Api, Duration, Json, rule, rules, some_time
from fairlap.api.capacity_spec import CapacityGoal
from fairlap.api.load_spec import REQUESTS, RequestLoad
from fairlap.api.names import MAX_REPETITIONS, MAX_VARIANTS
from fairlap.api.quantity import DURATION, HEAP, QUANTITY, parse_quantity, quantity_text
from fairlap.api.sweep_spec import Sweep

Quantity = Annotated[
    str,
    BeforeValidator(quantity_text),
    Field(pattern=QUANTITY, max_length=20),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "minimum": 0, "pattern": QUANTITY, "maxLength": 20}),
]
Name = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
# How deep and how large these are CEL cannot know: plan/acceptance/accept.py does.
MOST_ENTRIES = 200
FreeForm = Annotated[dict[str, Any], Field(max_length=MOST_ENTRIES, json_schema_extra=FREE_FORM)]
# Kubernetes would replace $(NAME), and Elasticsearch splits at white space.
# Not \s, which is more for pydantic than for the API server: what lies between the two plan/acceptance refuses.
JvmOption = Annotated[str, Field(pattern=r"^-[^\t\n\f\r $]+$", max_length=200)]
TaskName = Annotated[str, Field(min_length=1, max_length=200)]
TaskFilter = TaskName  # or type:TYPE or tag:TAG
MAX_MACHINES = 50
Machines = Annotated[list[Name], Field(max_length=MAX_MACHINES)]
MOST_DOCUMENTS = 1_000_000_000_000
DocumentNumber = Annotated[int, Field(ge=0, le=MOST_DOCUMENTS)]
ErrorRate = Annotated[float, Field(ge=0, le=1)]  # CEL says that 0 and 1 are not meant, and what is
Telemetry = Literal[  # docs/decisions/telemetry.md
    "disk-usage-stats", "node-stats", "segment-stats", "recovery-stats", "shard-stats", "ingest-pipeline-stats",
    "data-stream-stats", "transform-stats", "ccr-stats",
]  # fmt: skip
Codec = Literal["default", "best_compression"]
SourceMode = Literal["stored", "synthetic", "disabled"]

PROBE_NAME = r"^[a-z][a-z0-9_]*$"
PROBE_POINTER = r"^(/([^/~$\x00-\x1f]|~[01])*)+$"
# Printable ASCII without # and $, no second slash, and before the query no % but for a percent-encoded character.
ASKED_PATH = r"^/(([!-\"&-.0->@-~]|%[0-9A-Fa-f]{2})([!-\"&->@-~]|%[0-9A-Fa-f]{2})*)?(\?[!-\"%-~]*)?$"
Pointer = Annotated[str, Field(pattern=PROBE_POINTER, min_length=1, max_length=500)]

GIT_URL = r"^(https?|ssh|git)://[A-Za-z0-9][^\t\n\f\r \\]*$"
GIT_CREDENTIALS = (
    r"(?is)^((https?|git)://[^/]*(@|%40)|ssh://[^/]*(:|%3a)[^/]*(@|%40)|"
    r"(https?|git|ssh)://[^/:\[]*(:|%3a)(/|[0-9]{0,5}[^0-9/]|[0-9]{6}).*(@|%40))"
)
"""What a password may have in it stands at the same expression of `fairlap_race.contract.address_secrets`."""
GIT_REVISION = r"^[A-Za-z0-9_]([A-Za-z0-9_./@+-]*[A-Za-z0-9_])?$"
FILE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"
INNER_PATH = r"^([A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*)?$"

HEAP_OPTION = "^-Xm[sx]|^-XX:(Max|Initial|Min)HeapSize="
"""Not what else begins so: -Xmn is the young generation, and MaxHeapFreeRatio a share."""

_MAJOR = "int(self.version.split('.')[0])"
_MINOR = "int(self.version.split('.')[1])"
_OLDEST_JAVA = f"({_MAJOR} >= 9 ? 21 : ({_MAJOR} == 8 ? 17 : 8))"

LONGEST_RACE, LONGEST_PROVISIONING, LONGEST_KEEP, LONGEST_TTL = "720h", "24h", "720h", "8760h"
LONGEST_WARMUP = "1h"
# duration() fails above 292 years, so digits are counted first.
_COUNTABLE = "^(0*[0-9]{1,5}h)?(0*[0-9]{1,7}m)?(0*[0-9]{1,9}s)?$"


def bounded_duration(field: str, path: str, longest: str, why: str) -> Json:
    """Return the rule for a duration of at most `longest`; `path` names the field in the sentence."""
    return rule(
        f"!has(self.{field}) || !self.{field}.matches('{DURATION}') || "
        f"(self.{field}.matches('{_COUNTABLE}') && duration(self.{field}) <= duration('{longest}'))",
        f"'{path} %s is too long: {why}; write at most {longest}'.format([self.{field}])",
        computed=True,
    )


# Sentences are made with format(): the API server cannot bound the length of string(int) and refuses the rule.
VERSION_RULES: Json = rules(
    rule(
        f"{_MAJOR} in [8, 9] || ({_MAJOR} == 7 && {_MINOR} >= 17)",
        "'elasticsearch.version %s cannot be built: ECK runs 7.17, 8.x and 9.x; "
        "write one of these, for example 8.11.0; for a cluster that exists already write target: instead of "
        "elasticsearch:'.format([self.version])",
        computed=True,
    ),
    rule(
        f"!has(self.java) || !({_MAJOR} in [7, 8, 9]) || self.java >= {_OLDEST_JAVA}",
        "'elasticsearch.version %s does not run on elasticsearch.java %d: it needs Java %d or later; write that, "
        f"or leave java out for the JDK of the image'.format([self.version, self.java, {_OLDEST_JAVA}])",
        computed=True,
    ),
    rule(
        f"!has(self.java) || {_MAJOR} != 7 || self.java <= 21",
        "'elasticsearch.version %s does not run on elasticsearch.java %d: 7.17 runs on Java 8 to 21; "
        "write one of these, or leave java out for the JDK of the image'.format([self.version, self.java])",
        computed=True,
    ),
    rule(
        "!has(self.index) || !has(self.index.replicas) || self.index.replicas < self.nodes",
        "'elasticsearch.index.replicas %d cannot be placed on %d node(s), for each copy needs a node of its own; "
        "write nodes: %d or fewer replicas'.format([self.index.replicas, self.nodes, self.index.replicas + 1])",
        computed=True,
    ),
    rule(
        "!has(self.heap) || self.heap.matches('^[1-9][0-9]{0,7}m$|^[1-9][0-9]{0,4}g$') || "
        f"!self.heap.matches('{HEAP}')",
        "'elasticsearch.heap %s is more than any machine has; write at most half of "
        "elasticsearch.resources.limits.memory, for example 31g'.format([self.heap])",
        computed=True,
    ),
    rule(
        f"!has(self.jvmOptions) || !self.jvmOptions.exists(o, o.matches('{HEAP_OPTION}'))",
        "elasticsearch.jvmOptions sets the size of the heap: write it as elasticsearch.heap, for example heap: 1g",
    ),
    rule(
        "!has(self.scheduling) || !self.scheduling.exclusiveNodes || self.scheduling.machines.size() == 0 || "
        "self.scheduling.machines.size() >= self.nodes",
        "'elasticsearch.scheduling.exclusiveNodes gives each of the %d nodes a machine of its own, but "
        "elasticsearch.scheduling.machines names only %d; name one for each node, or leave one of the two fields out'"
        ".format([self.nodes, self.scheduling.machines.size()])",
        computed=True,
    ),
)


class ResourceList(Api):
    """CPU and memory."""

    cpu: Quantity | None = None
    """Cores, for example 500m or 2."""
    memory: Quantity | None = None
    """Bytes, for example 2Gi."""


class Resources(Api):
    """What a container asks for and may use at most."""

    requests: ResourceList = ResourceList()
    """What the scheduler reserves. A missing value is taken from limits."""
    limits: ResourceList = ResourceList()
    """What the container may use at most. A CPU limit can throttle a race; the record says when it did."""

    def names_cpu(self) -> bool:
        """Return whether a CPU is named, as a request or as a limit."""
        return self.requests.cpu is not None or self.limits.cpu is not None

    def with_cpu(self, cpu: str, *, whole: bool) -> "Resources":
        """Return these resources with `cpu` requested: for whole processors as the limit, too, else without one."""
        limits = self.limits.model_copy(update={"cpu": cpu}) if whole else self.limits
        return Resources(requests=self.requests.model_copy(update={"cpu": cpu}), limits=limits)

    def whole_cores(self) -> int | None:
        """Return how many processors a kubelet with the static CPU manager policy gives to this container alone.

        None where it gives none: only a pod whose requests are its limits, with a whole number of CPUs, gets some.
        """
        for name in ("cpu", "memory"):
            limit, request = getattr(self.limits, name), getattr(self.requests, name)
            if limit is None or (request is not None and parse_quantity(request) != parse_quantity(limit)):
                return None
        cores = parse_quantity(self.limits.cpu or "0")
        return int(cores) if cores >= 1 and cores == int(cores) else None


class Ephemeral(Api):
    """Data on the node's own disk (an emptyDir), gone with the pod."""

    size_limit: Quantity | None = None
    """The most the data may take; the pod is evicted beyond it."""


class Storage(Api):
    """Where Elasticsearch keeps its data: a volume claim per node, or the node's own disk."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "[has(self.size), has(self.ephemeral)].filter(x, x).size() == 1",
                "elasticsearch.storage takes exactly one of size (with an optional className) and ephemeral",
            ),
            rule(
                "!has(self.className) || has(self.size)",
                "elasticsearch.storage.className needs elasticsearch.storage.size beside it, for example size: 20Gi",
            ),
        )
    )
    class_name: Name | None = None
    """StorageClass of the volume claims; absent means the cluster's default class."""
    size: Quantity | None = None
    """Size of each node's volume."""
    ephemeral: Ephemeral | None = None
    """Data on the node's own disk, without a volume claim."""


class IndexSettings(Api):
    """What the track's indices must really have; passed to the track and read back from the live indices."""

    shards: Annotated[int | None, Field(ge=1, le=1024)] = None
    """Primary shards per index; absent leaves the choice to the track."""
    replicas: Annotated[int | None, Field(ge=0, le=50)] = None
    """Copies of each primary shard; must be smaller than the number of nodes."""
    codec: Codec | None = None
    """index.codec; absent leaves the choice to the track. Set on the nodes when the track offers no way."""
    source_mode: SourceMode | None = None
    """How documents are kept: stored, synthetic (rebuilt from their fields) or disabled."""
    settings: FreeForm = {}
    """Further index settings without the prefix "index.", for example refresh_interval: 30s."""


class Toleration(Api):
    """A taint that the pods may run on, as in any pod."""

    key: Annotated[str | None, Field(max_length=317)] = None
    """The taint's key; absent with operator Exists means every taint."""
    operator: Literal["Exists", "Equal"] = "Equal"
    """How value is compared."""
    value: Annotated[str | None, Field(max_length=63)] = None
    """The taint's value, for operator Equal."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; absent means every effect."""
    toleration_seconds: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None
    """How long a NoExecute taint is tolerated."""


class Scheduling(Api):
    """Which machines the pods may run on."""

    node_selector: Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=20)] = {}
    """Labels that a node must have."""
    tolerations: Annotated[list[Toleration], Field(max_length=20)] = []
    """Taints that are tolerated."""
    machines: Machines = []
    """Names of the machines (Kubernetes nodes) that the pods may run on, and on no other; empty means any."""
    avoid_machines: Machines = []
    """Names of machines that the pods keep off as long as another one has room; where only these have, the later ones
    are taken first."""


class NodeScheduling(Scheduling):
    """Which machines the Elasticsearch pods may run on, and with whom."""

    exclusive_nodes: bool = False
    """Each Elasticsearch pod has a machine without any other pod of a Benchmark, this one's or another's: needs a
    machine per node and one more for the load generator."""


class Elasticsearch(Api):
    """The cluster under test, built by ECK, afresh for every race."""

    model_config = ConfigDict(json_schema_extra=VERSION_RULES)

    version: Annotated[str, Field(pattern=r"^[1-9][0-9]?(\.(0|[1-9][0-9]{0,2})){2}$", max_length=12)]
    """Version of Elasticsearch, for example 9.0.0."""
    image: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    """Image to run instead of the official one of this version."""
    java: Annotated[int | None, Field(ge=8, le=99)] = None
    """Major version of the Java to run on; absent means the JDK bundled in the image."""
    nodes: Annotated[int, Field(ge=1, le=50)] = 1
    """Number of Elasticsearch nodes."""
    heap: Annotated[str | None, Field(pattern=HEAP, max_length=12)] = None
    """JVM heap (Xms = Xmx), for example 1g; absent means half of the memory limit, at most 31g."""
    jvm_options: Annotated[list[JvmOption], Field(max_length=30)] = []
    """More options of the JVM, for example [-XX:-UseG1GC, -XX:+UseParallelGC] for another garbage collector."""
    resources: Resources = Resources(limits=ResourceList(memory="2Gi"))
    """CPU and memory of each node. Requests are the limits unless written otherwise, so that neighbours change nothing.
    Without any CPU a node is given one whole processor where the machines have enough, else a share of all, and
    status.nodeProcessors says which; in clusters that a Comparison keeps or races in turn it requests 100m instead, as
    the specs of their Benchmarks say. With a CPU request alone it uses whatever is idle, and the numbers depend on what
    else runs there."""
    storage: Storage = Storage(ephemeral=Ephemeral())
    """Where each node keeps its data."""
    index: IndexSettings | None = None
    """What the track's indices must really have."""
    config: FreeForm = {}
    """Extra lines of elasticsearch.yml, as ECK's nodeSets[].config."""
    scheduling: NodeScheduling | None = None
    """Which machines the nodes may run on."""


class SecretRef(Api):
    """A Secret of the Benchmark's own namespace; only the race's pod reads it, as files."""

    name: Name
    """Name of the Secret."""


# A backslash of a regular expression is written twice in a text of CEL; whether it is an address,
# plan/acceptance/accept.py knows.
_HOST = r"([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?|\\[[0-9A-Fa-f:.]{2,45}\\])"
_PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"


def _address_rules(path: str) -> tuple[Json, ...]:
    """Return the rules for the addresses of an Elasticsearch and its secrets; `path` names it in the sentences."""
    return (
        rule(
            f"self.hosts.all(h, h.matches('^https?://{_HOST}:{_PORT}$'))",
            f"{path}.hosts are written as https://NAME:PORT or http://NAME:PORT, without user, password and path; a "
            "port is at most 65535, and an IPv6 address stands in brackets, as http://[fd00::1]:9200",
        ),
        rule(
            "self.hosts.all(h, h.startsWith('https://')) || self.hosts.all(h, h.startsWith('http://'))",
            f"{path}.hosts are all https:// or all http://",
        ),
        rule(
            "!has(self.caSecret) || self.hosts.all(h, h.startsWith('https://'))",
            f"{path}.caSecret is for https:// hosts only",
        ),
        rule(
            "[has(self.credentialsSecret), has(self.elasticUserSecret), has(self.apiKeySecret)]"
            ".filter(x, x).size() <= 1",
            f"{path} takes at most one of credentialsSecret (keys username and password), elasticUserSecret "
            "(as ECK makes it, key elastic) and apiKeySecret (key api-key)",
        ),
    )


class Target(Api):
    """A search engine that runs already. Nothing on it is changed but what the track or the requests change."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *_address_rules("target"),
            rule(
                "self.kind == 'http' || !self.hosts.exists(h, h.contains('['))",
                "target.hosts has an IPv6 address, which Rally cannot be given: write a name that resolves to it, for "
                "example of a Service; target.kind: http takes the address",
            ),
            rule(
                "self.kind == 'http' || !has(self.health)",
                "target.health is for target.kind: http: Elasticsearch is asked for its own health, so leave it out",
            ),
            rule(
                "self.kind != 'http' || !(has(self.index) || self.overwrite || has(self.elasticUserSecret))",
                "target.index, target.overwrite and target.elasticUserSecret are for an Elasticsearch that a track is "
                "raced on: leave them out with target.kind: http (user and password come from credentialsSecret)",
            ),
            rule(
                "!has(self.clientCertificateSecret) || self.hosts.all(h, h.startsWith('https://'))",
                "target.clientCertificateSecret is for https:// hosts only",
            ),
        )
    )
    kind: Literal["elasticsearch", "http"] = "elasticsearch"
    """elasticsearch: Rally races a track on it. http: any engine that answers over HTTP is sent race.requests by k6."""
    hosts: Annotated[list[Annotated[str, Field(min_length=10, max_length=260)]], Field(min_length=1, max_length=20)]
    """Where it answers, for example https://logs-es-http.search.svc:9200; the load is spread evenly over them."""
    health: Annotated[str | None, Field(pattern=ASKED_PATH, max_length=1000)] = None
    """Path that each host of kind http must answer with a status from 200 to 299 before anything is sent; absent
    means /."""
    credentials_secret: SecretRef | None = None
    """Secret with the keys username and password; absent means that no credentials are sent."""
    elastic_user_secret: SecretRef | None = None
    """Secret with the key elastic, the password of the user of that name, as ECK makes one for each cluster:
    NAME-es-elastic-user."""
    api_key_secret: SecretRef | None = None
    """Secret with the key api-key: the value "encoded" that Elasticsearch gives with a new API key, or its id and key
    with a colon between them."""
    client_certificate_secret: SecretRef | None = None
    """Secret with the keys tls.crt and tls.key (its type kubernetes.io/tls has them, the key without a passphrase), for
    https hosts that ask for a client's certificate; beside credentials, or alone where it is enough."""
    ca_secret: SecretRef | None = None
    """Secret with the key ca.crt, which signs the certificates of https hosts; absent means the race image's CAs."""
    index: IndexSettings | None = None
    """What the track's indices must really have."""
    overwrite: bool = False
    """Lets the track delete or overwrite what is there already, and run tasks whose effects cannot be foreseen."""


class ConfigMapTrack(Api):
    """A whole small track in a ConfigMap of the same namespace: track.json and the files it uses, one key each."""

    name: Name
    """Name of the ConfigMap."""


def has_no_credentials(field: str) -> str:
    """Return the CEL expression that is true of a field's address of a git repository without a password or token."""
    return f"!{field}.matches(r'{GIT_CREDENTIALS}')"


def no_credentials_in(path: str) -> Json:
    """Return the rule for the address of a git repository; `path` names its parent in the sentence."""
    return rule(
        has_no_credentials("self.url"),
        f"{path}.url must not hold credentials: give them in a secret, as {path}.credentialsSecret",
    )


class GitTrack(Api):
    """A track in a git repository. The commit is found once, before the first race, and every race runs that one."""

    model_config = ConfigDict(json_schema_extra=rules(no_credentials_in("race.track.git")))
    url: Annotated[str, Field(pattern=GIT_URL, max_length=500)]
    """Address of the repository: https://, http://, ssh:// or git://."""
    revision: Annotated[str, Field(pattern=GIT_REVISION, max_length=200)]
    """Commit (best in full), tag or branch."""
    path: Annotated[str, Field(pattern=INNER_PATH, max_length=500)] = ""
    """Directory of track.json in the repository; empty for its top."""
    credentials_secret: SecretRef | None = None
    """Secret with username and password (https; a token as password will do), or ssh-privatekey and known_hosts (ssh);
    ca.crt beside them for a server with a certificate of your own CA. Mounted into the race's pod, never read by the
    operator."""


class VolumeTrack(Api):
    """A track on a volume, mounted read-only."""

    claim_name: Name
    """Name of the volume claim, in the same namespace."""
    path: Annotated[str, Field(pattern=INNER_PATH, max_length=500)] = ""
    """Directory of track.json on the volume; empty for its top."""


class Track(Api):
    """Which track Rally races on."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "[has(self.builtin), has(self.configMap), has(self.name), has(self.git), has(self.volume)]"
                ".filter(x, x).size() == 1",
                "race.track takes exactly one source: builtin, configMap, name, git or volume",
            ),
            rule(
                "has(self.name) || !(has(self.revision) || has(self.repository))",
                "race.track.revision and race.track.repository belong to race.track.name; for git write race.track.git",
            ),
            rule(
                f"!has(self.repository) || ({has_no_credentials('self.repository')})",
                "race.track.repository must not hold credentials: for a repository that asks for them write "
                "race.track.git, with credentialsSecret",
            ),
        )
    )
    builtin: Annotated[str | None, Field(min_length=1, max_length=63)] = None
    """Name of a track that ships with the operator."""
    config_map: ConfigMapTrack | None = None
    """A track in a ConfigMap."""
    name: Annotated[str | None, Field(pattern=INNER_PATH, min_length=1, max_length=200)] = None
    """Name of a track in Elastic's repository of tracks, for example geonames."""
    revision: Annotated[str | None, Field(pattern=GIT_REVISION, max_length=200)] = None
    """Commit (best in full), tag or branch of Elastic's repository; absent means the one that the installation pins."""
    repository: Annotated[str | None, Field(pattern=GIT_URL, max_length=500)] = None
    """Address of a mirror of Elastic's repository; absent means the installation's."""
    git: GitTrack | None = None
    """A track in any git repository."""
    volume: VolumeTrack | None = None
    """A track on a volume."""


class RequestsConfigMap(Api):
    """Requests in a ConfigMap of the same namespace."""

    name: Name
    """Name of the ConfigMap."""


class RequestsVolume(Api):
    """Requests on a volume, mounted read-only."""

    claim_name: Name
    """Name of the volume claim, in the same namespace."""
    path: Annotated[str, Field(pattern=INNER_PATH, max_length=500)] = ""
    """Directory of the file on the volume; empty for its top."""


class RequestsGit(GitTrack):
    """Requests in a git repository. The commit is found once, before the first race, and every race sends that one."""

    model_config = ConfigDict(json_schema_extra=rules(no_credentials_in("race.requests.git")))
    path: Annotated[str, Field(pattern=INNER_PATH, max_length=500)] = ""
    """Directory of the file in the repository; empty for its top."""


class Requests(Api):
    """A file of requests, one a line: a path, or a JSON object with method, path and body."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "[has(self.configMap), has(self.volume), has(self.git)].filter(x, x).size() == 1",
                "race.requests takes exactly one source: configMap, volume or git",
            )
        )
    )
    config_map: RequestsConfigMap | None = None
    """In a ConfigMap."""
    volume: RequestsVolume | None = None
    """On a volume."""
    git: RequestsGit | None = None
    """In a git repository."""
    file: Annotated[str, Field(pattern=FILE_NAME, min_length=1, max_length=200)] = "requests.ndjson"
    """Name of the file, or of the ConfigMap's key. Beside it may be documents.json, a document a line, and index.json,
    the body of their index."""
    hits: Pointer | None = None
    """JSON pointer to the number of hits in an answer over HTTP, for example /hits/total/value. Each request is sent
    once more after the race to read it: variants of a Comparison may send different ones that find the same."""


class Corpora(Api):
    """A volume on which documents are kept from race to race, shared by any number of Benchmarks."""

    claim_name: Name
    """Name of the volume claim, in the same namespace; ReadWriteMany when races run on several machines."""
    max_size: Quantity | None = None
    """The most that all corpora on it may take; what was not used for longest goes first. Absent: as much as fits."""


class Samples(Api):
    """A volume on which the sample of every request of each race is kept, one Parquet file a race."""

    claim_name: Name
    """Name of the volume claim, in the same namespace; ReadWriteMany when races run on several machines."""


class MetricsStore(Api):
    """An Elasticsearch of yours that keeps Rally's own documents, for dashboards that stand on them."""

    model_config = ConfigDict(json_schema_extra=rules(*_address_rules("race.metricsStore")))
    hosts: Annotated[list[Annotated[str, Field(min_length=10, max_length=260)]], Field(min_length=1, max_length=20)]
    """Where it answers, for example https://metrics-es-http.monitoring.svc:9200; the next is asked where one does not
    answer."""
    credentials_secret: SecretRef | None = None
    """Secret with the keys username and password; absent means that no credentials are sent."""
    elastic_user_secret: SecretRef | None = None
    """Secret with the key elastic, as ECK makes one for each cluster: NAME-es-elastic-user."""
    api_key_secret: SecretRef | None = None
    """Secret with the key api-key: the value "encoded" of an API key, or its id and key with a colon between them."""
    ca_secret: SecretRef | None = None
    """Secret with the key ca.crt, which signs the certificates of https hosts; absent means the race image's CAs."""


class Steady(Api):
    """Measure what has settled: the warm-up of a task goes on until it has, by the same rule in every race."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            bounded_duration(
                "maxWarmup", "race.steady.maxWarmup", LONGEST_WARMUP, "a task that has not settled by then may never"
            ),
            rule(
                f"!self.maxWarmup.matches('{_COUNTABLE}') || duration(self.maxWarmup) >= duration('45s')",
                "race.steady.maxWarmup is too short: whether a task has settled is told from 36 seconds; write 45s or "
                "more",
            ),
        )
    )
    max_warmup: Duration
    """How long a task may warm up, from 45s to 1h. Tasks of the challenge with a warm-up of their own and a planned end
    (time-period, or iterations of searches) warm up at least as long as the track says, then until throughput and
    service time stay the same, for so long at most; what is measured keeps its length. A bulk ends with its documents
    and tasks side by side with one another: both keep the warm-up of the track."""


class Expect(Api):
    """What must be there when a race is over, for who knows better than the track: it stands before what that says."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.totalDocuments) || self.documents.size() > 0",
                "race.expect says nothing: write documents (a number for an index, alias or data stream) or "
                "totalDocuments",
            ),
            rule(
                "self.documents.all(name, name.size() > 0 && name.size() < 256 && !name.contains('*'))",
                "race.expect.documents takes whole names of indices, aliases or data streams, without *",
            ),
        )
    )
    documents: Annotated[dict[str, DocumentNumber], Field(max_length=100)] = {}
    """Documents by index, alias or data stream, in the end of each race. Nested documents are not counted."""
    total_documents: DocumentNumber | None = None
    """Documents in all indices of the race together, in its end."""


class Allow(Api):
    """What a race may have and count nevertheless; whatever is accepted by it is remarked on."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.errorRate.size() > 0",
                "race.allow says nothing: write errorRate, for example errorRate: {TASK: 0.001}, or leave it out",
            ),
            rule(
                "self.errorRate.all(task, self.errorRate[task] > 0.0 && self.errorRate[task] < 1.0)",
                "race.allow.errorRate takes the share of a task's requests that may fail, above 0 and below 1: write "
                "0.001 for one of a thousand",
            ),
            rule(
                "self.errorRate.all(task, task.size() > 0 && task.size() <= 200)",
                "race.allow.errorRate takes names of tasks of the challenge, of at most 200 characters",
            ),
        )
    )
    error_rate: Annotated[dict[str, ErrorRate], Field(max_length=100)] = {}
    """By the name of a task the share of its requests that may fail, for example 0.001 for one of a thousand: of its
    measured ones, and of all with those of its warm-up. Rally goes on after such an error; one of the network still
    ends the race. A task that the challenge does not have is refused by the check, and that of race.capacity has
    race.capacity.objective.errorRate."""


_FORMS = "part and rest are counters that only grow, whose part is a percentage; pointer is a value"
PROBE_RULES: Json = rules(
    rule(
        "[has(self.pointer), has(self.part)].filter(x, x).size() == 1",
        f"race.probes takes exactly one of pointer and part with rest: {_FORMS}",
    ),
    rule(
        "has(self.part) == has(self.rest)",
        f"race.probes.part and race.probes.rest need each other: {_FORMS}",
    ),
    rule(
        "!has(self.weight) || has(self.pointer)",
        "race.probes.weight says how many requests the rate at pointer is of: write pointer beside it, or leave weight "
        "out",
    ),
    rule(
        "self.between.size() != 2 || self.between[0] <= self.between[1]",
        "race.probes.between takes the lowest and the highest value, in this order, for example [40, 60]",
    ),
    rule(
        "!self.path.matches('/_(refresh|flush|forcemerge|cache)')",
        "race.probes.path is read and must change nothing: Elasticsearch takes this one as an order, also by GET",
    ),
)


class Probe(Api):
    """A condition on the system under test, read from itself by GET on every host before and after each race."""

    model_config = ConfigDict(json_schema_extra=PROBE_RULES)
    name: Annotated[str, Field(pattern=PROBE_NAME, max_length=63)]
    """Name of the condition, for example cache_hit_rate."""
    path: Annotated[str, Field(pattern=ASKED_PATH, max_length=1000)]
    """Path that each host answers with JSON of at most 1 MiB, for example /d/status. It must change nothing."""
    pointer: Pointer | None = None
    """JSON pointer (RFC 6901) to a number, for example /1/cache_hit_rate."""
    weight: Pointer | None = None
    """JSON pointer to the number of requests that the rate at pointer is of. Both are counted since the engine's start,
    and from their growth comes the race's own rate. Absent means that the value is taken as it is after the race."""
    part: Pointer | None = None
    """Instead of pointer: JSON pointer to a counter, for example of hits. A level * stands for each member there, and
    what they count is added up. The race's own value is 100 * part / (part + rest), of what they grew by."""
    rest: Pointer | None = None
    """JSON pointer to the counter of all others, for example of misses."""
    between: Annotated[list[Annotated[float, Field(ge=-1e15, le=1e15)]], Field(min_length=2, max_length=2)]
    """Lowest and highest value that the race may have, both included, in the unit of the answer; of part in percent."""


class Race(Api):
    """What Rally does, or over HTTP k6."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!(self.includeTasks.size() > 0 && self.excludeTasks.size() > 0)",
                "race.includeTasks and race.excludeTasks exclude each other: write one of them",
            ),
            rule(
                "!has(self.track) || has(self.requests) == (has(self.track.builtin) && self.track.builtin == 'replay')",
                "race.requests and race.track.builtin: replay need each other, for no other track sends requests of a "
                "file",
            ),
            rule(
                "!has(self.track) || !has(self.requests) || !has(self.requests.hits)",
                "race.requests.hits is read from the answers of a target of kind http, where there is no race.track: "
                "leave it out, since races on a track tell the hits of their searches anyway",
            ),
            rule(
                "has(self.track) || (has(self.requests) && has(self.load))",
                "race.track is missing: write the track to race on; for a target of kind http, which has none, write "
                "race.requests and race.load",
            ),
            rule(
                "!has(self.sweep) || !has(self.capacity)",
                "race.sweep and race.capacity exclude each other: one has its steps written down, the other looks for "
                "them; write two Benchmarks",
            ),
            rule(
                "!has(self.track) || !has(self.load)",
                "race.load is how requests are sent to a target of kind http, where there is no race.track: with a "
                "track write race.params, or leave race.track out",
            ),
        )
    )
    track: Track | None = None
    """The workload; absent only with a target of kind http."""
    requests: Requests | None = None
    """The requests that the builtin track replay sends, or that are sent to a target of kind http."""
    load: RequestLoad | None = None
    """How the requests are sent to a target of kind http; there is one task, named requests."""
    corpora: Corpora | None = None
    """Where documents are kept from race to race; absent means that each race fetches or generates them anew."""
    offline: bool = False
    """Download no documents: they must come with the track or be on the volume of corpora."""
    challenge: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """Challenge of the track; absent means the track's default."""
    params: FreeForm = {}
    """Track parameters (Rally's --track-params). A parameter that the track does not know is an error."""
    include_tasks: Annotated[list[TaskFilter], Field(max_length=100)] = []
    """Run only these tasks: names, type:TYPE or tag:TAG."""
    exclude_tasks: Annotated[list[TaskFilter], Field(max_length=100)] = []
    """Leave these tasks out: names, type:TYPE or tag:TAG."""
    require_tasks: Annotated[list[TaskName], Field(max_length=100)] = []
    """Names of tasks that must be among those that are raced; else the Benchmark fails before any cluster is built,
    and says which there are. With it a builtin track is checked, too."""
    sweep: Sweep | None = None
    """One task raced in steps of clients or rates, in place of the task itself. The smoke test runs that once as it
    is."""
    capacity: CapacityGoal | None = None
    """The highest rate at which one task keeps an objective, looked for by probes in place of the task itself. The
    smoke test runs that once as it is."""
    expect: Expect | None = None
    """Documents that each race must leave; absent means what the track determines. The smoke test is not held to it."""
    allow: Allow | None = None
    """Errors that are accepted; absent means that one failed request voids the race."""
    probes: Annotated[
        list[Probe],
        Field(
            max_length=20,
            json_schema_extra=rules(
                rule(
                    "self.all(p, self.exists_one(q, q.name == p.name))",
                    "race.probes has a name twice: each probe has a name of its own",
                )
            ),
        ),
    ] = []
    """Conditions that the system under test must meet, read from itself; a race outside of them does not count. The
    smoke test reads them, and is not held to them."""
    samples: Samples | None = None
    """Where every request's sample is kept; absent means that the record holds histograms of each task alone."""
    metrics_store: MetricsStore | None = None
    """Where Rally's own documents go when a race is over: metrics, results and the race, in its indices rally-*. That
    it takes them is looked at before anything is measured; absent means that they go nowhere."""
    steady: Steady | None = None
    """How long warm-ups may go on until a task has settled; absent means as long as the track says."""
    client_options: FreeForm = {}
    """Options of Rally's Elasticsearch client, for example timeout: 600, in seconds. Credentials and TLS come from
    ECK's secrets."""
    telemetry: Annotated[list[Telemetry], Field(max_length=9)] = []
    """Rally telemetry devices to switch on. disk-usage-stats asks once, after the last task, for the bytes of each
    field of the track's indices: results.disk_usage_total and its parts in race.json.gz of the record (since 7.15), as
    are ingest-pipeline-stats and the last transform-stats. segment-stats ask once, in the end, the others again and
    again while the race runs, which is load of its own: what they say is in the record's telemetry.jsonl.gz, as much as
    fits."""
    telemetry_params: FreeForm = {}
    """Parameters of these devices (Rally's --telemetry-params), for example node-stats-sample-interval: 10."""
    down_sampling: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Rally keeps the times of one request of so many, for races of many million requests, whose times it holds in
    memory: about 2 KiB a request. Errors, throughput and windows are of all requests; latency, service time and
    processing time of those that are kept, and `support` counts these."""
    user_tags: Annotated[dict[str, Annotated[str, Field(max_length=500)]], Field(max_length=50)] = {}
    """Tags that Rally keeps in race.json."""
    resources: Resources = Resources(requests=ResourceList(cpu="500m"), limits=ResourceList(cpu="2", memory="2Gi"))
    """CPU and memory of the load generator; Rally uses as many cores as the CPU limit gives, or as it is let run on
    where whole processors of others leave it fewer. The default reserves half a core, so that it finds room on a small
    machine: reserve the whole limit where neighbours must not matter."""
    scheduling: Scheduling | None = None
    """Which machines the load generator may run on; it keeps off those of Elasticsearch where there is room."""


class InTurn(Api):
    """With whom a race takes turns, request by request; a Comparison writes it (`design.kind: Duet`)."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.number < self.races && has(self.at) == (self.number > 0)",
                "inTurn is written by a Comparison: leave it out, and write design.kind: Duet there",
            )
        )
    )
    block: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
    """What all of its races call it."""
    races: Annotated[int, Field(ge=2, le=MAX_VARIANTS + 1)]
    """How many they are: the variants, and the baseline against itself."""
    number: Annotated[int, Field(ge=0, le=MAX_VARIANTS)]
    """Which one this is; 0 keeps the table at which they meet, and begins."""
    at: Annotated[str | None, Field(pattern=r"^(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]{1,5}$", max_length=60)] = None
    """Where the table is: the address and port that race 0 has said."""


class PullSecret(Api):
    """A Secret of the Benchmark's own namespace with the credentials of a registry; only the kubelet reads it."""

    name: Name
    """Name of the Secret, of the type kubernetes.io/dockerconfigjson."""


class Timeouts(Api):
    """How long each part may take before it fails with a reason."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            bounded_duration(
                "race", "timeouts.race", LONGEST_RACE,
                "a race that hangs holds its place in the queue until then, and everybody waits",
            ),
            bounded_duration(
                "provisioning", "timeouts.provisioning", LONGEST_PROVISIONING,
                "a cluster that never comes holds its place in the queue until then, and everybody waits",
            ),
            some_time("race", "timeouts.race", "6h"),
            some_time("provisioning", "timeouts.provisioning", "15m"),
        )
    )  # fmt: skip
    provisioning: Duration = "15m"
    """From the request for a cluster until it is green and reachable; from the creation of a Job until its pod runs;
    the track check, and the look at a target, must be done in this time and two minutes. At most 24h."""
    race: Duration = "6h"
    """From the start of one race until its record is there; at most 720h."""


class TtlAfterFinished(Api):
    """How long the records of a Benchmark (ConfigMaps) stay after its end; then the operator removes them."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *(
                bounded_duration(field, f"ttlAfterFinished.{field}", LONGEST_TTL, "leave it out to keep them for ever")
                for field in ("succeeded", "failed")
            )
        )
    )
    succeeded: Duration | None = None
    """After it has succeeded, at most 8760h; absent means for ever."""
    failed: Duration | None = None
    """After it has failed, at most 8760h; absent means for ever."""
    benchmark: bool = False
    """Whether the Benchmark itself goes with its records, status and results included."""


_STEPWISE = "has(self.race.sweep) || has(self.race.capacity) || has(self.race.steady)"
_OVER_HTTP = "has(self.target) && self.target.kind == 'http'"
RALLYS_OWN = {
    "corpora": "has(self.race.corpora)",
    "offline": "self.race.offline",
    "challenge": "has(self.race.challenge)",
    "includeTasks": "self.race.includeTasks.size() > 0",
    "excludeTasks": "self.race.excludeTasks.size() > 0",
    "expect": "has(self.race.expect)",
    "metricsStore": "has(self.race.metricsStore)",
    "steady": "has(self.race.steady)",
    "telemetry": "self.race.telemetry.size() > 0",
    "downSampling": "self.race.downSampling > 1",
    "userTags": "self.race.userTags.size() > 0",
}
"""By field of the race whether it is written; over HTTP it would mean nothing. CEL cannot look into the free ones."""
_EACH = ", ".join(f"({test}) ? 'race.{name}' : ''" for name, test in RALLYS_OWN.items())
_WRITTEN = f"[{_EACH}].filter(f, f != '')"
_HTTP_RULES = rules(
    rule(
        f"({_OVER_HTTP}) == !has(self.race.track)",
        "race.track and target.kind: http exclude each other: Rally races a track on Elasticsearch, and an HTTP target "
        "is sent race.requests as race.load says",
    ),
    rule(
        f"!({_OVER_HTTP}) || {_WRITTEN}.size() == 0",
        f"'what means nothing with target.kind: http, so leave it out: %s'.format([{_WRITTEN}])",
        computed=True,
    ),
    rule(
        f"!({_OVER_HTTP}) || !has(self.race.sweep) || self.race.sweep.task == '{REQUESTS}'",
        f"race.sweep.task is {REQUESTS} with target.kind: http: there is no other task",
    ),
    rule(
        f"!({_OVER_HTTP}) || !has(self.race.capacity) || self.race.capacity.task == '{REQUESTS}'",
        f"race.capacity.task is {REQUESTS} with target.kind: http: there is no other task",
    ),
    rule(
        f"!({_OVER_HTTP}) || !has(self.race.allow) || self.race.allow.errorRate.all(task, task == '{REQUESTS}')",
        f"race.allow.errorRate knows only the task {REQUESTS} with target.kind: http",
    ),
)["x-kubernetes-validations"]


class BenchmarkSpec(Api):
    """What to measure. Immutable but for suspend: another measurement is another Benchmark."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *(
                rule(f"self.{field} == oldSelf.{field}", f"spec.{field} is immutable: create another Benchmark instead")
                for field in (
                    "race",
                    "repetitions",
                    "smokeTest",
                    "keepCluster",
                    "keepClusterFor",
                    "timeouts",
                    "imagePullSecrets",
                )
            ),
            *(
                rule(
                    f"has(self.{field}) == has(oldSelf.{field})"
                    f" && (!has(self.{field}) || self.{field} == oldSelf.{field})",
                    f"spec.{field} is immutable: create another Benchmark instead",
                )
                for field in (
                    "elasticsearch",
                    "target",
                    "checkedBy",
                    "inTurn",
                    "racedAgain",
                    "ttlAfterFinished",
                    "rerunHistoryLimit",
                )
            ),
            rule(
                "[has(self.elasticsearch), has(self.target)].filter(x, x).size() == 1",
                "spec takes exactly one of elasticsearch (a cluster that is built for each race) and target (a cluster "
                "that exists already)",
            ),
            rule(
                "!has(self.elasticsearch) || self.elasticsearch.nodes == 1 || "
                "!self.race.probes.exists(p, p.path.contains('/_local'))",
                "race.probes.path names _local, which is another node each time, for all of them answer at one "
                "address: write a path that answers for the whole cluster, as /_nodes/stats, with a level * in part "
                "and rest",
            ),
            *_HTTP_RULES,
            rule(
                f"!has(self.inTurn) || (has(self.race.track) && !({_STEPWISE}) && self.repetitions == 1)",
                "inTurn is for one race on a track, without sweep, capacity and steady: leave these out",
            ),
            bounded_duration(
                "keepClusterFor", "keepClusterFor", LONGEST_KEEP, "a kept cluster occupies its machines until then"
            ),
            rule(
                "!has(self.target) || !has(self.race.metricsStore) || "
                "!self.race.metricsStore.hosts.exists(h, self.target.hosts.exists(t, t == h))",
                "race.metricsStore.hosts has a host of spec.target: what is measured cannot keep its own measurements; "
                "name another Elasticsearch",
            ),
            rule(
                "!has(self.target) || self.keepClusterFor == '24h'",
                "spec.keepClusterFor is for a cluster that is built for the race: leave it out with spec.target",
            ),
        )
    )
    elasticsearch: Elasticsearch | None = None
    """The cluster under test, built for each race."""
    target: Target | None = None
    """What is under test, where it runs already."""
    race: Race
    """What is raced on it."""
    repetitions: Annotated[int, Field(ge=0, le=MAX_REPETITIONS)] = 1
    """Number of races, each on a fresh cluster; numbers are medians over races. 0 is a rehearsal: the track check and
    the smoke test alone, and nothing is measured; with smokeTest: false the track is checked in any case."""
    smoke_test: bool = True
    """Race once in Rally's test mode first: fail in a minute, not in three hours."""
    checked_by: Name | None = None
    """Name of another Benchmark of this namespace whose track check holds for this one, too: what that found is taken
    over. Only if it has passed, for the same `race` (but for where it runs, its resources, its tags and fewer
    `requireTasks`), the same index settings and the same target; in any other case the track is checked here. Files of
    a track that were changed since are not noticed."""
    in_turn: InTurn | None = None
    """With which other Benchmarks of a Comparison's block it is raced in turn; written by the Comparison."""
    raced_again: Annotated[list[TaskName], Field(min_length=1, max_length=50)] | None = None
    """Names of tasks that a Comparison races alone, again and again, on the one cluster that it keeps (`design.state:
    Kept`); written by the Comparison. Before that is built the track check refuses tasks that cannot be raced so, and
    those that change what it was filled with. In races on it tasks may run whose effects cannot be foreseen."""
    keep_cluster: Literal["Never", "OnFailure", "Always"] = "Never"
    """Whether the last cluster stays for inspection. On a target: whether what the track created there stays."""
    keep_cluster_for: Duration = "24h"
    """How long a kept cluster stays after the end, at most 720h; then the operator removes it. Not for a target."""
    ttl_after_finished: TtlAfterFinished | None = None
    """How long its records stay after the end; absent means for ever. The status with the results stays in any case,
    unless `benchmark` is asked for. A kept cluster goes first, in its own time."""
    rerun_history_limit: Annotated[int | None, Field(ge=1, le=1000)] = None
    """Of all reruns (annotation fairlap.dev/rerun) so many of those that ended last stay; the others are removed, with
    their records, each time that one ends. The Benchmark that was first stays. Absent means that all stay."""
    timeouts: Timeouts = Timeouts()
    """How long each part may take."""
    image_pull_secrets: Annotated[list[PullSecret], Field(max_length=10)] = []
    """Credentials of the registries that the images of all pods come from, beside those that the installation names."""
    suspend: bool = False
    """While true no further race starts; one that is under way runs to its end."""

    @property
    def over_http(self) -> bool:
        """True where requests are sent to an HTTP target, and no track is raced."""
        return self.target is not None and self.target.kind == "http"

    @property
    def index(self) -> IndexSettings | None:
        """What the track's indices must really have, wherever they are."""
        place = self.elasticsearch or self.target
        return place.index if place else None
