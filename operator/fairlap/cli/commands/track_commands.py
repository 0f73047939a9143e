"""`fairlap track list` and `fairlap track generate`: the tracks that ship with the project."""

import json
import os
import re
import shutil
from pathlib import Path

from fairlap.cli.edge.builtin import builtin_tracks, make_empty
from fairlap.cli.edge.exits import SUCCEEDED, CliError, UsageError
from fairlap.cli.edge.printable import print_text
from fairlap.cli.tables.text_table import align
from fairlap_race.errors import TrackError
from fairlap_race.track.prepare import prepare


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
    is_new = not os.path.isdir(target)  # noqa: PTH112 - which never raises
    make_empty(target)
    try:
        made = prepare(known[name], target, params, builtin=True)
    except BaseException as error:  # Ctrl-C, too: the next command would be refused for what is left
        for path in target.iterdir():
            shutil.rmtree(path)
        if is_new:
            target.rmdir()
        if isinstance(error, TrackError):
            raise CliError(error.message) from error
        raise
    for path in made.iterdir():
        path.rename(target / path.name)
    made.rmdir()
    made.parent.rmdir()
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print_text(f"{target}: {name}, {size / 2**20:,.1f} MiB. Race it with Rally alone:")
    options = f" --track-params={','.join(f'{key}:{value}' for key, value in params.items())}" if params else ""
    print_text(f"  esrally race --pipeline=benchmark-only --track-path={target}{options} --target-hosts=localhost:9200")
    return SUCCEEDED
