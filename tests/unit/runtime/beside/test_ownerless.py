"""Claims that lost their cluster are removed, and no others."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.runtime.beside.ownerless import find_ownerless, remove_ownerless

Json = dict[str, Any]


def owned(kind: str, uid: str) -> list[Json]:
    return [{"apiVersion": "fairlap.dev/v1alpha1", "kind": kind, "name": "bm", "uid": uid, "controller": True}]


def claim(step: str = "race-1", uid: str = "u1", namespace: str = "ns", **meta: Any) -> Json:
    labels = {"fairlap.dev/uid": uid, "fairlap.dev/step": step, "fairlap.dev/benchmark": "bm"}
    name = f"elasticsearch-data-bm-{step}-es-default-0"
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels, **meta}}


def cluster(step: str = "race-1") -> Json:
    labels = {"fairlap.dev/uid": "u1", "fairlap.dev/step": step}
    owners = owned("Benchmark", "u1")
    return {"metadata": {"name": f"bm-{step}", "namespace": "ns", "labels": labels, "ownerReferences": owners}}


def test_a_claim_is_told_by_namespace_benchmark_and_step() -> None:
    lost = [claim("race-2"), claim(uid="u2"), claim(namespace="there")]
    assert find_ownerless([claim(), *lost], [cluster()]) == lost


@pytest.mark.parametrize(
    "kept",
    [
        claim(deletionTimestamp="2026-01-01T00:00:00Z"),
        claim(ownerReferences=owned("Elasticsearch", "e1")),
        claim(name="elasticsearch-data-other-race-1-es-default-0"),
        claim(name="elasticsearch-data-bm-race-1-es-default-0-mine"),
        claim(name="mine"),
    ],
)
def test_a_claim_that_only_wears_our_labels_or_has_an_owner_stays(kept: Json) -> None:
    assert find_ownerless([kept], []) == []


class Server:
    """Makes a claim together with its cluster between the two questions."""

    def __init__(self) -> None:
        self.clusters, self.claims, self.deleted = [cluster()], [claim(), claim("smoke")], []

    async def list_metadata(self, kind: str, namespaces: Iterable[str], query: dict[str, str]) -> list[Json]:
        assert (tuple(namespaces), query) == (("ns",), {"labelSelector": "fairlap.dev/uid"})
        if kind == "Elasticsearch":
            return list(self.clusters)
        listed = list(self.claims)
        self.clusters.append(cluster("race-2"))
        self.claims.append(claim("race-2"))
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
    assert server.deleted == [("PersistentVolumeClaim", "elasticsearch-data-bm-smoke-es-default-0")]


class Denies(Server):
    """Does not let one claim be deleted."""

    async def delete(self, kind: str, claim: Json) -> None:
        if claim["metadata"]["name"].startswith("elasticsearch-data-bm-race-3"):
            raise ApiError(403, 'admission webhook "w" denied the request')
        await super().delete(kind, claim)


def test_a_claim_that_cannot_be_deleted_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    server = Denies()
    server.claims.insert(0, claim("race-3"))
    asyncio.run(remove_ownerless(server, ["ns"]))  # type: ignore[arg-type]
    assert server.deleted == [("PersistentVolumeClaim", "elasticsearch-data-bm-smoke-es-default-0")]
    assert "ns/elasticsearch-data-bm-race-3-es-default-0 was not deleted: 403" in caplog.text


def test_a_claim_that_is_made_meanwhile_stays() -> None:
    server = Server()
    asyncio.run(remove_ownerless(server, iter(["ns"])))  # type: ignore[arg-type]
    assert server.deleted == [("PersistentVolumeClaim", "elasticsearch-data-bm-smoke-es-default-0")]
