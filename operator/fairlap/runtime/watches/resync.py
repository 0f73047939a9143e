"""Holds what the API server lists beside what events told of Benchmarks and Comparisons: who is gone, who is not shown.

kopf lists again when it has lost its watch (410 Gone) and tells of what is there, not of what went meanwhile: none of
that may hold a place in the queue for ever. And a watch may be open and tell of nothing.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from fairlap.api.kinds import ELASTICSEARCH
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.kube.index import UidIndex
from fairlap.queue.places import Places
from fairlap.runtime.objects.reads import list_owned, queued_versions
from fairlap.runtime.watches.blind_watches import BlindWatches

log = logging.getLogger(__name__)


async def hold_beside_lists(
    api_server: ApiServer,
    places: Places,
    watches: BlindWatches,
    namespaces: Iterable[str],
    end: Callable[[str], None],
) -> list[str]:
    """Tell the queue which of all that it knows is gone, and return the namespaces that a watch does not tell of.

    namespaces: those to list; "" is the whole cluster. Of one that cannot be read nothing new is known.
    end: ends the work on one that is gone, by its uid, for no event will.
    """
    gone, blind = set[str](), list[str]()
    for namespace in namespaces:
        known = places.uids_in(namespace)  # first: one created between the two questions is not gone
        try:
            listed = await queued_versions(api_server, (namespace,))
        except ApiError as error:
            log.info("vanished Benchmarks were not looked for in %s: %s", namespace or "the cluster", error)
            gone |= known & places.vanished()
            continue
        missing = known - listed.keys()
        for uid in missing:
            watches.forget(uid)
            end(uid)
        gone |= missing
        if watches.find(namespace, listed, time.monotonic()):
            blind.append(namespace)
    places.vanish(gone)
    return blind


async def find_gone_clusters(
    api_server: ApiServer, clusters: Mapping[str, UidIndex], namespaces: Iterable[str], before: set[str]
) -> set[str]:
    """Return the uids of clusters that their indexes still have and that are gone, since no event told so.

    clusters: the indexes by what is watched together, as `namespaces` has it: "" is the whole cluster.
    before: what was found last, which stands where nothing can be listed.
    """
    gone = set[str]()
    for namespace in namespaces:
        index = clusters.get(namespace)
        known = _cluster_uids(index) if index is not None else None  # first: one that is created meanwhile is not gone
        if not known:
            continue
        try:
            there = await list_owned(api_server, ELASTICSEARCH.kind, [namespace])
        except ApiError as error:
            if error.status != 404:  # as where ECK is not there any more
                log.info("clusters that are gone were not looked for in %s: %s", namespace or "the cluster", error)
                gone |= known & before
                continue
            there = []
        gone |= known - {each["metadata"]["uid"] for each in there}
    return gone


def _cluster_uids(index: UidIndex) -> set[str]:
    return {each["metadata"]["uid"] for owner in index for each in index.get(owner, ())}
