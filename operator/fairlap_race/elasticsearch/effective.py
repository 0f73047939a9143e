"""The effective state of a cluster and its indices, small enough to be kept and without names that no two races share.

Pure: from Elasticsearch's answers. What is compared between races is here; what a race is judged by is elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlap_race.contract.index_settings import SOURCE_MODE
from fairlap_race.elasticsearch.answers import dig

MOST_SETTINGS = 300
LONGEST_VALUE = 300
_NEW_FOR_EACH_INDEX = re.compile(
    r"index\.(uuid|history\.uuid|creation_date.*|provided_name|version\.created_string|resize\..*|shrink\..*"
    r"|routing\.allocation\.initial_recovery\..*)"
)
_NEW_FOR_EACH_NODE = re.compile(
    r"(cluster\.(name|initial_master_nodes.*)|node\.(name|attr\.k8s_node_name)|network\..*|path\..*|pidfile"
    r"|(http|transport)\.(publish|bind)_.*|discovery\..*|client\.type|pod\..*)"
)


class IndexState(NamedTuple):
    """The settings of one index as they are in effect, and its mapping."""

    explicit: Mapping[str, str]
    """set by somebody: the track, a template, or Elasticsearch when it made the index"""
    defaults: Mapping[str, str]
    """set by nobody"""
    settings_digest: str
    """SHA-256 over all of them, whoever set them"""
    mapping_digest: str | None


def index_state(settings: Any, mapping: Any, source_mode: str | None) -> IndexState:
    """Return the state of one index from its entries in the answers to `_settings?include_defaults` and `_mapping`.

    How _source is kept counts as a setting: from version to version it is written in another place.
    """
    explicit = _texts(dig(settings, "settings"), _NEW_FOR_EACH_INDEX)
    defaults = _texts(dig(settings, "defaults"), _NEW_FOR_EACH_INDEX)
    if source_mode is not None:
        (explicit if SOURCE_MODE in explicit else defaults)[SOURCE_MODE] = source_mode
    fields = dig(mapping, "mappings")
    return IndexState(
        explicit=_first(explicit),
        defaults=_first(defaults),
        settings_digest=_digest(defaults | explicit),
        mapping_digest=None if fields is None else _digest(_without_source_mode(fields)),
    )


def plugins(nodes: Any) -> tuple[str, ...] | None:
    """Return each plugin with its version, and on how many nodes where not on all, from `_nodes/plugins`."""
    found = _installed(nodes, "plugins", "name", "version")
    return None if found is None else tuple(f"{name} {version}{where}" for (name, version), where in found)


def plugin_versions(nodes: Any) -> dict[str, str] | None:
    """Return the version of each plugin by its name, as `plugins` tells them; several where the nodes differ."""
    found = _installed(nodes, "plugins", "name", "version")
    if found is None:
        return None
    versions: dict[str, list[str]] = {}
    for (name, version), where in found:
        versions.setdefault(name, []).append(f"{version}{where}")
    return {name: ", ".join(each) for name, each in versions.items()}


def modules(nodes: Any) -> tuple[str, ...] | None:
    """Return each module, which is a part of the release, from `_nodes/plugins`."""
    found = _installed(nodes, "modules", "name")
    return None if found is None else tuple(f"{name}{where}" for (name,), where in found)


def cluster_settings(answer: Any) -> dict[str, str]:
    """Return what is set on the cluster itself, from a flat answer to `_cluster/settings`."""
    return _first(
        _texts(dig(answer, "persistent"), _NEW_FOR_EACH_NODE) | _texts(dig(answer, "transient"), _NEW_FOR_EACH_NODE)
    )


def node_settings(answer: Any) -> dict[str, str]:
    """Return what the nodes were started with, from a flat answer to `_nodes/settings`, without names and addresses.

    A setting that the nodes have differently has all its values.
    """
    listed = [_texts(dig(node, "settings"), _NEW_FOR_EACH_NODE) for node in (dig(answer, "nodes") or {}).values()]
    names = sorted({name for each in listed for name in each})
    return _first({name: " or ".join(sorted({each.get(name, "not set") for each in listed})) for name in names})


def _installed(nodes: Any, part: str, *keys: str) -> list[tuple[tuple[str, ...], str]] | None:
    """Return the values of `keys` of all that is installed, sorted, and on how many nodes where not on all."""
    listed = [dig(node, part) for node in (dig(nodes, "nodes") or {}).values()]
    if not listed or not all(isinstance(each, list) for each in listed):
        return None
    count = Counter(tuple(str(it.get(key)) for key in keys) for each in listed for it in each)
    return [
        (values, "" if on == len(listed) else f" (on {on} of {len(listed)} nodes)")
        for values, on in sorted(count.items())
    ]


def _texts(settings: Any, left_out: re.Pattern[str]) -> dict[str, str]:
    found = settings if isinstance(settings, Mapping) else {}
    return {
        name: (value if isinstance(value, str) else json.dumps(value, sort_keys=True))[:LONGEST_VALUE]
        for name, value in sorted(found.items())
        if not left_out.fullmatch(name)
    }


def _first(settings: Mapping[str, str]) -> dict[str, str]:
    return dict(list(settings.items())[:MOST_SETTINGS])


def _without_source_mode(fields: Any) -> Any:
    if not isinstance(fields, Mapping) or not isinstance(fields.get("_source"), Mapping):
        return fields
    source = {key: value for key, value in fields["_source"].items() if key != "mode"}
    rest = {key: value for key, value in fields.items() if key != "_source"}
    return {**rest, "_source": source} if source else rest


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
