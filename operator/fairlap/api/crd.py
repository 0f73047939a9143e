"""The resources and their CustomResourceDefinitions, generated from the models."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fairlap.api.base import Api, Json, rule, rules, structural_schema
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus
from fairlap.api.names import (
    COMPARISON_KIND,
    COMPARISON_PLURAL,
    GROUP,
    KIND,
    MAX_COMPARISON_NAME,
    MAX_NAME,
    NAME_OF_SERVICES,
    PLURAL,
    VERSION,
)
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus


class _Root(Api):
    """A benchmark of one Elasticsearch configuration: races on fresh clusters, typed numbers, an honest verdict."""

    spec: BenchmarkSpec
    status: BenchmarkStatus | None = None


class _ComparisonRoot(Api):
    """Variants of one Benchmark, raced in turn in blocks: which is better, by how much, and how sure that is."""

    spec: ComparisonSpec
    status: ComparisonStatus | None = None


COLUMNS: list[Json] = [
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Progress", "type": "string", "jsonPath": ".status.progress"},
    {"name": "Version", "type": "string", "jsonPath": ".status.version"},
    {"name": "Races", "type": "string", "jsonPath": ".status.racesDone"},
    {"name": "Track", "type": "string", "jsonPath": ".status.track", "priority": 1},
    {"name": "Challenge", "type": "string", "jsonPath": ".status.challenge", "priority": 1},
    {"name": "Reason", "type": "string", "jsonPath": ".status.reason", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


COMPARISON_COLUMNS: list[Json] = [
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Verdict", "type": "string", "jsonPath": ".status.verdict"},
    {"name": "Progress", "type": "string", "jsonPath": ".status.progress"},
    {"name": "Blocks", "type": "string", "jsonPath": ".status.blocksDone"},
    {"name": "Baseline", "type": "string", "jsonPath": ".spec.baseline", "priority": 1},
    {"name": "Reason", "type": "string", "jsonPath": ".status.reason", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


class Resource(NamedTuple):
    """A kind of the API."""

    kind: str
    plural: str
    short_name: str
    root: type[Api]
    columns: Sequence[Json]
    longest_name: int
    why: str
    """why a name may not be longer"""
    built: str
    """CEL's path of the cluster that ECK builds, where one is"""


BENCHMARK = Resource(
    KIND, PLURAL, "bm", _Root, COLUMNS, MAX_NAME, "ECK limits the names of the clusters made from it",
    "self.spec.elasticsearch",
)  # fmt: skip
COMPARISON = Resource(
    COMPARISON_KIND, COMPARISON_PLURAL, "cmp", _ComparisonRoot, COMPARISON_COLUMNS, MAX_COMPARISON_NAME,
    "its Benchmarks and their clusters are named after it", "self.spec.template.elasticsearch",
)  # fmt: skip
RESOURCES = (BENCHMARK, COMPARISON)


def _schema(resource: Resource) -> Json:
    """Return the schema of the objects of a kind, with the rules on their names."""
    schema = structural_schema(resource.root)
    _drop_defaults(schema["properties"]["status"])
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    schema |= rules(
        rule(
            f"self.metadata.name.size() <= {resource.longest_name}",
            f"'metadata.name is %d characters long: write at most {resource.longest_name}, because {resource.why}'"
            ".format([self.metadata.name.size()])",
            computed=True,
        ),
        # What is there already has a status: a new rule must not keep it from being written, or removed.
        rule(
            f"has(self.status) || !has({resource.built}) || self.metadata.name.matches('^{NAME_OF_SERVICES}$')",
            "'metadata.name is %s: write a name that begins with a letter and has no dot, for example es-9-0-0, "
            "because ECK names the Services of the clusters after it'.format([self.metadata.name])",
            computed=True,
        ),
    )
    return schema


def crd(resource: Resource = BENCHMARK) -> Json:
    """Return the CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": [resource.short_name],
                "categories": ["fairlap"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": list(resource.columns),
                    "schema": {"openAPIV3Schema": _schema(resource)},
                }
            ],
        },
    }


def _drop_defaults(node: Json) -> None:
    """Remove defaults: in a status the API server would write them where the operator has said nothing."""
    node.pop("default", None)
    children = [*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")]
    for child in children:
        if isinstance(child, dict):
            _drop_defaults(child)


class _AliasFreeDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def crd_yaml(resource: Resource = BENCHMARK) -> str:
    """Return the CustomResourceDefinition as the YAML that is checked in."""
    head = "# Generated from operator/fairlap/api by `make generate`; do not edit.\n"
    return head + yaml.dump(crd(resource), Dumper=_AliasFreeDumper, sort_keys=False, width=120)


def write_crds(folder: Path) -> None:
    """Write a file for each kind."""
    for resource in RESOURCES:
        (folder / f"{resource.plural}.yaml").write_text(crd_yaml(resource))


if __name__ == "__main__":
    write_crds(Path(sys.argv[1]))
