"""The build cache: each artifact in a folder named by the hash of what it was made from."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localkube.settings import Paths
from localkube.step_reports import step

IGNORED = ("__pycache__", ".egg-info", ".pyc")


@dataclass(frozen=True)
class Artifact:
    """Something that is built once: `build(folder, log)` fills an empty folder."""

    name: str
    inputs: Mapping[str, str]  # everything that decides the result: versions, digests of files, keys of other artifacts
    title: str
    build: Callable[[Path, Path], None] = field(compare=False)
    estimate: float = 0  # seconds on 2 cores

    @property
    def key(self) -> str:
        """12 hex digits that change whenever an input does."""
        text = json.dumps([self.name, sorted(self.inputs.items())])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def digest_of(files: Iterable[Path], root: Path) -> str:
    """A hash of the names (below `root`), modes and contents of files; folders stand for all files in them."""
    found: set[Path] = set()
    for path in files:
        found.update((f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path])
    total = hashlib.sha256()
    for path in sorted(found):
        name = str(path.relative_to(root))
        if any(part.endswith(IGNORED) for part in Path(name).parts):
            continue
        executable = os.access(path, os.X_OK)
        total.update(f"{name}\0{executable}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def folder_of(artifact: Artifact, paths: Paths) -> Path:
    """Where a finished artifact is, whether it exists yet or not."""
    return paths.built / f"{artifact.name}-{artifact.key}"


def obtain(artifact: Artifact, paths: Paths) -> Path:
    """The artifact's folder; builds it first when it is missing. Raises StepFailedError when that fails.

    It is built beside its place and renamed when finished, so an interrupted build is never taken for a finished one.
    """
    done = folder_of(artifact, paths)
    if done.is_dir():
        return done
    paths.built.mkdir(parents=True, exist_ok=True)
    unfinished = paths.built / f".{artifact.name}-{artifact.key}.unfinished"
    remove_tree(unfinished)
    unfinished.mkdir()
    log = paths.logs / f"build-{artifact.name}.log"
    log.unlink(missing_ok=True)
    with step(artifact.title, artifact.estimate):
        artifact.build(unfinished, log)
        unfinished.rename(done)
    return done


def remove_tree(folder: Path) -> None:
    """Remove a folder, read-only parts (as Go's module cache makes them) included."""
    if not folder.is_symlink() and folder.exists():
        for sub, _, _ in os.walk(folder):
            Path(sub).chmod(0o700)
        shutil.rmtree(folder)


def prune(paths: Paths, keep: Iterable[Artifact]) -> list[str]:
    """Remove every cached artifact that is not one of `keep`; returns the names removed."""
    wanted = {folder_of(artifact, paths).name for artifact in keep}
    gone = [folder for folder in sorted(paths.built.glob("*")) if folder.name not in wanted]
    for folder in gone:
        remove_tree(folder)
    return [folder.name for folder in gone]


@contextlib.contextmanager
def lock(paths: Paths) -> Iterator[None]:
    """One localkube command at a time changes things; others wait here."""
    paths.cache.mkdir(parents=True, exist_ok=True)
    with (paths.cache / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
