"""The base of every API model, and the translation of models into a structural OpenAPI schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from annotated_types import GroupedMetadata, MaxLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from fairlap.api.quantity import DURATION

Json = dict[str, Any]


class Api(BaseModel):
    """A model whose attribute docstrings become the field descriptions of the CRD; unknown fields are errors."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        use_attribute_docstrings=True,
        frozen=True,
    )

    def to_json(self) -> Json:
        """Return the object as the API server stores it: camelCase, without unset optional fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Answer(Api):
    """A model that the operator writes: read tolerantly, so that an older record never stops a newer operator."""

    model_config = ConfigDict(extra="ignore")


def _cut_text(value: Any) -> Any:
    # Half a character (a lone surrogate) is in no text of the API.
    return value[:LONGEST_TEXT].encode("utf-8", "replace").decode() if isinstance(value, str) else value


LONGEST_TEXT = 4096
Text = Annotated[str, Field(max_length=LONGEST_TEXT), BeforeValidator(_cut_text)]
"""A text in an answer: cut, since a long name in a track must not keep a status from being written."""

Duration = Annotated[str, Field(pattern=DURATION, min_length=2, max_length=20)]


@dataclass(frozen=True)
class AtMost(GroupedMetadata):
    """Bounds a list or mapping in an answer: entries beyond `count` are cut."""

    count: int

    def __iter__(self) -> Iterator[object]:
        """Yield what pydantic reads."""
        yield MaxLen(self.count)
        yield BeforeValidator(self._cut)

    def _cut(self, value: Any) -> Any:
        if isinstance(value, list):
            return value[: self.count]
        return dict(islice(value.items(), self.count)) if isinstance(value, Mapping) else value


def rule(expression: str, message: str, *, computed: bool = False) -> Json:
    """Return one CEL validation; `computed` says that `message` is itself a CEL expression giving the sentence."""
    return {"rule": expression, ("messageExpression" if computed else "message"): message}


def some_time(field: str, path: str, example: str) -> Json:
    """Return the rule that a duration is more than zero; `path` names the field in the sentence, `example` mends it."""
    given = f"!has(self.{field}) || !self.{field}.matches('{DURATION}')"
    return rule(f"{given} || self.{field}.matches('[1-9]')", f"{path} is no time at all: write for example {example}")


def rules(*validations: Json) -> Json:
    """Return the schema extra that attaches CEL validations to a model or a field."""
    return {"x-kubernetes-validations": list(validations)}


ANYTHING: Json = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}
# A map whose values are anything, rather than an object that keeps what it does not know: CEL's equality of the latter
# passes over each key that the other one lacks (docs/decisions/cel-no-webhook.md).
FREE_FORM: Json = {"type": "object", "additionalProperties": ANYTHING}


class _Structural(GenerateJsonSchema):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])  # absent is the only null that the API knows

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        out = super().literal_schema(schema)
        return {"type": out["type"], "enum": [out["const"]]} if "const" in out else out


_DROPPED = ("$defs", "title", "additionalProperties")


def _inline(node: Any, defs: Json) -> Any:
    if isinstance(node, list):
        return [_inline(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**defs[node["$ref"].rsplit("/", 1)[-1]], **{k: v for k, v in node.items() if k != "$ref"}}
    out: Json = {}
    for key, value in node.items():
        if key == "additionalProperties" and isinstance(value, dict):
            out[key] = _inline(value, defs)
        elif (
            (key in _DROPPED and not isinstance(value, dict)) or key == "$defs" or (key == "default" and value is None)
        ):
            continue
        elif key == "properties":
            out[key] = {name: _inline(field, defs) for name, field in value.items()}
        elif key == "description":
            out[key] = " ".join(value.split())
        elif key == "default":
            out[key] = _without_nulls(value)
        else:
            out[key] = _inline(value, defs)
    if out.get("x-kubernetes-preserve-unknown-fields"):
        out.pop("additionalProperties", None)
    return out


def _without_nulls(value: Any) -> Any:
    # The API server validates defaults, too, and null is of no type but its own.
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def structural_schema(model: type[BaseModel]) -> Json:
    """Return the structural OpenAPI v3 schema of a model, as a CustomResourceDefinition wants it.

    No references, titles, nulls or boolean additionalProperties (the rules of "structural schema" in the
    Kubernetes documentation of CustomResourceDefinition).
    """
    raw = model.model_json_schema(by_alias=True, schema_generator=_Structural)
    schema: Json = _inline(raw, raw.get("$defs", {}))
    return schema
