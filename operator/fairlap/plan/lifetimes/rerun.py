"""Running a Benchmark again: a new Benchmark with the same spec, one for each value of an annotation.

The name of the next one is said in an annotation of the first before it is created, and that it was created is said
after. So a crash in between creates it once, and one that was deleted later does not come back.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from fairlap.api.base import Json
from fairlap.api.names import API_VERSION, COMPARISON_KIND, GROUP, KIND, MAX_NAME, RERUN_OF
from fairlap.api.owners import controller, controller_uid
from fairlap.api.small_metadata import short_value

ASKED = f"{GROUP}/rerun"
"""what a user writes: any value, a new one for each run"""
SAID = f"{GROUP}/rerun-next"
"""JSON: the value that is worked on, and the name of the Benchmark for it"""
DONE = f"{GROUP}/rerun-done"
"""the last value that was dealt with"""
OF = RERUN_OF
OF_UID = f"{GROUP}/rerun-of-uid"
FIRST_UID = f"{GROUP}/rerun-first-uid"
"""the uid of the Benchmark that was first: another one may get its name later"""
VALUE = f"{GROUP}/rerun-value"


class Next(NamedTuple):
    """What was said: a Benchmark of this name is created for this value."""

    value: str
    name: str

    def to_text(self) -> str:
        """Return the annotation's text."""
        return json.dumps(self._asdict())


def requested_value(benchmark: Mapping[str, Any]) -> str | None:
    """Return the value that still has to be dealt with, or None; a long one in short, as it is noted.

    All annotations of an object have 256 KiB together: beside a long value there may be no room for it once more.
    """
    annotations = benchmark["metadata"].get("annotations") or {}
    value = short_value(annotations.get(ASKED))
    deleted = benchmark["metadata"].get("deletionTimestamp")
    return None if not value or deleted or short_value(annotations.get(DONE)) == value else str(value)


def objection(benchmark: Mapping[str, Any]) -> str:
    """Return in a sentence why a Benchmark cannot be run again, "" where it can.

    The spec of a Comparison's race is a part of that: a turn in a block, another's cluster, one that is kept for long.
    """
    if not controller_uid(benchmark, COMPARISON_KIND):
        return ""
    name, of = benchmark["metadata"]["name"], controller(benchmark).get("name")
    return (
        f"{name} is a race of Comparison {of}, which is not run again alone: to compare once more, apply Comparison "
        f"{of} under another metadata.name"
    )


def announced(benchmark: Mapping[str, Any], value: str) -> Next | None:
    """Return what was said about this value, or None."""
    text = (benchmark["metadata"].get("annotations") or {}).get(SAID)
    try:
        found = Next(**json.loads(text)) if text else None
    except (ValueError, TypeError, RecursionError):  # anybody may write annotations
        return None
    if found is None or not isinstance(found.name, str):
        return None
    found = found._replace(value=short_value(found.value))
    return found if found.value == short_value(value) else None


def first_name(benchmark: Mapping[str, Any]) -> str:
    """Return the name that all runs of this Benchmark are numbered after."""
    meta = benchmark["metadata"]
    return str((meta.get("labels") or {}).get(OF) or meta["name"])


def first_uid(benchmark: Mapping[str, Any]) -> str:
    """Return the uid of the Benchmark that this one, a rerun, was made of at first; "" of one that is none."""
    annotations = benchmark["metadata"].get("annotations") or {}
    return str(annotations.get(FIRST_UID) or annotations.get(OF_UID) or "")


def free_name(first: str, taken: Collection[str]) -> str:
    """Return the first of FIRST-2, FIRST-3 … that is not taken; a long name is cut so that the number fits.

    Where it is cut no dash or dot is left: what stands on a side of a dot must end in a letter or a digit.
    """
    number = 2
    while True:
        suffix = f"-{number}"
        name = f"{first[: MAX_NAME - len(suffix)].rstrip('-.')}{suffix}"
        if name not in taken:
            return name
        number += 1


def manifest(benchmark: Mapping[str, Any], upcoming: Next) -> Json:
    """Return the next Benchmark: the same spec, not suspended, and labelled with where it comes from.

    No other label or annotation is copied: tools that track what they applied would take the copy for theirs.
    """
    meta = benchmark["metadata"]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": upcoming.name,
            "namespace": meta["namespace"],
            "labels": {OF: first_name(benchmark)},
            "annotations": {
                OF: meta["name"],
                OF_UID: meta["uid"],
                FIRST_UID: first_uid(benchmark) or meta["uid"],
                VALUE: upcoming.value,
            },
        },
        "spec": {key: value for key, value in benchmark["spec"].items() if key != "suspend"},
    }


def was_made_for(found: Mapping[str, Any], benchmark: Mapping[str, Any], value: str) -> bool:
    """Return whether a Benchmark that exists is the one that this value asked for."""
    annotations = found["metadata"].get("annotations") or {}
    same_value = bool(short_value(annotations.get(VALUE)) == short_value(value))
    return same_value and annotations.get(OF_UID) == benchmark["metadata"]["uid"]
