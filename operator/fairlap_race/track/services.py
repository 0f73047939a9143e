"""Which services of Elasticsearch that do work of their own a track may use: GeoIP, machine learning, Watcher.

A word anywhere in the track's files is enough: what is left on costs little, what is missing breaks a race.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairlap_race.contract.recorded.track_record import SERVICES

_WORDS: Mapping[str, re.Pattern[str]] = {
    "geoip": re.compile(r"geoip|ip_location"),
    "ml": re.compile(
        r"\bml\b|_ml\b|machine.?learning|inference|\belser|\be5\b|semantic|embedding|trained.?model|model_(id|text)"
        r"|datafeed|anomaly|text_expansion|rerank|learning_to_rank|categorize_text|change_point|frequent_item"
        r"|bucket_(count_ks|correlation)|data_?frame|sparse_vector"
    ),
    "watcher": re.compile(r"watcher"),
}
_TEXTS = {".json", ".py", ".j2", ".jinja", ".jinja2", ".txt", ".yml", ".yaml", ".mustache", ".ndjson", ""}
_LARGEST_FILE = 2 << 20
"""Bytes: what is larger holds documents."""
_MOST_FILES, _MOST_BYTES = 5_000, 64 << 20


def services_used(folder: Path) -> tuple[str, ...]:
    """Return the services that files below `folder` name, or all when there are too many files to tell.

    Of a track it is the folder that the track's own is in: it may use what stands beside it.
    """
    found: set[str] = set()
    left = _MOST_BYTES
    for number, path in enumerate(_files(folder)):
        try:
            size = path.stat().st_size
            if size > _LARGEST_FILE and path.suffix == ".ndjson":
                return SERVICES  # requests of a replay, of which any may use one
            if size > _LARGEST_FILE:
                continue
            left -= size
            if number >= _MOST_FILES or left < 0:
                return SERVICES
            text = path.read_text(encoding="utf-8", errors="replace").lower()
        except OSError:
            return SERVICES
        found |= {service for service, words in _WORDS.items() if words.search(text)}
        if len(found) == len(SERVICES):
            break
    return tuple(sorted(found))


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from (Path(where) / name for name in sorted(names) if Path(name).suffix.lower() in _TEXTS)
