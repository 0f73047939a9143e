"""A stand-in for ECK: builds the objects of a cluster in ECK's order, with its known rough edges."""

import asyncio
import base64
import time
from collections.abc import Callable

from .fakes import STEP, Knobs, World, create_fresh, create_pod, owned_by, warn
from .rest import Json

API = "elasticsearch.k8s.elastic.co/v1"
CLUSTER = "elasticsearch.k8s.elastic.co/cluster-name"
DIGEST = "docker.elastic.co/elasticsearch/elasticsearch@sha256:" + "ab" * 32


_PORTS = [{"name": "https", "port": 9200, "protocol": "TCP"}]
ENDINGS = {"restart": ("Error", 143), "out-of-memory": ("OOMKilled", 137), "heap-exhausted": ("Error", 3)}
"""how Elasticsearch's container ends during a race"""


class Eck:
    """One task for each Elasticsearch that appears; what it owns is collected by the garbage collector."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._seen: set[str] = set()

    def act(self, kind: str, elasticsearch: Json) -> None:
        meta = elasticsearch["metadata"]
        if kind != "DELETED" and not meta.get("deletionTimestamp") and meta["uid"] not in self._seen:
            self._seen.add(meta["uid"])
            self.world.built.append((meta["namespace"], meta["name"]))
            self.world.spawn(self._build(elasticsearch), f"build cluster {meta['name']}")

    async def _build(self, elasticsearch: Json) -> None:
        world, knobs = self.world, self.world.of(elasticsearch)
        fault = knobs.cluster_fault(elasticsearch["metadata"].get("labels", {}).get(STEP, ""))
        await world.pause(knobs.eck)
        await self._status(elasticsearch, "ApplyingChanges", "unknown", 0)
        for plural, body in _surroundings(elasticsearch):
            made = await create_fresh(world, plural, body)
            if plural == "services":
                endpoints = _endpoint_slice(elasticsearch, made)
                await create_fresh(world, "endpointslices", endpoints)
        stateful_set = await create_fresh(world, "statefulsets", _stateful_set(elasticsearch))
        for claim in _claims(elasticsearch, owned=knobs.cluster != "claims-without-owner"):
            await create_fresh(world, "persistentvolumeclaims", claim)
        pods = []
        for number in range(_node_set(elasticsearch)["count"]):
            node = world.node(knobs, _node_set(elasticsearch)["podTemplate"])
            wanted = _pod(elasticsearch, stateful_set, number, node, fault)
            pod = await create_pod(world, stateful_set, "StatefulSet", wanted)
            if pod is None:
                return
            pods.append(pod)
        await world.pause(knobs.eck)
        if fault in _STUCK:
            for pod in pods:
                await self._pod_status(pod, _STUCK[fault](pod))
            return
        await self._come_up(elasticsearch, pods, knobs, fault)

    async def _come_up(self, elasticsearch: Json, pods: list[Json], knobs: Knobs, fault: str) -> None:
        world, meta = self.world, elasticsearch["metadata"]
        for pod in pods:
            await self._pod_status(pod, running(pod, ready=False))
        await world.pause(knobs.eck)
        if fault == "never-green":
            for pod in pods:
                await self._pod_status(pod, running(pod))
            await self._endpoints(elasticsearch, len(pods))
            await self._status(elasticsearch, "Ready", "yellow", len(pods))
            return
        # As ECK does: Ready and green are said a little before the pods are, and before there are endpoints.
        await self._status(elasticsearch, "Ready", "green", len(pods))
        await world.pause(knobs.eck)
        for pod in pods:
            await self._pod_status(pod, running(pod) if fault != "hard-start" else started_again(pod))
        if fault == "hard-start":
            await asyncio.sleep(1.1)  # Kubernetes' times are whole seconds: what begins now began after that end
        if fault == "no-endpoints":
            return
        await world.pause(knobs.eck)
        await self._endpoints(elasticsearch, len(pods))
        world.ready.add(meta["uid"])

    async def _status(self, elasticsearch: Json, phase: str, health: str, nodes: int) -> None:
        meta = elasticsearch["metadata"]
        status = {
            "phase": phase,
            "health": health,
            "availableNodes": nodes,
            "version": elasticsearch["spec"]["version"],
            "observedGeneration": meta["generation"],
        }
        await self.world.rest.patch("elasticsearches", meta["namespace"], meta["name"], {"status": status}, "status")

    async def _pod_status(self, pod: Json, status: Json) -> None:
        meta = pod["metadata"]
        await self.world.rest.patch("pods", meta["namespace"], meta["name"], {"status": status}, "status")

    async def _endpoints(self, elasticsearch: Json, count: int) -> None:
        meta = elasticsearch["metadata"]
        addresses = [
            {"addresses": [f"10.244.0.{number + 10}"], "conditions": {"ready": True}} for number in range(count)
        ]
        name = f"{meta['name']}-es-http-abcde"
        await self.world.rest.patch("endpointslices", meta["namespace"], name, {"endpoints": addresses})

    async def evict(self, namespace: str, cluster: str) -> None:
        """Evict the first node's pod as the kubelet does, and replace it at once as the StatefulSet does."""
        pod = await self.world.rest.get("pods", namespace, f"{cluster}-es-default-0")
        if pod is None:
            return
        message = 'Usage of EmptyDir volume "elasticsearch-data" exceeds the limit "1Mi". '
        await self._pod_status(pod, {"phase": "Failed", "reason": "Evicted", "message": message})
        meta = pod["metadata"]
        await warn(self.world, pod, "Pod", "Evicted", message)
        # A replacement that is seconds younger than its cluster tells that there was an earlier pod.
        await asyncio.sleep(6)
        await self.world.rest.delete("pods", namespace, meta["name"], {"gracePeriodSeconds": 0})
        kept = {key: meta[key] for key in ("name", "namespace", "labels", "ownerReferences")}
        fresh = await create_fresh(self.world, "pods", {"metadata": kept, "spec": pod["spec"]})
        await self._pod_status(fresh, running(fresh))

    async def restart(self, namespace: str, cluster: str, reason: str, code: int) -> None:
        """Let the first node of a cluster restart, as after an out-of-memory kill."""
        pod = await self.world.rest.get("pods", namespace, f"{cluster}-es-default-0")
        if pod is None:
            return
        status = running(pod)
        status["containerStatuses"][0] |= {
            "restartCount": 1,
            "lastState": {"terminated": {"reason": reason, "exitCode": code}},
        }
        await self._pod_status(pod, status)


