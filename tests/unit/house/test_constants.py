"""What means the same is written once; where two rooms may not know each other, both say the same."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.unit.house.test_imports import FILES, module_of, nodes_of, parsed, room

from fairlap.api import load_spec, names, sweep_spec
from fairlap.api.base import LONGEST_TEXT
from fairlap.api.spec import Steady
from fairlap.queue import summary
from fairlap_docs.floors import FLOORS
from fairlap_race.contract.recorded.settling import SETTLED_FROM_SECONDS
from fairlap_race.contract.specification import http_spec, sweep, turns
from fairlap_race.contract.specification.race_spec import Mode
from fairlap_race.contract.watched_machines import resources


@pytest.mark.parametrize(
    ("of_the_api", "of_the_race"),
    [
        (sweep_spec.MOST_STEPS, sweep.MOST_STEPS),
        (set(load_spec.OWN_HEADERS), http_spec.OWN_HEADERS),
        (load_spec.SECRET_HEADER, http_spec.SECRET_HEADER),
        (load_spec.MOST_CLIENTS, http_spec.MOST_CLIENTS),
        (load_spec.MOST_RATE, http_spec.MOST_RATE),
        (names.MAX_VARIANTS + 1, turns.MOST_RACES),
        (summary.MOST_RACES, turns.MOST_RACES),
        (names.CHECK_STEP, Mode.CHECK.value),
        (names.ROLE_ELASTICSEARCH, resources.ELASTICSEARCH),
        (names.ROLE_LOAD_GENERATOR, resources.LOAD_GENERATOR),
    ],
)
def test_what_the_api_and_the_queue_allow_the_race_takes(of_the_api: object, of_the_race: object) -> None:
    assert of_the_api == of_the_race


def test_the_api_says_from_how_many_seconds_a_warm_up_is_judged() -> None:
    rules = Steady.model_config["json_schema_extra"]
    assert f"is told from {SETTLED_FROM_SECONDS} seconds;" in str(rules)


class Constant(NamedTuple):
    """One at the top of a module."""

    module: str
    name: str
    value: Any


def assigned(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target of an assignment with its value; those of a tuple one by one."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


def constants() -> Iterator[Constant]:
    """Yield those of texts and numbers."""
    for file in FILES:
        for target, value in (pair for node in parsed(file).body for pair in assigned(node)):
            if isinstance(target, ast.Name) and target.id.isupper() and isinstance(value, ast.Constant):
                yield Constant(module_of(file), target.id, value.value)


def test_constants_that_are_assigned_together_are_seen_one_by_one() -> None:
    (node,) = ast.parse('A, (B, C), D = E = "a", B, 1').body
    assert [(ast.unparse(target), ast.unparse(value)) for target, value in assigned(node)] == [
        ("A", "'a'"), ("(B, C)", "B"), ("D", "1"), ("E", "('a', B, 1)"),
    ]  # fmt: skip


def texts(file: Path) -> Iterator[str]:
    """Yield the texts of a module, without those that document it."""
    documents = {id(node.value) for node in nodes_of(file) if isinstance(node, ast.Expr)}
    for node in nodes_of(file):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def may_know(here: str, there: str) -> bool:
    """Return whether a module may import another."""
    return room(there) in (room(here), *FLOORS.get(room(here), ()))


OTHER_THINGS = {"fairlap", "-", "ops/s", "requests", "load generator", "dropped", "in turn", "", "720h", "1h"}
"""The program, who manages an object, and who has written a field; nothing, standard input, and output; two rates;
k6's task, and a variable; whose machine it is, and a variable; what one machine's helper did, and what came of it on
all; how a load is sent, and what stands for its rate; no variable, all namespaces, and a span that is no task's; the
longest race, and kept cluster; the longest warm-up, and step of a sweep."""


def test_a_text_has_one_constant_where_the_floors_allow_it() -> None:
    named = defaultdict(list)
    for it in constants():
        if isinstance(it.value, str) and it.value not in OTHER_THINGS:
            named[it.value].append(it.module)
    twice = {text: found for text, found in named.items() if any(may_know(*pair) for pair in permutations(found, 2))}
    assert twice == {}


def test_a_sentence_that_has_a_name_is_written_nowhere_else() -> None:
    named = {it.value: it.module for it in constants() if len(str(it.value).split()) > 6}
    assert named
    found = [(module_of(file), text) for file in FILES for text in texts(file) if text in named]
    assert [(module, text) for module, text in found if module != named[text]] == []


class OneMeaning(NamedTuple):
    """A value that means the same in all constants of these packages."""

    value: float | str
    home: str
    packages: tuple[str, ...]
    others: tuple[str, ...] = ()
    """constants of another meaning"""


MEANINGS = (
    OneMeaning(LONGEST_TEXT, "fairlap.api.base.LONGEST_TEXT", ("fairlap.",)),
    OneMeaning(
        "prometheus", "fairlap_race.contract.watched_machines.resources.PROMETHEUS", ("fairlap.", "fairlap_race.")
    ),
    OneMeaning(1e-9, "fairlap.statistics.gates.NO_SPREAD", ("fairlap.statistics.", "fairlap.comparison.")),
    OneMeaning(
        0.05, "fairlap.statistics.gates.USUAL_ALPHA", ("fairlap.statistics.", "fairlap.comparison."),
        ("MOST_FAILED", "_FALSE_SHARE"),
    ),
    OneMeaning(
        600, "fairlap_race.track.check.finding.REVIEW_SECONDS", ("fairlap.cli.", "fairlap_race.track.")
    ),
)  # fmt: skip


@pytest.mark.parametrize("meaning", MEANINGS, ids=lambda it: it.home)
def test_a_value_has_one_constant_where_it_means_one_thing(meaning: OneMeaning) -> None:
    found = {
        f"{it.module}.{it.name}"
        for it in constants()
        if it.value == meaning.value and it.module.startswith(meaning.packages) and it.name not in meaning.others
    }
    assert found == {meaning.home}


def test_no_text_is_cut_at_a_bare_number_that_is_the_longest_of_the_api() -> None:
    bare = [
        f"{module_of(file)}:{node.lineno}"
        for file in FILES
        if module_of(file).startswith("fairlap.")
        for node in nodes_of(file)
        if isinstance(node, ast.Slice) and isinstance(node.upper, ast.Constant) and node.upper.value == LONGEST_TEXT
    ]
    assert bare == []


def test_a_type_of_the_api_has_one_name() -> None:
    types = defaultdict(set)
    for file in FILES:
        for node in parsed(file).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Annotated["):
                types[ast.unparse(node.value)] |= {ast.unparse(it) for it in node.targets}
    assert len(types) > 10
    assert {what: found for what, found in types.items() if len(found) > 1} == {}
