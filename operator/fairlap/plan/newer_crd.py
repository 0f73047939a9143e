"""A spec with fields that this operator does not know: the CustomResourceDefinition is newer than the operator.

The API server fills in the defaults of such fields in every object, asked for or not. A default of a new field means
what there was before it, so it is left out when a spec is read; any other value is somebody's wish, and is not dropped.
A field is named by its path without numbers or keys of maps: design.state.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.plan.schema_fields import fields_beyond


def unknown_defaults(ours: Json, published: Json) -> dict[str, Any]:
    """Return the default of each field of the published schema that is not in ours, by its path."""
    lacking = fields_beyond(published, ours)
    return {path: _filled(field["default"], field) for path, field in lacking if "default" in field}


def without_defaults(spec: Any, defaults: Mapping[str, Any], path: str = "") -> Any:
    """Return a spec, as JSON, without those of these fields that have their default."""
    if isinstance(spec, list):
        return [without_defaults(item, defaults, path) for item in spec]
    if not isinstance(spec, dict):
        return spec
    named = {key: (f"{path}.{key}".lstrip("."), value) for key, value in spec.items()}
    return {
        key: without_defaults(value, defaults, name)
        for key, (name, value) in named.items()
        if name not in defaults or value != defaults[name]
    }


def unknown_fields(error: ValidationError) -> list[str]:
    """Return the fields that a spec should not have, by their paths; none where something else is wrong with it."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if any(each["type"] != "extra_forbidden" for each in found):
        return []
    return [".".join(map(str, each["loc"])) for each in found]


def _filled(value: Any, schema: Json) -> Any:
    """Return a default as it is stored: with the defaults inside it."""
    if not isinstance(value, dict):
        return value
    inner = schema.get("properties", {})
    there = {name: field["default"] for name, field in inner.items() if "default" in field} | value
    return {name: _filled(each, inner.get(name, {})) for name, each in there.items()}
