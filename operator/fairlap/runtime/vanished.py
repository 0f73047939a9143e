"""Which Benchmarks and Comparisons the queue still shows although they are gone: none may hold a place in it for ever.

kopf lists again when it has lost its watch (410 Gone) and tells of what is there, not of what went meanwhile.
"""

import logging
from collections.abc import Iterable

from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.queue.places import Places
from fairlap.runtime.reads import queued_uids

log = logging.getLogger(__name__)


async def look_for_vanished(api_server: ApiServer, places: Places, namespaces: Iterable[str]) -> None:
    """Tell the queue which of all that it knows in some namespaces is gone; "" is the whole cluster.

    Of a namespace that cannot be read nothing new is known.
    """
    gone: set[str] = set()
    for namespace in namespaces:
        known = places.uids_in(namespace)  # first: one created between the two questions is not gone
        try:
            gone |= known - await queued_uids(api_server, (namespace,))
        except ApiError as error:
            log.info("vanished Benchmarks were not looked for in %s: %s", namespace or "the cluster", error)
            gone |= known & places.vanished()
    places.vanish(gone)
