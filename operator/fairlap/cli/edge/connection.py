"""What the command line reads and writes in a namespace of Kubernetes: Benchmarks, Comparisons, their pods and records.

Objects are plain dicts. Whatever goes wrong is raised as a CliError with one sentence.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from fairlap.api.kinds import BENCHMARK, COMPARISON, CONFIG_MAP, NODE, POD
from fairlap.api.names import COMPARISON_KIND, KIND
from fairlap.cli.edge.exits import CliError, RefusedError, UnknownKindError, UnknownNameError
from fairlap.cli.edge.transport import Transport

Json = dict[str, Any]
FIELD_MANAGER = "fairlap"
_BACKOFF_SECONDS = 2.0
_REFUSED = (401, 403, 404)
"""what asking once more mends only where the API server has just started, which then says it of anything"""
_REFUSALS = 30
"""in a row: what is refused for about a minute is believed to be"""
_UNKNOWN_KIND = ("could not find the requested resource", "page not found")
"""What the API server answers for a path that no kind has."""
_VERB = {KIND: "results", COMPARISON_KIND: "report"}


class Connection:
    """A Kubernetes cluster, and the namespace in it that a command is about."""

    def __init__(self, transport: Transport, namespace: str, context: str) -> None:
        self.namespace = namespace
        self.context = context
        """the option that names the context in a command for the user; "" for the current one"""
        self._transport = transport
        log = {"log": {"name": "pods/log", "kind": "Pod", "namespaced": True}}
        self._benchmarks = transport.known(BENCHMARK)
        self._kinds = {KIND: self._benchmarks, COMPARISON_KIND: transport.known(COMPARISON)}
        self._config_maps = transport.known(CONFIG_MAP)
        self._pods = transport.known(POD, subresources=log)
        self._nodes = transport.known(NODE, namespaced=False)

    @staticmethod
    def open(context: str | None, namespace: str | None) -> Connection:
        """Return the cluster of `context` (None: the current one) in KUBECONFIG, or of the pod that this runs in.

        Without `namespace` it is that of the context. Raises CliError.
        """
        transport, default = Transport.open(context)
        return Connection(transport, namespace or default, f" --context {context}" if context else "")

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
            return self._transport.ask(self._kinds[kind].get, name=quote(name, safe=""), namespace=self._space())
        except RefusedError as error:
            if error.status != 404:
                raise
            if any(words in str(error) for words in _UNKNOWN_KIND):
                sentence = f"the cluster knows no {kind}s: install the operator first (docs/install.md)"
                raise UnknownKindError(sentence) from error
            there = sorted(each["metadata"]["name"] for each in self._listed(kind)["items"])
            if name in there:  # created meanwhile
                raise
            known = f"there are {', '.join(there[:20])}" if there else "there is none"
            sentence = f"there is no {kind} {name} in the namespace {self.namespace}; {known}"
            raise UnknownNameError(sentence + self._of_other_kind(kind, name)) from error

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
        return self._transport.ask(self._kinds[kind].get, namespace=self._space())

    def apply(self, manifest: Json, dry_run: bool = False) -> tuple[Json, str]:
        """Apply an object on the server's side; return it as it is then, and "created", "changed" or "unchanged".

        Raises RefusedError with the API server's sentence.
        """
        resource, meta = self._resource(manifest), manifest["metadata"]
        space = self._space(meta.get("namespace")) if resource.namespaced else None
        # Without it a field that the schema does not know is dropped from an object that is created.
        strict = {"query_params": [("fieldValidation", "Strict")]}
        options = {"namespace": space, "field_manager": FIELD_MANAGER, "dry_run": "All" if dry_run else None, **strict}
        if "name" not in meta:
            return self._transport.ask(resource.create, body=manifest, **options), "created"
        name = quote(meta["name"], safe="")
        before = self._transport.find(resource, name, space)
        after = self._transport.ask(resource.server_side_apply, body=manifest, name=name, **options)
        if before is None:
            return after, "created"
        same = before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion")
        return after, "unchanged" if same or _content(before) == _content(after) else "changed"

    def annotate(self, name: str, key: str, value: str) -> Json:
        """Set an annotation of a Benchmark and return the Benchmark."""
        return self._transport.ask(
            self._benchmarks.patch, name=quote(name, safe=""), namespace=self._space(),
            body={"metadata": {"annotations": {key: value}}}, content_type="application/merge-patch+json",
            field_manager=FIELD_MANAGER,
        )  # fmt: skip

    def nodes(self) -> list[Json]:
        """Return the machines of the cluster; raises RefusedError."""
        return list(self._transport.ask(self._nodes.get)["items"])

    def pods_on(self, node: str) -> list[Json]:
        """Return the pods of all namespaces on a node; raises RefusedError."""
        return list(self._transport.ask(self._pods.get, field_selector=f"spec.nodeName={node}")["items"])

    def kubelet_config(self, node: str) -> Json:
        """Return how the kubelet of a node is configured, as the kubelet itself says; raises CliError."""
        path = f"/api/v1/nodes/{quote(node, safe='')}/proxy/configz"
        return self._transport.read(path)

    def config_map(self, name: str, namespace: str | None = None) -> Json | None:
        """Return a ConfigMap, None when there is none; without `namespace` that of the connection."""
        return self._transport.find(self._config_maps, quote(name, safe=""), self._space(namespace))

    def pods(self, labels: Mapping[str, str]) -> list[Json]:
        """Return the pods with these labels, the oldest first."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = self._transport.ask(self._pods.get, namespace=self._space(), label_selector=selector)["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def pod_log(self, pod: str, container: str, follow: bool) -> Iterator[str]:
        """Yield the lines of a container's log, as they come with `follow`."""
        query = {"container": container}
        yield from self._transport.log_lines(self._pods, quote(pod, safe=""), self._space(), query, follow)

    def changes(
        self, stop: threading.Event, kinds: Sequence[str] = (KIND,), known: Sequence[Json] = ()
    ) -> Iterator[Json | None]:
        """Yield each object of the kinds in the namespace now and whenever it changes.

        A deleted one has the key "deleted", also one of `known` that is not there at first. Yields None about every
        second when nothing changed, and ends when `stop` is set. A watch that ends is begun anew, and an API server
        that does not answer is asked again; one that has refused for about a minute raises RefusedError.
        """
        found: queue.Queue[Json | RefusedError] = queue.Queue()
        # In threads, so that a clock can go on while nothing is heard.
        for kind in kinds:
            there = {each["metadata"]["name"]: each for each in known if each["kind"] == kind}
            threading.Thread(target=self._watch, args=(kind, there, found, stop), name="watch", daemon=True).start()
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

    def _watch(
        self, kind: str, there: dict[str, Json], found: queue.Queue[Json | RefusedError], stop: threading.Event
    ) -> None:
        refusals = 0
        while not stop.is_set():
            try:
                listed = self._listed(kind)
                items = {item["metadata"]["name"]: {**item, "kind": kind} for item in listed["items"]}
                for name in there.keys() - items.keys():  # deleted while nobody watched
                    found.put({**there[name], "deleted": True})
                there = items
                for item in items.values():
                    found.put(item)
                for event in self._transport.events(
                    self._kinds[kind], self._space(), listed["metadata"]["resourceVersion"]
                ):
                    change = {**event["raw_object"], "kind": kind}
                    if event["type"] == "DELETED":
                        there.pop(change["metadata"]["name"], None)
                        change["deleted"] = True
                    else:
                        there[change["metadata"]["name"]] = change
                    found.put(change)
                refusals = 0
            except RefusedError as error:
                refusals = refusals + 1 if error.status in _REFUSED else 0
                if refusals == _REFUSALS:
                    found.put(error)
                    return
            except (CliError, ValueError, KeyError) as error:
                logging.getLogger(__name__).info("the watch is begun anew: %s", error)
                refusals = 0
            time.sleep(_BACKOFF_SECONDS)

    def _resource(self, manifest: Json) -> Any:
        """Return the kind of an object as the cluster knows it; raises CliError when it does not."""
        version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
        found = self._transport.discovered(version, kind)
        if found is None:
            hint = ": install the operator first (docs/install.md)" if kind in self._kinds else ""
            raise CliError(f"the cluster knows no {kind} of {version}{hint}")
        return found

    def _space(self, namespace: str | None = None) -> str:
        return quote(namespace or self.namespace, safe="")


def _content(there: Json) -> Json:
    meta = {key: there["metadata"].get(key) for key in ("labels", "annotations")}
    return {**{key: value for key, value in there.items() if key not in ("metadata", "status")}, "metadata": meta}
