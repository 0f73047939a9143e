"""The Benchmark resource and its CustomResourceDefinition, generated from the models."""

import sys
from typing import Any

import yaml

from fairlap.api.base import Api, Json, rule, rules, structural_schema
from fairlap.api.names import GROUP, KIND, MAX_NAME, PLURAL, VERSION
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus


class _Root(Api):
    """A benchmark of one Elasticsearch configuration: races on fresh clusters, typed numbers, an honest verdict."""

    spec: BenchmarkSpec
    status: BenchmarkStatus | None = None


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


def crd() -> Json:
    """Return the CustomResourceDefinition of Benchmark."""
    schema = structural_schema(_Root)
    _drop_defaults(schema["properties"]["status"])
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    schema |= rules(
        rule(
            f"self.metadata.name.size() <= {MAX_NAME}",
            f"'metadata.name is %d characters long: write at most {MAX_NAME}, because ECK limits the names of the "
            "clusters made from it'.format([self.metadata.name.size()])",
            computed=True,
        )
    )
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["bm"],
                "categories": ["fairlap"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": COLUMNS,
                    "schema": {"openAPIV3Schema": schema},
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


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def crd_yaml() -> str:
    """Return the CustomResourceDefinition as the YAML that is checked in."""
    head = "# Generated from operator/fairlap/api by `make generate`; do not edit.\n"
    return head + yaml.dump(crd(), Dumper=_Dumper, sort_keys=False, width=120)


if __name__ == "__main__":
    sys.stdout.write(crd_yaml())
