"""One object as decisions read it: the newest version that is known of it, without what only a newer schema says."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.kube.api_server import ApiServer
from fairlap.plan.newer_crd import unknown_fields, without_defaults
from fairlap.plan.unforeseen import Ending, unreadable
from fairlap.runtime.loop.driven_kind import DrivenKind
from fairlap.runtime.objects.crd_check import newer_defaults
from fairlap.runtime.objects.project import bounded_copy, is_set_aside
from fairlap.runtime.objects.reads import find_run


async def newest_version(
    api_server: ApiServer, kind: str, shown: Mapping[str, Any], written: Json, known_defaults: Mapping[str, Json]
) -> Json | None:
    """Return an object as it was last `shown` by an event or `written` by us; None when it is gone. Raises ApiError.

    A large spec, which is not held, is read. `known_defaults`: by kind, what is left out of it.
    """
    newest = dict(bounded_copy(shown))
    if _version(written) > _version(newest):
        newest |= bounded_copy(written)
    if is_set_aside(newest):
        meta = newest["metadata"]
        there = await find_run(api_server, kind, meta["namespace"], meta["name"])
        if there is None or there["metadata"]["uid"] != meta["uid"]:
            return None
        newest["spec"] = bounded_copy(there["spec"])
    if newer := known_defaults.get(kind):
        newest["spec"] = without_defaults(newest["spec"], newer)
    return newest


async def why_unreadable(
    api_server: ApiServer, kind: DrivenKind[Any], error: ValidationError, known_defaults: dict[str, Json], logger: Any
) -> Ending | None:
    """Return why an object ends whose spec cannot be read; None when it may be read now.

    That is so when the cluster knows defaults that were not in `known_defaults`: they are then. Raises ApiError, and
    the error itself when it is of something else than the spec.
    """
    if error.title != kind.spec:
        raise error
    if unknown_fields(error):
        newer = await newer_defaults(api_server, kind.name)
        if newer != known_defaults.get(kind.name, {}):
            known_defaults[kind.name] = newer
            told = "the CustomResourceDefinition of %s is newer than this operator; left out as defaults: %s"
            logger.warning(told, kind.name, ", ".join(sorted(newer)))
            return None
    return unreadable(error)


def _version(thing: Mapping[str, Any]) -> int:
    return int(thing.get("metadata", {}).get("resourceVersion", 0))
