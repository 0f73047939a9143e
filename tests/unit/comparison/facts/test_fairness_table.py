"""Each field of a spec is of a variable, or is said to change no race: else a Comparison would take it for one more."""

import re
from collections.abc import Iterator
from typing import Any

from fairlap.api.crd import BENCHMARK, crd
from fairlap.comparison.facts.fairness_table import VARIABLES


def leaves(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of the fields that have no fields of their own."""
    for name, field in schema.get("properties", {}).items():
        inner = f"{path}.{name}".lstrip(".")
        yield from leaves(field, inner) if field.get("properties") else [inner]


def test_each_field_of_a_spec_has_a_row() -> None:
    (version,) = crd(BENCHMARK)["spec"]["versions"]
    fields = list(leaves(version["schema"]["openAPIV3Schema"]["properties"]["spec"]))
    assert len(fields) > 100
    assert [path for path in fields if not any(re.match(pattern, path) for pattern, _ in VARIABLES)] == []
