"""The name that the project had first belongs to others, so it stands only where the reason is told."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
FIRST_NAME = "es" + "bench"
TOLD_IN = "docs/decisions/the-name.md"


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def test_the_first_name_stands_only_in_the_decision() -> None:
    names = tracked()
    assert TOLD_IN in names
    found = [
        name
        for name in names
        if name != TOLD_IN and (FIRST_NAME in name.lower() or FIRST_NAME.encode() in (ROOT / name).read_bytes().lower())
    ]
    assert found == []
