"""The house is as its table says: each room says what it is for, no permission is dead, and each name stands once."""

import ast
from collections import defaultdict

from tests.unit.house.test_imports import FILES, imports, module_of

from fairlap_docs.floors import FLOORS, room


def test_every_package_says_what_may_be_imported_from_it() -> None:
    for file in FILES:
        if file.name == "__init__.py":
            said = ast.get_docstring(ast.parse(file.read_text())) or ""
            assert len(said) > 70 and "import" in said.lower(), file


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


def test_public_classes_stand_once() -> None:
    names = defaultdict(list)
    for file in FILES:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                names[node.name].append(module_of(file))
    assert {name: modules for name, modules in names.items() if len(modules) > 1} == {}
