"""What the indexes keep of an object: only what decisions read, so that thousands fit into memory."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairlap.api.base import Json
from fairlap.api.kinds import CONFIG_MAP, ENDPOINT_SLICE, JOB, POD
from fairlap.api.names import MOST_SPEC_VALUES, PAGE_CACHE_ANNOTATION, PAGE_CACHE_OUTCOME_ANNOTATION
from fairlap.api.owners import controller
from fairlap.api.phases import is_over
from fairlap.api.small_metadata import LONGEST_VALUE, shrink_metadata, small_reference
from fairlap.plan.lifetimes import expiry, rerun
from fairlap.plan.lifetimes.keep import KEPT
from fairlap_race.contract.recorded.record import KEY_PROGRESS, MAX_PROGRESS_CHARACTERS
from fairlap_race.contract.untrusted import has_more_values

Body = Mapping[str, Any]
_KEPT_STATUS = {"phase", "completionTime", "conditions", "observedGeneration"}
_KEPT_OF_A_COMPARISON = {"phase", "verdict", "observedGeneration"}
_KEPT_SPEC = {"ttlAfterFinished", "keepClusterFor", "rerunHistoryLimit"}
_ASIDE = "aside"
"""key of a spec that is not held; the API server keeps none that is not in its schema"""
_STAYS = ("suspend",)
_MOST_HELD, _OF_A_VALUE = 48 << 10, 100
"""bytes of a spec, and of each value in it beside its characters"""
_OF_A_JOB = (PAGE_CACHE_ANNOTATION, PAGE_CACHE_OUTCOME_ANNOTATION)
_ANNOTATIONS = (rerun.ASKED, rerun.DONE, rerun.OF_UID, rerun.FIRST_UID, expiry.EXPIRED)
_LARGE = ("spec", "status", "data", "binaryData", "endpoints")
_OF_THE_SCHEMA = 4000
"""values of a spec that have a schema, lists of a hundred names and the like: there are no more"""
_META = (
    "name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp", "labels", "finalizers",
)  # fmt: skip


def project_child(plural: str, body: Body) -> Json:
    """Return the parts of a child that decisions look at; `plural` names its kind as in the API's paths."""
    meta = body["metadata"]
    kept: Json = {"metadata": {key: meta[key] for key in _META if key in meta}}
    shrink_metadata(kept["metadata"])
    if owner := controller(body):
        kept["metadata"]["ownerReferences"] = [small_reference(owner)]
    if plural == CONFIG_MAP.plural:
        text = (body.get("data") or {}).get(KEY_PROGRESS)
        kept["progress"] = text if len(text or "") <= MAX_PROGRESS_CHARACTERS else None
    elif plural == ENDPOINT_SLICE.plural:
        kept["ready"] = _ready_addresses(body)
    elif plural == JOB.plural:
        if noted := _some(meta.get("annotations") or {}, _OF_A_JOB):
            kept["metadata"]["annotations"] = {name: value[:LONGEST_VALUE] for name, value in noted.items()}
        suspended = {"suspend": body["spec"].get("suspend", False)}
        kept |= {"spec": suspended, "status": _some(body.get("status") or {}, ("conditions", "startTime"))}
    elif plural == POD.plural:
        kept |= {"spec": {"nodeName": body["spec"].get("nodeName")}, "status": _pod_status(body.get("status") or {})}
    else:
        kept["status"] = _some(body.get("status") or {}, ("health", "phase", "observedGeneration", "conditions"))
    return kept


def drop_unread(child: Body) -> None:
    """Drop, in place, what nobody reads of a child once `project_child` has kept its parts: all but whose it is.

    kopf holds each object of its first lists until all are there, and copies what it holds before it handles it.
    """
    for part in _LARGE:
        if isinstance(held := child.get(part), dict | list):
            held.clear()
    shrink_metadata(child["metadata"])


def bounded_copy(value: Any, levels: int = 60, room: Iterator[int] | None = None) -> Any:
    """Return a copy of JSON data, None in place of what is deeper than `levels`: no spec that is accepted is.

    A user may nest what has no schema 10,000 levels deep, and most of Python's own tools recurse. `room`: as many
    values as it has are copied, and the others left out; None: all of them.
    """
    if not isinstance(value, Mapping | list):
        return value
    if levels == 0:
        return None
    if isinstance(value, Mapping):
        return {key: bounded_copy(item, levels - 1, room) for key, item in value.items() if _is_room(room)}
    return [bounded_copy(item, levels - 1, room) for item in value if _is_room(room)]


