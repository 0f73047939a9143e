"""Index settings by their full names, as Elasticsearch knows them, and what an index's name tells. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PREFIX = "index."
SHARDS = "index.number_of_shards"
REPLICAS = "index.number_of_replicas"
CODEC = "index.codec"
SOURCE_MODE = "index.mapping.source.mode"
NODE_SCOPED = (CODEC, "index.store.type", "index.store.preload")
"""elasticsearch.yml may hold these for all indices of a node, and `_settings` then still shows the default; any other
index setting there keeps the node from starting (elasticsearch: settings that have both IndexScope and NodeScope)."""

NO_PIPELINE = ("_none", "")
"""What stands in a pipeline's place where there is none."""
_OLD_LOGS_PIPELINE = "logs-default-pipeline"
"""Elasticsearch 8.9 to 8.12; later versions call it logs@default-pipeline."""
_BACKING = re.compile(r"^\.ds-(?P<stream>.+)-\d{4}\.\d{2}\.\d{2}-\d{6}$")


def stream_of(index: str) -> str | None:
    """Return the data stream whose backing index this is by its name; None for any other index."""
    backing = _BACKING.match(index)
    return backing["stream"] if backing else None


def comes_with_elasticsearch(pipeline: str) -> bool:
    """Tell whether an ingest pipeline is by its name one that Elasticsearch brings for its own templates."""
    return "@" in pipeline or pipeline.startswith(".") or pipeline == _OLD_LOGS_PIPELINE


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return settings by their dotted names after `prefix`, whatever their nesting."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found |= flatten(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def by_full_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by their full names, whatever their nesting and whether "index." was left out."""
    flat = flatten(settings)
    return {key if key.startswith(PREFIX) else f"{PREFIX}{key}": value for key, value in flat.items()}


def settings_asked(
    shards: int | None, replicas: int | None, codec: str | None, source_mode: str | None, others: Mapping[str, Any]
) -> dict[str, Any]:
    """Return every setting that was asked for, by its full name; `others` are without "index." and may be nested."""
    named = {SHARDS: shards, REPLICAS: replicas, CODEC: codec, SOURCE_MODE: source_mode}
    found = {name: value for name, value in named.items() if value is not None}
    return found | flatten(others, PREFIX)
