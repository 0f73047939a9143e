"""Files of Git LFS: a git without it, as in a race's pod, leaves a short text in place of each, its pointer."""

from __future__ import annotations

from pathlib import Path

_FIRST = b"version https://git-lfs.github.com/spec/"
LFS_POINTER = "is a pointer of Git LFS, not the file that it stands for, and files of Git LFS are not fetched"
"""What is said of one, after its name."""


def is_lfs_pointer(path: Path) -> bool:
    """Return whether the file at `path` is the pointer of another one; False, too, when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_FIRST)) == _FIRST
    except OSError:  # said by whoever needs the file
        return False
