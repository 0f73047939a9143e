"""Which Benchmarks the queue still shows although they are gone: none may hold a place in it for ever.

kopf lists again when it has lost its watch (410 Gone) and tells of what is there, not of what went meanwhile.
"""

from collections.abc import Iterable

from fairlap.kube.api_server import ApiServer
from fairlap.queue.places import Places
from fairlap.runtime.reads import benchmark_uids


async def look_for_vanished(api_server: ApiServer, places: Places, namespaces: Iterable[str]) -> None:
    """Tell the queue which of the Benchmarks that it knows are gone. Raises ApiError."""
    known = places.uids()  # first: one created between the two questions is not gone
    places.vanish(known - await benchmark_uids(api_server, namespaces))
