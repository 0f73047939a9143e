"""A validator for the structural schemas of a CustomResourceDefinition, as strict as the API server and no slower."""

from typing import Any

_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,),
}  # fmt: skip
_INT64 = 1 << 63


def problems(value: Any, schema: dict[str, Any], at: str = "") -> list[str]:
    """Return what the API server would refuse, drop or change in a value, each with its path."""
    kind = schema["type"]
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{at}: {value!r:.80} is no {kind}"]
    if kind == "object":
        return _object(value, schema, at)
    found = []
    if kind == "array":
        if len(value) > schema.get("maxItems", len(value)):
            found.append(f"{at}: {len(value)} items")
        for number, item in enumerate(value):
            found += problems(item, schema["items"], f"{at}[{number}]")
    elif kind == "string":
        if len(value) > schema.get("maxLength", len(value)) or value not in schema.get("enum", (value,)):
            found.append(f"{at}: {value!r:.80}, {len(value)} characters")
        if not _is_text(value):
            found.append(f"{at}: no text: {value!r:.80}")
    elif kind != "boolean" and not abs(value) < (_INT64 if kind == "integer" else 1e300):
        found.append(f"{at}: {value!r:.80}")
    return found


def _object(value: dict[str, Any], schema: dict[str, Any], at: str) -> list[str]:
    fields, free = schema.get("properties", {}), schema.get("additionalProperties")
    found = [f"{at}.{name}: is missing" for name in schema.get("required", ()) if name not in value]
    if len(value) > schema.get("maxProperties", len(value)):
        found.append(f"{at}: {len(value)} properties")
    for key, item in value.items():
        if not _is_text(key):
            found.append(f"{at}: no key: {key!r:.80}")
        elif (of := fields.get(key, free)) is not None:
            found += problems(item, of, f"{at}.{key:.40}")
        else:
            found.append(f"{at}.{key:.40}: would be dropped")
    return found


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
