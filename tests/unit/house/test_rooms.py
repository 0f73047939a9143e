"""The house is as its table says: each room says what it is for, no permission is dead, and each name stands once."""

import ast
import copy
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from tests.unit.house.test_imports import FILES, ROOT, imports, module_of, nodes_of, parsed, room

from fairlap_docs.floors import FLOORS


def test_every_package_says_what_may_be_imported_from_it() -> None:
    for file in FILES:
        if file.name == "__init__.py":
            said = ast.get_docstring(parsed(file)) or ""
            assert len(said) > 70 and "\nFrom outside: " in said, file


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


def named_from_outside(docstring: str, there: set[str]) -> set[str] | None:
    """Return those that a package's last sentence, "From outside: …", names of what is `there`; None without it."""
    said = re.search(r"From outside: ([^.:]+)\.$", " ".join(docstring.split()))
    names = set(re.findall(r"`(\w+)`", said[1])) if said else set()
    form = " ".join(re.sub(r"`\w+`,?| and ", " ", said[1]).split()) if said else "no such sentence"
    return {"": names, "all of it": there, "all but": there ^ names, "nothing": set()}.get(form)


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("From outside: `a`.", {"a"}),
        ("May be imported by `c`.\nFrom outside: `a`,\n`b` and\n`c`.", {"a", "b", "c"}),
        ("From outside: all of it.", {"a", "b"}),
        ("From outside: all but `b`.", {"a"}),
        ("From outside: all but `gone`.", {"a", "b", "gone"}),
        ("From outside: nothing.", set()),
        ("From outside: most of it.", None),
        ("From outside: all of it but `b`.", None),
        ("From outside: `a`. And more.", None),
        ("All may be imported.", None),
    ],
)
def test_what_is_read_of_a_last_sentence(sentence: str, named: set[str] | None) -> None:
    assert named_from_outside(f"A thing.\n\n{sentence}", {"a", "b"}) == named


@cache
def all_imports() -> list[tuple[str, str]]:
    """Return who imports what: a module, and a module or a name in it."""
    return [(module_of(file), name) for file in FILES for name in imports(file)]


def parts(package: str) -> set[str]:
    """Return what stands in a package's own folder: its modules, and the packages below it."""
    names = [module_of(file).removesuffix(".__init__") for file in FILES if file.name != "__main__.py"]
    return {name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == package}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_truly_what_is_imported_from_outside(package: str) -> None:
    """Outside is what does not stand below the package's folder; tests and benches may look everywhere.

    A package below counts as one part, by whatever is imported of it: its own sentence says what. "All of it" and
    "all but …" hold to the letter, too: what only the package itself imports is named as its inner part.
    """
    init = next(file for file in FILES if module_of(file) == f"{package}.__init__")
    below = f"{package}."
    taken = {name for here, name in all_imports() if name.startswith(below) and not here.startswith(below)}
    there = parts(package)
    outside = {name.removeprefix(below).partition(".")[0] for name in taken} & there
    assert named_from_outside(ast.get_docstring(parsed(init)) or "", there) == outside


def test_every_package_has_a_row() -> None:
    packages = {module_of(file.parent / "x").removesuffix(".x") for file in FILES if file.name != "__init__.py"}
    without = {name for name in packages if not room(name)}
    assert without <= {"fairlap", "fairlap_race"}, "their modules have rows of their own"


def test_no_permission_is_dead() -> None:
    used = {(room(module_of(file)), room(name)) for file in FILES for name in imports(file)}
    allowed = {(here, there) for here, row in FLOORS.items() for there in row}
    assert allowed - used == set()


def test_a_room_knows_only_rooms_earlier_in_the_table() -> None:
    order = list(FLOORS)
    wrong = {(here, there) for here, row in FLOORS.items() for there in row if order.index(there) > order.index(here)}
    assert wrong == set()


def test_module_names_stand_once() -> None:
    names = defaultdict(list)
    for file in FILES:
        if not file.name.startswith("__"):
            names[file.stem].append(module_of(file))
    assert {name: modules for name, modules in names.items() if len(modules) > 1} == {}


