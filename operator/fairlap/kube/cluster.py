"""The operator's hands: every request it sends to the API server. The only file that imports the Kubernetes client."""

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from kubernetes.aio import client, config
from prometheus_client import Counter, Histogram

from fairlap.api.base import Json
from fairlap.api.names import API_VERSION, GROUP, KIND, PLURAL, STEP_LABEL, UID_LABEL, VERSION
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.conditions import moment
from fairlap.plan.explain.log_lines import telling_lines
from fairlap.plan.explain.warned import event_time, select_warnings
from fairlap.plan.seen import Children, LogOf, Seen, Subject, Warned
from fairlap.plan.steps import object_name
from fairlap.queue.summary import child
from fairlap_race.contract.record import KEY_RECORD, Record
from fairlap_race.contract.resources import KEY_RESOURCES, MachineTable

log = logging.getLogger(__name__)
_TIMEOUT_SECONDS: Final = 30.0
_LOG_LINES: Final = 200
_LOG_BYTES: Final = 2500

REQUESTS = Counter("fairlap_api_requests", "Requests to the API server", ["method", "resource", "code"])
SECONDS = Histogram("fairlap_api_request_seconds", "Time of requests to the API server", ["method"])

# kind -> (path prefix, plural)
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    KIND: (f"/apis/{GROUP}/{VERSION}", PLURAL),
    "Elasticsearch": ("/apis/elasticsearch.k8s.elastic.co/v1", "elasticsearches"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Pod": ("/api/v1", "pods"),
    "Event": ("/api/v1", "events"),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "PersistentVolume": ("/api/v1", "persistentvolumes"),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses"),
}


