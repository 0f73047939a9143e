"""Rally goes on after an error of a task in which its user accepts some, and ends at any other one.

For Rally such a task says `ignore-response-error-level: non-fatal` itself: an error of the network still ends the race.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ACCEPTED = "accepted-errors.json"
"""The file that holds the names of such tasks, beside those of `live_files`."""


def write_accepted(directory: Path, tasks: Sequence[str]) -> None:
    """Write the names of the tasks that may have errors for Rally's process."""
    (directory / ACCEPTED).write_text(json.dumps(list(tasks)), encoding="utf-8")


def install(directory: Path, task_class: Any) -> None:
    """Change what Rally's class of tasks says of errors, for the tasks that are named in `directory`."""
    try:
        tasks = frozenset(json.loads((directory / ACCEPTED).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return
    if not tasks:
        return
    original: Any = task_class.ignore_response_error_level.fget

    def level(task: Any) -> Any:
        return "non-fatal" if task.name in tasks else original(task)

    task_class.ignore_response_error_level = property(level)
