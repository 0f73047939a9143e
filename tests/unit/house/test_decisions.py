"""A decision page ends with what would make us decide anew, names files that are there, and stands in the list."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs/decisions"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_last_paragraph_says_when_to_decide_anew(page: Path) -> None:
    last = page.read_text(encoding="utf-8").strip().split("\n\n")[-1]
    assert last.startswith("**Decide anew when** ")


def test_each_page_stands_in_the_list_once() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if listed.count(f"]({page.name})") != 1] == []


OF_OTHERS = {"race.json", "esrally/min-es-version.txt", "statistics.py"}
"""files of Rally's, and one that there must not be"""
ENDINGS = "py|js|ya?ml|json|jsonl|md|txt|toml|sh|tpl|svg"


@cache
def files() -> frozenset[str]:
    """Return the paths of all files of the repository, each after a slash."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return frozenset(f"/{path}" for path in listed if (ROOT / path).is_file())


def named_files(text: str) -> set[str]:
    """Return what stands as code and is the path of a file or, in a folder of the repository, of a folder."""
    named = set(re.findall(r"`([\w./-]+)`", text))
    tops = {path.split("/")[1] for path in files() if path.count("/") > 1}
    return {it for it in named if re.search(rf"\w\.({ENDINGS})$", it) or (it.split("/")[0] in tops and "/" in it)}


def is_there(name: str) -> bool:
    """Tell whether some file has this path or its end, or stands in a folder that has."""
    return any(path.endswith(f"/{name}") or f"/{name.rstrip('/')}/" in path for path in files())


def test_which_files_a_page_names() -> None:
    text = (
        "`plan/seen.py`, `a.py` and `bench/noise`, `operator/`; not `fairlap.dev/role`, `/version`, `x --y a.py`, b.py"
    )
    assert named_files(text) == {"plan/seen.py", "a.py", "bench/noise", "operator/"}
    assert is_there("basis/seen.py") and is_there("docs/decisions") and not is_there("een.py")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_file_that_a_page_names_is_there(page: Path) -> None:
    named = named_files(page.read_text(encoding="utf-8")) - OF_OTHERS
    assert sorted(name for name in named if not is_there(name)) == []
