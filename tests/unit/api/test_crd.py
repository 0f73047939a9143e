"""The checked-in CRD is the models', and it is structural."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlap.api.crd import RESOURCES, Resource, crd, crd_yaml
from fairlap.api.spec import HEAP_OPTION

each_kind = pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
ROOT = Path(__file__).parents[3]


@each_kind
@pytest.mark.parametrize("folder", ["crds", "charts/fairlap/crds"])
def test_the_checked_in_crd_is_fresh(resource: Resource, folder: str) -> None:
    path = ROOT / folder / f"{resource.plural}.yaml"
    assert path.read_text() == crd_yaml(resource), f"{path} is stale: run `make generate`"


@each_kind
def test_the_schema_is_structural_and_bounded(resource: Resource) -> None:
    schema = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    problems = list(_problems(schema, "$"))
    assert not problems


def _problems(node: dict[str, Any], path: str) -> list[str]:
    found = [f"{path}: {word}" for word in ("$ref", "title", "anyOf", "allOf", "const") if word in node]
    if node.get("x-kubernetes-preserve-unknown-fields") and "type" not in node:
        return found  # anything: the map around it is bounded, its content plan/acceptance bounds
    if not ({"type", "x-kubernetes-int-or-string"} & set(node)):
        found.append(f"{path}: no type")
    if node.get("type") == "array" and "maxItems" not in node:
        found.append(f"{path}: unbounded list")
    free = node.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in node
    if free and "maxProperties" not in node:
        found.append(f"{path}: unbounded map")
    if node.get("type") == "integer" and ".spec." in path and "maximum" not in node:
        found.append(f"{path}: unbounded number")
    if node.get("type") == "string" and not ({"maxLength", "enum"} & set(node)) and path.count(".") > 1:
        found.append(f"{path}: unbounded string")
    for name, child in node.get("properties", {}).items():
        found += _problems(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            found += _problems(node[key], f"{path}.{key}")
    return found


@each_kind
def test_every_field_is_described(resource: Resource) -> None:
    spec = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert not list(_undescribed(spec, "spec"))


def _undescribed(node: dict[str, Any], path: str) -> list[str]:
    found = [f"{path}.{name}" for name, child in node.get("properties", {}).items() if not child.get("description")]
    for name, child in node.get("properties", {}).items():
        found += _undescribed(child, f"{path}.{name}")
    return found


@each_kind
def test_no_pattern_says_more_to_the_operator_than_to_the_api_server(resource: Resource) -> None:
    r"""\s, \w and \d are those of Unicode for pydantic, and of ASCII for the API server, which stores the rest."""
    spec = crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    found = set(_patterns(spec))
    assert len(found) > 5 and {each for each in found if re.search(r"\\[bdsw]", each, re.I)} == set()


def _patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict) and isinstance(node.get("pattern"), str):
        yield node["pattern"]
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _patterns(child)


@pytest.mark.parametrize(
    ("option", "sets"),
    [
        ("-Xms1g", True),
        ("-Xmx1g", True),
        ("-XX:MaxHeapSize=1g", True),
        ("-XX:InitialHeapSize=256m", True),
        ("-XX:MinHeapSize=256m", True),
        ("-Xmn512m", False),
        ("-XX:MaxHeapFreeRatio=40", False),
        ("-Dheap=-Xmx1g", False),
    ],
)
def test_the_size_of_the_heap_is_known_from_its_parts(option: str, sets: bool) -> None:
    assert bool(re.search(HEAP_OPTION, option)) == sets