def _is_room(room: Iterator[int] | None) -> bool:
    return room is None or next(room, None) is not None


def cut_spec(body: Body, most: int = MOST_SPEC_VALUES + _OF_THE_SCHEMA) -> None:
    """Cut, in place, a spec that has more than `most` values: what is left is refused for its size all the same.

    1 MB of lists in lists takes 40 MB, and kopf holds each object that it is told of until that was handled. The fields
    of the spec and of its parts stay: what is large is below.
    """
    spec = body.get("spec")
    if not isinstance(spec, dict) or not has_more_values(spec, most):
        return
    room = iter(range(most))
    for part, value in spec.items():
        if isinstance(value, dict):
            spec[part] = {field: bounded_copy(below, room=room) for field, below in value.items()}
        else:
            spec[part] = bounded_copy(value, room=room)


def set_spec_aside(body: Body) -> None:
    """Leave out, in place, a spec that takes much memory: who needs it reads it from the API server.

    What is accepted may take a megabyte each, be it only 64 KiB of text, and a tenant may let hundreds wait in line.
    """
    spec = body.get("spec")
    if isinstance(spec, dict) and _takes_more(spec, _MOST_HELD):
        kept = {part: spec[part] for part in _STAYS if part in spec}
        spec.clear()
        spec |= {**kept, _ASIDE: True}


def is_set_aside(body: Body) -> bool:
    """Return whether the spec of an object is to be read from the API server."""
    return _ASIDE in (body.get("spec") or {})


def _takes_more(data: Any, most: int) -> bool:
    """Return whether JSON data takes more than `most` bytes of memory, about; goes through it without recursion."""
    left, level = most, [data]
    while level:
        below: list[Any] = []
        for each in level:
            if isinstance(each, Mapping):
                left -= sum(map(len, each))
                below += each.values()
            elif isinstance(each, list):
                below += each
            left -= _OF_A_VALUE + (len(each) if isinstance(each, str) else 0)
            if left < 0:
                return True
        level = below
    return False


def small_written(body: Body) -> Json:
    """Return what is kept of an object that was written: metadata and status; its spec is that which events show."""
    meta = dict(body["metadata"])
    shrink_metadata(meta, _ANNOTATIONS)
    return {"metadata": meta, "status": body.get("status") or {}}


def drop_numbers(benchmark: Body) -> None:
    """Drop, in place, what nobody reads of a Benchmark: once it is over, all but what says when its things go.

    The API server keeps what a write leaves out of the metadata. Before anything is handled kopf holds all objects of
    its first list: thousands of records at once.
    """
    status, spec = benchmark.get("status") or {}, benchmark.get("spec") or {}
    shrink_metadata(benchmark["metadata"], _ANNOTATIONS)
    if not is_over(benchmark):
        return
    status["conditions"] = [each for each in status.get("conditions") or () if each["type"] == KEPT]
    for part in status.keys() - _KEPT_STATUS:
        del status[part]
    for part in spec.keys() - _KEPT_SPEC:
        del spec[part]


def ended_run(benchmark: Json) -> Json | None:
    """Return what says when the things of a Benchmark that is over go, made of it in place; None while it is not."""
    drop_numbers(benchmark)
    return benchmark if is_over(benchmark) else None


def drop_record(benchmark: Any) -> None:
    """Drop the spec and the numbers of a Benchmark that is over, in place.

    kopf keeps the last object it saw of every Benchmark for as long as that exists; a record takes 0.1 MiB.
    """
    phase = (benchmark.get("status") or {}).get("phase")
    benchmark.pop("spec", None)
    shrink_metadata(benchmark["metadata"])
    benchmark["status"] = {"phase": phase}


def drop_comparison(comparison: Body) -> None:
    """Drop, in place, what nobody reads of a Comparison: of one that is over, nearly all."""
    shrink_metadata(comparison["metadata"])
    if not is_over(comparison):
        return
    status = comparison["status"]
    for part in status.keys() - _KEPT_OF_A_COMPARISON:
        del status[part]
    (comparison.get("spec") or {}).clear()


def _ready_addresses(body: Body) -> int:
    return sum(
        len(endpoint.get("addresses") or ())
        for endpoint in body.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
    )


def _pod_status(status: Mapping[str, Any]) -> Json:
    kept = ("phase", "reason", "message", "conditions", "containerStatuses", "initContainerStatuses", "qosClass")
    return _some(status, kept)


def _some(of: Mapping[str, Any], kept: Iterable[str]) -> Json:
    return {key: of[key] for key in kept if key in of}
