"""No field of the specification is accepted and then ignored."""

import ast
import inspect
from pathlib import Path

from pydantic import BaseModel

from fairlap.api import spec

OPERATOR = Path(spec.__file__).parents[1]
PASSED_ON_WHOLE = {"Toleration", "Ephemeral"}
"""Models in Kubernetes' own words, which become a part of a manifest as they are."""


def test_every_field_of_the_spec_is_read_by_the_operator() -> None:
    nodes = [
        node
        for file in OPERATOR.rglob("*.py")
        if not file.is_relative_to(OPERATOR / "api")
        for node in ast.walk(ast.parse(file.read_text()))
    ]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    # What is passed on is read by the name that it has in YAML.
    read |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    fields = {
        (name, field, info.alias)
        for name, model in inspect.getmembers(spec, inspect.isclass)
        if issubclass(model, BaseModel) and model.__module__ == spec.__name__ and name not in PASSED_ON_WHOLE
        for field, info in model.model_fields.items()
    }
    assert len(fields) > 50
    assert {(name, field) for name, field, alias in fields if not {field, alias} & read} == set()
