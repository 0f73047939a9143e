"""What stands behind a name: the indices of aliases and data streams, and the failure stores of the latter. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.index_settings import NO_PIPELINE
from fairlap_race.elasticsearch.answers import dig

ALIASES = "/_all/_alias?expand_wildcards=all"
STREAMS = "/_data_stream?expand_wildcards=all"
_FAILED = re.compile(r"^\.fs-(?P<stream>.+)-\d{4}\.\d{2}\.\d{2}-\d{6}$")
MOST_ALIASES = 200
"""Of one index, in the order of their names."""


@dataclass(frozen=True)
class BehindNames:
    """Which indices belong to which name; empty where Elasticsearch could not be asked."""

    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """index -> its aliases"""
    streams: dict[str, str] = field(default_factory=dict)
    """backing index -> data stream"""
    failures: dict[str, str] = field(default_factory=dict)
    """index of a failure store -> data stream"""


NOTHING_BEHIND = BehindNames()


def read_names(aliases: Any, streams: Any, indices: Iterable[str]) -> BehindNames:
    """Return what the answers to `ALIASES` and `STREAMS` say, and the names of all `indices`."""
    backing: dict[str, str] = {}
    failures: dict[str, str] = {}
    for name in indices:
        if found := _FAILED.match(name):
            failures[name] = found["stream"]
    for stream in dig(streams, "data_streams") or ():
        name = str(dig(stream, "name"))
        backing |= dict.fromkeys(_names(dig(stream, "indices")), name)
        # Its place differs between releases of 8; from 8.15 on it is in failure_store.
        failed = (*_names(dig(stream, "failure_store", "indices")), *_names(dig(stream, "failure_indices")))
        failures |= dict.fromkeys(failed, name)
    listed = aliases if isinstance(aliases, dict) else {}
    named = {str(index): tuple(sorted(dig(it, "aliases") or ()))[:MOST_ALIASES] for index, it in listed.items()}
    return BehindNames(named, backing, failures)


def _names(indices: Any) -> tuple[str, ...]:
    found = (dig(it, "index_name") for it in indices) if isinstance(indices, list) else ()
    return tuple(str(name) for name in found if name)


def pipeline_named(setting: Any) -> str | None:
    """Return the pipeline that a setting of an index names, or None for none."""
    return None if setting is None or setting in NO_PIPELINE else str(setting)
