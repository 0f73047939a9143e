"""A file of results, one JSON object a line, that a stopped run goes on with."""

import json
import os
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def read(path: Path) -> list[Json]:
    """Return the lines of a file of results; one that was cut off while it was written is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            each = json.loads(line)
        except ValueError:
            continue
        if isinstance(each, dict):
            found.append(each)
    return found


def append(path: Path, line: Json) -> None:
    """Write a line, on the disk before it returns; after one that was cut off it begins anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as out:
        if out.tell():
            out.seek(-1, os.SEEK_END)
            out.write(b"" if out.read(1) == b"\n" else b"\n")
        out.write(json.dumps(line).encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())
