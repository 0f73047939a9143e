"""Imports go one way, and each outside world is met in one place only: the table is fairlap_docs/floors.py."""

import ast
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fairlap_docs.floors import FLOORS, ONLY_IN

ROOT = Path(__file__).parents[3] / "operator"
PACKAGES = ("fairlap", "fairlap_race", "fairlap_docs")
FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 420, 50


@cache
def parsed(path: Path) -> ast.Module:
    """Return the tree of a module: many tests look at each."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Yield what a module imports, also by `import_module` of a name that stands there."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: write the whole name of the package"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "import_module":
            assert isinstance(node.args[0], ast.Constant), f"{path}:{node.lineno}: nobody can read what is imported"
            yield str(node.args[0].value)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def room(module: str) -> str:
    """Return the room of the table that a module, or a name in it, belongs to; "" for none, as a package itself."""
    return max((name for name in FLOORS if f"{module}.".startswith(f"{name}.")), key=len, default="")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    here = room(module_of(path))
    for name in imports(path):
        top = name.split(".")[0]
        if top in PACKAGES and (there := room(name)) != here:
            assert there in (*FLOORS.get(here, ()), ""), f"{here} must not import {name}"
        if top in ONLY_IN:
            assert module_of(path) in ONLY_IN[top], f"{path} must not import {top}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_and_files_stay_small(path: Path) -> None:
    """A warning, not a failure: no line bends for a count."""
    text = path.read_text()
    if text.count("\n") > LONGEST_FILE:
        warnings.warn(f"{path.name} has {text.count(chr(10))} lines: does it do two things?", stacklevel=1)
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            length = node.end_lineno - node.lineno + 1
            if length > LONGEST_FUNCTION:
                warnings.warn(f"{path.name}: {node.name} has {length} lines", stacklevel=1)
