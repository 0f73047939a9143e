"""Of how many requests Rally keeps the times, where it is told to keep those of one of many; counted as it chooses.

Rally numbers the samples as they come, those of all tasks and clients together, and keeps each `factor`-th one
(esrally/driver/driver.py, SamplePostprocessor). So the share of a single task is about, not exactly, one of `factor`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

KEPT = "times-kept.json"
"""The file that holds the numbers, beside those of `live_files`."""


class TimesKept:
    """Counts the measured requests whose times Rally keeps, by task."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: Counter[str] = Counter()

    def count(self, factor: int, samples: Sequence[Any]) -> None:
        """Count those of `samples` that Rally keeps, and write the numbers; nothing where it keeps all."""
        if factor <= 1:
            return
        self._kept.update(it.task.name for it in samples[::factor] if int(it.sample_type) == 1)
        self._path.write_text(json.dumps(self._kept), encoding="utf-8")


def read_kept(directory: Path) -> Mapping[str, int]:
    """Return the numbers by task; empty where Rally kept the times of all requests, or nobody counted."""
    try:
        found = json.loads((directory / KEPT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: number for name, number in found.items() if isinstance(number, int)}
