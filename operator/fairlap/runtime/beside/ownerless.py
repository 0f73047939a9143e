"""Volume claims whose cluster went before ECK had made itself their owner: nobody but us removes them.

Kubernetes makes the claims of a StatefulSet; ECK (3.5) becomes their owner in a later pass, so that a cluster that is
removed right after it was asked for, as when its Benchmark is deleted, leaves them and their volumes behind.
"""

import logging
import re
from collections.abc import Iterable

from fairlap.api.base import Json
from fairlap.api.names import BENCHMARK_LABEL, STEP_LABEL
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.manifests.elasticsearch import DATA_VOLUME, NODE_SET
from fairlap.plan.basis.steps import object_name
from fairlap.runtime.objects.ownership import claimed_uid, owner_uid, step_of
from fairlap.runtime.objects.reads import list_owned

log = logging.getLogger(__name__)


async def remove_ownerless(api_server: ApiServer, namespaces: Iterable[str]) -> None:
    """Delete such claims in some namespaces, "" for the whole cluster.

    A namespace that cannot be read stops no other, nor does a claim that cannot be deleted.
    """
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
            try:
                await api_server.delete("PersistentVolumeClaim", claim)
            except ApiError as error:
                meta = claim["metadata"]
                log.warning("claim %s/%s was not deleted: %s", meta["namespace"], meta["name"], error)


def find_ownerless(claims: Iterable[Json], clusters: Iterable[Json]) -> list[Json]:
    """Return the claims that are of none of these clusters, that nobody owns and nobody has deleted yet."""
    living = {_place_of(cluster, owner_uid(cluster)) for cluster in clusters}
    return [
        claim
        for claim in claims
        if _place_of(claim, claimed_uid(claim)) not in living and _is_left_over(claim["metadata"])
    ]


def _is_left_over(meta: Json) -> bool:
    # What has an owner goes with it, and a label alone does not make a claim ours: its name must be the one that
    # Kubernetes gives to the claims of that step's StatefulSet.
    labels = meta["labels"]
    cluster = object_name(str(labels.get(BENCHMARK_LABEL)), str(labels.get(STEP_LABEL)))
    named = re.fullmatch(re.escape(f"{DATA_VOLUME}-{cluster}-es-{NODE_SET}-") + r"\d+", meta["name"])
    return bool(named) and not meta.get("ownerReferences") and not meta.get("deletionTimestamp")


def _place_of(thing: Json, uid: str | None) -> tuple[str, str | None, str]:
    return thing["metadata"]["namespace"], uid, step_of(thing)