OF_A_ROOM = {"comparison", "elasticsearch", "corpora", "facts", "noise", "requests", "variants"}
"""names of rooms that a module or another room bears, too: the manifests of a kind, or the chief module of its room"""


def test_names_of_rooms_stand_once() -> None:
    named = [package.rpartition(".")[2] for package in PACKAGES]
    named += [file.stem for file in FILES if not file.name.startswith("__")]
    rooms = {package.rpartition(".")[2] for package in PACKAGES}
    assert {name for name in rooms if named.count(name) > 1} == OF_A_ROOM


def test_names_of_files_in_localkube_and_bench_stand_once() -> None:
    places = (ROOT.parent / "localkube", ROOT.parent / "bench")
    found = sorted(file for place in places for file in place.rglob("*.py") if not file.name.startswith("__"))
    names = [file.stem for file in found]
    assert len(names) > 50 and [str(it) for it in found if names.count(it.stem) > 1] == []


def type_names(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Yield the types of a module, with or without an underscore: a class with None, an alias with what it stands for.

    A name in capitals is that of a constant, and a TypeVar is no type.
    """
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, None
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value and stands_for_a_type(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [it.id for it in targets if isinstance(it, ast.Name)]
            types = [name for name in names if name.lstrip("_")[:1].isupper() and not name.isupper()]
            yield from ((name, ast.unparse(node.value)) for name in types)


def stands_for_a_type(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] == "NewType"
    return isinstance(value, ast.Subscript | ast.BinOp | ast.Name | ast.Attribute)


def test_which_names_are_those_of_types() -> None:
    source = (
        "class A: ...\nclass _B: ...\nPairs = list[int]\nMaybe: TypeAlias = int | None\nOther = typing.Any\n"
        "Uid = NewType('Uid', str)\nEntry = TypeVar('Entry')\nTABLE = dict[str, int]\nfound = list[int]\n_Own = A\n"
        "_TABLE = dict[str, int]\n_ = A\n"
    )
    found = {"A": None, "_B": None, "Pairs": "list[int]", "Maybe": "int | None", "Other": "typing.Any", "_Own": "A"}
    assert dict(type_names(ast.parse(source))) == {**found, "Uid": "NewType('Uid', str)"}


def test_type_names_mean_one_thing() -> None:
    """An alias may stand in several modules, as long as it stands for the same in each."""
    meanings: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in FILES:
        for name, alias in type_names(parsed(file)):
            meanings[name][alias or f"the class of {module_of(file)}"].append(module_of(file))
    assert {name: {**found} for name, found in meanings.items() if len(found) > 1} == {}


TWICE = {("_own_version", "rally_version")}
"""The command line does not know the room of the other one."""


class LocalNames(ast.NodeTransformer):
    """Replaces the names that a function has for itself, its parameters and variables, by numbers in their order."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        nodes = list(ast.walk(function))
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self._own = own
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._number(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._number(node.arg))

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"_{len(self._numbers)}") if name in self._own else name


def without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """Return the statements of a function that do something."""
    return function.body[1:] if ast.get_docstring(function) else function.body