def _node_set(elasticsearch: Json) -> Json:
    node_set: Json = elasticsearch["spec"]["nodeSets"][0]
    return node_set


def _meta(elasticsearch: Json, suffix: str) -> Json:
    meta = elasticsearch["metadata"]
    return {
        "name": f"{meta['name']}{suffix}",
        "namespace": meta["namespace"],
        "labels": {CLUSTER: meta["name"], "common.k8s.elastic.co/type": "elasticsearch"},
        "ownerReferences": owned_by(elasticsearch, "Elasticsearch", API),
    }


def _surroundings(elasticsearch: Json) -> list[tuple[str, Json]]:
    password, ca = (base64.b64encode(text).decode() for text in (b"secret-password", b"-----BEGIN CERTIFICATE-----"))
    service = _meta(elasticsearch, "-es-http")
    service["labels"] |= elasticsearch["spec"].get("http", {}).get("service", {}).get("metadata", {}).get("labels", {})
    selector = {CLUSTER: elasticsearch["metadata"]["name"]}
    return [
        ("secrets", {"metadata": _meta(elasticsearch, "-es-elastic-user"), "data": {"elastic": password}}),
        ("secrets", {"metadata": _meta(elasticsearch, "-es-http-certs-public"), "data": {"ca.crt": ca}}),
        ("services", {"metadata": service, "spec": {"ports": _PORTS, "selector": selector}}),
    ]


def _endpoint_slice(elasticsearch: Json, service: Json) -> Json:
    """The EndpointSlice as Kubernetes makes it: owned by the Service, with its labels."""
    meta = _meta(elasticsearch, "-es-http-abcde") | {"ownerReferences": owned_by(service, "Service", "v1")}
    meta["labels"] = {**service["metadata"]["labels"], "kubernetes.io/service-name": service["metadata"]["name"]}
    return {"metadata": meta, "addressType": "IPv4", "ports": _PORTS, "endpoints": []}


