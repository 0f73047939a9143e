"""The files through which Rally's process tells the runner where it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLIENT_KEYS = "client-keys.json"
"""Identifiers of the API keys that Rally made for its clients."""
SAMPLES = "samples.csv"
STATE = "state.json"
SHUTDOWN = "shutdown"
ACTORS = ("driver", "benchmark")
"""The processes without which a race never ends; a worker's death Rally notices by itself."""


def pid_file(directory: Path, actor: str) -> Path:
    """Return the file that holds the process id of `actor`."""
    return directory / f"{actor}.pid"


@dataclass(frozen=True)
class State:
    """Where Rally's driver says the race is."""

    step: int = 0
    """1-based; 0 before the first"""
    steps: int = 0
    tasks: tuple[str, ...] = ()
    percent: int = 0
    samples: int = 0
    first_request_at: float | None = None
    """seconds since the epoch"""


def read_state(directory: Path) -> State | None:
    """Return what the driver wrote last, or None when it has not written yet."""
    try:
        data = json.loads((directory / STATE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return State(
        step=data["step"],
        steps=data["steps"],
        tasks=tuple(data["tasks"]),
        percent=data["percent"],
        samples=data["samples"],
        first_request_at=data["firstRequestAt"],
    )


def actor_pids(directory: Path) -> dict[str, int]:
    """Return the process ids of the actors that have started."""
    found = {}
    for actor in ACTORS:
        try:
            found[actor] = int(pid_file(directory, actor).read_text())
        except (FileNotFoundError, ValueError):
            continue
    return found


def replace_json(path: Path, data: Any) -> None:
    """Write `data` as JSON to `path` so that a reader sees the old or the new content, never a part."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(data), encoding="utf-8")
    fresh.replace(path)
