"""The operator's requests to the API server: a transport that knows paths and no meaning."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

import aiohttp
from kubernetes.aio import client, config
from prometheus_client import Counter, Histogram

from fairlap.api.base import Json
from fairlap.api.kinds import EVENT, KINDS
from fairlap.api.small_metadata import shrink_metadata
from fairlap.kube.api_error import ApiError
from fairlap.kube.shared_room import SharedRoom

_TIMEOUT_SECONDS: Final = 30.0
_WRITE_SECONDS: Final = 65.0
"""longer than the API server gives a request (--request-timeout): only its answer says that a webhook hung"""
_WRITES_AT_ONCE: Final = 96, 16
"""altogether, and into one namespace, whose webhooks may hang: all others have connections left"""
_EVENTS_AT_ONCE: Final = 16, 4
"""the same of events, beside all other writes: they must not hold up what they tell of"""
_CONNECTIONS: Final = 150
"""more than may be written at once: what is read waits for no webhook"""
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_WHOLE: Final = "application/json"
_PAGES: Final = {_WHOLE: 25, _METADATA: 100}
"""objects a page: anybody may make one of 1 MB, and a page is held three times, as bytes, text and objects"""
MOST_PAGE: Final = 2 << 20
"""bytes of a page that is read at once: of lists in lists objects take thirty times the memory of their text"""
_CHUNK_BYTES: Final = 1 << 16
_UNREADABLE: Final = "the answer cannot be read"
Kept = TypeVar("Kept")
Part = TypeVar("Part", Json, list[Json])

REQUESTS = Counter("fairlap_api_requests", "Requests to the API server", ["method", "resource", "code"])
SECONDS = Histogram("fairlap_api_request_seconds", "Time of requests to the API server", ["method"])

# kind -> (path prefix, plural)
_PATHS: Final[Mapping[str, tuple[str, str]]] = {
    **{kind: (each.path, each.plural) for kind, each in KINDS.items()},
    "OpenAPI": ("/openapi", "v3"),
}


class _PageTooLargeError(Exception):
    """A page of a list has more than MOST_PAGE bytes, of which the others were not read."""


class ApiServer:
    """Requests to one API server; made by `connect`, to be closed with `close`."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self.may_write: Callable[[], bool] = lambda: True
        """asked before every write but that of the Lease itself: whether this operator still leads"""
        self._writes, self._events = SharedRoom(*_WRITES_AT_ONCE), SharedRoom(*_EVENTS_AT_ONCE)

    @staticmethod
    async def connect() -> "ApiServer":
        """Return a connection as the pod's service account, or by the kubeconfig when there is no pod."""
        configuration = client.Configuration()
        try:
            config.load_incluster_config(client_configuration=configuration)
        except config.ConfigException:
            await config.load_kube_config(client_configuration=configuration)
        configuration.connection_pool_maxsize = _CONNECTIONS
        api = client.ApiClient(configuration)
        api.user_agent = "fairlap"
        return ApiServer(api)

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()

    async def read(self, kind: str, namespace: str, name: str) -> Json:
        """Return one object; `namespace` is empty for what belongs to the whole cluster. Raises ApiError."""
        return await self._request("GET", kind, namespace, name)

    async def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """Return one object, or None when there is none of that name. Raises ApiError."""
        try:
            return await self.read(kind, namespace, name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def list_objects(
        self, kind: str, namespace: str, query: Mapping[str, str], keep: Callable[[Json], Kept | None]
    ) -> list[Kept]:
        """Return what `keep` makes of the objects of a kind in a namespace that a selector in `query` picks.

        It is asked page by page, so that no more is held than is needed, and leaves one out by None. Raises ApiError.
        """
        return await self._pages(kind, namespace, query, _WHOLE, keep)

    async def has_any(self, kind: str, namespace: str, labels: str = "") -> bool:
        """Return whether there is any object of a kind, with these labels if any are given; "" asks everywhere.

        Raises ApiError: 403 where lists are not allowed, 404 where the kind does not exist.
        """
        query = {"limit": "1", **({"labelSelector": labels} if labels else {})}
        return bool(_items(_object(await self._text("GET", kind, namespace, query=query, accept=_METADATA))))

    async def list_metadata(
        self, kind: str, namespaces: Iterable[str], query: Mapping[str, str] | None = None
    ) -> list[Json]:
        """Return the objects of a kind with their metadata alone; without any namespace, those of the whole cluster.

        Of that there is only what `shrink_metadata` leaves, and no annotation. Raises ApiError.
        """
        found: list[Json] = []
        for namespace in tuple(namespaces) or ("",):
            found += await self._pages(kind, namespace, query or {}, _METADATA, _without_texts)
        return found

    async def list_versions(self, kind: str, namespaces: Iterable[str]) -> dict[str, str]:
        """Return the resourceVersion of each object of a kind by uid; without any namespace, of the whole cluster.

        Raises ApiError.
        """
        found = dict[str, str]()
        for namespace in tuple(namespaces) or ("",):
            found.update(await self._pages(kind, namespace, {}, _METADATA, _version))
        return found

    async def read_schemas(self, path: str) -> Json:
        """Return the OpenAPI schemas, by name, that the API server publishes of apis/GROUP/VERSION. Raises ApiError.

        Every authenticated user may read them (system:discovery), unlike the CustomResourceDefinitions.
        """
        answer = _object(await self._text("GET", "OpenAPI", "", path))
        return _part(_part(answer, "components", {}), "schemas", {})

    async def _pages(
        self, kind: str, namespace: str, query: Mapping[str, str], accept: str, keep: Callable[[Json], Kept | None]
    ) -> list[Kept]:
        found: list[Kept] = []
        where, limit = "", _PAGES[accept]
        began_anew = False
        while True:
            page = {**query, "limit": str(limit), **({"continue": where} if where else {})}
            try:
                answer = _object(await self._text("GET", kind, namespace, query=page, accept=accept))
            except _PageTooLargeError:
                limit = max(1, limit // 4)
                continue
            except ApiError as error:
                # etcd has forgotten the version that the list began with: only a list from its beginning is whole.
                if error.status != 410 or began_anew:
                    raise
                found, where, began_anew = [], "", True
                continue
            found += [kept for each in _items(answer) if (kept := keep(each)) is not None]
            where = str(_part(answer, "metadata", {}).get("continue") or "")
            if not where:
                return found

    async def read_log(self, namespace: str, pod: str, query: Mapping[str, str]) -> str:
        """Return what a container printed; `query` names the container and how much of it. Raises ApiError."""
        return await self._text("GET", "Pod", namespace, pod, "log", query=query)

    async def create(self, manifest: Json) -> Json:
        """Create an object and return it. Raises ApiError, 409 when the name is taken."""
        return await self._request("POST", manifest["kind"], manifest["metadata"]["namespace"], body=manifest)

    async def try_out(self, manifest: Json) -> None:
        """Let the API server check an object as if it were created, without creating it.

        Raises ApiError, 409 when the name is taken: then all else has been found right.
        """
        query = {"dryRun": "All"}
        await self._text("POST", manifest["kind"], manifest["metadata"]["namespace"], body=manifest, query=query)

    async def replace(self, manifest: Json, part: str = "") -> Json:
        """Write a whole object, or one `part` of it such as its status, and return it.

        Raises ApiError, 409 when the object has another resourceVersion by now.
        """
        meta = manifest["metadata"]
        return await self._request("PUT", manifest["kind"], meta["namespace"], meta["name"], part, body=manifest)

    async def patch(self, kind: str, namespace: str, name: str, body: Json) -> Json:
        """Merge `body` into an object and return it.

        Raises ApiError, 409 when `body` names a uid or resourceVersion that the object does not have.
        """
        return await self._request("PATCH", kind, namespace, name, body=body)

    async def delete(self, kind: str, there: Json) -> None:
        """Delete exactly this object (by uid), its dependents in the background; gone already is a success.

        Raises ApiError.
        """
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

    async def _request(
        self, method: str, kind: str, namespace: str, name: str = "", part: str = "", *, body: Json | None = None
    ) -> Json:
        answer = _object(await self._text(method, kind, namespace, name, part, body=body))
        if not isinstance(answer.get("metadata"), dict):  # which every object has
            raise ApiError(0, _UNREADABLE)
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
        accept: str = _WHOLE,
    ) -> str:
        prefix, plural = _PATHS[kind]
        path = _path(prefix, plural, namespace, name, part)
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Accept": accept, "Content-Type": content}
        began = time.monotonic()
        try:
            if method == "GET" or kind == "Lease":
                status, text = await self._send(method, path, headers, body, query, _TIMEOUT_SECONDS)
            else:
                async with (self._events if kind == EVENT.kind else self._writes).held(namespace):
                    if not self.may_write():  # after the wait, in which another one may have begun to lead
                        raise ApiError(0, "not sent: another operator may have taken over")
                    status, text = await self._send(method, path, headers, body, query, _WRITE_SECONDS)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            REQUESTS.labels(method, plural, "none").inc()
            raise ApiError(0, f"no answer from the API server: {error!r}") from error
        finally:
            SECONDS.labels(method).observe(time.monotonic() - began)
        REQUESTS.labels(method, plural, str(status)).inc()
        if text is None:
            raise _PageTooLargeError
        if status >= 300:
            raise ApiError(status, _message(text))
        return text

    async def _send(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: Json | None,
        query: Mapping[str, str] | None,
        seconds: float,
    ) -> tuple[int, str | None]:
        """Return status and text of the answer; no text of a page that is too large and may have fewer objects."""
        serialized = await self._api.param_serialize(
            method=method,
            resource_path=path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        response = await self._api.call_api(*serialized, _request_timeout=seconds)
        may_be_smaller = int((query or {}).get("limit", 1)) > 1
        data = await read_at_most(response.response, MOST_PAGE if may_be_smaller else None)
        if data is None:
            response.response.close()  # or the rest of it would be read all the same
            return int(response.status), None
        return int(response.status), data.decode(errors="replace")


def _path(prefix: str, plural: str, namespace: str, name: str, part: str) -> str:
    """Return the path of a request; a name that somebody wrote, as in an owner reference, is one part of it."""
    if name in (".", ".."):
        raise ApiError(404, f"nothing is called {name}")
    # Of the published schemas the name is a path itself.
    shown = quote(name, safe="/" if plural == "v3" else "")
    scope = f"{prefix}/namespaces/{quote(namespace, safe='')}" if namespace else prefix
    return "/".join(part for part in (scope, plural, shown, part) if part)


async def read_at_most(response: aiohttp.ClientResponse, most: int | None) -> bytes | None:
    """Return the body of an answer; None when it has more than `most` bytes, of which no more are read then."""
    parts, size = list[bytes](), 0
    async for part in response.content.iter_chunked(_CHUNK_BYTES):
        size += len(part)
        if most is not None and size > most:
            return None
        parts.append(part)
    return b"".join(parts)


def _object(text: str) -> Json:
    """Return the JSON object of an answer. Raises ApiError for what somebody else, as a load balancer, has answered."""
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise ApiError(0, _UNREADABLE) from error
    if not isinstance(answer, dict):
        raise ApiError(0, _UNREADABLE)
    return answer


def _items(answer: Json) -> list[Json]:
    """Return the objects of a list, for which there is null when it has none. Raises ApiError."""
    if "items" not in answer:
        raise ApiError(0, _UNREADABLE)
    return _part(answer, "items", [])


def _part(answer: Json, key: str, empty: Part) -> Part:
    """Return what an answer has under a key, `empty` where there is none or null. Raises ApiError for another type."""
    part = answer.get(key)
    if part is not None and not isinstance(part, type(empty)):
        raise ApiError(0, _UNREADABLE)
    return empty if part is None else part


def _version(each: Json) -> tuple[str, str]:
    """Return uid and resourceVersion of an object."""
    return str(each["metadata"]["uid"]), str(each["metadata"]["resourceVersion"])


def _without_texts(each: Json) -> Json:
    """Take from an object, in place, what may be large in its metadata and nobody reads in a list."""
    shrink_metadata(each["metadata"])
    return each


def _message(text: str) -> str:
    try:
        answer: Any = json.loads(text)
        return str(answer["message"])
    except (ValueError, KeyError, TypeError):
        return text[:500]
