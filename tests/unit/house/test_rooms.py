"""The house is as its table says: each room says what it is for, no permission is dead, and each name stands once."""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.unit.house.test_imports import FILES, ROOT, imports, module_of, parsed

from fairlap_docs.floors import FLOORS, room


def test_every_package_says_what_may_be_imported_from_it() -> None:
    for file in FILES:
        if file.name == "__init__.py":
            said = ast.get_docstring(parsed(file)) or ""
            assert len(said) > 70 and "import" in said.lower(), file


def importers(docstring: str) -> set[str] | None:
    """Return the rooms that a package's docstring names after "May be imported by"; None where it names none."""
    said = re.search(r"May be imported by (.*?)(?:[.:](?=\s)|\.$)", docstring, re.S)
    return set(re.findall(r"`([\w.]+)`", said[1])) if said else None


def test_what_is_read_of_a_docstring() -> None:
    assert importers("A `b`.\n\nMay be imported by `plan`, `track.check` and\n`cli`: never by `d`.") == {
        *("plan", "track.check", "cli"),
    }
    assert importers("All may be imported.") is None


PACKAGES = sorted({module_of(file.parent / "x").removesuffix(".x") for file in FILES if file.name == "__init__.py"})


@pytest.mark.parametrize("package", [name for name in PACKAGES if "." in name])
def test_a_package_says_truly_who_may_import_it(package: str) -> None:
    rows = {here for here, row in FLOORS.items() if package in row}
    # A module with a row of its own belongs to its package.
    within = {max((each for each in PACKAGES if f"{here}.".startswith(f"{each}.")), key=len) for here in rows}
    mains = {here for here in rows if here.endswith(".__main__")}
    shown = {name.partition(".")[2] for name in within} - {""} | {"__main__" for _ in mains}
    init = next(file for file in FILES if module_of(file) == f"{package}.__init__")
    named = importers(ast.get_docstring(parsed(init)) or "")
    assert named is None or named == shown


@pytest.mark.parametrize("package", [name for name in PACKAGES if "." in name])
def test_a_package_names_those_of_its_modules_that_have_a_row_of_their_own(package: str) -> None:
    own = [row.rpartition(".")[2] for row in FLOORS if row.rpartition(".")[0] == package and row not in PACKAGES]
    init = next(file for file in FILES if module_of(file) == f"{package}.__init__")
    said = ast.get_docstring(parsed(init)) or ""
    assert [name for name in own if f"`{name}`" not in said] == []


def test_every_package_has_a_row() -> None:
    packages = {module_of(file.parent / "x").removesuffix(".x") for file in FILES if file.name != "__init__.py"}
    without = {name for name in packages if not room(name)}
    assert without <= {"fairlap", "fairlap_race"}, "their modules have rows of their own"


def test_no_permission_is_dead() -> None:
    used = {(room(module_of(file)), room(name)) for file in FILES for name in imports(file)}
    allowed = {(here, there) for here, row in FLOORS.items() for there in row}
    assert allowed - used == set()


def test_a_room_knows_only_rooms_above_it_in_the_table() -> None:
    order = list(FLOORS)
    wrong = {(here, there) for here, row in FLOORS.items() for there in row if order.index(there) > order.index(here)}
    assert wrong == set()


def test_module_names_stand_once() -> None:
    names = defaultdict(list)
    for file in FILES:
        if not file.name.startswith("__"):
            names[file.stem].append(module_of(file))
    assert {name: modules for name, modules in names.items() if len(modules) > 1} == {}


