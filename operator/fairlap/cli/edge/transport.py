"""The command line's requests to Kubernetes, with the user's kubeconfig; the only file here that imports the client.

The dynamic part of the client makes the requests, finds out about kinds, applies and watches; objects are plain dicts.
Kinds that are known here need no discovery, so most commands are one request. Whatever goes wrong is raised as a
CliError with one sentence.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import client, config, watch
from kubernetes.dynamic import DynamicClient, LazyDiscoverer, Resource
from kubernetes.dynamic.exceptions import ResourceNotFoundError, ResourceNotUniqueError

from fairlap.api.kinds import ObjectKind
from fairlap.cli.edge.exits import CliError, RefusedError

Json = dict[str, Any]
_CONNECT_SECONDS, _READ_SECONDS = 10, 60
_WATCH_SECONDS = 240


class Transport:
    """One API server. Names and namespaces come to it as they stand in a path."""

    def __init__(self, api: client.ApiClient) -> None:
        self._client = DynamicClient(api, discoverer=_no_discovery)
        self._discovered: LazyDiscoverer | None = None

    @staticmethod
    def open(context: str | None) -> tuple[Transport, str]:
        """Return the cluster of `context` (None: the current one) in KUBECONFIG, or of the pod that this runs in.

        The text is the namespace that a command is about unless it names one. Raises CliError.
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
        return Transport(client.ApiClient(configuration)), default

    def known(self, kind: ObjectKind, **more: Any) -> Any:
        """Return how objects of a kind are asked for, without asking the API server whether it knows the kind."""
        return Resource(
            prefix="apis" if kind.group else "api",
            group=kind.group,
            api_version=kind.version,
            kind=kind.kind,
            name=kind.plural,
            client=self._client,
            **{"namespaced": True, **more},
        )

    def discovered(self, version: str, kind: str) -> Any | None:
        """Return how objects of a kind (`apps/v1`, `Deployment`) are asked for; None when the cluster knows none."""
        try:
            with self._one_sentence():
                if version.count("/") > 1:
                    raise ResourceNotFoundError
                # The prefix spares a request for each group that has a version of this name.
                return self._discovery().get(prefix="apis" if "/" in version else "api", api_version=version, kind=kind)
        except (ResourceNotFoundError, ResourceNotUniqueError):
            return None

    def ask(self, request: Callable[..., Any], **options: Any) -> Json:
        """Make a request (`known(kind).get`) and return the answer as it is; raises RefusedError, CliError."""
        with self._one_sentence():
            answer = request(serializer=_plain, _request_timeout=(_CONNECT_SECONDS, _READ_SECONDS), **options)
        if not isinstance(answer, dict):
            raise CliError(f"what answers at {self._host()} is no Kubernetes API")
        return answer

    def read(self, path: str) -> Json:
        """Return what the API server answers for a path of no kind; raises RefusedError, CliError."""
        return self.ask(self._client.request, method="get", path=path)

    def find(self, resource: Any, name: str, namespace: str | None) -> Json | None:
        """Return an object, None when there is none; raises RefusedError, CliError."""
        try:
            return self.ask(resource.get, name=name, namespace=namespace)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    def log_lines(self, pods: Any, name: str, namespace: str, query: Mapping[str, str], follow: bool) -> Iterator[str]:
        """Yield the lines of a container's log, as they come with `follow`; raises RefusedError, CliError."""
        with self._one_sentence():
            response = pods.log.get(
                name=name, namespace=namespace, serialize=False,
                query_params=[*query.items(), ("follow", str(follow).lower())],
                header_params={"Accept": "application/json, */*"},
                _request_timeout=(_CONNECT_SECONDS, None if follow else _READ_SECONDS),
            )  # fmt: skip
        yield from _lines_of(response)

    def events(self, resource: Any, namespace: str, version: str) -> Iterator[Json]:
        """Yield what happens to objects after the resource version, until the API server ends the watch.

        Raises RefusedError, CliError.
        """
        # Not Resource.watch, which passes no timeout: a connection that died in silence would never end.
        with self._one_sentence():
            for event in watch.Watch().stream(
                resource.get, namespace=namespace, resource_version=version, serialize=False,
                timeout_seconds=_WATCH_SECONDS, allow_watch_bookmarks=True,
                _request_timeout=(_CONNECT_SECONDS, _WATCH_SECONDS + 30),
            ):  # fmt: skip
                if event and event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                    yield event

    def _discovery(self) -> LazyDiscoverer:
        if self._discovered is None:
            # By default it keeps what it learns in a file in /tmp that everybody can write, for ever.
            with tempfile.TemporaryDirectory(prefix="fairlap-") as folder:
                self._discovered = LazyDiscoverer(self._client, str(Path(folder) / "discovery.json"))
        return self._discovered

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


def _lines_of(response: Any) -> Iterator[str]:
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
