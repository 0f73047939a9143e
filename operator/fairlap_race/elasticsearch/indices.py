"""What the live indices are: the settings in effect, defaults included, and where the copies of their shards are.

The functions that read are pure; `ask_settings` and `shards` ask. Everything is answered alike from version 6.0 to 9.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from fairlap_race.contract.index_settings import CODEC, NODE_SCOPED, SOURCE_MODE
from fairlap_race.contract.recorded.record import IndexRecord, Shard
from fairlap_race.elasticsearch import effective
from fairlap_race.elasticsearch.answers import dig, whole_number
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError


def ask_settings(client: ElasticsearchClient, index: str) -> tuple[Any, Any]:
    """Return the answers to `_settings?include_defaults` and `_mapping` of one index; None where there is no answer."""
    path = f"/{quote(index, safe='')}"
    settings = _asked(client, f"{path}/_settings?flat_settings=true&include_defaults=true")
    return settings, _asked(client, f"{path}/_mapping")


def _asked(client: ElasticsearchClient, path: str) -> Any:
    try:
        return client.get(path)
    except ElasticsearchError:
        return None


def read_settings(
    index: str, names: Collection[str], answer: Any, nodes: Any, mapping: Any, version: str | None
) -> dict[str, Any]:
    """Return the settings `names` of one index as they are in effect, from `answer` to `_settings?include_defaults`.

    `nodes` and `mapping` are the answers to `_nodes/settings` and `_mapping`.
    """
    of_index = answer.get(index) or {}
    own, defaults = of_index.get("settings") or {}, of_index.get("defaults") or {}
    found: dict[str, Any] = {}
    for name in names:
        if name == SOURCE_MODE:
            found[name] = source_mode(own, defaults, (mapping.get(index) or {}).get("mappings") or {}, version)
        elif name in own:
            found[name] = own[name]
        elif name in NODE_SCOPED:
            found[name] = of_nodes(name, nodes, defaults.get(name))
        else:
            found[name] = defaults.get(name)
    return found


def with_settings(
    found: IndexRecord, asked_for: Collection[str], answer: Any, mapping: Any, nodes: Any, version: str | None
) -> IndexRecord:
    """Return an index with its codec, the settings `asked_for` and all others as they are in effect.

    `answer`, `mapping` and `nodes` are the answers to `_settings?include_defaults`, `_mapping` and `_nodes/settings`.
    As it is without an answer; so, too, without a mapping, where that would have to tell how _source is kept.
    """
    wanted = {*asked_for, CODEC}
    if answer is None or (mapping is None and SOURCE_MODE in wanted):
        return found
    known = {*wanted, SOURCE_MODE} if mapping is not None else wanted
    in_effect = read_settings(found.name, known, answer, nodes, mapping, version)
    state = effective.index_state(dig(answer, found.name), dig(mapping, found.name), in_effect.get(SOURCE_MODE))
    return replace(
        found,
        codec=in_effect.get(CODEC, found.codec),
        settings={key: in_effect[key] for key in asked_for if key in in_effect},
        explicit=state.explicit,
        defaults=state.defaults,
        settings_digest=state.settings_digest,
        mapping_digest=state.mapping_digest,
    )


def of_nodes(name: str, nodes: Any, default: Any = None) -> Any:
    """Return a setting as every node has it, from a flat answer to `_nodes/settings`; None when the nodes differ."""
    listed = (nodes.get("nodes") or {}).values() if isinstance(nodes, Mapping) else ()
    values = [(node.get("settings") or {}).get(name, default) for node in listed]
    return values[0] if values and all(value == values[0] for value in values) else None


def source_mode(own: Mapping[str, Any], defaults: Mapping[str, Any], mappings: Any, version: str | None) -> str:
    """Return how an index keeps _source: stored, synthetic or disabled.

    The index setting goes before the mapping; from 9.0 on the mapping's `mode` has no effect any more
    (elasticsearch: issue 118596).
    """
    if SOURCE_MODE in own:
        return str(own[SOURCE_MODE]).lower()
    source = _source(mappings)
    if source.get("enabled") in (False, "false"):
        return "disabled"
    major = re.match(r"\d+", version or "")
    if source.get("mode") and (major is None or int(major[0]) < 9):
        return str(source["mode"]).lower()
    if SOURCE_MODE in defaults:
        return str(defaults[SOURCE_MODE]).lower()
    return "synthetic" if own.get("index.mode") in ("time_series", "logsdb") else "stored"


def _source(mappings: Any) -> Mapping[str, Any]:
    # Version 6 has the name of a type in between.
    for found in (mappings, *(inner for inner in mappings.values() if isinstance(inner, Mapping))):
        if isinstance(found.get("_source"), Mapping):
            return found["_source"]  # type: ignore[no-any-return]
    return {}


def shards(client: ElasticsearchClient, user: Collection[str]) -> tuple[Shard, ...]:
    """Ask for the copies of the shards of the indices `user`. Raises ElasticsearchError."""
    if not user:
        return ()
    columns = "index,shard,prirep,state,node,docs,store,unassigned.reason"
    return read_shards(client.get(f"/_cat/shards?format=json&bytes=b&h={columns}"), user)


def read_shards(rows: Any, user: Collection[str]) -> tuple[Shard, ...]:
    """Return the copies of the shards of the indices `user` from an answer to `_cat/shards`, in a fixed order."""
    found = [
        Shard(
            index=str(row.get("index")),
            shard=whole_number(row.get("shard")),
            primary=row.get("prirep") == "p",
            state=str(row.get("state") or ""),
            # A shard that moves is shown as "here -> address id there".
            node=str(row["node"]).partition(" -> ")[0] if row.get("node") else None,
            documents=whole_number(row.get("docs")),
            store_bytes=whole_number(row.get("store")),
            why=row.get("unassigned.reason"),
        )
        for row in rows
        if row.get("index") in user
    ]
    return tuple(sorted(found, key=lambda it: (it.index, it.shard or 0, not it.primary, it.node or "")))
