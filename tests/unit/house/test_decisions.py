"""A decision page ends with what would make us decide anew, and the list has every page."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "docs/decisions"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_last_paragraph_says_when_to_decide_anew(page: Path) -> None:
    last = page.read_text(encoding="utf-8").strip().split("\n\n")[-1]
    assert last.startswith("**Decide anew when** ")


def test_each_page_stands_in_the_list_once() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if listed.count(f"]({page.name})") != 1] == []
