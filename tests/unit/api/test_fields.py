"""No field of the specification is accepted and then ignored."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest
from pydantic import BaseModel

from fairlap.api import spec
from fairlap.plan.acceptance.accept import objections
from fairlap.settings import Settings

OPERATOR = Path(spec.__file__).parents[1]
PASSED_ON_WHOLE = {"Toleration", "Ephemeral"}
"""Models in Kubernetes' own words, which become a part of a manifest as they are."""
MODULES = [importlib.import_module(f"fairlap.api.{file.stem}") for file in (OPERATOR / "api").glob("*spec.py")]
OVER_HTTP = {
    *("requests", "load", "requireTasks", "sweep", "capacity", "allow", "probes", "samples", "resources", "scheduling"),
}
"""Fields of the race that mean something with a target of kind http."""
FREE = ("params", "clientOptions", "telemetryParams")
"""Those that the operator refuses there by itself, since CEL cannot look into them."""


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
    # A model's own property reads it for the others.
    own = [node for module in MODULES for node in ast.walk(ast.parse(inspect.getsource(module)))]
    read |= {node.attr for node in own if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"}
    fields = {
        (name, field, info.alias)
        for module in MODULES
        for name, model in inspect.getmembers(module, inspect.isclass)
        if issubclass(model, BaseModel) and model.__module__ == module.__name__ and name not in PASSED_ON_WHOLE
        for field, info in model.model_fields.items()
    }
    assert len(fields) > 150
    assert {(name, field) for name, field, alias in fields if not {field, alias} & read} == set()


def test_every_field_of_the_race_means_something_over_http_or_is_refused_there() -> None:
    fields = {info.alias for info in spec.Race.model_fields.values()}
    assert fields - {"track"} == OVER_HTTP | set(spec.RALLYS_OWN) | set(FREE)
    assert not OVER_HTTP & {*spec.RALLYS_OWN, *FREE}


@pytest.mark.parametrize("field", FREE)
def test_what_cel_cannot_look_into_is_refused_over_http(field: str) -> None:
    race = {"requests": {"configMap": {"name": "r"}}, "load": {"clients": 1}, field: {"a-b": 1}}
    written = spec.BenchmarkSpec.model_validate({"target": {"kind": "http", "hosts": ["http://h:80"]}, "race": race})
    assert f"so leave it out: race.{field}" in " ".join(it.message for it in objections(written, Settings("image")))
