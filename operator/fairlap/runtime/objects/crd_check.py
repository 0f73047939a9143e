"""Whether the CustomResourceDefinitions in the cluster know every field that this operator writes and reads.

Helm leaves an installed one as it is, and adds none, when it upgrades the chart. What the API server publishes is
compared with our own schema, since that needs no right on CustomResourceDefinitions.
"""

import asyncio
import logging
from functools import cache
from typing import Any, Final

from prometheus_client import Gauge

from fairlap.api.base import Json
from fairlap.api.crd import RESOURCES, crd
from fairlap.api.names import GROUP, KIND, VERSION
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.newer_crd import unknown_defaults
from fairlap.plan.outdated_crd import MOST_FIELDS, missing_fields
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_of

log = logging.getLogger(__name__)
MISSING = Gauge(
    "fairlap_crd_missing_fields",
    "Fields that the CustomResourceDefinition in the cluster does not know; a kind that is not there is one, too",
)
_CURE = Reason.CRD_OUTDATED.cure
_SOON_SECONDS: Final = 10.0
"""after which the schema of a new CustomResourceDefinition, or of an API server that has just started, is published"""


async def check_crd(api_server: ApiServer) -> None:
    """Compare those of all our kinds, once; what is missing is logged and counted. Raises ApiError.

    Where a kind is missing it is looked for twice: it may be new.
    """
    published = await _published_if_any(api_server)
    if missing := _not_in(published):
        await asyncio.sleep(_SOON_SECONDS)
        published = await _published_if_any(api_server)
        missing = _not_in(published)
    if KIND in missing:  # it may not be published yet, so that it is counted and not claimed
        MISSING.set(len(missing))
        raise ApiError(404, f"no schema of {KIND} is published")
    for kind in missing:
        log.warning("%s: the cluster has no %s. What to do: %s", Reason.CRD_OUTDATED, kind, _CURE)
    for resource in RESOURCES:
        if there := published.get(resource.kind):
            missing += _missing(resource.kind, there)
    MISSING.set(len(missing))


async def newer_defaults(api_server: ApiServer, kind: str) -> dict[str, Any]:
    """Return the defaults of what the published spec of a kind has and ours has not, by path. Raises ApiError."""
    there = (await _published(api_server)).get(kind, {}).get("properties", {}).get("spec", {})
    return unknown_defaults(own_schema(kind)["spec"], there)


@cache
def own_schema(kind: str) -> Json:
    """Return the schemas of the fields of one of our kinds. They are made once, and nobody may change them.

    Making them takes a twentieth of a second, in which the operator does nothing else.
    """
    (resource,) = (each for each in RESOURCES if each.kind == kind)
    (version,) = crd(resource)["spec"]["versions"]
    found: Json = version["schema"]["openAPIV3Schema"]["properties"]
    return found


def _not_in(published: dict[str, Json]) -> list[str]:
    return [resource.kind for resource in RESOURCES if resource.kind not in published]


async def _published_if_any(api_server: ApiServer) -> dict[str, Json]:
    """Return the published schemas by kind, none where the API server knows no kind of ours. Raises ApiError."""
    try:
        return await _published(api_server)
    except ApiError as error:
        if error.status != 404:
            raise
        return {}


async def _published(api_server: ApiServer) -> dict[str, Json]:
    """Return the published schemas by kind."""
    schemas = (await api_server.read_schemas(f"apis/{GROUP}/{VERSION}")).values()
    return {
        kind["kind"]: schema
        for schema in schemas
        for kind in schema.get("x-kubernetes-group-version-kind") or ()
        if kind.get("kind")
    }


def _missing(kind: str, published: Json) -> list[str]:
    ours = own_schema(kind)
    parts = {name: ours[name] for name in ("spec", "status")}
    missing = sorted(missing_fields({"properties": parts}, published))
    if missing:
        shown = some_of(missing, MOST_FIELDS)
        told = f"the CustomResourceDefinition of {kind} in the cluster does not know {shown}"
        log.warning("%s: %s. What to do: %s", Reason.CRD_OUTDATED, told, _CURE)
    return missing
