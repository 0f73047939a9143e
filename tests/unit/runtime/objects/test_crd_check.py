"""The CustomResourceDefinition in the cluster against ours, from what the API server publishes."""

import asyncio
from typing import Any

import pytest

from fairlap.api.crd import Resource, crd
from fairlap.kube.api_error import ApiError
from fairlap.runtime.objects import crd_check
from fairlap.runtime.objects.crd_check import MISSING, check_crd, newer_defaults


class Server:
    """Publishes a schema of Benchmark, or none."""

    def __init__(self, schema: dict[str, Any] | None) -> None:
        self.schema = schema

    async def read_schemas(self, path: str) -> dict[str, Any]:
        assert path == "apis/fairlap.dev/v1alpha1"
        kind = {"group": "fairlap.dev", "kind": "Benchmark", "version": "v1alpha1"}
        ours = {"x": {**self.schema, "x-kubernetes-group-version-kind": [kind]}} if self.schema else {}
        return {"list": {"x-kubernetes-group-version-kind": [{"kind": "BenchmarkList"}]}, "meta": {}, **ours}


def test_a_kind_that_the_cluster_does_not_have_is_said(caplog: pytest.LogCaptureFixture) -> None:
    (version,) = crd()["spec"]["versions"]
    server: Any = Server(version["schema"]["openAPIV3Schema"])
    asyncio.run(check_crd(server))
    assert "the cluster has no Comparison. What to do: Apply" in caplog.text and MISSING._value.get() == 1


@pytest.mark.parametrize("older", [False, True])
def test_what_the_cluster_does_not_know_is_said(older: bool, caplog: pytest.LogCaptureFixture) -> None:
    (version,) = crd()["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    if older:
        del schema["properties"]["status"]["properties"]["step"]["properties"]["jobStarted"]
    server: Any = Server(schema)
    asyncio.run(check_crd(server))
    assert MISSING._value.get() == 1 + int(older), "and there is no Comparison"
    assert ("does not know status.step.jobStarted. What to do: Apply" in caplog.text) is older


def test_without_a_schema_nothing_is_claimed(caplog: pytest.LogCaptureFixture) -> None:
    """It is counted, or an alert would be silent just where nothing works."""
    server: Any = Server(None)
    MISSING.set(0)
    with pytest.raises(ApiError, match="no schema of Benchmark is published"):
        asyncio.run(check_crd(server))
    assert MISSING._value.get() == 2 and "What to do" not in caplog.text


@pytest.mark.parametrize(("status", "counted"), [(404, 2), (503, 0), (0, 0)])
def test_a_group_that_the_cluster_does_not_have_is_counted(status: int, counted: int) -> None:
    """One that does not answer says nothing of that."""
    server: Any = Server(None)

    async def refuses(_: str) -> dict[str, Any]:
        raise ApiError(status, "no")

    server.read_schemas = refuses
    MISSING.set(0)
    with pytest.raises(ApiError):
        asyncio.run(check_crd(server))
    assert MISSING._value.get() == counted


def test_our_schema_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def noted(resource: Resource) -> Any:
        made.append(resource.kind)
        return crd(resource)

    monkeypatch.setattr(crd_check, "crd", noted)
    crd_check.own_schema.cache_clear()
    (version,) = crd()["spec"]["versions"]
    server: Any = Server(version["schema"]["openAPIV3Schema"])
    for _ in range(2):
        asyncio.run(check_crd(server))
        assert asyncio.run(newer_defaults(server, "Benchmark")) == {}
    assert made == ["Benchmark"]
