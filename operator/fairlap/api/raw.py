"""Objects as the API server gives them, which others may have written: read whatever shape they have.

Pure, standard library only.
"""

from collections.abc import Mapping
from typing import Any


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return what stands where others should have written an object; an empty one where it is something else."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """Return what stands where others should have written a list; an empty one where it is something else."""
    return value if isinstance(value, list) else []


def condition_of(body: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the condition of that type in an object's status; empty where there is none."""
    conditions = map(as_mapping, as_list(as_mapping(body.get("status")).get("conditions")))
    return next((each for each in conditions if each.get("type") == kind), {})


def is_over_http(spec: Mapping[str, Any]) -> bool:
    """Return whether the spec of a Benchmark has a target of kind http."""
    return bool(as_mapping(spec.get("target")).get("kind") == "http")
