"""Which fields one schema of a CustomResourceDefinition has and another has not. Pure.

A field is named by its path without numbers or keys of maps: design.state.
"""

from collections.abc import Iterator

from fairlap.api.base import Json


def fields_beyond(schema: Json, other: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the path and the schema of each field of `schema` that `other` lacks; of its parts, nothing more.

    Where `other` keeps what it does not know it lacks nothing.
    """
    if other.get("x-kubernetes-preserve-unknown-fields"):
        return
    for name, field in schema.get("properties", {}).items():
        inner, there = f"{path}.{name}".lstrip("."), other.get("properties", {}).get(name)
        if there is None:
            yield inner, field
        else:
            yield from fields_beyond(field, there, inner)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict) and isinstance(other.get(part), dict):
            yield from fields_beyond(schema[part], other[part], path)
