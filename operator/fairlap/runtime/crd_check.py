"""Whether the CustomResourceDefinition in the cluster knows every field that this operator writes and reads.

Helm leaves an installed one as it is when it upgrades the chart. What the API server publishes is compared with our
own schema, since that needs no right on CustomResourceDefinitions.
"""

import logging

from prometheus_client import Gauge

from fairlap.api.crd import crd
from fairlap.api.names import GROUP, KIND, VERSION
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.outdated_crd import missing_fields
from fairlap_race.contract.reasons import Reason

log = logging.getLogger(__name__)
MISSING = Gauge("fairlap_crd_missing_fields", "Fields that the CustomResourceDefinition in the cluster does not know")
_SHOWN = 10


async def check_crd(api_server: ApiServer) -> None:
    """Compare them, once; what is missing is logged and counted. Raises ApiError."""
    published = next(
        (
            schema
            for schema in (await api_server.read_schemas(f"apis/{GROUP}/{VERSION}")).values()
            if any(kind.get("kind") == KIND for kind in schema.get("x-kubernetes-group-version-kind") or ())
        ),
        None,
    )
    if published is None:
        raise ApiError(404, f"no schema of {KIND} is published")
    (version,) = crd()["spec"]["versions"]
    ours = version["schema"]["openAPIV3Schema"]["properties"]
    parts = {name: ours[name] for name in ("spec", "status")}
    missing = sorted(missing_fields({"properties": parts}, published))
    MISSING.set(len(missing))
    if missing:
        shown = ", ".join(missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else "")
        told = f"the CustomResourceDefinition in the cluster does not know {shown}"
        log.warning("%s: %s. What to do: %s", Reason.CRD_OUTDATED, told, Reason.CRD_OUTDATED.cure)
