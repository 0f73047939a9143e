"""Examples that ask one question differ in one thing."""

from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"


def spec(path: str) -> dict[str, Any]:
    found = yaml.safe_load((EXAMPLES / path).read_text())
    assert found["metadata"]["labels"]["question"] == path.partition("/")[0]
    return dict(found["spec"])


def take(tree: dict[str, Any], path: tuple[str, ...]) -> Any:
    for key in path[:-1]:
        tree = tree[key]
    return tree.pop(path[-1])


@pytest.mark.parametrize(
    ("one", "other", "differs", "values"),
    [
        (
            "replicas-0-vs-1/replicas-0.yaml",
            "replicas-0-vs-1/replicas-1.yaml",
            ("elasticsearch", "index", "replicas"),
            (0, 1),
        ),
        (
            "codec-best-compression/default.yaml",
            "codec-best-compression/best-compression.yaml",
            ("elasticsearch", "index", "codec"),
            ("default", "best_compression"),
        ),
        (
            "storage-classes/disk.yaml",
            "storage-classes/tmpfs.yaml",
            ("elasticsearch", "storage", "className"),
            ("local-disk", "local-tmpfs"),
        ),
    ],
)
def test_one_thing_differs(one: str, other: str, differs: tuple[str, ...], values: tuple[Any, Any]) -> None:
    first, second = spec(one), spec(other)

    assert (take(first, differs), take(second, differs)) == values
    assert first == second