def type_names(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Yield the public types of a module: a class with None, an alias with what it stands for.

    A name in capitals is that of a constant, and a TypeVar is no type.
    """
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, None
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value and stands_for_a_type(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [it.id for it in targets if isinstance(it, ast.Name)]
            yield from ((name, ast.unparse(node.value)) for name in names if name[0].isupper() and not name.isupper())


def stands_for_a_type(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] == "NewType"
    return isinstance(value, ast.Subscript | ast.BinOp | ast.Name | ast.Attribute)


def test_which_names_are_those_of_types() -> None:
    source = (
        "class A: ...\nclass _B: ...\nPairs = list[int]\nMaybe: TypeAlias = int | None\nOther = typing.Any\n"
        "Uid = NewType('Uid', str)\nEntry = TypeVar('Entry')\nTABLE = dict[str, int]\nfound = list[int]\n_Own = A\n"
    )
    found = {"A": None, "Pairs": "list[int]", "Maybe": "int | None", "Other": "typing.Any"}
    assert dict(type_names(ast.parse(source))) == {**found, "Uid": "NewType('Uid', str)"}


def test_public_type_names_mean_one_thing() -> None:
    """An alias may stand in several modules, as long as it stands for the same in each."""
    meanings: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in FILES:
        for name, alias in type_names(parsed(file)):
            meanings[name][alias or f"the class of {module_of(file)}"].append(module_of(file))
    assert {name: {**found} for name, found in meanings.items() if len(found) > 1} == {}


TWICE = {("_own_version", "rally_version")}
"""The command line does not know the room of the other one."""


def test_no_function_stands_twice() -> None:
    """Of those that are more than a line."""
    bodies = defaultdict(list)
    for file in FILES:
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                text = "\n".join(map(ast.unparse, body))
                if len(text) > 70:
                    bodies[text].append((node.name, module_of(file)))
    twice = [sorted(found) for found in bodies.values() if len(found) > 1]
    assert [found for found in twice if tuple(name for name, _ in found) not in TWICE] == []


def unused(sources: Iterable[str]) -> set[str]:
    """Return the functions at the top of modules that nothing in these modules calls or names."""
    functions, named = set(), set()
    for tree in map(ast.parse, sources):
        functions |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute):
                named.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named.add(node.value)
    return functions - named


def test_which_functions_are_unused() -> None:
    assert unused(["def a(): ...\ndef b(): a()\n@c\ndef c(): ...", "import m\nm.b\ndef d(): ..."]) == {"d"}


def test_no_function_is_there_for_tests_and_benches_alone() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commands = {entry.rpartition(":")[2] for entry in project["scripts"].values()}
    assert unused(file.read_text(encoding="utf-8") for file in FILES) - commands == set()


def libraries(file: Path, seen: set[Path]) -> set[str]:
    """Return what a module imports beside the standard library, itself and by way of ours."""
    found: set[str] = set()
    seen.add(file)
    for name in imports(file):
        if name.split(".")[0] in sys.stdlib_module_names:
            continue
        path = ROOT / name.replace(".", "/")
        ours = [it for it in (path.with_suffix(".py"), path.parent.with_suffix(".py")) if it in FILES]
        if name.split(".")[0].startswith("fairlap"):
            found |= {library for it in ours if it not in seen for library in libraries(it, seen)}
        else:
            found.add(name.split(".")[0])
    return found


def test_what_says_that_it_needs_no_library_needs_none() -> None:
    said = [file for file in FILES if "standard library only" in (ast.get_docstring(parsed(file)) or "")]
    assert len(said) > 3
    assert {file.name: found for file in said if (found := libraries(file, set()))} == {}


UNIT = ROOT.parent / "tests/unit"
OF_A_PAGE = {"docs/test_reasons.py"}
"""named after what the page is about"""


def test_a_test_that_is_named_after_a_module_stands_in_the_folder_of_its_room() -> None:
    rooms = {file.stem: file.parent.relative_to(ROOT).parts for file in FILES if not file.name.startswith("__")}
    wrong = []
    for file in sorted(UNIT.rglob("test_*.py")):
        here = file.relative_to(UNIT)
        package, *below = rooms.get(file.stem.removeprefix("test_"), ("",))
        top = {"fairlap_race": ["race"], "fairlap_docs": ["docs"]}.get(package, [])
        if package and list(here.parts[:-1]) != [*top, *below] and str(here) not in OF_A_PAGE:
            wrong.append(str(here))
    assert wrong == []
