"""Volume claims whose cluster went before ECK had made itself their owner: nobody but us removes them.

Kubernetes makes the claims of a StatefulSet; ECK (3.5) becomes their owner in a later pass, so that a cluster that is
removed right after it was asked for, as when its Benchmark is deleted, leaves them and their volumes behind.
"""

import logging
from collections.abc import Iterable

from fairlap.api.base import Json
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.runtime.project import owner_uid, step_of
from fairlap.runtime.reads import list_owned

log = logging.getLogger(__name__)


async def remove_ownerless(api_server: ApiServer, namespaces: Iterable[str]) -> None:
    """Delete such claims in some namespaces, "" for the whole cluster; one that cannot be read stops no other."""
    for namespace in namespaces:
        try:
            await _remove_in((namespace,), api_server)
        except ApiError as error:
            log.info("claims without a cluster were not looked for in %s: %s", namespace or "the cluster", error)


async def _remove_in(spaces: tuple[str], api_server: ApiServer) -> None:
    # In this order: a claim comes after its cluster, so that one whose cluster is not listed afterwards has lost it.
    claims = await list_owned(api_server, "PersistentVolumeClaim", spaces)
    if claims:
        for claim in find_ownerless(claims, await list_owned(api_server, "Elasticsearch", spaces)):
            await api_server.delete("PersistentVolumeClaim", claim)


def find_ownerless(claims: Iterable[Json], clusters: Iterable[Json]) -> list[Json]:
    """Return the claims that are of none of these clusters and that nobody has deleted yet."""
    living = {_place_of(cluster) for cluster in clusters}
    return [
        claim for claim in claims if _place_of(claim) not in living and not claim["metadata"].get("deletionTimestamp")
    ]


def _place_of(thing: Json) -> tuple[str, str | None, str]:
    return thing["metadata"]["namespace"], owner_uid(thing), step_of(thing)
