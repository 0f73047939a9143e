"""Imports go one way, and each outside world is met in one place only: the table is fairlap_docs/floors.py."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fairlap_docs.floors import FLOORS, ONLY_IN, SHELVES

ROOT = Path(__file__).parents[3] / "operator"
PACKAGES = ("fairlap", "fairlap_race", "fairlap_docs")
FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 420, 50


@cache
def parsed(path: Path) -> ast.Module:
    """Return the tree of a module: many tests look at each."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module's tree."""
    return tuple(ast.walk(parsed(path)))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return what a module imports, also by `import_module` of a name that stands there."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: write the whole name of the package"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and "import_module" in (
            getattr(node.func, "id", ""),
            getattr(node.func, "attr", ""),
        ):
            assert isinstance(node.args[0], ast.Constant), f"{path}:{node.lineno}: nobody can read what is imported"
            yield str(node.args[0].value)


def imports_in_texts(path: Path) -> Iterator[str]:
    """Yield what the texts of a file import, which are programs that are given to another Python."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module, names in re.findall(r"^ *from (fairlap[\w.]*) import ([\w, ]+)$", node.value, re.M):
                yield from (f"{module}.{name.split(' as ')[0].strip()}" for name in names.split(","))


def stands_in_the_house(name: str) -> bool:
    """Tell whether there is a module of that name, or one that has such a name in it."""
    path, within = ROOT / name.replace(".", "/"), ROOT / name.rpartition(".")[0].replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    return within.with_suffix(".py").is_file() and name.rpartition(".")[2] in within.with_suffix(".py").read_text()


def test_what_programs_in_texts_import_is_there() -> None:
    named = {(file, name) for file in (ROOT.parent / "tests").rglob("*.py") for name in imports_in_texts(file)}
    assert len(named) > 3
    assert {(str(file), name) for file, name in named if not stands_in_the_house(name)} == set()


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


def shelf(large_room: str, module: str) -> str:
    """Return the shelf of a room that a module, or a name in it, stands on; "" is the room's own folder."""
    first = module.removeprefix(f"{large_room}.").partition(".")[0]
    return first if first in SHELVES[large_room] else ""


@pytest.mark.parametrize(
    ("name", "stands_on"),
    [
        ("fairlap.cli.main", ""),
        ("fairlap.cli.main.run", ""),
        ("fairlap.cli.tables.rows", "tables"),
        ("fairlap.cli.tables", "tables"),
    ],
)
def test_which_shelf_a_name_stands_on(name: str, stands_on: str) -> None:
    assert shelf("fairlap.cli", name) == stands_on


@pytest.mark.parametrize("large_room", SHELVES)
def test_a_module_knows_its_own_shelf_and_those_before_it(large_room: str) -> None:
    order = SHELVES[large_room]
    folders = {file.parent.name for file in FILES if module_of(file).rpartition(".")[0].startswith(f"{large_room}.")}
    assert folders == set(order) - {""}, "each folder of the room is a shelf"
    for file in FILES:
        here = module_of(file)
        if room(here) == large_room and here != f"{large_room}.__main__":
            for name in imports(file):
                if room(name) == large_room and name.startswith(f"{large_room}."):
                    assert order.index(shelf(large_room, name)) <= order.index(shelf(large_room, here)), (here, name)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_and_files_stay_small(path: Path) -> None:
    """A warning, not a failure: no line bends for a count."""
    text = path.read_text()
    if text.count("\n") > LONGEST_FILE:
        warnings.warn(f"{path.name} has {text.count(chr(10))} lines: does it do two things?", stacklevel=1)
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            length = node.end_lineno - node.lineno + 1
            if length > LONGEST_FUNCTION:
                warnings.warn(f"{path.name}: {node.name} has {length} lines", stacklevel=1)
