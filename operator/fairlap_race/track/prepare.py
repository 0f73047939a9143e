"""Makes a track ready to race: a writable copy of it, with the corpus of a builtin track generated into it.

A track's directory may hold `generate.py`; for tracks that ship with the race image it is run as
`python generate.py [--NAME N]… --output DIR` and must write its files into DIR. Its constant PARAMETERS has the names:
track parameters that the generator takes too, all of them whole numbers. Tracks of users come with their corpora as
files and their code is not run here.

Of a volume with several tracks there is, as in a clone of their repository, what a track uses of the files and folders
beside its own: what its Python code imports, and what its files name as ../NAME (../../NAME from a folder of it).
"""

from __future__ import annotations

import ast
import errno
import hashlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairlap_race.contract.reasons import Reason
from fairlap_race.errors import TrackError
from fairlap_race.track.git import is_inside

GENERATOR = "generate.py"
GENERATOR_TIMEOUT_SECONDS = 1800
WATCH_SECONDS = 0.5
"""How long a generator writes between two looks at the room that there is."""
LINK_BYTES = 64 * 1024 * 1024
"""Files larger than this are linked to instead of copied."""
_NOT_OF_THE_TRACK = ("__pycache__", ".git", "lost+found", ".snapshot")
"""Kept by Python, git, a file system and servers of NFS."""
_TEXTS, _TEXT_BYTES = (".py", ".json", ".j2"), 1 << 20
_BESIDE = re.compile(r"""(?<![^\s"'(])((?:\.\./)+)([\w.-]+)""")
_BESIDE_IN_CODE = re.compile(r"(?<![\w.])((?:\.\./)+)([\w.-]+)")
"""Code may put a folder's name before it; documents may have it in any address."""

Generator = Callable[[Path, Path, Mapping[str, Any]], None]
"""Puts what the builtin track in the first directory generates into the second one."""


def prepare(
    track: Path,
    work: Path,
    params: Mapping[str, Any],
    *,
    builtin: bool,
    generator: Generator | None = None,
    volume: Path | None = None,
) -> Path:
    """Return a writable directory below `work` that holds what Rally needs of the track in the directory `track`.

    The directory has the track's name, because Rally takes the name from it. A builtin track's corpus is generated
    with those of `params` that its generator takes, by `generator` instead of `generate` where it is given. Links are
    followed within `volume`, where the track is, and what the track uses from beside it is put beside the directory.
    Raises TrackError.
    """
    target = work / "tracks" / track.name
    shutil.rmtree(target.parent, ignore_errors=True)
    target.mkdir(parents=True)
    try:
        if not (track / "track.json").is_file():
            raise _unknown(track) if builtin else _no_track(track)
        if volume and not is_inside(volume, track):
            raise _leading_out(track.name)
        _copy(track, target, GENERATOR if builtin else None, volume)
        if volume and track != volume:
            _copy_beside(track, target, volume)
    except PermissionError as error:
        text = f"{error.filename} cannot be read: make every file and folder of the track readable for user 1000"
        raise TrackError(Reason.TRACK_INVALID, text) from error
    if builtin and (track / GENERATOR).is_file():
        (generator or generate)(track, target, params)
    return target


def beside(prepared: Path) -> list[Path]:
    """Return the files and folders that `prepare` has put beside the directory that it returned."""
    return sorted(path for path in prepared.parent.iterdir() if path != prepared)


