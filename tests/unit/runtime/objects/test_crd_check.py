"""The CustomResourceDefinition in the cluster against ours, from what the API server publishes."""

import asyncio
from typing import Any

import pytest

from fairlap.api.crd import RESOURCES, Resource, crd
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


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return how long is waited, which takes no time."""
    found: list[float] = []

    async def pause(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(crd_check.asyncio, "sleep", pause)
    return found


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


@pytest.mark.parametrize("early", [404, None, 503])
def test_what_is_not_published_yet_is_looked_at_again_before_it_is_counted(
    early: int | None, pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """A new CustomResourceDefinition is served before its schema is; what has a trouble of its own says nothing."""
    schemas = [each["schema"]["openAPIV3Schema"] for kind in RESOURCES for each in crd(kind)["spec"]["versions"]]
    named = {"x-kubernetes-group-version-kind": [{"kind": kind.kind} for kind in RESOURCES[:1]]}
    whole = {
        kind.kind: {**schema, "x-kubernetes-group-version-kind": [{"kind": kind.kind}]}
        for kind, schema in zip(RESOURCES, schemas, strict=True)
    }
    answers: list[Any] = [ApiError(early, "no") if early else {"x": {**schemas[0], **named}}, whole]

    class Soon:
        async def read_schemas(self, _: str) -> Any:
            counted.append(MISSING._value.get())
            answer = answers.pop(0)
            if isinstance(answer, ApiError):
                raise answer
            return answer

    counted: list[float] = []
    MISSING.set(0)
    server: Any = Soon()
    if early == 503:
        with pytest.raises(ApiError):
            asyncio.run(check_crd(server))
    else:
        asyncio.run(check_crd(server))
    assert len(pauses) == (early != 503) and sum(pauses) <= 20
    assert MISSING._value.get() == 0 == sum(counted) and "What to do" not in caplog.text


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
