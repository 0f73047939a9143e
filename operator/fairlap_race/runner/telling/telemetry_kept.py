"""What the record keeps of Rally's telemetry: all of it where it has room, else one of two, of four … documents."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlap_race.contract.recorded.record import MAX_TELEMETRY_BYTES
from fairlap_race.rally.inside.telemetry_file import KEPT_DEVICES, TELEMETRY
from fairlap_race.runner.telling.bounds import scrub

TelemetryLine = Mapping[str, Any]


@dataclass(frozen=True)
class KeptTelemetry:
    """What goes into the record, and what is said of it."""

    packed: str = ""
    """JSON lines, compressed and in base64; empty when there is nothing"""
    left_out: tuple[str, ...] = ()
    """how many documents of which device are missing there"""
    without: tuple[str, ...] = ()
    """devices that were asked for, and collected nothing"""


@dataclass
class _Read:
    lines: list[TelemetryLine] = field(default_factory=list)
    beyond: Counter[str] = field(default_factory=Counter)


def keep_telemetry(
    directory: Path, devices: Sequence[str], secrets: tuple[str, ...], room: int = MAX_TELEMETRY_BYTES
) -> KeptTelemetry:
    """Return what of the telemetry in `directory` fits into `room` bytes, compressed; `devices` were asked for."""
    read = _read(directory / TELEMETRY)
    all_of = Counter(str(line.get("name")) for line in read.lines) + read.beyond
    without = tuple(name for name in devices if name in KEPT_DEVICES and not all_of[name])
    step, kept = 1, read.lines
    while len(packed := _packed(kept, secrets)) > room and kept:
        step *= 2
        kept = _thinned(read.lines, step) if step < 1 << 20 else []
    there = Counter(str(line.get("name")) for line in kept)
    missing = {name: number - there[name] for name, number in sorted(all_of.items()) if number > there[name]}
    return KeptTelemetry(
        base64.b64encode(packed).decode() if kept else "",
        tuple(f"{number} of {all_of[name]} documents of {name}" for name, number in missing.items()),
        without,
    )


def _read(path: Path) -> _Read:
    found = _Read()
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for text in lines:
                try:
                    line = json.loads(text)
                except ValueError:  # Rally was killed while it wrote
                    continue
                if line.get("beyond"):
                    found.beyond[str(line.get("name"))] += 1
                else:
                    found.lines.append(line)
    except OSError:
        pass
    return found


def _thinned(lines: Sequence[TelemetryLine], step: int) -> list[TelemetryLine]:
    """Return each `step`-th document of each device and node or transform, the first one included."""
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for line in lines:
        of = str(line.get("name")), str(line.get("node", line.get("transform", "")))
        if seen[of] % step == 0:
            kept.append(line)
        seen[of] += 1
    return kept


def _packed(lines: Sequence[TelemetryLine], secrets: tuple[str, ...]) -> bytes:
    text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    return gzip.compress(scrub(text, secrets).encode(), mtime=0)
