"""The page docs/reference.md: every field of each kind, from the models that the CRDs are made of."""

import json
import re
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel

from fairlap.api.base import ANYTHING, Json
from fairlap.api.crd import RESOURCES, Resource
from fairlap.api.names import API_VERSION
from fairlap_docs.markdown import GENERATED, cell

_LIMITS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " entries"),
    ("minProperties", "maxProperties", " entries"),
)


def reference_page() -> str:
    """Return docs/reference.md: every field of spec and status with type, default, limits, rules and meaning."""
    told: set[str] = set()
    kinds = "".join(_kind(resource, told) for resource in RESOURCES)
    return (
        f"{GENERATED}# Reference ({API_VERSION})\n\n"
        "`kubectl explain benchmark.spec.elasticsearch` shows the same on the command line. A field that is not here "
        f"is refused by the API server.\n\n{kinds}"
    ).rstrip() + "\n"


def _kind(resource: Resource, told: set[str]) -> str:
    columns = "\n".join(
        f"| {column['name']} | `{column['jsonPath']}` | {'`-o wide`' if column.get('priority') else 'always'} |"
        for column in resource.columns
    )
    spec, status = _model(resource, "spec"), _model(resource, "status")
    return (
        f"# {resource.kind}\n\n{cell(resource.root.__doc__ or '')} `metadata.name` may have "
        f"{resource.longest_name} characters.\n\n"
        f"## Columns of `kubectl get {resource.short_name}`\n\n"
        f"| Column | From | Shown |\n|---|---|---|\n{columns}\n\n"
        f"## spec of a {resource.kind}\n\n{''.join(_sections(spec, 'spec', told))}"
        f"## status of a {resource.kind}\n\nWritten by the operator alone.\n\n"
        f"{''.join(_sections(status, 'status', told))}"
    )


def _model(resource: Resource, field: str) -> type[BaseModel]:
    annotation = resource.root.model_fields[field].annotation
    (model,) = (each for each in get_args(annotation) or (annotation,) if each is not NoneType)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"{resource.kind}.{field} is no model: {model}")
    return model


def _sections(model: type[BaseModel], root: str, told: set[str]) -> Iterator[str]:
    """Yield a section for each model under `root`, but for those that are in `told`; add them to it."""
    schema = model.model_json_schema(by_alias=True)
    defs: Mapping[str, Json] = schema.get("$defs", {})
    paths: dict[str, list[str]] = {}
    order: list[tuple[str, Json]] = [(root, schema)]
    for path, found in order:  # grows while it is walked: breadth first
        for name, field in found.get("properties", {}).items():
            target, suffix = _target(field)
            if target is None or target in told:
                continue
            if target not in paths:
                paths[target] = []
                order.append((f"{path}.{name}{suffix}", defs[target]))
            paths[target].append(f"{path}.{name}{suffix}")
    for path, found in order:
        yield _section(path, found, paths.get(found["title"], []), defs, limits=root == "spec")
    told |= {found["title"] for _, found in order}


def _section(path: str, schema: Json, used: list[str], defs: Mapping[str, Json], *, limits: bool) -> str:
    title = schema["title"]
    also = f" Used by {', '.join(f'`{name}`' for name in used)}." if len(used) > 1 else ""
    heading = f"### {title}" if len(used) > 1 else f"### {title}: `{path}`"
    required = set(schema.get("required", ()))
    rows = "\n".join(
        _row(name, _described(field, defs), name in required, limits)
        for name, field in schema.get("properties", {}).items()
    )
    out = f'<a id="{_anchor(title)}"></a>\n\n{heading}\n\n{cell(schema.get("description", ""))}{also}\n\n'
    out += f"| Field | Type | Default | Meaning |\n|---|---|---|---|\n{rows}\n\n"
    sentences = [_sentence(rule) for rule in schema.get("x-kubernetes-validations", ())]
    if sentences:
        out += "The API server refuses, with these sentences:\n\n" + "".join(f"- {text}\n" for text in sentences) + "\n"
    return out


def _described(field: Json, defs: Mapping[str, Json]) -> Json:
    """Return the field with a description: pydantic leaves it out where it is the same as its model's."""
    target, _ = _target(field)
    return {"description": defs[target].get("description", ""), **field} if target else field


def _row(name: str, field: Json, required: bool, limits: bool) -> str:
    default = "required" if required else _default(field.get("default"))
    meaning = " ".join(part for part in (cell(field.get("description", "")), _limits(field) if limits else "") if part)
    return f"| `{name}` | {_type(field)} | {default} | {meaning} |"


def _default(value: Any) -> str:
    value = _without_nulls(value)
    return "" if value in (None, "", [], {}) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


def _plain(field: Json) -> Json:
    """Return the schema of a field without its being optional."""
    options = [option for option in field.get("anyOf", ()) if option.get("type") != "null"]
    return options[0] if len(options) == 1 else field


def _target(field: Json) -> tuple[str | None, str]:
    field = _plain(field)
    for inner, suffix in ((field, ""), (field.get("items"), "[]"), (field.get("additionalProperties"), ".*")):
        if isinstance(inner, dict) and "$ref" in inner:
            return str(inner["$ref"]).rsplit("/", 1)[-1], suffix
    return None, ""


def _type(field: Json) -> str:
    field = _plain(field)
    target, suffix = _target(field)
    if target:
        link = f"[{target}](#{_anchor(target)})"
        return {"": link, "[]": f"list of {link}", ".*": f"map to {link}"}[suffix]
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    if field.get("x-kubernetes-preserve-unknown-fields") or field.get("additionalProperties") == ANYTHING:
        return "object"
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    if field.get("type") == "object":
        inner = field.get("additionalProperties")
        return f"map to {_type(inner)}" if isinstance(inner, dict) else "object"
    if "const" in field or "enum" in field:
        return " or ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    return str(field.get("type", "object"))


def _anchor(target: str) -> str:
    return f"type-{target.lower()}"


def _limits(field: Json) -> str:
    found = {**_plain(field), **{key: value for key, value in field.items() if key != "anyOf"}}
    texts = [
        f"{_span(found.get(low), found.get(high))}{unit}"
        for low, high, unit in _LIMITS
        if low in found or high in found
    ]
    pattern = found.get("pattern") or (found.get("items") or {}).get("pattern")
    if pattern:
        texts.append(f"pattern `{cell(pattern)}`")
    return f"({'; '.join(texts)})" if texts else ""


def _span(low: int | None, high: int | None) -> str:
    if low is None:
        return f"up to {high}"
    return f"{low} or more" if high is None else f"{low} to {high}"


def _sentence(rule: Mapping[str, str]) -> str:
    """Return the sentence of a CEL rule; a computed one with the names of its fields, or dots, for what it fills in."""
    if "message" in rule:
        return rule["message"]
    found = re.fullmatch(r"'(.*)'\.format\(\[(.*)\]\)", rule["messageExpression"])
    if found is None:
        raise ValueError(f"not of the form 'text'.format([...]): {rule['messageExpression']}")
    filled = iter(_arguments(found[2]))
    return re.sub("%[sd]", lambda _: next(filled), found[1])


def _arguments(text: str) -> Iterator[str]:
    """Yield each argument of a CEL call for reading: a field as ‹name›, anything else as dots."""
    depth, start = 0, 0
    for position, character in enumerate(f"{text},"):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            field = re.fullmatch(r"self\.([\w.]+)", text[start:position].strip())
            yield f"‹{field[1].rsplit('.', 1)[-1]}›" if field else "…"
            start = position + 1
