"""Finds the tracks that ship with the project: in a checkout, or where pip put them."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path

from fairlap.cli.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.printable import print_text
from fairlap.cli.text_table import align
from fairlap_race.errors import TrackError
from fairlap_race.track.prepare import prepare

_INSTALLED = re.compile(r"share/fairlap/tracks/[^/]+/track\.json$")


def builtin_tracks() -> dict[str, Path]:
    """Return the directories of the builtin tracks by name."""
    checkout = Path(__file__).resolve().parents[3] / "tracks"
    found = sorted(checkout.glob("*/track.json")) if (checkout.parent / "pyproject.toml").is_file() else []
    return {path.parent.name: path.parent for path in found or _installed()}


def _installed() -> list[Path]:
    try:
        files = importlib.metadata.files("fairlap") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())).resolve() for file in files if _INSTALLED.search(file.as_posix()))


def list_tracks() -> int:
    """Print each builtin track with its description."""
    print_text(align([(name, _description(path)) for name, path in builtin_tracks().items()]))
    return SUCCEEDED


def _description(path: Path) -> str:
    # track.json is a template; its description is the first member of that name.
    found = re.search(r'"description"\s*:\s*("(?:[^"\\]|\\.)*")', (path / "track.json").read_text(encoding="utf-8"))
    text = str(json.loads(found[1])) if found else ""
    return re.split(r"[:,]?\s*\{[{%]", text)[0]  # what follows depends on parameters


def generate_track(name: str, target: Path, params: dict[str, object]) -> int:
    """Write the builtin track `name` with its corpus to the directory `target`, which must not have files yet.

    `params`: what its generator takes, as documents and seed. Raises CliError.
    """
    known = builtin_tracks()
    if name not in known:
        raise UsageError(f"there is no builtin track {name!r}; there are: {', '.join(known) or 'none'}")
    make_empty(target)
    try:
        made = prepare(known[name], target, params, builtin=True)
    except TrackError as error:
        raise CliError(error.message) from error
    for path in made.iterdir():
        path.rename(target / path.name)
    made.rmdir()
    made.parent.rmdir()
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print_text(f"{target}: {name}, {size / 2**20:,.1f} MiB. Race it with Rally alone:")
    options = f" --track-params={','.join(f'{key}:{value}' for key, value in params.items())}" if params else ""
    print_text(f"  esrally race --pipeline=benchmark-only --track-path={target}{options} --target-hosts=localhost:9200")
    return SUCCEEDED


def make_empty(target: Path) -> None:
    """Create the directory `target`; raises UsageError when there is something in it."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise UsageError(f"{target}: is not empty; name a new directory")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}") from error
