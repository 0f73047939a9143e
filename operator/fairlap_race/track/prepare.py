"""Makes a track ready to race: a writable copy of it, with the corpus of a builtin track generated into it.

A track's directory may hold `generate.py`; for tracks that ship with the race image it is run as
`python generate.py [--NAME N]… --output DIR` and must write its files into DIR. Its constant PARAMETERS has the names:
track parameters that the generator takes too, all of them whole numbers. Tracks of users come with their corpora as
files and their code is not run here.
"""

from __future__ import annotations

import ast
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fairlap_race.contract.reasons import Reason
from fairlap_race.errors import TrackError

GENERATOR = "generate.py"
GENERATOR_TIMEOUT_SECONDS = 1800
LINK_BYTES = 64 * 1024 * 1024
"""Files larger than this are linked to instead of copied."""


Generator = Callable[[Path, Path, Mapping[str, Any]], None]
"""Puts what the builtin track in the first directory generates into the second one."""


def prepare(
    track: Path, work: Path, params: Mapping[str, Any], *, builtin: bool, generator: Generator | None = None
) -> Path:
    """Return a writable directory below `work` that holds what Rally needs of the track in the directory `track`.

    The directory has the track's name, because Rally takes the name from it. A builtin track's corpus is generated
    with those of `params` that its generator takes, by `generator` instead of `generate` where it is given. Raises
    TrackError.
    """
    if not (track / "track.json").is_file():
        raise _unknown(track) if builtin else _no_track(track)
    target = work / "tracks" / track.name
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    _copy(track, target, skip=GENERATOR if builtin else None)
    if builtin and (track / GENERATOR).is_file():
        (generator or generate)(track, target, params)
    return target


def generate(track: Path, output: Path, params: Mapping[str, Any]) -> None:
    """Run the generator of the builtin track in `track`, so that its corpus is in `output`. Raises TrackError."""
    options = generator_options(track / GENERATOR, params)
    command = [sys.executable, str(track / GENERATOR), *options, "--output", str(output)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GENERATOR_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        text = f"the generator of {track.name} took longer than {GENERATOR_TIMEOUT_SECONDS} s: ask for less data"
        raise TrackError(Reason.CORPUS_MISSING, text) from None
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1].removeprefix("generate.py: error: ")
        raise TrackError(Reason.TRACK_INVALID, f"the generator of {track.name} failed: {last}")


def generator_parameters(generator: Path) -> tuple[str, ...]:
    """Return the constant PARAMETERS of the file `generator`, which is not run; () when it has none."""
    for statement in ast.parse(generator.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PARAMETERS":
            return tuple(ast.literal_eval(statement.value))
    return ()


def generator_options(generator: Path, params: Mapping[str, Any]) -> list[str]:
    """Return the options for the file `generator` that follow from the track parameters `params`. Raises TrackError."""
    known = generator_parameters(generator)
    given = [(name, str(_whole(name, params[name]))) for name in known if name in params]
    return [option for name, value in given for option in (f"--{name}", value)]


def digest(track: Path, known: Mapping[str, str] | None = None) -> str:
    """Return "sha256:" and the hash over the names and contents of all files below `track`, corpora included.

    `known`: the SHA-256 of files that need not be read, by name. To be taken before Rally uses the track: Rally puts
    offset tables and unpacked corpora beside the files.
    """
    whole = hashlib.sha256()
    names = sorted(path.relative_to(track).as_posix() for path in _files(track))
    for name in names:
        content = (known or {}).get(name) or _content(track / name)
        whole.update(f"{content}  {name}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def _content(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Path, target: Path, skip: str | None) -> None:
    for path in _files(source):
        name = path.relative_to(source)
        if name.as_posix() == skip:
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if path.stat().st_size > LINK_BYTES:
            (target / name).symlink_to(path.resolve())
        else:
            # copyfile leaves the mode behind: what comes from a ConfigMap is read-only.
            shutil.copyfile(path, target / name)


def _files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        # Kubernetes keeps a volume's real files in ..data and ..TIMESTAMP and links to them by their names.
        if path.name.startswith("..") or path.name in ("__pycache__", ".git"):
            continue
        if path.is_dir():
            if not path.is_symlink():
                yield from _files(path)
        elif path.is_file():
            yield path


def _whole(name: str, value: Any) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if number < 0:
        raise TrackError(Reason.TRACK_INVALID, f"params.{name}: must be a whole number of at least 0, not {value!r}")
    return number


def _unknown(track: Path) -> TrackError:
    known = ", ".join(sorted(path.parent.name for path in track.parent.glob("*/track.json")))
    return TrackError(Reason.UNKNOWN_TRACK, f"there is no builtin track {track.name!r}; there are: {known or 'none'}")


def _no_track(track: Path) -> TrackError:
    if not track.is_dir():
        return TrackError(Reason.TRACK_NOT_FOUND, f"{track}: no such directory")
    present = ", ".join(path.name for path in _files(track)) or "nothing"
    return TrackError(Reason.TRACK_NOT_FOUND, f"track.json is missing; the track has: {present}"[:1000])
