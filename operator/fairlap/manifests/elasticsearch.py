"""The cluster under test, as ECK's Elasticsearch resource."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from fairlap.api.base import Json
from fairlap.api.kinds import ELASTICSEARCH
from fairlap.api.names import ROLE_ELASTICSEARCH, ROLE_LOAD_GENERATOR
from fairlap.api.node_resources import node_resources
from fairlap.api.quantity import parse_quantity
from fairlap.api.spec import Elasticsearch, Resources, Storage
from fairlap.api.status import NodeProcessors
from fairlap.manifests.affinity import anti_affinity, machines, node_affinity
from fairlap.manifests.background import switched_off
from fairlap.manifests.meta import in_turn_labels, labels, metadata
from fairlap.manifests.pod_parts import UNDISTURBED, pull_secrets
from fairlap.plan.basis.seen import Subject
from fairlap.settings import Settings
from fairlap_race.contract.watched_machines.machine_settings import FILES

NODE_SET = "default"
JDK_FOLDER = "/opt/fairlap/jdk"
# Beyond 31 GiB the JVM gives up compressed object pointers, and a larger heap holds less.
_LARGEST_HEAP_MIB = 31 * 1024
_NONE: Mapping[str, Any] = MappingProxyType({})
_LARGEST_JDK = "2Gi"
PARTIAL_RESULTS = "search.default_allow_partial_results"
DATA_VOLUME = "elasticsearch-data"
MOUNTS_CONTAINER = "fairlap-mounts"
_SHOWN = ("/proc/self/mountinfo", "/proc/self/status", "/proc/meminfo", "/proc/cpuinfo")
# ECK completes the security of a container only where it has none, so ours say all that `restricted` asks for.
_RESTRICTED: Mapping[str, Any] = MappingProxyType(
    {
        "runAsNonRoot": True,
        "runAsUser": 1000,  # JDK images and Elasticsearch's before 8 start as root
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
)


def elasticsearch(
    subject: Subject,
    step: str,
    settings: Settings,
    node_settings: Mapping[str, Any] = _NONE,
    services: Collection[str] = (),
    processors: NodeProcessors | None = None,
) -> Json:
    """Return the Elasticsearch resource of one step: fresh, with its volumes deleted together with it.

    `node_settings` are index settings for elasticsearch.yml, because the track offers no way to set them; `services`
    are those that the track may use (see `background`); `processors` are what a node is given that names no CPU.
    """
    wanted = _wanted(subject)
    claims = _volume_claims(wanted.storage, labels(subject, step))
    manifest: Json = {
        "apiVersion": ELASTICSEARCH.api_version,
        "kind": ELASTICSEARCH.kind,
        "metadata": metadata(subject, step),
        "spec": {
            "version": wanted.version,
            "volumeClaimDeletePolicy": "DeleteOnScaledownAndClusterDeletion",
            # Kubernetes copies a Service's labels to its EndpointSlices, which the operator follows by label.
            # Headless: Rally then spreads its clients over the nodes evenly, and in each race in the same way.
            "http": {"service": {"metadata": {"labels": labels(subject, step)}, "spec": {"clusterIP": "None"}}},
            "nodeSets": [
                {
                    "name": NODE_SET,
                    "count": wanted.nodes,
                    "config": {
                        **switched_off(wanted, services),
                        **_whole_answers(wanted.config),
                        **node_settings,
                        **wanted.config,
                    },
                    "podTemplate": _pod_template(subject, step, settings, node_resources(wanted, processors)),
                    **({"volumeClaimTemplates": claims} if claims else {}),
                }
            ],
        },
    }
    if wanted.image:
        manifest["spec"]["image"] = wanted.image
    return manifest


def _wanted(subject: Subject) -> Elasticsearch:
    wanted = subject.spec.elasticsearch
    if wanted is None:
        raise ValueError(f"{subject.name} has a target: nothing is built for it")
    return wanted


def _whole_answers(config: Mapping[str, Any]) -> Json:
    """Return the setting that makes an error of an answer with failed shards, unless the user's `config` has it.

    Rally counts such an answer as success. Elasticsearch knows the setting from version 6.3 on.
    """
    within: Any = config
    for part in ("search", "default_allow_partial_results"):
        within = within.get(part) if isinstance(within, Mapping) else None
    return {} if within is not None or PARTIAL_RESULTS in config else {PARTIAL_RESULTS: False}


def heap_mib(wanted: Elasticsearch) -> int:
    """Return the default heap in MiB: half of the memory limit, so that the rest is page cache, at most 31 GiB."""
    limit = parse_quantity(wanted.resources.limits.memory or "2Gi")
    return min(int(limit / 2 / 2**20), _LARGEST_HEAP_MIB)


def resource_requirements(resources: Resources) -> Json:
    """Return a container's resources; a missing request is its limit, so that what is asked for is what is had."""
    limits = resources.limits.to_json()
    return {"requests": {**limits, **resources.requests.to_json()}, "limits": limits}


