"""Rally races the steps of a sweep in place of the task that is swept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairlap_race.contract.codec import decode, encode
from fairlap_race.contract.specification.sweep import SweepSpec
from fairlap_race.rally.sweep_steps import expand

SWEEP = "sweep.json"
"""The file that holds the steps, beside those of `live_files`."""


def write_sweep(directory: Path, sweep: SweepSpec | None, challenge: str | None) -> None:
    """Write the steps for Rally's process; nothing where there are none."""
    if sweep is not None:
        told = {"challenge": challenge, "sweep": encode(sweep)}
        (directory / SWEEP).write_text(json.dumps(told), encoding="utf-8")


def install(directory: Path, track_module: Any) -> None:
    """Change how Rally's package of tracks loads one, if steps are written in `directory`.

    Rally's race control loads the track once and sends it to all of its actors.
    """
    try:
        told = json.loads((directory / SWEEP).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    sweep, original = decode(SweepSpec, told["sweep"]), track_module.load_track

    def load_track(*args: Any, **kwargs: Any) -> Any:
        track = original(*args, **kwargs)
        expand(track, told["challenge"], sweep)
        return track

    track_module.load_track = load_track
