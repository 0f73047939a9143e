"""The command line's way to Kubernetes, with the user's own kubeconfig; the only file here that imports the client.

The dynamic part of the client makes the requests, finds out about kinds, applies and watches; objects are plain dicts.
Kinds that are known here need no discovery, so most commands are one request. Whatever goes wrong is raised as a
CliError with one sentence.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import urllib3
import yaml
from kubernetes import client, config, watch
from kubernetes.dynamic import DynamicClient, LazyDiscoverer, Resource
from kubernetes.dynamic.exceptions import ResourceNotFoundError, ResourceNotUniqueError

from fairlap.api.kinds import BENCHMARK, COMPARISON, CONFIG_MAP, NODE, POD, ObjectKind
from fairlap.api.names import COMPARISON_KIND, KIND
from fairlap.cli.edge.exits import CliError

Json = dict[str, Any]
FIELD_MANAGER = "fairlap"
_CONNECT_SECONDS, _READ_SECONDS = 10, 60
_WATCH_SECONDS = 240
_BACKOFF_SECONDS = 2.0
_UNKNOWN_KIND = ("could not find the requested resource", "page not found")
"""What the API server answers for a path that no kind has."""
_VERB = {KIND: "results", COMPARISON_KIND: "report"}


class RefusedError(CliError):
    """The API server refused a request; the text is its sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class UnknownNameError(CliError):
    """There is no object of this name; the text says which there are."""


