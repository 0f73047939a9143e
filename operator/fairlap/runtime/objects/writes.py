"""What the operator writes to Benchmarks and creates for them, in the words of the domain."""

import json
from collections.abc import Mapping
from typing import Any

from fairlap.api.base import Answer, Json
from fairlap.api.names import API_VERSION, COMPARISON_KIND, KIND
from fairlap.api.owners import controller
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer


def status_json(status: Answer) -> Json:
    """Return a status as it is sent and stored: without what says nothing, and with no character that is not text."""
    dumped = status.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    # Half a surrogate pair, as JSON may have one, is replaced by the API server: it would come back as something else.
    found: Json = json.loads(json.dumps(dumped, ensure_ascii=False).encode("utf-8", "replace"))
    return found


async def write_status(api_server: ApiServer, benchmark: Json, status: Answer, kind: str = KIND) -> Json:
    """Write the status of a Benchmark, or of an object of another `kind`, and return the new object.

    Raises ApiError 409 when `benchmark` is not the newest version: somebody must look again.
    """
    return await replace_status(api_server, benchmark, status_json(status), kind)


async def replace_status(api_server: ApiServer, there: Json, status: Json, kind: str) -> Json:
    """Write a status as JSON in place of that of an object of a `kind`, and return the new object.

    Raises ApiError 409 when what is `there` is not the newest version.
    """
    meta = there["metadata"]
    body = {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {k: meta[k] for k in ("name", "namespace", "uid", "resourceVersion")},
        "status": status,  # without the spec: of this request the API server takes the status alone
    }
    return await api_server.replace(body, "status")


async def annotate(api_server: ApiServer, benchmark: Json, annotations: Mapping[str, str]) -> Json:
    """Add annotations to a Benchmark and return it. Raises ApiError 409 when it is not the newest version."""
    meta = benchmark["metadata"]
    body = {"metadata": {"resourceVersion": meta["resourceVersion"], "annotations": dict(annotations)}}
    return await api_server.patch(KIND, meta["namespace"], meta["name"], body)


async def create_if_free(api_server: ApiServer, manifest: Json) -> Json | None:
    """Create an object and return it; None when the name is taken, or was just then. Raises ApiError."""
    try:
        return await api_server.create(manifest)
    except ApiError as error:
        if error.status == 409:
            return None
        raise


async def create_child(api_server: ApiServer, manifest: Json) -> str:
    """Create what another object controls, a Benchmark or a Comparison; one of its own that exists is a success.

    Returns a sentence when something that is not its own has the name, else "". Raises ApiError, also 409: try again.
    """
    meta, kind = manifest["metadata"], manifest["kind"]
    try:
        await api_server.create(manifest)
    except ApiError as error:
        there = await api_server.find(kind, meta["namespace"], meta["name"]) if error.status == 409 else None
        if there is None:  # the name is free: a quota was counted anew just then, or what had the name has gone
            raise
    else:
        return ""
    wanted = controller(manifest)
    if wanted and _identity(controller(there)) == _identity(wanted):
        return ""
    whose = COMPARISON_KIND if wanted.get("kind") == COMPARISON_KIND else KIND
    return f"waiting for {kind} {meta['name']}, which is not of this {whose}, to go away"


def _identity(owner: Json) -> tuple[Any, ...]:
    group = str(owner.get("apiVersion")).rpartition("/")[0]  # another version is the same object
    return group, *(owner.get(key) for key in ("kind", "name", "uid"))


async def unsuspend(api_server: ApiServer, job: Json) -> None:
    """Let a suspended Job run; another Job of its name is refused by the uid. Raises ApiError."""
    meta = job["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "spec": {"suspend": False}}
    await api_server.patch("Job", meta["namespace"], meta["name"], body)