def _stateful_set(elasticsearch: Json) -> Json:
    node_set = _node_set(elasticsearch)
    labels = {CLUSTER: elasticsearch["metadata"]["name"]}
    container = {"name": "elasticsearch", "image": "elasticsearch"}
    return {
        "metadata": _meta(elasticsearch, f"-es-{node_set['name']}"),
        "spec": {
            "serviceName": "none",
            "replicas": node_set["count"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _claims(elasticsearch: Json, *, owned: bool) -> list[Json]:
    node_set, found = _node_set(elasticsearch), []
    for claim in node_set.get("volumeClaimTemplates", ()):
        for number in range(node_set["count"]):
            meta = _meta(elasticsearch, "")
            meta["name"] = f"{claim['metadata']['name']}-{meta['name']}-es-{node_set['name']}-{number}"
            meta["labels"] |= claim["metadata"].get("labels", {})
            if not owned:
                del meta["ownerReferences"]
            found.append({"metadata": meta, "spec": claim["spec"]})
    return found


def _pod(elasticsearch: Json, stateful_set: Json, number: int, node: str, fault: str) -> Json:
    template, node_set = _node_set(elasticsearch)["podTemplate"], _node_set(elasticsearch)
    meta = _meta(elasticsearch, f"-es-{node_set['name']}-{number}")
    meta["labels"] |= template.get("metadata", {}).get("labels", {})
    meta["ownerReferences"] = owned_by(stateful_set, "StatefulSet", "apps/v1")
    spec = dict(template["spec"])
    version = elasticsearch["spec"]["version"]
    image = elasticsearch["spec"].get("image") or f"docker.elastic.co/elasticsearch/elasticsearch:{version}"
    spec["containers"] = [{**container, "image": image} for container in spec["containers"]]
    spec["initContainers"] = [{"image": image, **container} for container in spec.get("initContainers", ())]
    if fault != "unschedulable":
        spec["nodeName"] = node
    return {"metadata": meta, "spec": spec}


def running(pod: Json, *, ready: bool = True) -> Json:
    """Return the status of a pod whose containers run."""
    truth = "True" if ready else "False"
    return {
        "phase": "Running",
        "podIP": "10.244.0.10",
        "startTime": pod["metadata"]["creationTimestamp"],
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "ContainersReady", "status": truth},
            {"type": "Ready", "status": truth},
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": DIGEST,
                "containerID": "containerd://1",
                "restartCount": 0,
                "ready": ready,
                "started": True,
                "state": {"running": {"startedAt": pod["metadata"]["creationTimestamp"]}},
            }
            for container in pod["spec"]["containers"]
        ],
    }


def started_again(pod: Json) -> Json:
    """Return the status of a pod that runs, and whose containers had been killed for lack of memory just before."""
    status = running(pod)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ended = {"reason": "OOMKilled", "exitCode": 137, "startedAt": now, "finishedAt": now}
    for container in status["containerStatuses"]:
        container |= {"restartCount": 1, "lastState": {"terminated": ended}, "state": {"running": {"startedAt": now}}}
    return status


def unschedulable(_: Json) -> Json:
    """Return the status of a pod that no machine has room for."""
    message = "0/2 nodes are available: 2 Insufficient memory."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


def waiting(pod: Json, reason: str, message: str, restarts: int = 0) -> Json:
    """Return the status of a pod whose containers wait for something."""
    status = running(pod, ready=False)
    status["phase"] = "Pending"
    for container in status["containerStatuses"]:
        container |= {"state": {"waiting": {"reason": reason, "message": message}}, "started": False, "imageID": ""}
        container |= {"restartCount": restarts}
        if restarts:
            container["lastState"] = {"terminated": {"reason": "Error", "exitCode": 78}}
    return status


_STUCK: dict[str, Callable[[Json], Json]] = {
    "unschedulable": unschedulable,
    "image-pull": lambda pod: waiting(pod, "ImagePullBackOff", "Back-off pulling image: not found"),
    "crash-loop": lambda pod: waiting(pod, "CrashLoopBackOff", "back-off 20s restarting failed container", 2),
}