class Connection:
    """A Kubernetes cluster, and the namespace in it that a command is about."""

    def __init__(self, api: client.ApiClient, namespace: str, context: str) -> None:
        self.namespace = namespace
        self.context = context
        """the option that names the context in a command for the user; "" for the current one"""
        self._client = DynamicClient(api, discoverer=_no_discovery)
        self._discovered: LazyDiscoverer | None = None
        log = {"log": {"name": "pods/log", "kind": "Pod", "namespaced": True}}
        self._benchmarks = self._known(BENCHMARK)
        self._kinds = {KIND: self._benchmarks, COMPARISON_KIND: self._known(COMPARISON)}
        self._config_maps = self._known(CONFIG_MAP)
        self._pods = self._known(POD, subresources=log)
        self._nodes = self._known(NODE, namespaced=False)

    def _known(self, kind: ObjectKind, **more: Any) -> Any:
        return Resource(
            prefix="apis" if kind.group else "api",
            group=kind.group,
            api_version=kind.version,
            kind=kind.kind,
            name=kind.plural,
            client=self._client,
            **{"namespaced": True, **more},
        )

    @staticmethod
    def open(context: str | None, namespace: str | None) -> Connection:
        """Return the cluster of `context` (None: the current one) in KUBECONFIG, or of the pod that this runs in.

        Without `namespace` it is that of the context. Raises CliError.
        """
        logging.getLogger("urllib3").setLevel(logging.CRITICAL)
        configuration, file = client.Configuration(), os.environ.get("KUBECONFIG") or None
        try:
            if context is None and file is None and _in_pod():
                config.load_incluster_config(client_configuration=configuration)
                default = _in_pod()
            else:
                config.load_kube_config(file, context=context, client_configuration=configuration)
                default = _namespace_of(file, context)
        except (config.ConfigException, OSError, ValueError) as error:
            raise CliError(f"no cluster: {_first_line(error)} (set KUBECONFIG or use --context)") from error
        except (yaml.YAMLError, TypeError, AttributeError) as error:  # whatever the client falls over
            where = file or "~/.kube/config"
            raise CliError(f"no cluster: {where} is no kubeconfig: {_first_line(error)} (set KUBECONFIG)") from error
        return Connection(
            client.ApiClient(configuration), namespace or default, f" --context {context}" if context else ""
        )

    def command(self, verb: str, names: Sequence[str]) -> str:
        """Return a command for the user about objects of this cluster and namespace."""
        return f"fairlap {verb} {' '.join(names)} -n {self.namespace}{self.context}"

    def benchmark(self, name: str) -> Json:
        """Return a Benchmark; raises CliError when there is none."""
        return self._one(KIND, name)

    def comparison(self, name: str) -> Json:
        """Return a Comparison; raises CliError when there is none."""
        return self._one(COMPARISON_KIND, name)

    def _one(self, kind: str, name: str) -> Json:
        try:
            return self._ask(self._kinds[kind].get, name=quote(name, safe=""), namespace=self._space())
        except RefusedError as error:
            if error.status != 404:
                raise
            raise UnknownNameError(self._unknown(kind, name, error)) from error

    def _unknown(self, kind: str, name: str, error: RefusedError) -> str:
        if any(words in str(error) for words in _UNKNOWN_KIND):
            return f"the cluster knows no {kind}s: install the operator first (docs/install.md)"
        there = sorted(each["metadata"]["name"] for each in self._listed(kind)["items"])
        known = f"there are {', '.join(there[:20])}" if there else "there is none"
        other = self._of_other_kind(kind, name)
        return f"there is no {kind} {name} in the namespace {self.namespace}; {known}{other}"

    def _of_other_kind(self, kind: str, name: str) -> str:
        """Return what to write when the name is one of the other kind; "" when it is none, or nobody may know."""
        found = {KIND: COMPARISON_KIND, COMPARISON_KIND: KIND}[kind]
        with suppress(CliError):
            if name in (each["metadata"]["name"] for each in self._listed(found)["items"]):
                return f"; {name} is a {found}: {self.command(_VERB[found], [name])}"
        return ""

    def benchmarks(self) -> list[Json]:
        """Return the Benchmarks of the namespace."""
        return list(self._listed(KIND)["items"])

    def comparisons(self) -> list[Json]:
        """Return the Comparisons of the namespace."""
        return list(self._listed(COMPARISON_KIND)["items"])

    def _listed(self, kind: str) -> Json:
        return self._ask(self._kinds[kind].get, namespace=self._space())

    def apply(self, manifest: Json, dry_run: bool = False) -> tuple[Json, str]:
        """Apply an object on the server's side; return it as it is then, and "created", "changed" or "unchanged".

        Raises RefusedError with the API server's sentence.
        """
        resource, meta = self._resource(manifest), manifest["metadata"]
        space = self._space(meta.get("namespace")) if resource.namespaced else None
        options = {"namespace": space, "field_manager": FIELD_MANAGER, "dry_run": "All" if dry_run else None}
        if "name" not in meta:
            return self._ask(resource.create, body=manifest, **options), "created"
        name = quote(meta["name"], safe="")
        before = self._find(resource, name, space)
        after = self._ask(resource.server_side_apply, body=manifest, name=name, **options)
        if before is None:
            return after, "created"
        same = before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion")
        return after, "unchanged" if same or _content(before) == _content(after) else "changed"

    def annotate(self, name: str, key: str, value: str) -> Json:
        """Set an annotation of a Benchmark and return the Benchmark."""
        return self._ask(
            self._benchmarks.patch, name=quote(name, safe=""), namespace=self._space(),
            body={"metadata": {"annotations": {key: value}}}, content_type="application/merge-patch+json",
            field_manager=FIELD_MANAGER,
        )  # fmt: skip

    def nodes(self) -> list[Json]:
        """Return the machines of the cluster; raises RefusedError."""
        return list(self._ask(self._nodes.get)["items"])

    def pods_on(self, node: str) -> list[Json]:
        """Return the pods of all namespaces on a node; raises RefusedError."""
        return list(self._ask(self._pods.get, field_selector=f"spec.nodeName={node}")["items"])

    def kubelet_config(self, node: str) -> Json:
        """Return how the kubelet of a node is configured, as the kubelet itself says; raises CliError."""
        path = f"/api/v1/nodes/{quote(node, safe='')}/proxy/configz"
        return self._ask(self._client.request, method="get", path=path)

    def config_map(self, name: str, namespace: str | None = None) -> Json | None:
        """Return a ConfigMap, None when there is none; without `namespace` that of the connection."""
        return self._find(self._config_maps, quote(name, safe=""), self._space(namespace))

    def pods(self, labels: Mapping[str, str]) -> list[Json]:
        """Return the pods with these labels, the oldest first."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = self._ask(self._pods.get, namespace=self._space(), label_selector=selector)["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def pod_log(self, pod: str, container: str, follow: bool) -> Iterator[str]:
        """Yield the lines of a container's log, as they come with `follow`."""
        with self._one_sentence():
            response = self._pods.log.get(
                name=quote(pod, safe=""), namespace=self._space(), serialize=False,
                query_params=[("container", container), ("follow", str(follow).lower())],
                header_params={"Accept": "application/json, */*"},
                _request_timeout=(_CONNECT_SECONDS, None if follow else _READ_SECONDS),
            )  # fmt: skip
        yield from _log_lines(response)

    def changes(self, stop: threading.Event, kinds: Sequence[str] = (KIND,)) -> Iterator[Json | None]:
        """Yield each object of the kinds in the namespace now and whenever it changes.

        A deleted one has the key "deleted". Yields None about every second when nothing changed, and ends when `stop`
        is set. A watch that ends is begun anew, and an API server that does not answer is asked again; one that refuses
        raises RefusedError.
        """
        found: queue.Queue[Json | RefusedError] = queue.Queue()
        # In threads, so that a clock can go on while nothing is heard.
        for kind in kinds:
            threading.Thread(target=self._watch, args=(kind, found, stop), name="watch", daemon=True).start()
        while not stop.is_set():
            try:
                change = found.get(timeout=1.0)
            except queue.Empty:
                yield None
                continue
            if isinstance(change, RefusedError):
                raise change
            yield change

    def comparison_changes(self, stop: threading.Event) -> Iterator[Json | None]:
        """Yield each Comparison of the namespace in the same way."""
        yield from self.changes(stop, (COMPARISON_KIND,))

    def _watch(self, kind: str, found: queue.Queue[Json | RefusedError], stop: threading.Event) -> None:
        there: dict[str, Json] = {}
        while not stop.is_set():
            try:
                listed = self._listed(kind)
                items = {item["metadata"]["name"]: {**item, "kind": kind} for item in listed["items"]}
                for name in there.keys() - items.keys():  # deleted while nobody watched
                    found.put({**there[name], "deleted": True})
                there = items
                for item in items.values():
                    found.put(item)
                for event in self._events(kind, listed["metadata"]["resourceVersion"]):
                    change = {**event["raw_object"], "kind": kind}
                    if event["type"] == "DELETED":
                        there.pop(change["metadata"]["name"], None)
                        change["deleted"] = True
                    else:
                        there[change["metadata"]["name"]] = change
                    found.put(change)
            except RefusedError as error:
                if error.status in (401, 403, 404):
                    found.put(error)
                    return
            except (CliError, ValueError, KeyError) as error:
                logging.getLogger(__name__).info("the watch is begun anew: %s", error)
            time.sleep(_BACKOFF_SECONDS)

    def _events(self, kind: str, version: str) -> Iterator[Json]:
        """Yield what happens to the objects after the resource version, until the API server ends the watch."""
        # Not Resource.watch, which passes no timeout: a connection that died in silence would never end.
        with self._one_sentence():
            for event in watch.Watch().stream(
                self._kinds[kind].get, namespace=self._space(), resource_version=version, serialize=False,
                timeout_seconds=_WATCH_SECONDS, allow_watch_bookmarks=True,
                _request_timeout=(_CONNECT_SECONDS, _WATCH_SECONDS + 30),
            ):  # fmt: skip
                if event and event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                    yield event

    def _resource(self, manifest: Json) -> Any:
        """Return the kind of an object as the cluster knows it; raises CliError when it does not."""
        version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
        try:
            with self._one_sentence():
                if version.count("/") > 1:
                    raise ResourceNotFoundError
                # The prefix spares a request for each group that has a version of this name.
                return self._discovery().get(prefix="apis" if "/" in version else "api", api_version=version, kind=kind)
        except (ResourceNotFoundError, ResourceNotUniqueError) as error:
            hint = ": install the operator first (docs/install.md)" if kind in self._kinds else ""
            raise CliError(f"the cluster knows no {kind} of {version}{hint}") from error

    def _discovery(self) -> LazyDiscoverer:
        if self._discovered is None:
            # By default it keeps what it learns in a file in /tmp that everybody can write, for ever.
            with tempfile.TemporaryDirectory(prefix="fairlap-") as folder:
                self._discovered = LazyDiscoverer(self._client, str(Path(folder) / "discovery.json"))
        return self._discovered

    def _space(self, namespace: str | None = None) -> str:
        return quote(namespace or self.namespace, safe="")

    def _find(self, resource: Any, name: str, namespace: str | None) -> Json | None:
        try:
            return self._ask(resource.get, name=name, namespace=namespace)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    def _ask(self, request: Callable[..., Any], **options: Any) -> Json:
        """Make a request of the dynamic client and return the answer as it is."""
        with self._one_sentence():
            answer = request(serializer=_plain, _request_timeout=(_CONNECT_SECONDS, _READ_SECONDS), **options)
        if not isinstance(answer, dict):
            raise CliError(f"what answers at {self._host()} is no Kubernetes API")
        return answer

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        """Raise whatever the client raises as a CliError with one sentence: its own are pages, headers included."""
        try:
            yield
        except client.ApiException as error:
            if not error.status:
                raise CliError(f"the API server at {self._host()} does not answer: {error.reason}") from error
            raise RefusedError(error.status, _message(error)) from error
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise CliError(f"the API server at {self._host()} does not answer: {_cause(error)}") from error

    def _host(self) -> str:
        return str(self._client.configuration.host)


def _no_discovery(_client: Any, _cache: Any) -> None:
    """Stand in for the discoverer that would ask two questions as soon as the client is made."""


def _plain(_client: Any, answer: Json) -> Json:
    return answer


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


def _log_lines(response: Any) -> Iterator[str]:
    rest = b""
    try:
        while chunk := response.read1():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise CliError(f"the API server ended its answer: {_cause(error)}") from error
    if rest:
        yield rest.decode(errors="replace")


def _message(error: client.ApiException) -> str:
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        text = str(error.body or error.reason or "").strip()
        if not text or "<" in text:  # a page of a proxy's
            return f"the API server answered with status {error.status}"
        return f"the API server answered with status {error.status}: {text.splitlines()[0]}"


def _cause(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    return _first_line(reason if isinstance(reason, BaseException) else error)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
