"""Imports go one way, and each outside world is met in one file only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "operator"
FILES = sorted((ROOT / "fairlap").rglob("*.py")) + sorted((ROOT / "fairlap_race").rglob("*.py"))

# What each part of the operator may use of the others; lower layers know nothing of higher ones.
ALLOWED = {
    "api": {"api"},
    "settings": set(),
    "results": {"api", "results"},
    "plan": {"api", "plan", "results", "settings"},
    "children": {"api", "plan", "children", "settings"},
    "slim": {"api", "plan"},
    "look": {"api", "plan", "settings", "slim"},
    "cluster": {"api", "plan", "slim"},
    "perform": {"api", "plan", "children", "cluster", "settings"},
    "prometheus": {"settings"},
    "machines": {"api", "children", "cluster", "plan", "prometheus", "results"},
    "chores": {"api", "cluster", "plan"},
    "server": set(),
    "cli": {"api", "cli", "plan", "results"},
    "docs": {"api", "reason_signs"},
    "reason_signs": set(),
    "again": {"cluster"},
    "ownerless": {"api", "cluster"},
    "vanished": {"again"},
    "events": {"api", "cluster"},
    "state": {"api", "chores", "cluster", "events", "look", "prometheus", "settings", "vanished"},
    "daemon": {"api", "cluster", "look", "machines", "perform", "plan", "slim", "state"},
    "driver": {"again", "api", "cluster", "daemon", "look", "ownerless", "prometheus", "slim", "state"},
    "lease": {"api", "cluster"},
    "__main__": {"cluster", "driver", "lease", "server", "settings", "state"},
    "__init__": set(),
}
# What both sides of the race image share: contracts, and the one way of summing up samples.
# The command line checks tracks with the race image's own code.
SHARED = {"record", "reasons", "lines", "resources", "series", "summary"}
SHARED_WITH_CLI = {"codec", "describe", "track_finding", "track_prepare"}
ONLY_IN = {
    "kubernetes": {"fairlap/cluster.py", "fairlap/cli/cluster.py"},
    "kopf": {"fairlap/driver.py", "fairlap/__main__.py"},
}


def imports(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else ()
            stem = ".".join((*base, *([node.module] if node.module else [])))
            yield stem
            yield from (f"{stem}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    package, part, *_ = path.relative_to(ROOT).with_suffix("").parts
    for name in imports(path):
        top, *rest = name.split(".")
        if package == "fairlap_race":
            assert top != "fairlap", f"{path} imports {name}: the race image has no operator"
        elif top == "fairlap" and rest and rest[0] in ALLOWED:
            assert rest[0] in ALLOWED[part], f"{part} must not import {name}"
        elif top == "fairlap_race" and rest:
            shared = SHARED | (SHARED_WITH_CLI if part == "cli" else set())
            assert rest[0] in shared, f"{path} imports {name}: only {', '.join(sorted(shared))} are shared"
        if top in ONLY_IN:
            assert str(path.relative_to(ROOT)) in ONLY_IN[top], f"{path} must not import {top}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_and_files_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 420, f"{path.name} is too long: split it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            length = node.end_lineno - node.lineno + 1
            assert length <= 55, f"{path.name}: {node.name} has {length} lines"