class ApiError(Exception):
    """The API server's answer to a request that it did not carry out; status 0 means that it did not answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status
        self.message = message

    @property
    def final(self) -> bool:
        """Whether the same request would be refused again for what it is."""
        # A quota that is full may have room later.
        wrong = self.status == 403 and "quota" not in self.message and not self.forbidden
        return self.status in (400, 413, 422) or wrong

    @property
    def forbidden(self) -> bool:
        """Whether a permission is missing; an API server that has just started says so of any."""
        return self.status == 403 and " cannot " in self.message and " resource " in self.message


class Cluster:
    """Requests to one API server; made by `connect`, to be closed with `close`."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self.may_write: Callable[[], bool] = lambda: True
        """asked before every write but that of the Lease itself: whether this operator still leads"""

    @staticmethod
    async def connect() -> "Cluster":
        """Return a connection as the pod's service account, or by the kubeconfig when there is no pod."""
        configuration = client.Configuration()
        try:
            config.load_incluster_config(client_configuration=configuration)
        except config.ConfigException:
            await config.load_kube_config(client_configuration=configuration)
        configuration.connection_pool_maxsize = 20
        api = client.ApiClient(configuration)
        api.user_agent = "fairlap"
        return Cluster(api)

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()

    async def say(self, benchmark: Json, status: BenchmarkStatus) -> Json:
        """Write a Benchmark's status and return the new object.

        Raises ApiError 409 when `benchmark` is not the newest version: somebody must look again.
        """
        meta = benchmark["metadata"]
        body = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {k: meta[k] for k in ("name", "namespace", "uid", "resourceVersion")},
            "spec": benchmark["spec"],
            "status": status.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True),
        }
        return await self._request("PUT", KIND, meta["namespace"], meta["name"], "status", body=body)

    async def lease(self, namespace: str, name: str) -> Json | None:
        """Return a Lease, or None when there is none. Raises ApiError."""
        try:
            return await self._request("GET", "Lease", namespace, name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def write_lease(self, lease: Json) -> None:
        """Write a Lease, or create it when it has no resourceVersion. Raises ApiError 409 when it has changed."""
        meta = lease["metadata"]
        if "resourceVersion" in meta:
            await self._request("PUT", "Lease", meta["namespace"], meta["name"], body=lease)
        else:
            await self._request("POST", "Lease", meta["namespace"], body=lease)

    async def benchmark(self, namespace: str, name: str) -> Json | None:
        """Return a Benchmark, or None when there is none of that name."""
        try:
            return await self._request("GET", KIND, namespace, name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def create_event(self, event: Json) -> None:
        """Create an event; one that is there was created by a request whose answer was lost. Raises ApiError."""
        try:
            await self._request("POST", "Event", event["metadata"]["namespace"], body=event)
        except ApiError as error:
            if error.status != 409:
                raise

    async def benchmark_uids(self, namespaces: Iterable[str]) -> set[str]:
        """Return the uids of all Benchmarks in some namespaces; without any, in the whole cluster. Raises ApiError."""
        return {item["metadata"]["uid"] for item in await self._metadata(KIND, namespaces)}

    async def ours(self, kind: str, namespaces: Iterable[str]) -> list[Json]:
        """Return all objects of a kind that belong to any Benchmark, with their metadata alone. Raises ApiError."""
        return await self._metadata(kind, namespaces, {"labelSelector": UID_LABEL})

    async def _metadata(
        self, kind: str, namespaces: Iterable[str], query: Mapping[str, str] | None = None
    ) -> list[Json]:
        accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        found: list[Json] = []
        for namespace in tuple(namespaces) or ("",):
            text = await self._text("GET", kind, namespace, query=query, accept=accept)
            found += json.loads(text)["items"] or ()  # null when there is none
        return found

    async def create_benchmark(self, manifest: Json) -> Json | None:
        """Create a Benchmark and return it; None when the name is taken. Raises ApiError."""
        try:
            return await self._request("POST", KIND, manifest["metadata"]["namespace"], body=manifest)
        except ApiError as error:
            if error.status == 409:
                return None
            raise

    async def annotate(self, benchmark: Json, annotations: Mapping[str, str]) -> Json:
        """Add annotations to a Benchmark and return it. Raises ApiError 409 when it is not the newest version."""
        meta = benchmark["metadata"]
        body = {"metadata": {"resourceVersion": meta["resourceVersion"], "annotations": dict(annotations)}}
        return await self._request("PATCH", KIND, meta["namespace"], meta["name"], body=body)

    async def create(self, manifest: Json) -> str:
        """Create an object; an object of ours that exists already is a success.

        Returns a sentence when something that is not ours has the name, else "". Raises ApiError.
        """
        meta = manifest["metadata"]
        try:
            await self._request("POST", manifest["kind"], meta["namespace"], body=manifest)
        except ApiError as error:
            if error.status != 409:
                raise
            return await self._whose(manifest)
        return ""

    async def _whose(self, manifest: Json) -> str:
        meta, kind = manifest["metadata"], manifest["kind"]
        if kind not in ("Elasticsearch", "Job", "ConfigMap"):
            return ""  # belongs to a Job whose name was free: nobody else makes these, and we may not read them
        try:
            there = await self._request("GET", kind, meta["namespace"], meta["name"])
        except ApiError as error:
            if error.status == 404:  # gone meanwhile
                return ""
            raise
        owners = {reference["uid"] for reference in there["metadata"].get("ownerReferences", ())}
        if owners & {reference["uid"] for reference in meta["ownerReferences"]}:
            return ""
        return f"waiting for {kind} {meta['name']}, which is not of this Benchmark, to go away"

    async def delete(self, kind: str, there: Json) -> None:
        """Delete exactly this object (by uid), its dependents in the background; gone already is a success."""
        meta = there["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": meta["uid"]},
        }
        try:
            await self._request("DELETE", kind, meta["namespace"], meta["name"], body=body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    async def unsuspend(self, job: Json) -> None:
        """Let a suspended Job run."""
        meta = job["metadata"]
        body = {"metadata": {"uid": meta["uid"]}, "spec": {"suspend": False}}
        await self._request("PATCH", "Job", meta["namespace"], meta["name"], body=body)

    async def config_map_keys(self, namespace: str, name: str) -> frozenset[str]:
        """Return the keys of a ConfigMap, none when it does not exist."""
        try:
            found = await self._request("GET", "ConfigMap", namespace, name)
        except ApiError as error:
            if error.status == 404:
                return frozenset()
            raise
        return frozenset({**(found.get("data") or {}), **(found.get("binaryData") or {})})

    async def records(self, subject: Subject, steps: tuple[str, ...]) -> dict[str, Record | None]:
        """Return the records of these steps; None where there is none that can be read."""
        return {step: Record.from_json((await self._written(subject, step)).get(KEY_RECORD)) for step in steps}

    async def resources(self, subject: Subject, steps: tuple[str, ...]) -> dict[str, MachineTable | None]:
        """Return what the machines did in these steps; None where that was not recorded."""
        return {step: MachineTable.from_json((await self._written(subject, step)).get(KEY_RESOURCES)) for step in steps}

    async def _written(self, subject: Subject, step: str) -> Json:
        """The texts in the ConfigMap of a step; none when there is none that belongs to this Benchmark."""
        try:
            there = await self._request("GET", "ConfigMap", subject.namespace, object_name(subject.name, step))
        except ApiError as error:
            if error.status != 404:
                raise
            return {}
        mine = there["metadata"].get("labels", {}).get(UID_LABEL) == subject.uid
        return there.get("data") or {} if mine else {}

    async def keep_resources(self, namespace: str, name: str, table: MachineTable) -> None:
        """Write the completed table of what the machines did into a step's record."""
        body = {"data": {KEY_RESOURCES: table.to_json()}}
        await self._request("PATCH", "ConfigMap", namespace, name, body=body)

    async def read(self, kind: str, namespace: str, name: str) -> Json:
        """Return one object; `namespace` is empty for what belongs to the whole cluster. Raises ApiError."""
        return await self._request("GET", kind, namespace, name)

    async def whole_log(self, namespace: str, pod: str, container: str) -> str:
        """Return all that a container printed, at most 256 KiB. Raises ApiError."""
        query = {"container": container, "limitBytes": str(256 * 1024)}
        return await self._text("GET", "Pod", namespace, pod, "log", query=query)

    async def children(self, seen: Seen) -> Children:
        """Return the current step's children with its cluster, Job and pods as the API server has them now."""
        step, subject = seen.status.step, seen.subject
        if step is None:
            return seen.children
        found: dict[str, Json | None] = {}
        for kind, plural in (("Elasticsearch", "elasticsearches"), ("Job", "jobs")):
            try:
                there = await self._request("GET", kind, subject.namespace, object_name(subject.name, step.name))
            except ApiError as error:
                if error.status != 404:
                    raise
                there = {"metadata": {}}
            mine = there["metadata"].get("labels", {}).get(UID_LABEL) == subject.uid
            found[kind] = child(plural, there) if mine else None
        query = {"labelSelector": f"{UID_LABEL}={subject.uid},{STEP_LABEL}={step.name}"}
        listed = json.loads(await self._text("GET", "Pod", subject.namespace, query=query))["items"]
        pods = [child("pods", pod) for pod in listed]
        return replace(seen.children, elasticsearch=found["Elasticsearch"], job=found["Job"], pods=pods)

    async def evictions(self, seen: Seen) -> dict[str, str]:
        """Return the words of Kubernetes' events about evicted Elasticsearch pods of the current step, by pod."""
        step, elasticsearch = seen.status.step, seen.children.elasticsearch
        if step is None or elasticsearch is None:
            return {}
        query = {"fieldSelector": "reason=Evicted,involvedObject.kind=Pod"}
        text = await self._text("GET", "Event", seen.subject.namespace, query=query)
        # An earlier Benchmark may have had the same name.
        since = moment(elasticsearch["metadata"]["creationTimestamp"])
        prefix = f"{object_name(seen.subject.name, step.name)}-es-"
        return {
            event["involvedObject"]["name"]: str(event.get("message") or "")
            for event in json.loads(text)["items"]
            if event["involvedObject"]["name"].startswith(prefix) and moment(event_time(event)) >= since
        }

    async def warnings(self, seen: Seen) -> tuple[Warned, ...]:
        """Return Kubernetes' warnings about the current step's objects, the newest first; none if they cannot be had.

        They only explain: a deadline that passed must not wait for them.
        """
        try:
            text = await self._text("GET", "Event", seen.subject.namespace, query={"fieldSelector": "type=Warning"})
        except ApiError as error:
            log.warning("Kubernetes' warnings were not listed: %s", error)
            return ()
        return select_warnings(seen, json.loads(text)["items"])

    async def log_tail(self, namespace: str, of: LogOf) -> str:
        """Return the telling lines at the end of a container's log, or why they cannot be had."""
        query = {"container": of.container, "tailLines": str(_LOG_LINES), "previous": str(of.previous).lower()}
        try:
            text = await self._text("GET", "Pod", namespace, of.pod, "log", query=query)
        except ApiError as error:
            return f"(no log: {error.message})"
        return telling_lines(text)[-_LOG_BYTES:]

    async def _request(
        self, method: str, kind: str, namespace: str, name: str = "", part: str = "", *, body: Json | None = None
    ) -> Json:
        answer: Json = json.loads(await self._text(method, kind, namespace, name, part, body=body))
        return answer

    async def _text(
        self,
        method: str,
        kind: str,
        namespace: str,
        name: str = "",
        part: str = "",
        *,
        body: Json | None = None,
        query: Mapping[str, str] | None = None,
        accept: str = "application/json",
    ) -> str:
        if method != "GET" and kind != "Lease" and not self.may_write():
            raise ApiError(0, "not sent: another operator may have taken over")
        prefix, plural = _KINDS[kind]
        scope = f"{prefix}/namespaces/{quote(namespace)}" if namespace else prefix
        path = "/".join(p for p in (scope, plural, quote(name), part) if p)
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Accept": accept, "Content-Type": content}
        began = time.monotonic()
        try:
            status, text = await self._send(method, path, headers, body, query)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            REQUESTS.labels(method, plural, "none").inc()
            raise ApiError(0, f"no answer from the API server: {error!r}") from error
        finally:
            SECONDS.labels(method).observe(time.monotonic() - began)
        REQUESTS.labels(method, plural, str(status)).inc()
        if status >= 300:
            raise ApiError(status, _message(text))
        return text

    async def _send(
        self, method: str, path: str, headers: dict[str, str], body: Json | None, query: Mapping[str, str] | None
    ) -> tuple[int, str]:
        serialized = await self._api.param_serialize(
            method=method,
            resource_path=path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        response = await self._api.call_api(*serialized, _request_timeout=_TIMEOUT_SECONDS)
        data: bytes = await response.read()
        return int(response.status), data.decode(errors="replace")


def _message(text: str) -> str:
    try:
        answer: Any = json.loads(text)
        return str(answer["message"])
    except (ValueError, KeyError, TypeError):
        return text[:500]
