"""A small client for the API server: plain dicts in and out, and watches that never give up."""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from .tools import patience

Json = dict[str, Any]

MERGE = "application/merge-patch+json"
GROUPS = {
    "benchmarks": "apis/fairlap.dev/v1alpha1",
    "comparisons": "apis/fairlap.dev/v1alpha1",
    "elasticsearches": "apis/elasticsearch.k8s.elastic.co/v1",
    "jobs": "apis/batch/v1",
    "statefulsets": "apis/apps/v1",
    "endpointslices": "apis/discovery.k8s.io/v1",
    "roles": "apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "apis/rbac.authorization.k8s.io/v1",
    "events": "api/v1",
    "serviceaccounts": "api/v1",
    "configmaps": "api/v1",
    "secrets": "api/v1",
    "services": "api/v1",
    "pods": "api/v1",
    "persistentvolumeclaims": "api/v1",
    "nodes": "api/v1",
    "resourcequotas": "api/v1",
    "leases": "apis/coordination.k8s.io/v1",
}


class RestError(Exception):
    """The API server refused; `code` is the HTTP status, `passing` says that it is only starting or overloaded."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.passing = code == 429 or code >= 500 or (code == 403 and "not yet ready" in message)


class Rest:
    """The API server as one user sees it; made and used inside one event loop."""

    def __init__(self, server: str, ca: Path, token: str) -> None:
        self._server = server
        connector = aiohttp.TCPConnector(limit=40, ssl=ssl.create_default_context(cafile=ca))
        headers = {"Authorization": f"Bearer {token}"}
        self._session = aiohttp.ClientSession(
            connector=connector, headers=headers, timeout=aiohttp.ClientTimeout(total=None, sock_connect=10)
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _url(self, plural: str, namespace: str = "", name: str = "", sub: str = "") -> str:
        parts = [self._server, GROUPS[plural]]
        parts += ["namespaces", namespace] if namespace else []
        return "/".join([*parts, plural, *([name] if name else []), *([sub] if sub else [])])

    async def call(
        self, method: str, url: str, body: Json | None = None, kind: str = "application/json", user: str = ""
    ) -> Json:
        """Send one request, as `user` if given, and return the answer; raises RestError.

        A server that is away for a while is waited for, as every controller does.
        """
        end = time.monotonic() + patience(30)
        while time.monotonic() < end:
            try:
                return await self._call(method, url, body, kind, user)
            except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
                pass
            except RestError as error:
                if not error.passing:
                    raise
            await asyncio.sleep(0.2)
        return await self._call(method, url, body, kind, user)

    async def _call(self, method: str, url: str, body: Json | None, kind: str, user: str) -> Json:
        headers = {"Content-Type": kind} | ({"Impersonate-User": user} if user else {})
        data = None if body is None else json.dumps(body)
        async with self._session.request(method, url, data=data, headers=headers) as answer:
            text = await answer.text()
            if answer.status >= 400:
                with contextlib.suppress(ValueError):
                    text = json.loads(text).get("message", text)
                raise RestError(answer.status, text)
            found: Json = json.loads(text)
            return found

    async def get(self, plural: str, namespace: str, name: str) -> Json | None:
        """Return one object, or None when there is none."""
        try:
            return await self.call("GET", self._url(plural, namespace, name))
        except RestError as error:
            if error.code == 404:
                return None
            raise

    async def list(self, plural: str, namespace: str = "", selector: str = "") -> list[Json]:
        """Return all objects of a kind, in one namespace or everywhere."""
        query = f"?labelSelector={selector}" if selector else ""
        items: list[Json] = (await self.call("GET", self._url(plural, namespace) + query))["items"]
        return items

    async def create(self, plural: str, namespace: str, body: Json, query: str = "") -> Json:
        """Create one object."""
        return await self.call("POST", self._url(plural, namespace) + query, body)

    async def patch(self, plural: str, namespace: str, name: str, body: Json, sub: str = "", user: str = "") -> Json:
        """Merge-patch one object or its `sub` resource."""
        return await self.call("PATCH", self._url(plural, namespace, name, sub), body, MERGE, user)

    async def delete(self, plural: str, namespace: str, name: str, options: Json | None = None) -> None:
        """Delete one object; none there is fine."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"} | (options or {})
        try:
            await self.call("DELETE", self._url(plural, namespace, name), body)
        except RestError as error:
            if error.code not in (404, 409):
                raise

    async def watch(self, plural: str) -> AsyncIterator[tuple[str, Json]]:
        """Yield (ADDED, MODIFIED or DELETED, object) for ever, everywhere; a broken watch begins with a new list."""
        known: dict[str, Json] = {}
        while True:
            try:
                listed = await self.call("GET", self._url(plural))
                there = {item["metadata"]["uid"]: item for item in listed["items"]}
                for uid in known.keys() - there.keys():
                    yield "DELETED", known.pop(uid)
                for item in there.values():
                    yield "ADDED", item
                known = there
                url = f"{self._url(plural)}?watch=true&resourceVersion={listed['metadata']['resourceVersion']}"
                async with self._session.get(url, read_bufsize=2**24) as stream:
                    while line := await stream.content.readline():
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            break
                        known[event["object"]["metadata"]["uid"]] = event["object"]
                        if event["type"] == "DELETED":
                            del known[event["object"]["metadata"]["uid"]]
                        yield event["type"], event["object"]
            except (aiohttp.ClientError, OSError, RestError):
                await asyncio.sleep(0.2)
