"""No function has one of the names that only their author understood: a name says what is done or returned."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
PLACES = ("operator", "localkube", "bench")
UNCLEAR = {
    *("say", "slim", "again", "told", "ours", "mine", "said", "lines", "tell", "tells"),
    *("bide", "about", "of", "hindered", "lent", "words", "trade", "driven"),
}
"""with or without an underscore before it; `race_again`, `in_words`, `verdict_lines`, `turn_of` say more"""


def unclear_names(source: str) -> list[str]:
    """Return the functions and methods of a module that have such a name."""
    functions = [
        each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [each.name for each in functions if each.name.strip("_") in UNCLEAR]


def test_what_the_test_finds() -> None:
    source = (
        "def say(): ...\nclass A:\n async def _told(self):\n  def __again(): ...\n def is_ours(self): ...\nours = 1\n"
        "def _of(): ...\ndef lines_of(): ...\ndef noise_words(): ..."
    )
    assert sorted(unclear_names(source)) == ["__again", "_of", "_told", "say"]


def test_no_function_has_a_name_that_needs_its_author() -> None:
    modules = [path for place in PLACES for path in (ROOT / place).rglob("*.py")]
    assert len(modules) > 300
    found = [f"{path.relative_to(ROOT)}: {name}" for path in modules for name in unclear_names(path.read_text("utf-8"))]
    assert found == []
