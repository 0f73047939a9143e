"""Finds the tracks that ship with the project: in a checkout, or where pip put them."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from fairlap.cli.edge.exits import UsageError

_INSTALLED = re.compile(r"share/fairlap/tracks/[^/]+/track\.json$")


def builtin_tracks() -> dict[str, Path]:
    """Return the directories of the builtin tracks by name."""
    checkout = Path(__file__).resolve().parents[4] / "tracks"
    found = sorted(checkout.glob("*/track.json")) if (checkout.parent / "pyproject.toml").is_file() else []
    return {path.parent.name: path.parent for path in found or _installed()}


def _installed() -> list[Path]:
    try:
        files = importlib.metadata.files("fairlap") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())).resolve() for file in files if _INSTALLED.search(file.as_posix()))


def make_empty(target: Path) -> None:
    """Create the directory `target`; raises UsageError when there is something in it."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise UsageError(f"{target}: is not empty; name a new directory")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}") from error
