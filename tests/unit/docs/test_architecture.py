"""The page about the architecture names what is there: files, top folders, and rooms as the table has them."""

import re
import subprocess
from pathlib import Path

import pytest

from fairlap_docs import architecture
from fairlap_docs.floors import FLOORS

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_it_names_is_there(page: str) -> None:
    named = re.findall(r"`([\w.-]+/[\w./-]*)`", (ROOT / page).read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_contributing_tells_of_each_command_that_tests() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^(check|soak|test[a-z0-9-]*):.* ## ", makefile, re.M)
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(commands) > 8
    assert [name for name in commands if f"make {name}`" not in contributing] == []


def test_every_top_folder_is_described() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {name.split("/")[0] for name in listed.splitlines() if "/" in name}
    assert {name for name in folders if f"| `{name}/` |" not in TEXT} == set()


def test_the_picture_has_a_row_for_each_room_and_a_dot_for_each_permission() -> None:
    picture = architecture.picture()
    assert picture.count("■") == len(FLOORS)
    assert picture.count("●") == sum(map(len, FLOORS.values()))
    assert max(map(len, picture.splitlines())) <= 120, "wider than a terminal"


def test_a_page_without_a_place_for_the_picture_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("# Nothing\n")
    monkeypatch.setattr(architecture, "PAGE", tmp_path / "page.md")
    with pytest.raises(ValueError, match="0 places"):
        architecture.architecture()
