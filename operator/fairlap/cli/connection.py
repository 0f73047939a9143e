"""The command line's way to Kubernetes, with the user's own kubeconfig; the only file here that imports the client.

Requests are plain dicts over the synchronous client. Whatever goes wrong is raised as a CliError with one sentence.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import urllib3
from kubernetes import client, config

from fairlap.api.names import GROUP, KIND, PLURAL, VERSION
from fairlap.cli.exits import CliError

Json = dict[str, Any]
BENCHMARKS = f"/apis/{GROUP}/{VERSION}/namespaces/{{}}/{PLURAL}"
FIELD_MANAGER = "fairlap"
_CONNECT_SECONDS, _READ_SECONDS = 10, 60
_WATCH_SECONDS = 240
_BACKOFF_SECONDS = 2.0


class RefusedError(CliError):
    """The API server refused a request; the text is its sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Cluster:
    """One cluster and namespace."""

    def __init__(self, api: client.ApiClient, namespace: str, context: str) -> None:
        self._api = api
        self.namespace = namespace
        self.context = context
        """the option that names the context in a command for the user; "" for the current one"""
        self._kinds: dict[str, list[Json]] = {}

    @staticmethod
    def connect(context: str | None, namespace: str | None) -> Cluster:
        """Return the cluster of `context` (None: the current one) in KUBECONFIG, or of the pod that this runs in.

        Without `namespace` it is that of the context. Raises CliError.
        """
        logging.getLogger("urllib3").setLevel(logging.CRITICAL)
        configuration = client.Configuration()
        try:
            if context is None and "KUBECONFIG" not in os.environ and _in_pod():
                config.load_incluster_config(client_configuration=configuration)
                default = _in_pod()
            else:
                file = os.environ.get("KUBECONFIG")
                config.load_kube_config(file, context=context, client_configuration=configuration)
                default = _namespace_of(file, context)
        except (config.ConfigException, OSError, ValueError) as error:
            raise CliError(f"no cluster: {_first_line(error)} (set KUBECONFIG or use --context)") from error
        return Cluster(
            client.ApiClient(configuration), namespace or default, f" --context {context}" if context else ""
        )

    def benchmark(self, name: str) -> Json:
        """Return a Benchmark; raises CliError when there is none."""
        try:
            return self._get(f"{self._benchmarks()}/{quote(name)}")
        except RefusedError as error:
            if error.status != 404:
                raise
            raise CliError(self._unknown(name, error)) from error

    def _unknown(self, name: str, error: RefusedError) -> str:
        if "could not find the requested resource" in str(error) or "page not found" in str(error):
            return "the cluster knows no Benchmarks: install the operator first (docs/install.md)"
        there = sorted(each["metadata"]["name"] for each in self.benchmarks())
        known = f"there are {', '.join(there[:20])}" if there else "there is none"
        return f"there is no Benchmark {name} in the namespace {self.namespace}; {known}"

    def benchmarks(self) -> list[Json]:
        """Return the Benchmarks of the namespace."""
        return list(self._get(self._benchmarks())["items"])

    def apply(self, manifest: Json, dry_run: bool = False) -> tuple[Json, str]:
        """Apply an object on the server's side; return it as it is then, and "created", "changed" or "unchanged".

        Raises RefusedError with the API server's sentence.
        """
        path, meta = self._path(manifest), manifest["metadata"]
        query = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
        if "name" not in meta:
            return self._json("POST", path, query, manifest), "created"
        target = f"{path}/{quote(meta['name'])}"
        before = self._maybe(target)
        after = self._json("PATCH", target, query, manifest, "application/apply-patch+yaml")
        if before is None:
            return after, "created"
        same = before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion")
        return after, "unchanged" if same or _content(before) == _content(after) else "changed"

    def annotate(self, name: str, key: str, value: str) -> Json:
        """Set an annotation of a Benchmark and return the Benchmark."""
        body = {"metadata": {"annotations": {key: value}}}
        target = f"{self._benchmarks()}/{quote(name)}"
        return self._json("PATCH", target, {"fieldManager": FIELD_MANAGER}, body, "application/merge-patch+json")

    def config_map(self, name: str) -> Json | None:
        """Return a ConfigMap, None when there is none."""
        return self._maybe(f"/api/v1/namespaces/{quote(self.namespace)}/configmaps/{quote(name)}")

    def pods(self, labels: Mapping[str, str]) -> list[Json]:
        """Return the pods with these labels, the oldest first."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        path = f"/api/v1/namespaces/{quote(self.namespace)}/pods"
        found = self._json("GET", path, {"labelSelector": selector})["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def pod_log(self, pod: str, container: str, follow: bool) -> Iterator[str]:
        """Yield the lines of a container's log, as they come with `follow`."""
        path = f"/api/v1/namespaces/{quote(self.namespace)}/pods/{quote(pod)}/log"
        query = {"container": container, "follow": str(follow).lower()}
        response = self._request("GET", path, query, timeout=(_CONNECT_SECONDS, None if follow else _READ_SECONDS))
        yield from _lines(response)

    def changes(self, stop: threading.Event) -> Iterator[Json | None]:
        """Yield each Benchmark of the namespace now and whenever it changes; a deleted one has the key "deleted".

        Yields None about every second when nothing changed, and ends when `stop` is set. A watch that ends is
        begun anew, and an API server that does not answer is asked again; one that refuses raises RefusedError.
        """
        found: queue.Queue[Json | RefusedError] = queue.Queue()
        # In a thread, so that a clock can go on while nothing is heard.
        threading.Thread(target=self._watch, args=(found, stop), name="watch", daemon=True).start()
        while not stop.is_set():
            try:
                change = found.get(timeout=1.0)
            except queue.Empty:
                yield None
                continue
            if isinstance(change, RefusedError):
                raise change
            yield change

    def _watch(self, found: queue.Queue[Json | RefusedError], stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                listed = self._get(self._benchmarks())
                for item in listed["items"]:
                    found.put(item)
                query = {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
                query |= {"timeoutSeconds": str(_WATCH_SECONDS), "allowWatchBookmarks": "true"}
                response = self._request(
                    "GET", self._benchmarks(), query, timeout=(_CONNECT_SECONDS, _WATCH_SECONDS + 30)
                )
                for line in _lines(response):
                    event = json.loads(line)
                    if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                        gone = {"deleted": True} if event["type"] == "DELETED" else {}
                        found.put({**event["object"], **gone})
                    elif event["type"] == "ERROR":
                        break
            except RefusedError as error:
                if error.status in (401, 403, 404):
                    found.put(error)
                    return
            except (CliError, ValueError, KeyError) as error:
                logging.getLogger(__name__).info("the watch is begun anew: %s", error)
            time.sleep(_BACKOFF_SECONDS)

    def _benchmarks(self) -> str:
        return BENCHMARKS.format(quote(self.namespace))

    def _path(self, manifest: Json) -> str:
        group = str(manifest["apiVersion"])
        prefix = f"/apis/{group}" if "/" in group else f"/api/{group}"
        if prefix not in self._kinds:
            self._kinds[prefix] = (self._maybe(prefix) or {}).get("resources", [])
        for resource in self._kinds[prefix]:
            if resource["kind"] == manifest["kind"] and "/" not in resource["name"]:
                namespace = f"/namespaces/{quote(manifest['metadata'].get('namespace') or self.namespace)}"
                return f"{prefix}{namespace if resource['namespaced'] else ''}/{resource['name']}"
        hint = ": install the operator first (docs/install.md)" if manifest["kind"] == KIND else ""
        raise CliError(f"the cluster knows no {manifest['kind']} of {group}{hint}")

    def _maybe(self, path: str) -> Json | None:
        try:
            return self._get(path)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    def _get(self, path: str) -> Json:
        return self._json("GET", path, {})

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Json | None = None,
        content: str = "application/json",
    ) -> Json:
        response = self._request(method, path, query, body, content)
        answer: Json = json.loads(response.data)
        return answer

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Json | None = None,
        content: str = "application/json",
        timeout: tuple[float, float | None] = (_CONNECT_SECONDS, _READ_SECONDS),
    ) -> Any:
        serialized = self._api.param_serialize(
            method=method,
            resource_path=path,
            query_params=list(query.items()),
            header_params={"Accept": "application/json, */*", "Content-Type": content},
            body=json.dumps(body) if content.endswith("yaml") else body,  # the client encodes JSON itself
            auth_settings=["BearerToken"],
        )
        try:
            response = self._api.call_api(*serialized, _request_timeout=timeout).response
        except (urllib3.exceptions.HTTPError, OSError, client.ApiException) as error:
            where = self._api.configuration.host
            raise CliError(f"the API server at {where} does not answer: {_cause(error)}") from error
        if response.status >= 300:
            raise RefusedError(response.status, _message(response))
        return response


def _in_pod() -> str:
    path = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""


def _namespace_of(file: str | None, context: str | None) -> str:
    contexts, active = config.list_kube_config_contexts(file)
    chosen = next((each for each in contexts if each["name"] == context), active)
    return str(chosen["context"].get("namespace") or "default")


def _content(there: Json) -> Json:
    meta = {key: there["metadata"].get(key) for key in ("labels", "annotations")}
    return {**{key: value for key, value in there.items() if key not in ("metadata", "status")}, "metadata": meta}


def _lines(response: Any) -> Iterator[str]:
    rest = b""
    try:
        while chunk := response.read1():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise CliError(f"the API server ended its answer: {_cause(error)}") from error
    if rest:
        yield rest.decode(errors="replace")


def _message(response: Any) -> str:
    try:
        return str(json.loads(response.data)["message"])
    except (ValueError, KeyError, TypeError):
        return f"the API server answered with status {response.status}"


def _cause(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    return _first_line(reason if isinstance(reason, BaseException) else error)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