def body_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return what a function does, whatever it calls its parameters and variables."""
    names = LocalNames(function)
    return "\n".join(ast.unparse(names.visit(copy.deepcopy(each))) for each in without_docstring(function))


def test_which_functions_do_the_same() -> None:
    source = (
        "def a(one, two):\n 'A.'\n found = [x.one for x in one]\n return other(found, two)\n"
        "def b(c, d):\n some = [each.one for each in c]\n return other(some, d)\n"
        "def c(c, d):\n some = [each.one for each in c]\n return other(d, some)\n"
        "def d(c, d):\n some = [each.two for each in c]\n return other(some, d)\n"
    )
    first, same, *others = [body_of(each) for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)]
    assert first == same == "_0 = [_1.one for _1 in _2]\nreturn other(_0, _3)" and first not in others


def test_no_function_stands_twice() -> None:
    """Of those that are more than a line."""
    shapes = defaultdict(list)
    for file in FILES:
        for node in nodes_of(file):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                shape = tuple(type(each) for each in ast.walk(ast.Module(without_docstring(node), [])))
                shapes[shape].append((node, module_of(file)))
    bodies = defaultdict(list)
    for node, module in (each for alike in shapes.values() if len(alike) > 1 for each in alike):
        if len("\n".join(map(ast.unparse, without_docstring(node)))) > 70:
            bodies[body_of(node)].append((node.name, module))
    twice = [sorted(found) for found in bodies.values() if len(found) > 1]
    assert [found for found in twice if tuple(name for name, _ in found) not in TWICE] == []


def unused(modules: Mapping[str, ast.Module]) -> set[str]:
    """Return the functions at the top of modules, as MODULE.NAME, that nothing in these modules calls or names.

    A method or a field of the same name is another thing, and so is what a function calls that calls itself alone.
    """
    functions = {
        f"{module}.{node.name}"
        for module, tree in modules.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list
    }
    return functions.difference(*(named_in(module, tree) for module, tree in modules.items()))


def named_in(module: str, tree: ast.Module) -> Iterator[str]:
    """Yield, as MODULE.NAME, what a module names of its own, imports, and takes from the modules that it imports."""
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    yield from imported.values()
    for top in tree.body:
        own = top.name if isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef) else ""
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and node.id != own:
                yield f"{module}.{node.id}"
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                yield f"{imported.get(ast.unparse(node.value))}.{node.attr}"


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ({"m": "def a(): ...\ndef b(): a()\n@c\ndef c(): ...", "n": "import m\nm.b\ndef d(): ..."}, {"n.d"}),
        ({"p.m": "def a(): ...", "n": "from p import m\nm.a"}, set()),
        ({"p.m": "def a(): ...", "n": "from p import m as other\nother.a"}, set()),
        ({"p.m": "def a(): ...", "n": "import p.m\np.m.a"}, set()),
        ({"p.m": "def a(): ...", "n": "from p.m import a"}, set()),
        ({"p.m": "def a(): ...", "n": "def f(it): return it.a\nf"}, {"p.m.a"}),  # a field of the same name
        ({"p.m": "def a(): ...", "n": "a = 'a'\na"}, {"p.m.a"}),  # another's variable, or a text
        ({"m": "def a(): a()\nasync def b(): ..."}, {"m.a", "m.b"}),
    ],
)
def test_which_functions_are_unused(sources: dict[str, str], found: set[str]) -> None:
    assert unused({module: ast.parse(source) for module, source in sources.items()}) == found


def test_no_function_is_there_for_tests_and_benches_alone() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commands = {entry.replace(":", ".") for entry in project["scripts"].values()}
    assert unused({module_of(file).removesuffix(".__init__"): parsed(file) for file in FILES}) - commands == set()


def unread_fields(modules: Mapping[str, ast.Module]) -> set[str]:
    """Return the fields of classes, as MODULE.CLASS.FIELD, whose name nothing in these modules reads."""
    fields, read = set(), set()
    for module, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                ours = [it.target.id for it in node.body if isinstance(it, ast.AnnAssign) and hasattr(it.target, "id")]
                fields |= {(f"{module}.{node.name}", name) for name in ours}
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read.add(node.attr)
            elif isinstance(node, ast.MatchClass):
                read |= set(node.kwd_attrs)
    return {f"{owner}.{name}" for owner, name in fields if name not in read}


def test_which_fields_are_unread() -> None:
    source = "class A:\n a: int\n b: int = 0\n c: int\ndef f(it):\n it.b = it.a\n match it:\n  case A(c=1): ..."
    assert unread_fields({"m": ast.parse(source)}) == {"m.A.b"}


READ_ELSEWHERE = ("fairlap.api.", "fairlap_race.contract.", "fairlap.environ.")
"""Users read the fields of statuses and records, and the environment's variables are read as a whole."""


def test_no_field_is_there_for_tests_alone() -> None:
    """Of what only the program itself sees."""
    unread = unread_fields({module_of(file): parsed(file) for file in FILES})
    assert {name for name in unread if not name.startswith(READ_ELSEWHERE)} == set()


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