def _pod_template(subject: Subject, step: str, settings: Settings, resources: Resources) -> Json:
    wanted = _wanted(subject)
    heap = wanted.heap or f"{heap_mib(wanted)}m"
    container: Json = {
        "name": "elasticsearch",
        "env": [
            {"name": "ES_JAVA_OPTS", "value": " ".join([f"-Xms{heap}", f"-Xmx{heap}", *wanted.jvm_options])},
            # The cluster is thrown away: nobody needs time to notice that it leaves.
            {"name": "PRE_STOP_ADDITIONAL_WAIT_SECONDS", "value": "0"},
        ],
        "resources": resource_requirements(resources),
    }
    exclusive = wanted.scheduling is not None and wanted.scheduling.exclusive_nodes
    apart = anti_affinity(subject, (ROLE_ELASTICSEARCH, ROLE_LOAD_GENERATOR), exclusive=exclusive)
    spec: Json = {
        "terminationGracePeriodSeconds": 30,
        "automountServiceAccountToken": False,
        "affinity": {**apart, **node_affinity(wanted.scheduling)},
        "initContainers": [_show_mounts(resources)],
        "containers": [container],
        "volumes": [],
        **pull_secrets(subject.spec, settings),
        **machines(wanted.scheduling),
    }
    if wanted.storage.ephemeral is not None:
        spec["volumes"].append({"name": DATA_VOLUME, "emptyDir": wanted.storage.ephemeral.to_json()})
    if wanted.java is not None:
        _use_jdk(spec, container, wanted.java, settings)
    own = {**labels(subject, step, ROLE_ELASTICSEARCH), **in_turn_labels(subject, step)}
    meta = {"labels": own, "annotations": dict(UNDISTURBED)}
    return {"metadata": meta, "spec": spec}


def _show_mounts(resources: Resources) -> Json:
    # Only the kernel knows file system and options of the mounted data, and the machine; the operator reads this
    # container's log. A large machine says the same of each of its processors: the first lines are enough.
    small: Json = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}
    # A container with whole processors of its own is given those that an init container of the same size had.
    same = resources.whole_cores() is not None
    return {
        "name": MOUNTS_CONTAINER,  # ECK gives it the image and the mounts of the main container
        # Most machines lack some of the settings: what is not there is left out, and stops no pod.
        "command": ["sh", "-c", f"head -n 1 {' '.join(FILES)} 2>/dev/null; head -n 1000 {' '.join(_SHOWN)}"],
        "resources": resource_requirements(resources) if same else small,
        "securityContext": dict(_RESTRICTED),
    }


def _use_jdk(spec: Json, container: Json, java: int, settings: Settings) -> None:
    jdk, mount = settings.jdk_images[java], {"name": "jdk", "mountPath": JDK_FOLDER}
    spec["volumes"].append({"name": "jdk", "emptyDir": {"sizeLimit": _LARGEST_JDK}})
    spec["initContainers"].append(
        {
            "name": "jdk",
            "image": jdk.image,
            "resources": container["resources"],  # without, the pod would lose its guarantee
            "command": ["cp", "-RP", f"{jdk.path}/.", JDK_FOLDER],
            "volumeMounts": [mount],
            "securityContext": dict(_RESTRICTED),
        }
    )
    container["volumeMounts"] = [{**mount, "readOnly": True}]
    container["env"].append({"name": "ES_JAVA_HOME", "value": JDK_FOLDER})


def _volume_claims(storage: Storage, own: Mapping[str, str]) -> list[Json]:
    if storage.size is None:
        return []
    spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage.size}}}
    if storage.class_name:
        spec["storageClassName"] = storage.class_name
    # By its labels the operator finds a claim that its cluster has left behind (ownerless.py).
    return [{"metadata": {"name": DATA_VOLUME, "labels": dict(own)}, "spec": spec}]