def generate(track: Path, output: Path, params: Mapping[str, Any], watch: Callable[[], None] = lambda: None) -> None:
    """Run the generator of the builtin track in `track`, so that its corpus is in `output`.

    Calls `watch` now and then, while the generator stands still. Raises TrackError and what `watch` raises.
    """
    options = generator_options(track / GENERATOR, params)
    command = [sys.executable, str(track / GENERATOR), *options, "--output", str(output)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        words = _words_of(process, track.name, watch)
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        last = (words.strip() or "no message").splitlines()[-1].removeprefix("generate.py: error: ")
        if any(f"[Errno {number}]" in last for number in (errno.ENOSPC, errno.EDQUOT)):
            text = f"there is no room for what the generator of {track.name} writes: {last}"
            raise TrackError(Reason.CORPORA_CACHE, text)
        raise TrackError(Reason.TRACK_INVALID, f"the generator of {track.name} failed: {last}")


def _words_of(process: subprocess.Popen[str], track: str, watch: Callable[[], None]) -> str:
    """Wait for a generator to end; returns what it said of errors."""
    limit = time.monotonic() + GENERATOR_TIMEOUT_SECONDS
    while True:
        try:
            return process.communicate(timeout=WATCH_SECONDS)[1]
        except subprocess.TimeoutExpired:
            if time.monotonic() > limit:
                text = f"the generator of {track} took longer than {GENERATOR_TIMEOUT_SECONDS} s: ask for less data"
                raise TrackError(Reason.CORPUS_MISSING, text) from None
        # Room may have to be waited for, and it must not write on meanwhile.
        process.send_signal(signal.SIGSTOP)
        watch()
        process.send_signal(signal.SIGCONT)


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


def digest(track: Path, known: Mapping[str, str] | None = None, beside: Iterable[Path] = ()) -> str:
    """Return "sha256:" and the hash over the names and contents of all files below `track`, corpora included.

    `known`: the SHA-256 of files that need not be read, by name. `beside`: what else the track uses, named after it.
    To be taken before Rally uses the track: Rally puts offset tables and unpacked corpora beside the files.
    """
    whole = hashlib.sha256()
    names = {path.relative_to(track).as_posix(): path for path in _files(track)}
    for each in beside:
        files = _files(each) if each.is_dir() else (each,)
        names |= {f"../{path.relative_to(each.parent).as_posix()}": path for path in files}
    for name in sorted(names):
        content = (known or {}).get(name) or _content(names[name])
        whole.update(f"{content}  {name}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


def _content(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Path, target: Path, skip: str | None, volume: Path | None, shown: str = "") -> None:
    for path in _files(source, volume, shown):
        name = path.relative_to(source)
        if name.as_posix() != skip:
            _copy_file(path, target / name)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.stat().st_size > LINK_BYTES:
        target.symlink_to(source.resolve())
    else:
        # copyfile leaves the mode behind: what comes from a ConfigMap is read-only.
        shutil.copyfile(source, target)


def _copy_beside(track: Path, target: Path, volume: Path) -> None:
    """Copy what the track uses of the files and folders beside it, and what these use of them."""
    try:
        there = {path.name: path for path in track.parent.iterdir() if path.name not in _NOT_OF_THE_TRACK}
    except PermissionError:  # of a folder that may be entered, but not listed
        return
    left = [target]
    while left:
        named, modules = _names_beside(left.pop())
        for name in sorted((named | modules) & there.keys()):
            source, copy = there[name], target.parent / name
            if copy.exists() or (name not in named and source.is_dir() and not _is_package(source)):
                continue
            if not is_inside(volume, source):
                raise _leading_out(f"../{name}")
            if source.is_dir():
                copy.mkdir()
                _copy(source, copy, None, volume, f"../{name}/")
            elif source.is_file():
                _copy_file(source, copy)
            left.append(copy)


def _is_package(folder: Path) -> bool:
    """Tell whether Python would take a folder for the package of its name, which it may have by chance."""
    if (folder / "__init__.py").is_file():
        return True
    if folder.name in sys.stdlib_module_names:
        return False
    try:
        installed = find_spec(folder.name)
    except (ImportError, ValueError):
        installed = None
    # Any other package goes before a folder without __init__.py, a namespace, whose origin is None.
    if installed and installed.origin is not None:
        return False
    return any(folder.rglob("*.py"))


def _names_beside(copied: Path) -> tuple[set[str], set[str]]:
    """Return what the files in `copied` name of what is beside it, and what their code may import from there."""
    named: set[str] = set()
    imported: set[str] = set()
    for path in _files(copied) if copied.is_dir() else (copied,):
        if path.suffix not in _TEXTS or not path.is_file() or path.stat().st_size > _TEXT_BYTES:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        depth = len(path.relative_to(copied).parts)
        for ups, name in (_BESIDE_IN_CODE if path.suffix == ".py" else _BESIDE).findall(text):
            up = ups.count("/")
            # It is meant from the file's own folder or, where that has none of the name, from the track's.
            if up == depth or (up == 1 and not (path.parent.parent / name).exists()):
                named.add(name)
        if path.suffix == ".py":
            modules = {module.partition(".")[0] for module in _imported(text)}
            imported |= modules | {f"{module}.py" for module in modules}
    return named, imported


def _imported(source: str) -> Iterator[str]:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):  # whoever loads the track says what is wrong
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _files(
    directory: Path, volume: Path | None = None, shown: str = "", above: tuple[Path, ...] = ()
) -> Iterator[Path]:
    """Yield the files below a directory of the track; those in linked folders, too, when `volume` bounds the links.

    `shown`: how messages call the directory. `above`: the directories whose links led to it.
    """
    for path in sorted(directory.iterdir()):
        # Kubernetes keeps a volume's real files in ..data and ..TIMESTAMP and links to them by their names.
        if path.name.startswith("..") or path.name in _NOT_OF_THE_TRACK:
            continue
        name = f"{shown}{path.name}"
        if volume and path.is_symlink() and not is_inside(volume, path):
            raise _leading_out(name)
        if path.is_file():
            yield path
        elif path.is_dir() and not path.is_symlink():
            yield from _files(path, volume, f"{name}/", above)
        elif path.is_dir() and volume:
            passed = (*above, directory)
            if any(is_inside(path, each) for each in passed):
                text = f"{name} is a link to a folder that it is in: remove it"
                raise TrackError(Reason.TRACK_INVALID, text)
            yield from _files(path, volume, f"{name}/", passed)


def _leading_out(name: str) -> TrackError:
    text = f"{name} is a link that leads out of the volume: put what it leads to on the volume, or remove the link"
    return TrackError(Reason.TRACK_INVALID, text)


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
