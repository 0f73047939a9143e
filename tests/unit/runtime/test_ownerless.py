"""Claims that lost their cluster are removed, and no others."""

import asyncio
from collections.abc import Iterable
from typing import Any

from fairlap.kube.api_error import ApiError
from fairlap.runtime.ownerless import find_ownerless, remove_ownerless

Json = dict[str, Any]


def thing(name: str, uid: str = "u1", step: str = "race-1", namespace: str = "ns", **meta: Any) -> Json:
    labels = {"fairlap.dev/uid": uid, "fairlap.dev/step": step}
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels, **meta}}


def test_a_claim_is_told_by_namespace_benchmark_and_step() -> None:
    claims = [
        thing("lives"), thing("other-step", step="race-2"), thing("other-benchmark", uid="u2"),
        thing("elsewhere", namespace="there"), thing("going", step="smoke", deletionTimestamp="2026-01-01T00:00:00Z"),
    ]  # fmt: skip
    found = [claim["metadata"]["name"] for claim in find_ownerless(claims, [thing("bm-race-1")])]
    assert found == ["other-step", "other-benchmark", "elsewhere"]


class Server:
    """Makes a claim together with its cluster between the two questions."""

    def __init__(self) -> None:
        self.clusters, self.claims, self.deleted = [thing("bm-race-1")], [thing("c1"), thing("c0", step="smoke")], []

    async def list_metadata(self, kind: str, namespaces: Iterable[str], query: dict[str, str]) -> list[Json]:
        assert (tuple(namespaces), query) == (("ns",), {"labelSelector": "fairlap.dev/uid"})
        if kind == "Elasticsearch":
            return list(self.clusters)
        listed = list(self.claims)
        self.clusters.append(thing("bm-race-2", step="race-2"))
        self.claims.append(thing("c2", step="race-2"))
        return listed

    async def delete(self, kind: str, claim: Json) -> None:
        self.deleted.append((kind, claim["metadata"]["name"]))


class Lost(Server):
    """Does not let one namespace be read."""

    async def list_metadata(self, kind: str, namespaces: Iterable[str], query: dict[str, str]) -> list[Json]:
        if tuple(namespaces) == ("lost",):
            raise ApiError(403, "forbidden")
        return await super().list_metadata(kind, ("ns",), query)


def test_a_namespace_that_cannot_be_read_stops_no_other() -> None:
    server = Lost()
    asyncio.run(remove_ownerless(server, ["lost", "ns"]))  # type: ignore[arg-type]
    assert server.deleted == [("PersistentVolumeClaim", "c0")]


def test_a_claim_that_is_made_meanwhile_stays() -> None:
    server = Server()
    asyncio.run(remove_ownerless(server, iter(["ns"])))  # type: ignore[arg-type]
    assert server.deleted == [("PersistentVolumeClaim", "c0")]
