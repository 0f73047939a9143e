"""The end of a Benchmark that cannot go on: its objects go, and the API server is told what it will surely take."""

import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

from prometheus_client import Counter

from fairlap.api.base import Json
from fairlap.api.kinds import ELASTICSEARCH, JOB
from fairlap.api.names import UID_LABEL
from fairlap.api.phases import is_over
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.plan.explain.leftover import name_leftover
from fairlap.plan.unforeseen import Ending, last_word
from fairlap.runtime.objects.reads import find_run, list_children
from fairlap.runtime.objects.writes import replace_status

log = logging.getLogger(__name__)
REMOVED: Final = (ELASTICSEARCH.kind, JOB.kind)
"""the kinds of what a Benchmark builds, and its end removes"""
Doing = Literal["look", "end", "machines", "chore", "keep", "leftover", "expire", "rerun", "history"]
"""what is done for a Benchmark, or a Comparison, when an error comes that was not foreseen"""
INTERNAL_ERRORS: Final = Counter(
    "fairlap_internal_errors", "Errors that were not foreseen, by what was done for a Benchmark", ["what"]
)


for _doing in get_args(Doing):
    INTERNAL_ERRORS.labels(_doing)  # exposed at once: Prometheus takes the first value that it sees for no increase


def count_unforeseen(doing: Doing) -> None:
    """Count an error that was not foreseen."""
    INTERNAL_ERRORS.labels(doing).inc()


async def delete_children(
    api_server: ApiServer, namespace: str, uid: str, kinds: Iterable[str] = REMOVED
) -> dict[str, bool]:
    """Delete a Benchmark's objects of these kinds as the API server has them now.

    Returns whether each that was there was deleted now, and not before, by its kind and name. Raises ApiError, after
    all was tried.
    """
    found, failure = dict[str, bool](), None
    for kind in kinds:
        try:
            for child in await _children_of_a_kind(api_server, kind, namespace, uid):
                deleted_now = not child["metadata"].get("deletionTimestamp")
                found[name_leftover(kind, child)] = deleted_now
                if deleted_now:
                    await api_server.delete(kind, child)
        except ApiError as error:  # what may not be removed keeps nothing else
            failure = failure or error
    if failure:
        raise failure
    return found


async def remove_children(api_server: ApiServer, namespace: str, uid: str) -> list[str]:
    """Delete a Benchmark's clusters and Jobs as the API server has them now.

    Returns what is still there of them and their pods, each as kind and name. Raises ApiError, after all was tried.
    """
    left = await delete_children(api_server, namespace, uid)
    pods = await api_server.list_metadata("Pod", [namespace], {"labelSelector": f"{UID_LABEL}={uid}"})
    return [*left, *(name_leftover("Pod", pod) for pod in pods)]


async def _children_of_a_kind(api_server: ApiServer, kind: str, namespace: str, uid: str) -> list[Json]:
    """Return them, none where the API server does not have the kind (any more). Raises ApiError."""
    try:
        return await list_children(api_server, kind, namespace, uid)
    except ApiError as error:
        if error.status != 404:
            raise
        return []


async def find_not_over(api_server: ApiServer, meta: Mapping[str, Any], kind: str) -> Json | None:
    """Return an object of a kind as the API server has it now, None when it is gone or over. Raises ApiError."""
    found = await find_run(api_server, kind, meta["namespace"], meta["name"])
    return None if found is None or found["metadata"]["uid"] != meta["uid"] or is_over(found) else found


async def say_last_word(api_server: ApiServer, found: Json, ending: Ending, kind: str) -> Json:
    """Write that an object of a kind, as it was just `found`, has failed, and return it.

    When the API server refuses what is known with it, the smallest status is written instead. Raises ApiError.
    """
    meta = found["metadata"]
    stored, said = found.get("status") or {}, {"observedGeneration": found["metadata"].get("generation")}
    try:
        whole = last_word({**stored, **said}, ending, datetime.now(UTC), kind)
        return await replace_status(api_server, found, whole, kind)
    except ApiError as error:
        if not error.unfit:
            raise
        log.warning("the last word about %s/%s is said in short: %s", meta["namespace"], meta["name"], error)
    return await replace_status(api_server, found, last_word(said, ending, datetime.now(UTC), kind), kind)
